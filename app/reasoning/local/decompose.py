"""Finding the separate questions inside one utterance: its own clauses, with what it told before them."""

import re

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives
from app.reasoning.local.intents import goes_on_about_logs
from app.reasoning.local.sums import reckoning_asked
from app.reasoning.local.terms import bag_of
from app.reasoning.local.wording import Part, asks_surely, tidy
from app.text.language import normalise

_SENTENCE_END = re.compile(r"(?<=[?!;\n])\s+|(?<=[^\W\d_]{2}[.:])\s+(?=[^\W\d_])|\n+")
_JOINTS = re.compile(
    r"\s*,\s*(?:và|va|and|còn|con|đồng thời|also)?\s+|\s+(?:và|va|and|đồng thời|cũng như|as well as)\s+", re.IGNORECASE
)
_ASKS_FIRST = re.compile(rf"^(?:{alternatives('decompose.asks_first')})\b", re.IGNORECASE)
_LEANS = re.compile(rf"\b(?:{alternatives('decompose.leans')})\b", re.IGNORECASE)
_OTHER_THING = re.compile(r"\b(?:the|an?|our|my|your)\s+\w", re.IGNORECASE)
_NAMED, _PHRASE, _ASKED = 1.0, 1.3, 0.8
"""Weight of one thing named, of one named by a phrase, and of what a question in front is about."""
_SHORT_TOPIC_WORDS = 5
_WHAT_IS_IT = " của công ty là gì"
"""Behind a Vietnamese topic that is asked about by itself, which asks nothing as it stands: the only words added."""
_LONGEST_LIST = 6


def sub_queries_of(query: str, language: Language) -> tuple[str, ...]:
    """The questions of a query in order, at least one, in its own words; lists of nouns stay together.

    It is split where both sides ask by themselves. What it tells before the first question goes in front of each.
    """
    told, sentences = _told_and_asked(_sentences(normalise(query), language), language)
    clauses = [clause for sentence in sentences for clause in _clauses(sentence, language)]
    found = [tidy(f"{told} {clause}".lstrip(), question=_asks(clause, language)) for clause in clauses]
    return tuple(dict.fromkeys(found))[:_LONGEST_LIST] or (tidy(query, question=True),)


def _sentences(query: str, language: Language) -> list[str]:
    """The sentences of a query; what does not ask by itself (“What now?”) belongs to the question before it."""
    found: list[str] = []
    for piece in _SENTENCE_END.split(query):
        if found and _belongs_to(found[-1], piece, language):
            found[-1] = f"{found[-1]} {piece}"
        elif piece.strip(" ?!.;"):
            found.append(piece)
    return found


def _belongs_to(before: str, piece: str, language: Language) -> bool:
    """Whether a sentence asks nothing by itself after one that asks."""
    asks_alone = _asks(piece, language) and Part.of(piece).weight >= _NAMED and not _LEANS.search(piece)
    return not (asks_alone and "?" in piece) if "?" in before else _asks(before, language) and not asks_alone


def _told_and_asked(sentences: list[str], language: Language) -> tuple[str, list[str]]:
    """“I want to work from Spain for a week.” is told before the questions that follow it."""
    marked = any("?" in sentence for sentence in sentences)
    asking = (at for at, one in enumerate(sentences) if ("?" in one if marked else _asks(one, language)))
    first = next(asking, len(sentences) - 1)
    return " ".join(sentences[:first]), sentences[first:]


def _clauses(sentence: str, language: Language) -> list[str]:
    """The questions of one sentence; neighbours that do not stand alone are put together again."""
    clauses, at, before = [""], 0, ""
    for mark in (*_JOINTS.finditer(sentence), None):
        text = sentence[at : mark.start() if mark else len(sentence)]
        if clauses[-1] and _begins_question(clauses[-1], before, text, language):
            if language == "vi" and not _asks(clauses[-1], language):
                clauses[-1] += _WHAT_IS_IT
            clauses.append(text)
        else:
            clauses[-1] += f"{before}{text}"
        at, before = (mark.end(), mark[0]) if mark else (at, "")
    return [clause for clause in clauses if clause.strip(" ?")]


def _begins_question(before: str, joint: str, text: str, language: Language) -> bool:
    """Whether `text` is a question of its own after `before`, which is one too or names a topic."""
    if not _stands_alone(text, language) or goes_on_about_logs(text, before):
        return False
    if reckoning_asked(before):
        return True
    if _asks(before, language):
        return _asks_surely(before, language) and Part.of(before).weight >= _ASKED
    return "," in joint and _is_named_again(before, text)


def _asks(text: str, language: Language) -> bool:
    return Part.of(text).asks or (language == "en" and bool(_ASKS_FIRST.match(text)))


def _asks_surely(text: str, language: Language) -> bool:
    return bool(_ASKS_FIRST.match(text)) if language == "en" else asks_surely(text)


def _stands_alone(text: str, language: Language) -> bool:
    """Whether it can be asked by itself: names enough, or one thing that cannot be the one spoken of before."""
    if not _asks_surely(text, language) or _LEANS.search(text):
        return False
    own = Part.of(text)
    if language == "en":
        return own.stands_alone or (own.weight >= _NAMED and bool(_OTHER_THING.search(text)))
    return own.stands_alone or (bool(_ASKS_FIRST.match(text)) and own.weight >= _PHRASE)


def _is_named_again(topic: str, question: str) -> bool:
    """Whether a short topic is named by the question after it too, and so asked about by itself."""
    return len(topic.split()) <= _SHORT_TOPIC_WORDS and bool(bag_of(topic).pairs & bag_of(question).pairs)
