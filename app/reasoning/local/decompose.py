"""Finding the separate questions inside one utterance, each able to stand alone."""

import re

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives
from app.reasoning.local.intents import goes_on_about_logs
from app.reasoning.local.wording import Part, lower_first, tidy, topic_of
from app.text.language import fold, is_unaccented_vietnamese, normalise

_SENTENCE_END = re.compile(r"(?<=[?!;\n])\s+|(?<=[^\W\d_]{2}\.)\s+(?=[^\W\d_])|\n+")
_JOINTS = re.compile(
    r"\s*,\s*(?:và|va|and|còn|con|đồng thời|also)?\s+|\s+(?:và|va|and|đồng thời|cũng như|as well as)\s+", re.IGNORECASE
)
_ASKS_FIRST = re.compile(rf"^(?:{alternatives('decompose.asks_first')})\b", re.IGNORECASE)
_NO_SUBJECT = re.compile(rf"^(?:{alternatives('decompose.no_subject')})\b", re.IGNORECASE)
_FRAME = re.compile(rf"^(?:{alternatives('decompose.frame')})\b", re.IGNORECASE)
_THEM = re.compile(r"\b(?:them|these|those|it)\b", re.IGNORECASE)
_OTHER_THING = re.compile(r"\b(?:the|an?|our|my|your)\s+\w", re.IGNORECASE)
_LEANS = re.compile(r"\b(?:it|they|them|that|this|those|these|there|one)\b", re.IGNORECASE)
_PUT_VI = re.compile(
    rf"\b(?:{alternatives('decompose.put')})(?!\w)|^(?:{alternatives('wording.imperative')})\b", re.IGNORECASE
)
_NAMED, _PHRASE = 1.0, 1.3
"""Weight of one thing named, and of one named by a phrase."""
_SHORT_TOPIC_WORDS = 5
_LONGEST_LIST = 6
_ASKED_WEIGHT = 0.8


def sub_queries_of(query: str, language: Language) -> tuple[str, ...]:
    """The self-contained questions of a query in order, at least one; lists of nouns stay together.

    A part that leans on another (“…, và trong bao lâu?”) stays with it: the same passages answer both.
    """
    frame, sentences = _framed(_sentences(normalise(query)))
    found: list[str] = []
    for sentence in sentences:
        for part in _parts_of(sentence, language):
            found.append(_self_contained(part, found, frame))
    return tuple(dict.fromkeys(found))[:_LONGEST_LIST] or (tidy(query, question=True),)


def _sentences(query: str) -> list[str]:
    """The sentences of a query; one that asks without naming anything (“What now?”) belongs to the one before."""
    found: list[str] = []
    for piece in _SENTENCE_END.split(query):
        if not piece.strip(" ?!.;"):
            continue
        if found and piece.endswith("?") and Part.of(piece).weight < 1:
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return found


def _framed(sentences: list[str]) -> tuple[str, list[str]]:
    """A telling first sentence (“I want to work from Spain for a week.”) is the frame of the questions after it."""
    if len(sentences) > 1 and not Part.of(sentences[0]).asks and any(Part.of(rest).asks for rest in sentences[1:]):
        return sentences[0].rstrip(" .!:"), sentences[1:]
    head, colon, rest = sentences[0].partition(": ") if sentences else ("", "", "")
    if colon and not Part.of(head).asks and Part.of(rest).asks:
        return head, [rest, *sentences[1:]]
    return "", sentences


def _self_contained(part: str, earlier: list[str], frame: str) -> str:
    mark, topic = _THEM.search(part), topic_of(earlier[0]) if earlier else ""
    if mark and topic:
        part = f"{part[: mark.start()]}the {topic}{part[mark.end() :]}"
    if frame:
        return f"{tidy(frame, question=False)}: {lower_first(part)}"
    return part


def _parts_of(sentence: str, language: Language) -> list[str]:
    """The questions of one sentence; neighbours that do not stand alone are put together again."""
    if not _asks(sentence, language):
        return [tidy(sentence, question=sentence.rstrip().endswith("?"))]
    pieces: list[tuple[str, str]] = _pieces(sentence)
    groups: list[str] = [pieces[0][1]]
    for joint, text in pieces[1:]:
        if not goes_on_about_logs(text, groups[-1]) and _begins_question(groups[-1], joint, text, language):
            groups.append(text)
        else:
            groups[-1] = f"{groups[-1]}{joint}{text}"
    return [_as_question(group, language) for group in groups]


def _pieces(sentence: str) -> list[tuple[str, str]]:
    """(joint before it, text) for every stretch between commas and conjunctions."""
    pieces: list[tuple[str, str]] = []
    at, joint = 0, ""
    for mark in _JOINTS.finditer(sentence):
        pieces.append((joint, sentence[at : mark.start()]))
        at, joint = mark.end(), mark[0]
    pieces.append((joint, sentence[at:]))
    return [piece for piece in pieces if piece[1].strip(" ?")]


def _begins_question(before: str, joint: str, text: str, language: Language) -> bool:
    """Whether `text` is a question of its own after `before`, and `before` is one too or names a topic."""
    if not _asks(text, language) or not _stands_alone(text, language):
        return False
    if language == "en" and not _ASKS_FIRST.match(text):
        return False
    if _asks(before, language):
        return Part.of(before).weight >= _ASKED_WEIGHT and _is_put(before, language)
    return "," in joint and _is_topic(before) and not _ASKS_FIRST.match(text)


def _asks(text: str, language: Language) -> bool:
    return Part.of(text).asks or (language == "en" and bool(_ASKS_FIRST.match(text)))


def _stands_alone(text: str, language: Language) -> bool:
    """Whether it can be asked by itself: names enough, or one thing that cannot be the one spoken of before."""
    own = Part.of(text)
    if language == "vi":
        least = _PHRASE if _ASKS_FIRST.match(text) else None
        return not _NO_SUBJECT.match(text) and (own.stands_alone or (least is not None and own.weight >= least))
    return own.stands_alone or (own.weight >= _NAMED and bool(_OTHER_THING.search(text)) and not _LEANS.search(text))


def _is_put(text: str, language: Language) -> bool:
    """Whether something is asked in it already; “quy trình mua sắm” only begins a list."""
    return language == "en" or bool(_PUT_VI.search(fold(text) if is_unaccented_vietnamese(text) else text))


def _is_topic(text: str) -> bool:
    """A short noun phrase that could be asked about by itself: “giá trị cốt lõi”."""
    return len(text.split()) <= _SHORT_TOPIC_WORDS and Part.of(text).weight >= 1 and not _FRAME.match(text)


def _as_question(part: str, language: Language) -> str:
    if _asks(part, language):
        return tidy(part, question=True)
    topic = tidy(part, question=False)
    if language == "vi":
        owner = "" if "của" in topic or "công ty" in topic.lower() else " của công ty"
        return f"{topic}{owner} là gì?"
    return f"What about {lower_first(topic)}?"
