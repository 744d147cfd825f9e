"""How far an amount that a passage states is the one a question is about."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.deep.weekdays import with_days
from app.reasoning.local.numbers import Amount, Range
from app.reasoning.local.terms import Bag, Term, bag_of, rarity
from app.text.language import guess_language

_OWN, _PIECE, _ABOVE, _TITLE = 1.0, 0.8, 0.55, 0.35
_HOLDS, _OPEN, _CONDITION, _EXAMPLE, _QUOTED, _RANK = 0.25, 0.08, 0.5, 0.3, 0.08, 0.015
_FOREIGN_BEST, _FOREIGN, _COLUMN = 0.45, 0.3, 0.15
_RANGE, _UNSAID, _TOTAL, _ABSENT, _HALF = 0.3, 0.1, 0.25, 0.45, 0.6
_AUTHORITY = {"policy": 0.04, "guideline": 0.02, "notice": 0.03, "handbook": -0.05, "faq": -0.05}
_SCALES = {"month": Decimal(1), "year": Decimal(12)}
_NIGHTS = frozenset({"day", "night"})


@dataclass(frozen=True, slots=True)
class Weighed:
    """An amount with how well it fits."""

    stated: Stated
    score: float
    cover: float
    """Share of what is asked about that stands with it, 0–1."""
    held: tuple[Quantity, ...] = ()
    """What the question gives that meets its conditions."""


class Scales:
    """Weighs the amounts of some pieces for one question."""

    def __init__(self, terms: Sequence[Term], pieces: Sequence[Piece], *, is_bare: bool, text: str = ""):
        """`text`: the question, for what it says word by word."""
        self._bare = is_bare
        self.text = " ".join(re.findall(r"[^\s,;.?!()“”\"]+", text.lower()))
        self._pieces = tuple(pieces)
        self._language = guess_language(text)
        texts = list(
            {
                with_days(f"{piece.unit.text} {piece.heading} {' '.join(piece.unit.header)} {piece.unit.lead}")
                for piece in pieces
            }
        )
        titles = list({piece.passage.title for piece in pieces})
        self._bags = [bag_of(text, is_bare) for text in texts]
        self._titles = [bag_of(text, is_bare) for text in titles]
        self._known: dict[tuple[str, ...], float] = {}
        self.terms = tuple(terms)

    def cover(self, stated: Stated, terms: Sequence[Term] | None = None) -> float:
        """Share of the terms' weight that stands with an amount: most in its own part, least in the title."""
        wanted = self.terms if terms is None else terms
        weights = [self._weight(term) for term in wanted]
        total = sum(weights)
        if not total:
            return 0.0
        places = self._places(stated)
        hits = (
            weight * max(factor * term.found_in(bag) for factor, bag in places)
            for term, weight in zip(wanted, weights, strict=True)
        )
        return max(sum(hits) / total, self._foreign(stated.piece))

    def _foreign(self, piece: Piece) -> float:
        """What was quoted from the other language was found by its meaning: its words cannot be compared."""
        if piece.language == self._language or not piece.is_quoted:
            return 0.0
        return _FOREIGN_BEST if piece.rank == 0 else _FOREIGN

    def cover_of_piece(self, piece: Piece) -> float:
        """The same for a whole piece."""
        bags = (
            (_OWN, bag_of(with_days(piece.unit.text), self._bare)),
            (_ABOVE, bag_of(f"{piece.unit.lead} {piece.heading} {' '.join(piece.unit.header)}", self._bare)),
            (_TITLE, bag_of(piece.passage.title, self._bare)),
        )
        weights = [self._weight(term) for term in self.terms]
        hits = (w * max(f * term.found_in(bag) for f, bag in bags) for term, w in zip(self.terms, weights, strict=True))
        return max(sum(hits) / (sum(weights) or 1.0), self._foreign(piece))

    def _weight(self, term: Term) -> float:
        """How rare a term is among the pieces; a name that none of them holds is somebody's, and tells nothing."""
        if term.stems not in self._known:
            weight = rarity([replace(term, weight=1.0)], self._bags)[0]
            if not any(term.found_in(bag) >= _HALF for bag in (*self._bags, *self._titles)):
                weight *= 0.0 if term.is_name and not term.concepts else _ABSENT
            self._known[term.stems] = weight
        return term.weight * self._known[term.stems]

    def _places(self, stated: Stated) -> tuple[tuple[float, Bag], ...]:
        piece = stated.piece
        return (
            (_OWN, bag_of(with_days(stated.segment), self._bare)),
            (_PIECE, bag_of(with_days(f"{piece.unit.text} {piece.unit.lead}"), self._bare)),
            (_ABOVE, bag_of(f"{piece.heading} {' '.join(piece.unit.header)}", self._bare)),
            (_TITLE, bag_of(piece.passage.title, self._bare)),
        )

    def ranked(
        self, stated: Iterable[Stated], given: Sequence[Quantity], terms: Sequence[Term] | None = None
    ) -> list[Weighed]:
        """The amounts that may be meant, the likeliest first; those whose conditions fail are left out."""
        found = [one for own in stated if (one := self._weighed(own, given, terms)) is not None]
        return sorted(found, key=lambda one: -one.score)

    def _weighed(self, stated: Stated, given: Sequence[Quantity], terms: Sequence[Term] | None) -> Weighed | None:
        held, is_open = list[Quantity](), False
        for condition in stated.conditions:
            judged = [(one, verdict) for one in given if (verdict := holds(condition, one)) is not None]
            judged = [pair for pair in judged if pair[0].kind == condition.unit] or judged
            if judged and not any(verdict for _, verdict in judged):
                return None
            held += [one for one, verdict in judged if verdict]
            is_open = is_open or not judged
        cover = self.cover(stated, terms)
        piece = stated.piece
        score = cover + (_HOLDS if held else 0.0) - (_OPEN if is_open and not held else 0.0)
        score -= _CONDITION * stated.is_condition + _EXAMPLE * piece.is_example + _RANK * min(piece.rank, 8)
        score += _QUOTED * piece.is_quoted + _AUTHORITY.get(piece.passage.authority, 0.0)
        score += self.label_bonus(stated) - _RANGE * stated.is_range - self._unsaid(stated)
        return Weighed(stated, score, cover, tuple(held))

    def label_bonus(self, stated: Stated) -> float:
        """A row whose label the question says word by word; the row of a total when a total is asked for."""
        if not stated.row:
            return 0.0
        label = stated.piece.unit.cells[0]
        parts = [" ".join(part.lower().split()) for part in _LABEL_PARTS.split(label) if part.strip()]
        text = f" {self.text} "
        said = [part for part in parts if len(part) > 1 and f" {part} " in text]
        bonus = max((0.08 + 0.04 * len(part.split()) for part in said), default=0.0)
        if _TOTAL_ROW.match(label):
            named = any(self._is_said(one.unit.cells[0]) for one in self._siblings(stated.piece) if one != stated.piece)
            bonus += -_TOTAL if named and not _TOTAL_ASKED.search(self.text) else _TOTAL
        if _REST.search(f"{label} {stated.column}"):
            bonus += self._rest_bonus(stated)
        bonus += _COLUMN * self._said_of(stated.column) + _COLUMN * self._is_said(stated.column)
        if _EMPLOYER.search(stated.column):
            bonus -= 0.0 if _EMPLOYER.search(self.text) else 0.06
        return bonus

    def _is_said(self, label: str) -> bool:
        """Whether the question says a label word by word."""
        plain = " ".join(re.findall(r"[^\s,;.?!()“”\"]+", label.lower()))
        return len(plain) > 2 and f" {plain} " in f" {self.text} "

    def _said_of(self, words: str) -> float:
        """Share of some words that the question says."""
        found = re.findall(r"[^\W\d_]+", words.lower())
        said = set(self.text.split())
        return sum(word in said for word in found) / len(found) if found else 0.0

    def _rest_bonus(self, stated: Stated) -> float:
        """“Other cities” are meant when none of the named ones is."""
        place = _REST.search(stated.column) is not None
        names = stated.piece.unit.header if place else [one.unit.cells[0] for one in self._siblings(stated.piece)]
        named = any(
            part.strip().lower() in self.text
            for name in names
            for part in _LABEL_PARTS.split(name)
            if len(part.strip()) > 2 and not _REST.search(name)
        )
        return -0.1 if named else 0.12

    def _siblings(self, piece: Piece) -> list[Piece]:
        return [
            one
            for one in self._pieces
            if one.passage.chunk_id == piece.passage.chunk_id and one.unit.block == piece.unit.block
        ]

    def _unsaid(self, stated: Stated) -> float:
        """Nights, holidays and the like are meant only when they are said."""
        return sum(_UNSAID for word in _SPECIAL if word.search(stated.segment) and not word.search(self.text))


