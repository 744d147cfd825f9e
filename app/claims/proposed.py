"""Claims a model proposes, held against the text it quotes: what does not stand there is no claim.

A mind with a model may fill `ReadClaims`; nothing it returns is compared before `validated` has read value, polarity
and days from the quoted words again. The model says where to look, the text says what is there.
"""

from collections.abc import Awaitable, Callable, Sequence

from app.claims.marks import marks_in
from app.claims.polarity import opposes, polarity_of
from app.claims.record import Claim, Polarity, Value
from app.claims.sentences import plain_claim
from app.domain.knowledge import Language, Quote
from app.domain.record import Record
from app.text.amounts import amounts_in
from app.text.language import content_words, fold, normalise


class ProposedClaim(Record):
    """A claim as a model writes it."""

    quote: str
    """The words it rests on, copied from the text."""
    subject: str
    """What is spoken about, in any words; only shown."""
    attribute: str
    """What of it is given a value; only shown."""
    value: str
    """As written in the quote: ``12 ngày``, ``room B338``, ``chị Hà``."""
    polarity: Polarity = "stated"


ReadClaims = Callable[[str, Sequence[Quote]], Awaitable[Sequence[Sequence[ProposedClaim]]]]
"""(question, quotes) → the claims of each quote that answer the question, in the quotes' order."""


def validated(proposed: ProposedClaim, text: str, language: Language | None = None) -> Claim | None:
    """The claim in our own reading of it; None when quote, value or polarity are not in `text`.

    Case, spacing and the place of tones do not matter; figures are read again, so that a model cannot change one.
    """
    quote, value = _plain(proposed.quote), _plain(proposed.value)
    if not quote or not value or quote not in _plain(text) or value not in quote:
        return None
    spoken = polarity_of(proposed.quote)
    if proposed.polarity != spoken and (proposed.polarity != "stated" or opposes("stated", spoken)):
        return None
    return _read(proposed, language)


def _read(proposed: ProposedClaim, language: Language | None) -> Claim | None:
    amounts = list(amounts_in(proposed.value, language))
    values: frozenset[Value]
    if amounts:
        unit = amounts[0].unit
        values = frozenset(amount.value for amount in amounts if amount.unit == unit)
    elif marks := list(marks_in(proposed.value)):
        unit = marks[0].unit
        values = frozenset(mark.value for mark in marks if mark.unit == unit)
    else:
        unit, values = "wording", frozenset(fold(word) for word in content_words(proposed.value))
    return plain_claim(proposed.quote, unit, values, (proposed.value,)) if values else None


def _plain(text: str) -> str:
    return normalise(text).casefold()
