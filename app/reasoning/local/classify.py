"""What kind of input this is: small talk, one plain question, or a task; with references to the history resolved."""

import re
from collections.abc import Sequence
from datetime import date

from app.domain.knowledge import Language
from app.domain.tasks import Message
from app.embedding import Embedder
from app.reasoning import AgentOffer, AsOf, Classification
from app.reasoning.local.as_of import as_of_in, moved_to, without
from app.reasoning.local.chitchat import Talk, is_remark, reply, spelt_talk, talk_in
from app.reasoning.local.cues import alternatives
from app.reasoning.local.decompose import sub_queries_of
from app.reasoning.local.follow_up import own_words, resolve, standing_question
from app.reasoning.local.intents import intents_of
from app.reasoning.local.sums import reckoning_asked, sums_in
from app.reasoning.local.terms import bag_of, share_in
from app.reasoning.local.wording import Part, spelt_out, tidy
from app.text.language import guess_language, is_unaccented_vietnamese, normalise

_CLAUSE_END = re.compile(r"(?<=[.!?])\s+|,\s+|\s+[–-]\s+|\n+")
_COURTEOUS: tuple[Talk, ...] = ("greeting", "thanks", "agreement")
"""Kinds that may stand in front of a question; what else is told there may bear on it."""
_SHORT_CLAUSE_WORDS = 10
_MAX_CLAUSES = 3


class Classifier:
    """Tells small talk from questions, and questions apart."""

    def __init__(self, embedder: Embedder):
        self._embedder = embedder

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], today: date | None
    ) -> Classification:
        """Classify one utterance; embeds it. Without `today` no day is read in it."""
        text = spelt_out(normalise(query))
        language = _language_of(text, history)
        if sums := sums_in(text) or ((text,) if reckoning_asked(text) else ()):
            return Classification(kind="task", language=language, refined_query=text, sub_queries=sums, confidence=0.9)
        back = gone_back_to(text, history)
        if back:
            return _gone_back(*back, language, today)
        standing = standing_question(history)
        leans = bool(standing) and not is_remark(text) and resolve(text, standing) is not None
        talk = None if leans else await self._talk_of(text)
        if talk:
            return Classification(
                kind="chitchat", language=language, refined_query="", sub_queries=(),
                chitchat_response=reply(talk, language, agents), confidence=0.95,
            )  # fmt: skip
        return _question(await self._without_courtesies(text), language, standing, today)

    async def _talk_of(self, text: str) -> Talk | None:
        return await talk_in(text, self._embedder) if any(map(str.isalnum, text)) else "greeting"

    async def _without_courtesies(self, text: str) -> str:
        """The question without greetings and remarks in front of it."""
        rest = text
        for _ in range(_MAX_CLAUSES):
            mark = _CLAUSE_END.search(rest)
            if mark is None or len(rest[: mark.start()].split()) > _SHORT_CLAUSE_WORDS:
                return rest
            if not await self._is_remark(rest[: mark.start()]) or not rest[mark.end() :].strip(" ?!."):
                return rest
            rest = rest[mark.end() :]
        return rest

    async def _is_remark(self, clause: str) -> bool:
        return not Part.of(clause).asks and await talk_in(clause, self._embedder) in _COURTEOUS


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


def _gone_back(earlier: str, asked: str, language: Language, today: date | None) -> Classification:
    """A question about what was spoken of further up; it leans on nothing that was said last."""
    found = _question(asked or earlier, language, earlier if asked else "", today)
    return found.model_copy(update={"is_follow_up": False, "own_words": ""})


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
    return share_in(topic, bag_of(question, folded), folded)
