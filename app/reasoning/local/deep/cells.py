"""Answers that are words: who approves, which class, how many offers; a cell of a table, or a name in a sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.derived import Derived, combined
from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.statements import stated_in
from app.reasoning.local.deep.weighing import Scales, holds
from app.reasoning.local.numbers import Range, ranges_in
from app.reasoning.local.terms import bag_of, coverage, terms_of

_WHO = Saying(
    "ai",
    "người nào",
    "cấp nào",
    "bộ phận nào",
    "phòng (?:ban )?nào",
    "who",
    "whose",
    "which (?:person|department|team|role)",
    "đơn vị nào",
)
_WHO_COLUMN = re.compile(
    r"duyệt|người|cấp|thẩm quyền|approv|who|owner|phụ trách|thực hiện|decides|lead|trực", re.IGNORECASE
)
_APPROVE = re.compile(r"duyệt|approv|phê chuẩn|ký", re.IGNORECASE)
_HOLDS, _TABLE, _OPEN = 0.35, 0.15, 0.15


@dataclass(frozen=True, slots=True)
class _Row:
    piece: Piece
    score: float
    held: tuple[Quantity, ...]
    through: Derived | None = None


def cell_derivations(case: Case) -> Iterator[Derivation]:
    """The cell a question asks for: its row by what holds and is named, its column by what is asked."""
    inquiry = case.inquiry
    derived = combined(inquiry.text, inquiry.quantities)
    rows = [
        row
        for piece in case.pieces
        if piece.unit.kind == "row" and piece.unit.header
        for row in _rows(case, piece, derived)
    ]
    for row in sorted(rows, key=lambda one: -one.score)[:4]:
        yield from _cells(case, row)


def _rows(case: Case, piece: Piece, derived: Sequence[Derived]) -> Iterator[_Row]:
    """A row that holds for what is given, first for what is derived of it."""
    conditions = conditions_of(piece)
    cover = case.scales.cover_of_piece(piece)
    for through in derived or (None,):
        given = (
            (through.quantity, *(q for q in case.inquiry.quantities if q not in through.sources))
            if through
            else case.inquiry.quantities
        )
        judged = _judged(conditions, given)
        if any(not any(v for c, _, v in judged if c == condition) for condition in {c for c, _, _ in judged}):
            continue
        held = tuple(one for _, one, verdict in judged if verdict)
        if through and through.quantity not in held:
            continue
        score = cover + _HOLDS * bool(held) + 0.1 * (through is not None) - _OPEN * (bool(conditions) and not held)
        score += 0.1 * any(one.low is not None and one.high is not None for one in conditions)
        score += 0.3 * (through is not None and _adds_up(case, piece))
        yield _Row(piece, score + 0.05 * piece.is_quoted - 0.3 * piece.is_example, held, through)


def _judged(conditions: Sequence[Range], given: Sequence[Quantity]) -> list[tuple[Range, Quantity, bool]]:
    """What is given against each condition; in its own unit where something is given in it."""
    found = []
    for condition in conditions:
        verdicts = [(condition, one, verdict) for one in given if (verdict := holds(condition, one)) is not None]
        found += [one for one in verdicts if one[1].kind == condition.unit] or verdicts
    return found


_ADDS_UP = re.compile(
    r"whole term|added (?:up|together)|total value|cộng lại|cộng dồn|tổng giá trị|combined", re.IGNORECASE
)


def _adds_up(case: Case, piece: Piece) -> bool:
    """Whether the document says that values are put together before they are judged."""
    own = piece.passage.document_id
    return any(_ADDS_UP.search(one.unit.text) for one in case.pieces if one.passage.document_id == own)


def conditions_of(piece: Piece) -> tuple[Range, ...]:
    """When a row holds: the ranges of its first cell; a limit (“đến 20 triệu”) is one here."""
    found: list[Range] = []
    for one in stated_in(piece):
        found += [condition for condition in one.conditions if condition not in found]
    first = piece.unit.cells[0] if piece.unit.cells else ""
    own = [one for one in ranges_in(first, piece.language) if one not in found]
    return tuple(found) if found else tuple(own)


def _cells(case: Case, row: _Row) -> Iterator[Derivation]:
    header, cells = row.piece.unit.header, row.piece.unit.cells
    is_who = case.inquiry.text in _WHO
    for at in range(1, min(len(header), len(cells))):
        named = _named(case, header[at], row.piece)
        is_fitting = is_who and bool(_WHO_COLUMN.search(header[at]))
        if not (named or is_fitting) or not cells[at] or (is_who and not is_fitting and not named):
            continue
        sources = row.through.sources if row.through else row.held
        yield Derivation(
            route="text",
            score=row.score
            + _TABLE * named
            + 0.2 * is_fitting
            + 0.1 * (is_who and bool(_APPROVE.search(header[at])) == bool(_APPROVE.search(case.inquiry.text))),
            label=cells[at],
            expression=row.through.expression if row.through else "",
            unit=row.through.quantity.unit if row.through else "",
            pieces=(row.piece,),
            given=sources,
            notes=(f"{cells[0]} → {cells[at]}",),
        )


def _named(case: Case, header: str, piece: Piece) -> float:
    """Share of a column's name that the question says."""
    terms = terms_of(header)
    return (
        coverage(terms, [term.weight for term in terms], bag_of(case.inquiry.text, case.inquiry.is_bare))
        if terms
        else 0.0
    )


