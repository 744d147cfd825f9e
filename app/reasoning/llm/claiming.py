"""The claims call: what each quote states, under one name for one thing, so that sources can be held together.

A proposal and no more: `app.claims` holds each against the words it quotes before anything is compared.
"""

from collections.abc import Sequence

from app.claims.proposed import ProposedClaim
from app.domain.knowledge import Language, Quote
from app.reasoning.llm import telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.prompts import load
from app.reasoning.llm.shapes import ClaimsShape
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean

_MAX_TOKENS = 900
_SHARE = 0.3
_QUOTES = 16
"""Told to the model; what lies behind them is left to the rules."""


async def claimed(
    ladder: Ladder, quotes: Sequence[tuple[str, Quote]], language: Language
) -> tuple[tuple[ProposedClaim, ...], ...]:
    """The claims of each quote, in the quotes' order. Raises `ModelFailed`."""
    told = telling.quotes(quotes[:_QUOTES])
    question = Question("claims", load("claims", language), told, ClaimsShape, _MAX_TOKENS, language, share=_SHARE)
    reply = await ask(ladder, question)
    found: list[list[ProposedClaim]] = [[] for _ in quotes]
    for one in reply.claims:
        if 1 <= one.n <= min(len(quotes), _QUOTES):
            proposed = ProposedClaim(
                quote=clean(one.quote), subject=clean(one.subject), attribute=clean(one.attribute),
                value=clean(one.value), polarity=one.polarity,
            )  # fmt: skip
            found[one.n - 1].append(proposed)
    return tuple(map(tuple, found))
