"""Whether a question asks for the rules of a certain day: “quy định nào áp dụng ngày 1/3/2025?”.

Most dates in questions say when something happens (“tôi nghỉ từ 1/3 đến 5/3”), not which rules are meant. A date is
taken for the latter only when it is the only time that is named, does not belong to a deed or a thing, and

* stands with words of validity (“áp dụng”, “in force”), or
* the question speaks of rules (“chính sách”, “policy”), or
* it names a past month or year and asks what one was entitled to or had to do (“năm 2024 được nghỉ mấy ngày?”).
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from app.reasoning import AsOf
from app.reasoning.local.changes import asks_changes, times_in
from app.reasoning.local.cues import alternatives
from app.reasoning.local.intents import Intent, intents_of
from app.reasoning.local.wording import Part, tidy
from app.text.dates import Mention, flat_of
from app.text.language import normalise

_MAX_CHARS = 2_000
_SUBJECT = 1.0
"""Weight of what a question names; one that names less is asked about what was spoken of before."""
_DAY = timedelta(days=1)
_OTHER_WORK: frozenset[Intent] = frozenset({"comparison", "log"})


def _any(section: str) -> str:
    return rf"\b(?:{alternatives(f'as_of.{section}')})\b"


_RULE, _VALID, _OWED, _FACTS, _TWO_STATES, _CARRIED, _DEED_IN_RULE, _PAPER = (
    re.compile(_any(section))
    for section in ("rule", "validity", "owed", "facts", "two_states", "carried", "deed_in_rule", "paper")
)
"""Words of rules, of their being in force, of what they give and demand; facts of a year; states of rules compared; the
leave of a year used later; deeds in a rule's name; papers that are valid until a day themselves."""
_LEAVE = re.compile(r"\b(?:phep|leave|holidays?|allowance)$")
_SELF, _PUNISHED = re.compile(r"\b(?:toi|minh|em|anh|chi|i|i'm|i've|my|me)\b"), re.compile(r"\b(?:bi|phat)\b")
_DEED = re.compile(rf"{_any('deed')}$")
"""Deeds and things that have a date of their own; they stand right before it."""
_RELATION = re.compile(
    r"(?:(?P<before>\b(?:truoc|before|prior to))|(?P<after>\b(?:sau|after))|"
    r"(?P<since>\b(?:(?:ke |tinh |bat dau )?tu|as from|starting(?: from)?|from|since))|"
    rf"(?P<valid>\b(?:with effect from|effective(?: from)?))|{_any('place')})"
    r"(?: (?:ngay|thang|nam|dip|the|khoang))?\s*$"
)
"""How the question places the time; what stands right before it."""
_OPENING = re.compile(rf"\s*(?:{_any('opening')}[\s,]*)*")
_CLAUSE_START = re.compile(rf"(?:^|[,.;:!?(–-]){_OPENING.pattern}$")
_ENDING = re.compile(rf"\s*(?:{_any('ending')}\s*)*[?!.,;\s]*")
_CLAUSE_END = re.compile(rf"^\s*(?:{_any('ending')}\s*)*(?:$|[?!.,;])")
_RULE_BEFORE = re.compile(rf"{_any('rule')}(?: \w+){{0,4}}$")
_RULE_AFTER = re.compile(rf"^ (?:\w+ ){{0,3}}?{_any('rule_after')}")
_VALID_BEFORE = re.compile(
    rf"{_any('validity')}(?: (?:cho|doi voi|to|for|on) (?:moi |tat ca |all |every )?{_any('whom')})?$"
)
_THEN = re.compile(r"^(?:thì|thi|then)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A time in its sentence."""

    flat: str
    time: Mention
    relation: re.Match[str] | None
    """The preposition before it."""

    @property
    def start(self) -> int:
        """Where the time begins, its preposition included."""
        return self.relation.start() if self.relation else self.time.start

    @property
    def before(self) -> str:
        """The sentence up to there."""
        return self.flat[: self.start].rstrip()

    @property
    def after(self) -> str:
        """The sentence behind it."""
        return self.flat[self.time.end :]

    def is_said(self, how: str) -> bool:
        """Whether the preposition says ``before``, ``after``, ``since`` or ``valid``."""
        return self.relation is not None and self.relation[how] is not None


def as_of_in(query: str, today: date) -> AsOf | None:
    """The day whose rules the question asks for, and the words that say so; None when it means the rules of today.

    A past year or month stands for its last day, the current one for today, a coming one for its first day.
    """
    text = normalise(query[:_MAX_CHARS])
    placed = _placed(text, today)
    if placed is None or _TWO_STATES.search(placed.flat) or asks_changes(text) or intents_of(text) & _OTHER_WORK:
        return None
    is_meant = placed.time.is_dated and (_is_of_rules(placed) or _is_what_held(placed, today))
    return _as_of(placed, text, today) if is_meant or _is_in_force(placed) else None


def moved_to(text: str, standing: str, today: date) -> tuple[str, AsOf] | None:
    """The standing question and the day it is asked for now: “còn năm 2024 thì sao?”, “which rules applied in 2024?”.

    None when the text names anything else, or the standing question is one of facts or of times itself.
    """
    spelt = normalise(text[:_MAX_CHARS])
    placed = _placed(spelt, today)
    if placed is None:
        return None
    if placed.time.is_dated and _OPENING.fullmatch(placed.before) and _ENDING.fullmatch(placed.after):
        found = _as_of(placed, spelt, today)
    elif (read := as_of_in(spelt, today)) and Part.of(without(spelt, read)).weight < _SUBJECT:
        found = read
    else:
        return None
    earlier = as_of_in(standing, today)
    question = without(standing, earlier) if earlier else standing
    flat = flat_of(normalise(question))
    times = times_in(normalise(question), today)
    if times.known or times.others or _FACTS.search(flat) or intents_of(question) & _OTHER_WORK:
        return None
    return None if asks_changes(question) else (question, found)


def without(query: str, as_of: AsOf) -> str:
    """The question without the words that name the day: documents seldom say the day they are asked for."""
    before, _, after = normalise(query).partition(as_of.words)
    before, after = before.rstrip(" ,("), after.lstrip(" ,:)")
    return tidy(f"{before} {after}" if before else _THEN.sub("", after), question=query.rstrip().endswith("?"))


def _placed(text: str, today: date) -> _Placed | None:
    """The only time a text names; None when it names none or several."""
    flat = flat_of(text)
    times = times_in(text, today)
    if len(times.known) != 1 or times.others:
        return None
    [time] = times.known
    return _Placed(flat, time, _RELATION.search(flat[: time.start]))


def _as_of(placed: _Placed, text: str, today: date) -> AsOf:
    return AsOf(day=_day_of(placed, today), words=text[placed.start : placed.time.end])


def _is_in_force(placed: _Placed) -> bool:
    """“áp dụng ngày …”, “in force on …”, “ngày … quy định nào có hiệu lực”; a visa's or a card's own validity is not
    meant."""
    if placed.is_said("valid") or _VALID_BEFORE.search(placed.before):
        return bool(_RULE.search(placed.flat)) or not _PAPER.search(placed.flat)
    opens = _CLAUSE_START.search(placed.before) and _VALID.search(placed.after)
    return bool(opens) and bool(_RULE.search(placed.flat))


def _is_of_rules(placed: _Placed) -> bool:
    """“chính sách nghỉ phép năm 2024”, “the 2024 policy”, “vào ngày … quy định thế nào?”."""
    if _RULE_AFTER.search(placed.after):
        return True
    if placed.time.grain == "day" and (_SELF.search(placed.flat) or _DEED.search(placed.before)):
        return False
    if named := _RULE_BEFORE.search(placed.before):
        return not _DEED_IN_RULE.search(named[0])
    return bool(_RULE.search(placed.flat)) and _stands_free(placed)


def _is_what_held(placed: _Placed, today: date) -> bool:
    """“năm 2024 được nghỉ mấy ngày?”: what one was entitled to, or had to do, in a month or year that is over."""
    flat, time = placed.flat, placed.time
    if time.grain == "day" or time.last >= today or _FACTS.search(flat) or not _OWED.search(flat):
        return False
    if (_PUNISHED.search(flat) and _SELF.search(flat)) or (_LEAVE.search(placed.before) and _CARRIED.search(flat)):
        return False
    return _stands_free(placed)


def _stands_free(placed: _Placed) -> bool:
    """At the edge of a clause, and not as the date of a deed or thing."""
    at_edge = _CLAUSE_START.search(placed.before) or _CLAUSE_END.search(placed.after)
    return bool(at_edge) and not _DEED.search(placed.before)


def _day_of(placed: _Placed, today: date) -> date:
    time = placed.time
    if placed.is_said("before"):
        return time.first - _DAY
    if placed.is_said("after"):
        return time.last + _DAY
    if placed.is_said("since") or placed.is_said("valid"):
        return time.first
    return min(max(today, time.first), time.last)
