"""Questions for what became different: “có gì thay đổi từ 1/1/2025?”.

Read on the question's own words: what it is about, and the time it looks back to. A question that names two times
compares them itself, and is none of these.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

from app.reasoning.local.wording import alternatives, lines, tidy
from app.text.dates import dates_in, flat_of
from app.text.language import DOCUMENT_WORDS, content_words, fold, normalise

Relation = Literal["since", "against", "during"]
"""How the time is meant: from its first day on, compared with what held at its end, within it."""

_MAX_CHARS = 2_000
_ANY_DAY = date(2000, 1, 1)
"""Times without a year are told by their words, so it does not matter what today is."""
_PLAIN = re.compile(rf"\b(?:{alternatives('changes.plain', __package__)})(?!\w)")
"""Ask what changed whatever they stand beside."""
_OPEN = re.compile(rf"\b(?:{alternatives('changes.open', __package__)})(?!\w)")
"""May ask how something is done as well; a rule or a time beside them tells."""
_AROUND = tuple(re.compile(pattern) for pattern in lines("changes.around", __package__))
"""The same with the subject in their middle: “how has … changed”."""
_RULE = re.compile(rf"\b(?:{alternatives('as_of.rule')})\b")
_BEFORE_TIME = re.compile(
    rf"(?:(?P<against>\b(?:{alternatives('changes.against', __package__)}))|"
    rf"(?P<since>\b(?:{alternatives('changes.since', __package__)}))|"
    r"(?P<during>\b(?:trong|vao|in|during|for|of)))?(?: (?:ngay|thang|nam|thoi diem|the))*\s*$"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_EDGE = re.compile(rf"^(?:[\s,.;:?!–-]|(?:{alternatives('changes.edge_before', __package__)})(?!\w))+")
_EDGE_AFTER = re.compile(rf"(?:[\s,.;:?!–-]|\b(?:{alternatives('changes.edge_after', __package__)}))+$")


@dataclass(frozen=True, slots=True)
class ChangesAsked:
    """A question for changes, read."""

    subject: str
    """What they are asked of: ``Quy định nghỉ phép``, ``the remote work policy``."""
    relation: Relation | None = None
    time: str = ""
    """An ISO interval of days, both included (``2025-01-01/2025-12-31``), or the words of a time whose year only the
    clock knows (``năm ngoái``, ``last month``); empty when no time is named."""
    words: str = ""
    """The time as the question says it."""


class _When(NamedTuple):
    """A time of a question: how it is meant, what it is, and where it stands with the words before it."""

    relation: Relation
    time: str
    start: int
    end: int


def asks_changes(query: str) -> bool:
    """Whether the query asks what became different in documents."""
    return changes_asked(query) is not None


@lru_cache(maxsize=512)
def changes_asked(query: str) -> ChangesAsked | None:
    """What the changes are asked of, and since when; None for every other question."""
    text = normalise(query[:_MAX_CHARS])
    flat = flat_of(text).replace("’", "'")
    cue, whens = _PLAIN.search(flat), _times_in(flat)
    if cue is None and (whens or _RULE.search(flat)):
        marks = (pattern.fullmatch(flat.rstrip(" ?!.")) for pattern in _AROUND)
        cue = next(filter(None, marks), None) or _OPEN.search(flat)
    if cue is None or len(whens) > 1 or len(_YEAR.findall(flat)) > 1:
        return None
    cuts = [(when.start, when.end) for when in whens]
    if "subject" in cue.re.groupindex:
        cuts += [(0, cue.start("subject")), (cue.end("subject"), len(text))]
    else:
        cuts.append(cue.span())
    subject = _without(text, cuts)
    if not any(fold(word) not in DOCUMENT_WORDS for word in content_words(subject)):
        return None
    when = whens[0] if whens else None
    return (
        ChangesAsked(subject, when.relation, when.time, text[when.start : when.end]) if when else ChangesAsked(subject)
    )


def _times_in(flat: str) -> list[_When]:
    """Every time a text names but today; a bare number is a year only behind a word that says so."""
    whens: list[_When] = []
    for time in (one for one in dates_in(flat, _ANY_DAY) if (one.first, one.last) != (_ANY_DAY, _ANY_DAY)):
        is_dated = bool(_YEAR.search(flat, time.start, time.end))
        told = f"{time.first.isoformat()}/{time.last.isoformat()}" if is_dated else flat[time.start : time.end]
        relation, start = _relation(flat, time.start)
        whens.append(_When(relation or "during", told, start, time.end))
    for year in _YEAR.finditer(flat):
        relation, start = _relation(flat, year.start())
        if relation and not any(when.start <= year.start() < when.end for when in whens):
            whens.append(_When(relation, f"{year[0]}-01-01/{year[0]}-12-31", start, year.end()))
    return whens


def _relation(flat: str, start: int) -> tuple[Relation | None, int]:
    """What the words before a time say, and where they begin."""
    mark = _BEFORE_TIME.search(flat[:start])
    names: tuple[Relation, ...] = ("against", "since", "during")
    found = next((name for name in names if mark and mark[name]), None)
    return found, mark.start() if mark and found else start


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    """The text without the given places and the words that held them to the rest, tidied."""
    kept, at = [], 0
    for start, end in [*sorted(cuts), (len(text), len(text))]:
        kept.append(text[at : max(start, at)])
        at = max(at, end)
    return tidy(" ".join(filter(None, map(_bared, kept))), question=False)


def _bared(part: str) -> str:
    """A piece of the question without punctuation and joining words at its ends."""
    flat = flat_of(part)
    start = mark.end() if (mark := _EDGE.match(flat)) else 0
    end = mark.start() if (mark := _EDGE_AFTER.search(flat)) else len(part)
    return part[start:end]
