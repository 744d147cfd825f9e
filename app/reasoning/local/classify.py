"""What kind of input this is: small talk, one plain question, or a task; with references to the history resolved, and
the day whose rules it asks for: “quy định nào áp dụng ngày 1/3/2025?”."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from app.domain.knowledge import Language
from app.domain.plan import CHANGES_TOOL
from app.domain.tasks import Message
from app.embedding import Embedder
from app.reasoning import AgentOffer, AsOf, Classification
from app.reasoning.local.chitchat import Talk, is_remark, reply, spelt_talk, talk_in
from app.reasoning.local.follow_up import own_words, resolve, standing_question
from app.reasoning.local.intents import Intent, intents_of, sub_queries_of, wants_tool
from app.reasoning.local.sums import reckoning_asked, sums_in
from app.reasoning.local.terms import Part
from app.reasoning.local.wording import alternatives, spelt_out, tidy
from app.text.dates import Mention, dates_in, flat_of
from app.text.language import guess_language, normalise

_CLAUSE_END = re.compile(r"(?<=[.!?])\s+|,\s+|\s+[–-]\s+|\n+")
_COURTEOUS: tuple[Talk, ...] = ("greeting", "thanks", "agreement")
"""Kinds that may stand in front of a question; what else is told there may bear on it."""
_SHORT_CLAUSE_WORDS = 10
_MAX_CLAUSES = 3


async def classify(
    query: str, history: Sequence[Message], agents: Sequence[AgentOffer], today: date | None, embedder: Embedder
) -> Classification:
    """Classify one utterance; embeds it. Without `today` no day is read in it."""
    text = spelt_out(normalise(query))
    language = _language_of(text, history)
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
    return _question(await _without_courtesies(text, embedder), language, standing, today)


async def _without_courtesies(text: str, embedder: Embedder) -> str:
    """The question without greetings and remarks in front of it."""
    rest = text
    for _ in range(_MAX_CLAUSES):
        mark = _CLAUSE_END.search(rest)
        if mark is None or len(rest[: mark.start()].split()) > _SHORT_CLAUSE_WORDS:
            return rest
        if not await _is_courtesy(rest[: mark.start()], embedder) or not rest[mark.end() :].strip(" ?!."):
            return rest
        rest = rest[mark.end() :]
    return rest


async def _is_courtesy(clause: str, embedder: Embedder) -> bool:
    return not Part.of(clause).asks and await talk_in(clause, embedder) in _COURTEOUS


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


def _language_of(text: str, history: Sequence[Message]) -> Language:
    """The language of the text; of the conversation when the text is too short to tell."""
    words = text.split()
    if len(words) <= 2 and text.isascii() and not spelt_talk(text):
        earlier = [message.content for message in history if message.role == "user"]
        if earlier:
            return guess_language(earlier[-1])
    return guess_language(text)


_MAX_CHARS = 2_000
_SUBJECT = 1.0
"""Weight of what a question names; one that names less is asked about what was spoken of before."""
_DAY = timedelta(days=1)
_OTHER_WORK: frozenset[Intent] = frozenset({"comparison", "log"})
_GRAINS = ("day", "month", "quarter", "year")
_YEAR = re.compile(r"(?<![\d/.,-])(?:19|20)\d\d(?![\d/]|[.,-]\d)")
_RULE, _OWED, _TWO_STATES = (
    re.compile(rf"\b(?:{alternatives(f'as_of.{section}')})\b") for section in ("rule", "owed", "two_states")
)
"""Words of rules, of what they give and demand, and of states of rules that are compared."""
_RULE_BEFORE = re.compile(rf"\b(?:{alternatives('as_of.rule')})\b(?: \w+){{0,3}}$")
_RULE_AFTER = re.compile(rf"^ (?:\w+ ){{0,3}}?\b(?:{alternatives('as_of.rule_after')})\b")
_VALID_BEFORE = re.compile(rf"\b(?:{alternatives('as_of.validity')})\b(?: \w+){{0,3}}$")
_DEED = re.compile(rf"\b(?:{alternatives('as_of.deed')})\b$")
"""Deeds and things that have a date of their own; they stand right before it."""
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
    if (
        placed is None
        or not _is_of_rules(placed, today)
        or wants_tool(CHANGES_TOOL, text)
        or intents_of(text) & _OTHER_WORK
    ):
        return None
    return _as_of(placed, text, today)


def moved_to(text: str, standing: str, today: date) -> tuple[str, AsOf] | None:
    """The standing question and the day it is asked for now: “còn năm 2024 thì sao?”, “which rules applied in 2024?”.

    None when the text names anything else, or the standing question is one of times itself.
    """
    spelt = normalise(text[:_MAX_CHARS])
    placed = _placed(spelt, today)
    found = _as_of(placed, spelt, today) if placed else None
    if found is None or Part.of(without(spelt, found)).weight >= _SUBJECT:
        return None
    earlier = as_of_in(standing, today)
    question = without(standing, earlier) if earlier else standing
    names_a_time = bool(dates_in(normalise(question), today) or _YEAR.search(question))
    if names_a_time or intents_of(question) & _OTHER_WORK or wants_tool(CHANGES_TOOL, question):
        return None
    return question, found


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

    It does

    * beside a word of rules (“the 2024 policy”) or, in a question about rules, of their being in force,
    * at the edge of a question about rules,
    * for a past month or year, at the edge of a question for what one was entitled to or had to do.
    """
    flat, time = placed.flat, placed.time
    before, after = flat[: placed.start].rstrip(), flat[time.end :]
    if _TWO_STATES.search(flat):
        return False
    if _RULE_AFTER.search(after) or (time.grain != "day" and _RULE_BEFORE.search(before)):
        return True
    speaks_of_rules, is_deed = bool(_RULE.search(flat)), bool(_DEED.search(before))
    is_at_edge = bool(_EDGE_BEFORE.search(before) or _EDGE_AFTER.match(after))
    is_over = time.grain != "day" and time.last < today
    is_meant = is_at_edge and (speaks_of_rules or (is_over and bool(_OWED.search(flat))))
    return not is_deed and (is_meant or (speaks_of_rules and bool(_VALID_BEFORE.search(before))))
