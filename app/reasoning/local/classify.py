"""What kind of input this is: small talk, one plain question, or a task; with references to the history resolved, and
the day whose rules it asks for: “quy định nào áp dụng ngày 1/3/2025?”."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from app.domain.knowledge import Language
from app.domain.plan import CHANGES_TOOL, LOG_TOOL
from app.domain.tasks import Message
from app.embedding import Embedder
from app.reasoning import AgentOffer, AsOf, Classification
from app.reasoning.local.chitchat import is_remark, reply, talk_in
from app.reasoning.local.follow_up import own_words, resolve, standing_question
from app.reasoning.local.intents import intents_of, sub_queries_of, wants_tool
from app.reasoning.local.sums import reckoning_asked, sums_in
from app.reasoning.local.terms import Part
from app.reasoning.local.wording import alternatives, spelt_out, tidy
from app.text.dates import Mention, dates_in, flat_of
from app.text.language import guess_language, normalise


async def classify(
    query: str, history: Sequence[Message], agents: Sequence[AgentOffer], today: date | None, embedder: Embedder
) -> Classification:
    """Classify one utterance; embeds it. Without `today` no day is read in it."""
    text = spelt_out(normalise(query))
    language = guess_language(text)
    if sums := sums_in(text) or ((text,) if reckoning_asked(text) else ()):
        return Classification(kind="task", language=language, refined_query=text, sub_queries=sums, confidence=0.9)
    standing = standing_question(history)
    leans = bool(standing) and not is_remark(text) and resolve(text, standing) is not None
    says_something = any(map(str.isalnum, text))
    talk = None if leans else (await talk_in(text, embedder) if says_something else "greeting")
    if talk:
        return Classification(
            kind="chitchat", language=language, refined_query="", sub_queries=(),
            chitchat_response=reply(talk, language, agents), confidence=0.95,
        )  # fmt: skip
    return _question(text, language, standing, today)


def _question(text: str, language: Language, standing: str, today: date | None) -> Classification:
    moved = moved_to(text, standing, today) if standing and today else None
    resolved = moved[0] if moved else resolve(text, standing) if standing else None
    asked, as_of = moved or _dated(resolved or text, today)
    reckoned = reckoning_asked(asked)
    parts = (asked,) if reckoned else sub_queries_of(asked, language)
    plain = len(parts) == 1 and not intents_of(asked) and not reckoned
    return Classification(
        kind="simple" if plain else "task",
        language=language,
        refined_query=tidy(asked, question=True) if len(parts) > 1 else parts[0],
        sub_queries=parts,
        is_follow_up=resolved is not None,
        own_words=own_words(text, standing) if resolved and not moved else "",
        as_of=as_of,
        confidence=0.8 if resolved else 0.9,
    )


def _dated(text: str, today: date | None) -> tuple[str, AsOf | None]:
    """The question without the day whose rules it asks for, and that day."""
    as_of = as_of_in(text, today) if today else None
    return (without(text, as_of), as_of) if as_of else (text, None)


_MAX_CHARS = 2_000
_SUBJECT = 1.0
"""Weight of what a question names; one that names less is asked about what was spoken of before."""
_DAY = timedelta(days=1)
_GRAINS = ("day", "month", "quarter", "year")
_YEAR = re.compile(r"(?<![\d/.,-])(?:19|20)\d\d(?![\d/]|[.,-]\d)")
_RULE, _OWED, _TWO_STATES = (
    re.compile(rf"\b(?:{alternatives(f'as_of.{section}')})\b") for section in ("rule", "owed", "two_states")
)
"""Words of rules, of what they give and demand, and of states of rules that are compared."""
_RULE_BEFORE = re.compile(rf"\b(?:{alternatives('as_of.rule')})\b(?: \w+){{0,3}}$")
_RULE_AFTER = re.compile(rf"^ (?:\w+ ){{0,3}}?\b(?:{alternatives('as_of.rule_after')})\b")
_RELATION = re.compile(
    r"(?:(?:(?P<before>\b(?:truoc|before|prior to))|(?P<after>\b(?:sau|after))|"
    r"(?P<since>\b(?:(?:ke |tinh |bat dau )?tu|as from|starting(?: from)?|from|since|with effect from|effective))|"
    rf"\b(?:{alternatives('as_of.place')}))(?: the)?)?(?: ?\b(?:ngay|thang|nam))?\s*$"
)
"""How the question places the time; what stands right before it."""
_EDGE_BEFORE, _EDGE_AFTER = re.compile(r"(?:^|[,.;:!?])$"), re.compile(r"\s*(?:$|[?!.,;])")


class _Placed(NamedTuple):
    """A time in its sentence."""

    flat: str
    time: Mention
    relation: str
    """``before``, ``after``, ``since``, or nothing that moves it."""
    start: int
    """Where the time begins, its preposition included."""


def as_of_in(query: str, today: date) -> AsOf | None:
    """The day whose rules the question asks for, and the words that say so; None when it means the rules of today.

    A past year or month stands for its last day, the current one for today, a coming one for its first day.
    """
    text = normalise(query[:_MAX_CHARS])
    placed = _placed(text, today)
    if placed is None or not _is_of_rules(placed, today) or _is_of_times(text):
        return None
    return _as_of(placed, text, today)


def _is_of_times(text: str) -> bool:
    """Whether it asks what changed, or for logs: the times of these are no days of rules."""
    return wants_tool(CHANGES_TOOL, text) or wants_tool(LOG_TOOL, text)


def moved_to(text: str, standing: str, today: date) -> tuple[str, AsOf] | None:
    """The standing question and the day it is asked for now: “còn năm 2024 thì sao?”, “which rules applied in 2024?”.

    None when the text names anything else, or the standing question is one of times itself.
    """
    spelt = normalise(text[:_MAX_CHARS])
    placed = _placed(spelt, today)
    found = _as_of(placed, spelt, today) if placed else None
    if found is None or Part.of(without(spelt, found)).weight >= _SUBJECT:
        return None
    question, _ = _dated(standing, today)
    return None if dates_in(question, today) or _YEAR.search(question) or _is_of_times(question) else (question, found)


def without(query: str, as_of: AsOf) -> str:
    """The question without the words that name the day: documents seldom say the day they are asked for."""
    before, _, after = normalise(query).partition(as_of.words)
    before, after = before.rstrip(" ,("), after.lstrip(" ,:)")
    bare = f"{before} {after}" if before else re.sub(r"^(?:thì|thi|then)\s+", "", after, flags=re.IGNORECASE)
    return tidy(bare, question=query.rstrip().endswith("?"))


def _placed(text: str, today: date) -> _Placed | None:
    """The only time a text names: a day, or a month, quarter or year that is over or named; None for any other."""
    flat = flat_of(text)
    times = [time for time in dates_in(text, today) if time.grain in _GRAINS]
    for mark in _YEAR.finditer(flat):
        if not any(time.start <= mark.start() < time.end for time in times):
            first, last = date(int(mark[0]), 1, 1), date(int(mark[0]), 12, 31)
            times.append(Mention(mark.start(), mark.end(), first, last, "year", is_dated=True, part=""))
    if len(times) != 1:
        return None
    [time] = times
    is_named = any(map(str.isdigit, flat[time.start : time.end])) or not time.is_dated
    if not is_named and (time.grain == "day" or time.last >= today):
        return None
    relation = _RELATION.search(flat[: time.start])
    assert relation is not None  # it may be empty
    return _Placed(flat, time, relation.lastgroup or "", relation.start())


def _as_of(placed: _Placed, text: str, today: date) -> AsOf:
    time, day = placed.time, min(max(today, placed.time.first), placed.time.last)
    if placed.relation == "before":
        day = time.first - _DAY
    elif placed.relation:
        day = time.first if placed.relation == "since" else time.last + _DAY
    return AsOf(day=day, words=text[placed.start : time.end].strip())


def _is_of_rules(placed: _Placed, today: date) -> bool:
    """Whether a time says which rules are meant; most only say when something happens (“tôi nghỉ từ 1/3 đến 5/3”).

    It does beside a word of rules (“the 2024 policy”), and at the edge of a question that holds one; a month or year
    that is over does so at the edge of a question for what one was entitled to or had to do, too.
    """
    flat, time = placed.flat, placed.time
    before, after = flat[: placed.start].rstrip(), flat[time.end :]
    if _TWO_STATES.search(flat):
        return False
    if _RULE_AFTER.search(after) or (time.grain != "day" and _RULE_BEFORE.search(before)):
        return True
    is_at_edge = bool(_EDGE_BEFORE.search(before) or _EDGE_AFTER.match(after))
    is_over = time.grain != "day" and time.last < today
    return is_at_edge and bool(_RULE.search(flat) or (is_over and _OWED.search(flat)))
