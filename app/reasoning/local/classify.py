"""What kind of input this is: small talk, one plain question, or a task; with references to the history resolved."""

import re
from collections.abc import Sequence
from datetime import date

from app.domain.knowledge import Language
from app.domain.tasks import Message
from app.reasoning import AgentOffer, AsOf, Classification
from app.reasoning.local.as_of import as_of_in, moved_to, without
from app.reasoning.local.chitchat import Talk, addressed_talk, fixed_talk, reply
from app.reasoning.local.cues import alternatives
from app.reasoning.local.decompose import sub_queries_of
from app.reasoning.local.exemplars import ExemplarBank
from app.reasoning.local.follow_up import own_words, resolve, standing_question
from app.reasoning.local.intents import intents_of
from app.reasoning.local.sums import reckoning_asked, sums_in
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.reasoning.local.wording import Part, lower_first, spelt_out, tidy
from app.text.language import guess_language, is_unaccented_vietnamese, normalise

_TALK_MARGIN, _SURE_MARGIN, _SAID_MARGIN = 0.03, 0.3, -0.3
"""How much nearer small talk must be than questions: usually, where work seems to be wanted, and where a known turn of
small talk stands in the text."""
_REMARK_MARGIN = 0.15
"""The same for a clause in front of a question."""
_CLAUSE_END = re.compile(r"(?<=[.!?])\s+|,\s+|\s+[–-]\s+|\n+")
_COURTESY = re.compile(rf"^(?:{alternatives('classify.courtesy')})[\s,:.!-]+", re.IGNORECASE)
_SHORT_CLAUSE_WORDS = 10
_MAX_CLAUSES = 3


class Classifier:
    """Tells small talk from questions: set phrases by rule, the rest by nearness to known utterances."""

    def __init__(self, bank: ExemplarBank):
        self._bank = bank

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], today: date | None
    ) -> Classification:
        """Classify one utterance; embeds it unless it is a set phrase. Without `today` no day is read in it."""
        text = spelt_out(normalise(query))
        language = _language_of(text, history)
        if sums := sums_in(text) or ((text,) if reckoning_asked(text) else ()):
            return Classification(kind="task", language=language, refined_query=text, sub_queries=sums, confidence=0.9)
        back = gone_back_to(text, history)
        if back:
            return _gone_back(*back, language, today)
        standing = standing_question(history)
        leans = (
            bool(standing) and not (fixed_talk(text) or addressed_talk(text)) and resolve(text, standing) is not None
        )
        talk = None if leans else await self._talk_of(text, has_history=bool(standing))
        if talk:
            return Classification(
                kind="chitchat", language=language, refined_query="", sub_queries=(),
                chitchat_response=reply(talk, language, agents), confidence=0.95,
            )  # fmt: skip
        return _question(await self._without_courtesies(text), language, standing, today)

    async def _talk_of(self, text: str, *, has_history: bool) -> Talk | None:
        if not any(char.isalnum() for char in text):
            return "greeting"
        fixed = fixed_talk(text)
        if fixed:
            return fixed
        clauses = [clause for clause in _CLAUSE_END.split(text) if clause.strip(" .!?,")]
        if len(clauses) > 1 and len(clauses) <= _MAX_CLAUSES:
            kinds = [await self._talk_of_clause(clause, has_history=has_history) for clause in clauses]
            return next(kind for kind in kinds if kind) if all(kinds) else None
        return await self._talk_of_clause(text, has_history=has_history)

    async def _talk_of_clause(self, text: str, *, has_history: bool) -> Talk | None:
        """Small talk of one kind, or None; what is no set phrase is told by the exemplars."""
        known = fixed_talk(text)
        if known:
            return known
        said = addressed_talk(text)
        near = await self._bank.nearness(text)
        asked = bool(intents_of(text)) or (has_history and Part.of(text).asks)
        needed = _SAID_MARGIN if said else _SURE_MARGIN if asked else _TALK_MARGIN
        return (said or near.talk) if near.margin > needed else None

    async def _without_courtesies(self, text: str) -> str:
        """The question without greetings and remarks in front of it."""
        rest = _stripped(text)
        for _ in range(_MAX_CLAUSES):
            mark = _CLAUSE_END.search(rest)
            if mark is None or len(rest[: mark.start()].split()) > _SHORT_CLAUSE_WORDS:
                return rest
            if not await self._is_remark(rest[: mark.start()]) or not rest[mark.end() :].strip(" ?!."):
                return rest
            rest = _stripped(rest[mark.end() :])
        return rest

    async def _is_remark(self, clause: str) -> bool:
        if fixed_talk(clause) or addressed_talk(clause):
            return True
        return not Part.of(clause).asks and (await self._bank.nearness(clause)).margin > _REMARK_MARGIN


