"""Questions for what became different: “có gì thay đổi từ 1/1/2025?”, and the times any question names.

Read on the question's own words: what it is about, and the time it looks back to. A question that names two times
compares them itself, and is none of these.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from app.reasoning import Arguments
from app.reasoning.local.cues import alternatives, lines, sentences
from app.reasoning.local.wording import tidy
from app.text.dates import Mention, dates_in, flat_of
from app.text.language import DOCUMENT_WORDS, content_words, fold, guess_language, normalise

_NEAR = 60
"""Characters before a bare year that are looked at."""
_YEAR_NAMED = re.compile(r"(?<![\d/.,-])(?:19|20)\d\d(?![\d/]|[.,-]\d)")
_MAKES_A_YEAR = re.compile(
    r"\b(?:(?:trong|hoi|tu|truoc|sau|year|in|during|for|of|since|from|before|after|until)(?: the)?|"
    rf"(?:{alternatives('as_of.rule')})(?: \w+){{0,3}}) $"
)
"""Before a bare number: “in 2024”, “chính sách nghỉ phép 2024”."""
_COUNTED = re.compile(r" ?(?:dong|vnd|usd|eur|gbp|cad|d\b|k\b|%|km|kg|m2|gio|phut|ngay|nguoi|lan|hours|days|people|\+)")
_YEAR_OF_RULES = re.compile(rf" (?:\w+ ){{0,3}}?(?:{alternatives('as_of.rule_after')})\b")
"""After it: “the 2024 leave policy”."""
_AGO = re.compile(r"(?P<count>\d|mot|hai|ba|bon|one|two|three|four) (?:nam truoc|years? ago)")
_OTHER = re.compile(rf"\b(?:{alternatives('times.other')})\b|(?<!\d)\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}(?!\d)")
_IS_RATE = re.compile(r"(?:ngay |gio |buoi )?(?:mot|a|an|one)\b(?! \w+ (?:truoc|sau|toi|nua|ago|from))")
"""“mấy ngày một tuần”."""
_DAY_WORD = "ngay "
_UNIT, _DATE = rf"(?:{alternatives('log.unit')})", rf"(?:{alternatives('log.date')})"
_MONTHS = "jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
_PERIODS = tuple(
    re.compile(pattern.format(unit=_UNIT, date=_DATE, month=_MONTHS), re.IGNORECASE) for pattern in lines("log.periods")
)
"""Tried in this order: the first phrase found is the span asked for."""


@dataclass(frozen=True, slots=True)
class Times:
    """Every time a text mentions."""

    known: tuple[Mention, ...]
    others: int
    """Mentions of other times: today, this week, next year, a year that may be a mere number, a day that is none."""


def period_of(text: str) -> str:
    """The first phrase of a text that names a span of time; empty when none does."""
    return next((mark[0].strip() for pattern in _PERIODS if (mark := pattern.search(text))), "")


@lru_cache(maxsize=512)
def times_in(text: str, today: date) -> Times:
    """The times a normalised text names, in order."""
    flat = flat_of(text)
    known: list[Mention] = []
    others = 0
    mentions = dates_in(text, today)
    for mention in mentions:
        time = _known(flat, mention, today)
        others += time is None and not _IS_RATE.match(flat, mention.start)
        known += [time] if time else []
    spans = [(mention.start, mention.end) for mention in mentions] + [(time.start, time.end) for time in known]
    for mark in (*_YEAR_NAMED.finditer(flat), *_OTHER.finditer(flat)):
        if any(start < mark.end() and mark.start() < end for start, end in spans):
            continue
        spans.append(mark.span())
        if mark.re is _YEAR_NAMED and _stands_for_a_year(flat, *mark.span()):
            known.append(_whole_year(*mark.span(), int(mark[0])))
        else:
            others += 1
    return Times(tuple(sorted(known, key=lambda time: time.start)), others)


def _known(flat: str, mention: Mention, today: date) -> Mention | None:
    """A mention whose rules may be asked for; None of one that only says when something is or was."""
    said = flat[mention.start : mention.end]
    if _AGO.fullmatch(said):
        return _whole_year(mention.start, mention.end, mention.first.year)
    if _YEAR_NAMED.fullmatch(said) and not _stands_for_a_year(flat, mention.start, mention.end):
        return None
    is_relative = not any(map(str.isdigit, said)) and mention.is_dated
    is_over = mention.last < today and mention.grain in ("month", "quarter", "year")
    if (is_relative and not is_over) or mention.grain not in ("day", "month", "quarter", "year"):
        return None
    middle = mention.first + (mention.last - mention.first) / 2
    parts = {"early": (mention.first,) * 2, "mid": (middle, middle), "late": (mention.last,) * 2}
    first, last = parts.get(mention.part, (mention.first, mention.last))
    start = mention.start - len(_DAY_WORD) * flat[: mention.start].endswith(_DAY_WORD)
    return mention._replace(start=start, first=first, last=last)


def _whole_year(start: int, end: int, year: int) -> Mention:
    return Mention(start, end, date(year, 1, 1), date(year, 12, 31), "year", is_dated=True, part="")


def _stands_for_a_year(flat: str, start: int, end: int) -> bool:
    """Whether something around a number says that it is a year."""
    if _COUNTED.match(flat, end):
        return False
    return bool(_MAKES_A_YEAR.search(flat[max(0, start - _NEAR) : start]) or _YEAR_OF_RULES.match(flat, end))


Relation = Literal["since", "against", "during"]
"""How the time is meant: from its first day on, compared with what held at its end, within it."""

_MAX_CHARS = 2_000
_ANY_DAY = date(2000, 1, 1)
"""Times without a year are told by their words, so it does not matter what today is."""
_PLAIN = re.compile(rf"\b(?:{alternatives('changes.plain')})(?!\w)")
"""Ask what changed whatever they stand beside."""
_OPEN = re.compile(rf"\b(?:{alternatives('changes.open')})(?!\w)")
"""May ask how something is done as well; a rule or a time beside them tells."""
_AROUND = tuple(re.compile(pattern) for pattern in lines("changes.around"))
"""Forms with the subject in their middle: “how has … changed”."""
_RULE = re.compile(rf"\b(?:{alternatives('as_of.rule')})\b")
_EARLIER = re.compile(rf"\b(?:{alternatives('changes.earlier')})\b")
_DEED = re.compile(rf"\b(?:{alternatives('changes.deed')})\b")
"""What to do where something changes, or how to change it."""
_SINCE, _AGAINST = rf"(?:{alternatives('changes.since')})", rf"(?:{alternatives('changes.against')})"
_BEFORE_TIME = re.compile(
    rf"(?:(?P<against>\b{_AGAINST})|(?P<since>\b{_SINCE})|(?P<during>\b(?:trong|vao|in|during|for|of)))?"
    r"(?: (?:ngay|thang|nam|thoi diem|the))*\s*$"
)
_DIFFERS = re.compile(r"\b(?:khac|differ\w*)\b")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_THIS_YEAR = re.compile(
    r"\b(?:(?:dau )?nam nay|dau nam|this year|the (?:beginning|start) of (?:the|this) year)\b(?! (?:19|20)\d\d)"
)
_EDGE = re.compile(rf"^(?:[\s,.;:?!–-]|(?:{alternatives('changes.edge_before')})(?!\w))+")
_EDGE_AFTER = re.compile(rf"(?:[\s,.;:?!–-]|\b(?:{alternatives('changes.edge_after')}))+$")


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


@dataclass(frozen=True, slots=True)
class _When:
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
    plain = _PLAIN.search(flat)
    around = next((mark for pattern in _AROUND if (mark := pattern.fullmatch(flat.rstrip(" ?!.")))), None)
    cue = plain or _OPEN.search(flat)
    when = _when(flat)
    if (cue is None and around is None) or _DEED.search(flat) or (when is None and _names_several_times(flat)):
        return None
    if plain is None and not (when or _RULE.search(flat) or _EARLIER.search(flat)):
        return None
    cuts = [mark.span() for mark in _EARLIER.finditer(flat)] + ([(when.start, when.end)] if when else [])
    if around:
        cuts += [(0, around.start("subject")), (around.end("subject"), len(text))]
    elif cue:
        cuts.append(cue.span())
    subject = _without(text, cuts)
    if not any(fold(word) not in DOCUMENT_WORDS for word in content_words(subject)):
        return None
    return (
        ChangesAsked(subject, when.relation, when.time, text[when.start : when.end]) if when else ChangesAsked(subject)
    )


def changes_since_anew(standing: str, topic: str) -> str:
    """The standing question for changes since another time: “còn từ năm 2024 thì sao?”; empty when the topic is no
    mere time, or the question asks for no changes."""
    asked, when = changes_asked(standing), _when(flat_of(normalise(topic)))
    if asked is None or when is None or content_words(_without(topic, [(when.start, when.end)])):
        return ""
    return _anew(standing, asked.subject, topic[when.start : when.end])


def changes_of_anew(standing: str, topic: str) -> str:
    """The standing question for changes asked of another subject: “còn công tác phí thì sao?”; empty when it asks for
    none."""
    asked = changes_asked(standing)
    return _anew(standing, topic, asked.words) if asked else ""


def _anew(standing: str, subject: str, words: str) -> str:
    return tidy(
        sentences("changes", guess_language(standing))["anew"].format(subject=subject, words=words), question=True
    )


def changes_arguments(query: str) -> Arguments:
    """``subject``, and ``since``, ``against`` or ``during`` with the time (see `ChangesAsked.time`); ``words`` is how
    the question says it. A query that asks for no changes is a subject."""
    asked = changes_asked(query)
    if asked is None:
        return Arguments(values={"subject": query})
    values = {"subject": asked.subject}
    if asked.relation:
        values |= {asked.relation: asked.time, "words": asked.words}
    return Arguments(values=values, grounds=(asked.words,) if asked.words else ())


def _when(flat: str) -> _When | None:
    """The one time a text names; None when it names none or several."""
    times, years = times_in(flat, _ANY_DAY).known, list(_YEAR.finditer(flat))
    if len(times) > 1 or len(years) > 1:
        return None
    if times:
        [time] = times
        span = time.start, time.end
        told = f"{time.first.isoformat()}/{time.last.isoformat()}" if _YEAR.search(flat, *span) else flat[slice(*span)]
    elif years and _relation(flat, years[0].start())[0]:
        told, span = f"{years[0][0]}-01-01/{years[0][0]}-12-31", years[0].span()
    elif not years and (mark := _THIS_YEAR.search(flat)):
        told, span = "năm nay", mark.span()
    elif told := period_of(flat):
        span = flat.find(told), flat.find(told) + len(told)
    else:
        return None
    relation, begins = _relation(flat, span[0])
    return _When(relation or ("against" if _DIFFERS.search(flat) else "during"), told, begins, span[1])


def _relation(flat: str, start: int) -> tuple[Relation | None, int]:
    """What the words before a time say, and where they begin."""
    mark = _BEFORE_TIME.search(flat[:start])
    names: tuple[Relation, ...] = ("against", "since", "during")
    found = next((name for name in names if mark and mark[name]), None)
    return found, mark.start() if mark and found else start


def _names_several_times(flat: str) -> bool:
    return len(times_in(flat, _ANY_DAY).known) > 1 or len(_YEAR.findall(flat)) > 1


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