_LABEL_PARTS = re.compile(r"\s*[,;/|]\s*|\s(?:và|and|hoặc|or|trở lên|and above)(?:\s|$)", re.IGNORECASE)
_TOTAL_ROW = re.compile(r"^\W*(?:cộng|tổng(?: cộng)?|total|sum)\b", re.IGNORECASE)
_TOTAL_ASKED = re.compile(r"tổng|cộng|tong|total|altogether|in all|cả thảy", re.IGNORECASE)
_REST = re.compile(r"\bkhác\b|còn lại|\bother\b|\brest of\b|remaining|elsewhere", re.IGNORECASE)
_EMPLOYER = re.compile(r"công ty|company|employer|doanh nghiệp", re.IGNORECASE)
_SPECIAL = (
    re.compile(r"ban đêm|ca đêm|\bdem\b|at night|\bnight (?:shift|work)", re.IGNORECASE),
    re.compile(r"ngày lễ|\bTết\b|\ble\b|\btet\b|holiday", re.IGNORECASE),
    re.compile(r"thử việc|thu viec|probation", re.IGNORECASE),
    re.compile(r"bán thời gian|part-time|part time", re.IGNORECASE),
    re.compile(r"báo trước|bao truoc|notice|in advance|\bahead\b", re.IGNORECASE),
    re.compile(r"thực tập|intern\b", re.IGNORECASE),
)
"""Cases of their own; the rule for everybody is meant where they are not named."""


def holds(condition: Range, quantity: Quantity) -> bool | None:
    """Whether a quantity meets a condition; None when the condition is about something else."""
    amount = Amount(quantity.value, quantity.kind, quantity.text, quantity.start, quantity.end)
    kind = "money" if condition.unit in ("VND", "GBP", "USD", "EUR", "CAD") else condition.unit
    if not kind:
        return None
    if kind == quantity.kind or (kind in _NIGHTS and quantity.kind in _NIGHTS):
        return condition.holds(amount)
    if kind in _SCALES and quantity.kind in _SCALES:
        return condition.holds(replace(amount, value=quantity.value * _SCALES[quantity.kind] / _SCALES[kind]))
    return None