_NAME = re.compile(r"(?:[A-ZĐÀ-Ỹ][\w’'-]+)(?:\s(?:[A-ZĐÀ-Ỹ][\w’'-]+))*")
_TITLES = re.compile(r"(?:Trưởng|Giám đốc|Phó|Tổng giám đốc|Ban|Phòng|Khối|Hội đồng)[^,.;:()|\n]{0,30}")
_ORGANISATION = re.compile(
    r"^(?:Trưởng|Giám đốc|Phó|Tổng|Ban|Phòng|Khối|Hội đồng|Công ty|Ngày|Người|Lịch|The|A|Ms|Mr|Mrs|Ông|Bà)\b",
    re.IGNORECASE,
)


def name_derivations(case: Case) -> Iterator[Derivation]:
    """A name in the sentence that says most of what is asked about."""
    inquiry = case.inquiry
    if inquiry.wanted != "text":
        return
    ranked = sorted(((case.scales.cover_of_piece(piece), piece) for piece in case.pieces), key=lambda pair: -pair[0])
    is_who = inquiry.text in _WHO
    for cover, piece in ranked[:3]:
        if cover < 0.35:
            continue
        names = _names_in(piece.unit.text, inquiry.text) if is_who else []
        if names:
            nearest = _nearest(case.scales, piece.unit.text, names)
            yield Derivation(route="text", score=cover + 0.1 * piece.is_quoted, label=nearest, pieces=(piece,))
        elif not is_who and len(piece.unit.text) < 160:
            yield Derivation(route="text", score=cover - 0.15, label=piece.unit.text.strip(" .|"), pieces=(piece,))


def _names_in(text: str, question: str) -> list[str]:
    personal = [mark[0] for mark in _NAME.finditer(text) if " " in mark[0] and not _ORGANISATION.match(mark[0])]
    if personal and not _APPROVE.search(question):
        return [name for name in personal if name.lower() not in question.lower()]
    found = [mark[0].strip() for mark in _TITLES.finditer(text)] or [
        mark[0] for mark in _NAME.finditer(text) if mark.start() or " " in mark[0]
    ]
    return [name for name in found if name.lower() not in question.lower()]


def _nearest(scales: Scales, text: str, names: Sequence[str]) -> str:
    """The name that stands nearest to the words that are asked about."""
    places = [text.lower().find(word) for term in scales.terms for word in term.text.split() if len(word) > 2]
    known = [place for place in places if place >= 0]
    if not known:
        return names[0]
    return min(names, key=lambda name: min(abs(text.find(name) - place) for place in known))