def _stripped(text: str) -> str:
    while (shorter := _COURTESY.sub("", text).lstrip(" ,.!:-")) != text and shorter:
        text = shorter
    return text


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
        refined_query=_joined(parts, language) if len(parts) > 1 else parts[0],
        sub_queries=parts,
        is_follow_up=resolved is not None,
        own_words=own_words(text, standing) if resolved and not moved else "",
        as_of=as_of,
        confidence=0.8 if resolved else 0.9,
    )


def _gone_back(earlier: str, asked: str, language: Language, today: date | None) -> Classification:
    """A question about what was spoken of further up; it leans on nothing that was said last."""
    found = _question(asked or earlier, language, earlier if asked else "", today)
    return found.model_copy(update={"is_follow_up": False, "own_words": ""})


def _dated(text: str, today: date | None) -> tuple[str, AsOf | None]:
    """The question without the day whose rules it asks for, and that day."""
    as_of = as_of_in(text, today) if today else None
    return (without(text, as_of), as_of) if as_of else (text, None)


def _joined(parts: Sequence[str], language: Language) -> str:
    """The sub-queries as one sentence."""
    word = " và " if language == "vi" else " and "
    bare = [part.rstrip("?") for part in parts]
    told = ", ".join([bare[0], *map(lower_first, bare[1:-1])]) + f",{word}{lower_first(bare[-1])}"
    return tidy(told, question=any(Part.of(part).asks for part in parts))


def _language_of(text: str, history: Sequence[Message]) -> Language:
    """The language of the text; of the conversation when the text is too short to tell."""
    words = text.split()
    if len(words) <= 2 and text.isascii() and not fixed_talk(text):
        earlier = [message.content for message in history if message.role == "user"]
        if earlier:
            return guess_language(earlier[-1])
    return guess_language(text)


_BACK = re.compile(
    rf"^(?:{alternatives('going_back.opening')})?(?:{alternatives('going_back.verb')})\s+"
    rf"(?:(?:{alternatives('going_back.matter')})\s+)*(?P<topic>[^,:;–?!]+?)\s*(?:[,:;–]\s*(?P<rest>.+))?[?!.\s]*$",
    re.IGNORECASE,
)
_MENTIONED = 0.5
"""Share of the topic's weight an earlier question must mention."""


def gone_back_to(text: str, history: Sequence[Message]) -> tuple[str, str] | None:
    """The earlier question a text goes back to, complete, and what it asks now (empty = the same again).

    None when it goes nowhere, or nothing like that was asked. Of equal matches the later one is meant.
    """
    back = _BACK.match(normalise(text))
    if back is None:
        return None
    best, found = 0.0, ""
    for message in history:
        asked = message.meaning or message.content
        if message.role == "user" and (share := _mentions(asked, back["topic"])) >= max(best, _MENTIONED):
            best, found = share, asked
    return (normalise(found), (back["rest"] or "").strip()) if found else None


def _mentions(question: str, topic: str) -> float:
    folded = is_unaccented_vietnamese(topic) or is_unaccented_vietnamese(question)
    terms = terms_of(topic, folded)
    return coverage(terms, [term.weight for term in terms], bag_of(question, folded))
