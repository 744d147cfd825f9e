"""What chat frontends ask of a model besides questions: a title, tags, search words for a conversation.

Open WebUI and its like send these as one user message that begins with ``### Task:`` and holds the conversation between
``<chat_history>`` marks, and read JSON out of the answer. They are answered by rule, without a run: no company document
has to be read to name a conversation.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from app.api.openai_compat.shapes import ChatMessage
from app.domain.language import content_words

_TASK = re.compile(r"\s*#{1,4} Task:", re.IGNORECASE)
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL | re.IGNORECASE)
_TURN = re.compile(r"^(USER|ASSISTANT):\s*(.*?)(?=^(?:USER|ASSISTANT):|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_MAX_CHARS = 60_000
_TITLE_CHARS, _TAGS = 60, 3
_SENTENCE = re.compile(r"[^.!?…\n]+")


def _title(questions: Sequence[str]) -> dict[str, object]:
    return {"title": _shortened(questions[0]) if questions else "Conclave"}


def _tags(questions: Sequence[str]) -> dict[str, object]:
    words = dict.fromkeys(word.capitalize() for question in questions for word in content_words(question))
    return {"tags": list(words)[:_TAGS]}


def _follow_ups(_: Sequence[str]) -> dict[str, object]:
    return {"follow_ups": []}


def _queries(questions: Sequence[str]) -> dict[str, object]:
    return {"queries": list(questions[-1:])}


def _text(_: Sequence[str]) -> dict[str, object]:
    return {"text": ""}


_KINDS: Mapping[str, Callable[[Sequence[str]], dict[str, object]]] = {
    "follow_ups": _follow_ups,
    "queries": _queries,
    "tags": _tags,
    "title": _title,
    "text": _text,
}
"""The key the reply is read by, most particular first: the examples of one task may speak of a title as well."""


def housework(messages: Sequence[ChatMessage]) -> str | None:
    """The reply to such a request; None when this is a question."""
    asked = messages[-1]
    text = asked.text[:_MAX_CHARS]
    if asked.role != "user" or not _TASK.match(text) or (history := _HISTORY.search(text)) is None:
        return None
    frame = text[: history.start()] + text[history.end() :]
    kind = next((key for key in _KINDS if f'"{key}"' in frame), None)
    if kind is None:
        return _shortened(_questions(history[1])[0]) if _questions(history[1]) else "…"
    return json.dumps(_KINDS[kind](_questions(history[1])), ensure_ascii=False)


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
