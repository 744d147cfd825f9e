"""Answer what chat frontends ask of a model besides questions: a title, tags, search words for a conversation.

Open WebUI and its like send these as one user message that begins with ``### Task:`` and holds the conversation between
``<chat_history>`` marks, and read JSON out of the answer. LibreChat asks for a title in a sentence or two, behind which
the first turn stands as ``User: …`` and ``AI: …``. All are answered by rule, without a run: no company document has to
be read to name a conversation.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from app.text.language import content_words, guess_language

_TASK = re.compile(r"\s*#{1,4} Task:", re.IGNORECASE)
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL | re.IGNORECASE)
_TURN = re.compile(r"^(USER|ASSISTANT):\s*(.*?)(?=^(?:USER|ASSISTANT):|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_FIRST_TURN = re.compile(r"(?P<frame>.{1,800}?)\n\n(?:Conversation:\n)?User: (?P<question>.+?)\nAI:", re.DOTALL)
_NAMES_IT = re.compile(r"\btitle\b", re.IGNORECASE), re.compile(r"\bconversation\b", re.IGNORECASE)
_NAMES_LANGUAGE = re.compile(r"\blanguage\b.*\btitle\b", re.IGNORECASE | re.DOTALL)
_MAX_CHARS = 60_000
_TITLE_CHARS, _TAGS = 60, 3
_SENTENCE = re.compile(r"[^.!?…\n]+")


def _tags(questions: Sequence[str]) -> list[str]:
    words = dict.fromkeys(word.capitalize() for question in questions for word in content_words(question))
    return list(words)[:_TAGS]


_REPLIES: Mapping[str, Callable[[Sequence[str]], object]] = {
    "follow_ups": lambda questions: [],
    "queries": lambda questions: list(questions[-1:]),
    "tags": _tags,
    "title": lambda questions: _shortened(questions[0]) if questions else "Conclave",
    "text": lambda questions: "",
}
"""The key the reply is read by, most particular first: the examples of one task may speak of a title as well."""


def answer_frontend_request(role: str, content: str) -> str | None:
    """The reply to such a request in a conversation's last message; None when this is a question."""
    text = content[:_MAX_CHARS]
    if role != "user":
        return None
    if not _TASK.match(text) or (history := _HISTORY.search(text)) is None:
        return _plain_title(text)
    frame = text[: history.start()] + text[history.end() :]
    kind = next((key for key in _REPLIES if f'"{key}"' in frame), None)
    if kind is None:
        return _shortened(_questions(history[1])[0]) if _questions(history[1]) else "…"
    return json.dumps({kind: _REPLIES[kind](_questions(history[1]))}, ensure_ascii=False)


def _plain_title(text: str) -> str | None:
    """The title of a conversation whose first turn is told behind the request; with its language where that is asked
    for before it, as JSON."""
    found = _FIRST_TURN.match(text)
    if found is None or not all(word.search(text[: found.start("question")]) for word in _NAMES_IT):
        return None
    title = _shortened(" ".join(found["question"].split()))
    if not _NAMES_LANGUAGE.search(found["frame"]):
        return title
    return json.dumps({"language": guess_language(title), "title": title}, ensure_ascii=False)


def _questions(history: str) -> list[str]:
    told = [(who.upper(), " ".join(said.split())) for who, said in _TURN.findall(history)]
    return [said for who, said in told if who == "USER" and said]


def _shortened(question: str) -> str:
    """The first sentence, at a word's end."""
    first = _SENTENCE.search(question)
    text = (first[0] if first else question).strip()
    if len(text) <= _TITLE_CHARS:
        return text
    return text[: _TITLE_CHARS + 1].rpartition(" ")[0].rstrip(" ,;:") + "…"
