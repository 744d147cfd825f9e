"""Amounts that passages state, each with what it is for: per what, from which one on, for whom, up to where."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from app.domain.knowledge import Language
from app.reasoning.local.deep.columns import cell_conditions, with_unit
from app.reasoning.local.deep.per import counted_from, free_before, per_many, per_of, unit_of_word
from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.quantities import kind_of_unit, tight
from app.reasoning.local.numbers import Amount, Range, amounts_in, plain, ranges_in

_SEPARATOR = re.compile(r";\s+|,\s+(?!\d)|\s+(?:và|hoặc|and|or|then|sau đó)\s+|\.\s+|\s–\s|:\s")
_CONDITION = re.compile(
    r"(?:từ đủ|từ|trên|hơn|quá|dưới|chưa đến|chưa đủ|đủ|over|above|more than|exceeding|exceeds|from|"
    r"under|below|less than|"
    r"fewer than|after|sau khi|before|within the first|every|cứ|cứ đủ|each|of|kể từ|completed|last|aged?|first)\s*"
    r"[£$€]?$",
    re.IGNORECASE,
)
_NOT_CONDITION = re.compile(r"(?:không quá|no more than|not more than|không dưới|tăng từ|giảm từ)\s*$", re.IGNORECASE)
_MAXIMUM = re.compile(
    r"(?:tối đa|không quá|không vượt quá|đến|tới|mức trần|trần|giới hạn|up to|at most|no more than|"
    r"not more than|maximum(?: of)?|"
    r"not exceed(?:ing)?|capped at|limit(?:ed)? (?:to|of|is)|limit is|hạn mức)(?:\s(?:là|của|is|of|mức|"
    r"bằng|mỗi người))*\s*[£$€]?$",
    re.IGNORECASE,
)
_MINIMUM = re.compile(
    r"(?:ít nhất|tối thiểu|at least|not less than|minimum(?: of)?|không dưới)(?:\s(?:là))*\s*[£$€]?$", re.I
)
_PENCE = re.compile(r"(?<![\w.,])(\d{1,3})p(?![\w])")
_UPWARDS = re.compile(r"^\s*(?:trở lên|or more|or over|or longer|and (?:above|over|more))", re.IGNORECASE)
_HALF_OF = re.compile(r"\b(?:nửa|half (?:a|an|of)|half)\s+(?:a\s+)?(?P<unit>tháng|ngày|month|day)", re.IGNORECASE)
_TIMES = re.compile(
    r"(?<![\w.,])(?P<n>\d+(?:[.,]\d+)?)\s*(?:times|lần)\s+(?P<base>(?:the |lương |mức |giá |tiền )[^.;|]{2,40})", re.I
)


@dataclass(frozen=True, slots=True)
class Stated:
    """One amount."""

    value: Decimal
    kind: str
    unit: str
    text: str
    piece: Piece
    segment: str
    """The part of the piece that is about it; of a row its label and column."""
    row: str = ""
    column: str = ""
    per: str = ""
    """The unit or noun it is paid, charged or given for; empty when it is given once."""
    per_count: Decimal = Decimal(1)
    """How many of them it is for: 1000 in “£18 per 1,000 km”."""
    first: int = 0
    """The first one that counts, from 1; 0 = every."""
    free: Decimal = Decimal(0)
    """How much does not count."""
    bound: str = ""
    """``max`` or ``min``."""
    conditions: tuple[Range, ...] = ()
    is_condition: bool = False
    """It says when something holds, not what is given."""
    base: str = ""
    """What a share or a multiple is of."""
    is_working: bool = False
    is_range: bool = False
    """One end of “5% đến 7%”: no single value."""
    start: int = 0
    """In its piece."""
    end: int = 0
    is_multiple: bool = False
    """A share written as “so many times”."""

    @property
    def factor(self) -> str:
        """A share as a calculator takes it: ``90 / 100``; ``1.5`` of “1.5 times”."""
        if self.is_multiple:
            return plain(self.value / 100)
        return f"{plain(self.value)} / 100"


@lru_cache(maxsize=4096)
def stated_in(piece: Piece) -> tuple[Stated, ...]:
    """The amounts of a piece in order."""
    found = _of_row(piece) if piece.unit.kind == "row" and piece.unit.header else _of_sentence(piece)
    return tuple(found)


def _of_sentence(piece: Piece) -> Iterator[Stated]:
    text = piece.unit.text
    amounts = list(_amounts(text, piece.language))
    for start, end in _segments(text, amounts):
        own = [one for one in amounts if start <= one.start < end]
        segment = text[start:end]
        conditions = tuple(ranges_in(_without_bounds(segment), piece.language))
        for amount in own:
            yield _stated(piece, text, segment, amount, conditions)
    for mark in _HALF_OF.finditer(text):
        unit = unit_of_word(mark["unit"])
        yield Stated(
            Decimal("0.5"),
            unit,
            unit,
            mark[0],
            piece,
            text,
            base=_base(text[mark.end() :]),
            per=per_of(text, mark.start(), mark.end()),
            start=mark.start(),
            end=mark.end(),
        )
    yield from _multiples(piece, text)


def _multiples(piece: Piece, text: str, column: str = "", row: str = "") -> Iterator[Stated]:
    """“1.5 times the hourly rate” as a share of it."""
    for mark in _TIMES.finditer(text):
        value = Decimal(mark["n"].replace(",", ".")) * 100
        yield Stated(
            value,
            "%",
            "%",
            mark[0],
            piece,
            f"{row} {column} {text}",
            row=row,
            column=column,
            base=mark["base"],
            start=mark.start(),
            end=mark.end(),
            is_multiple=True,
        )


def _stated(piece: Piece, text: str, segment: str, amount: Amount, conditions: tuple[Range, ...]) -> Stated:
    before, behind = text[: amount.start], text[amount.end :]
    kind = kind_of_unit(amount.unit)
    if kind == "day" and re.search(r"đêm|night", amount.text, re.IGNORECASE):
        kind = "night"
    many = per_many(behind)
    is_min, is_max = bool(_MINIMUM.search(before)), bool(_MAXIMUM.search(before)) and not _is_range_end(before, amount)
    is_condition = (
        not is_min
        and not is_max
        and not _NOT_CONDITION.search(before)
        and (bool(_CONDITION.search(before)) or bool(_UPWARDS.match(behind)) or bool(_is_range_end(before, amount)))
    )
    return Stated(
        value=amount.value,
        kind=kind,
        unit=amount.unit,
        text=amount.text,
        piece=piece,
        segment=segment,
        per=many[0] or per_of(text, amount.start, amount.end),
        per_count=many[1],
        first=counted_from(text, kind),
        free=free_before(text),
        bound="min" if is_min else "max" if is_max else "",
        conditions=tuple(one for one in conditions if amount.value not in (one.low, one.high)),
        is_condition=is_condition,
        base=_base(behind),
        is_working=bool(re.search(r"làm việc|working|business", f"{amount.text} {behind[:10]}", re.IGNORECASE)),
        is_range=bool(_RANGE_BEFORE.search(before) or _RANGE_BEHIND.match(behind)),
        start=amount.start,
        end=amount.end,
    )


_RANGE_BEFORE = re.compile(r"\d[\d.,]*\s?(?:%|[^\W\d]+)?\s*(?:đến|–|-|to)\s*[£$]?$", re.IGNORECASE)
_RANGE_BEHIND = re.compile(r"^\s*(?:đến|–|-|to)\s*[£$]?\d", re.IGNORECASE)


def _is_range_end(before: str, amount: Amount) -> bool:
    """``từ 5 đến 10``: the second of two."""
    return bool(
        re.search(
            r"(?:từ|from|giữa|between)\s[^,;.]{0,24}\d[^,;.]{0,24}(?:đến|to|và|and)(?: dưới)?\s*[£$€]?$", before, re.I
        )
    )


def _without_bounds(segment: str) -> str:
    """Upper and lower bounds are values, not conditions."""
    return re.sub(
        r"\b(?:tối đa|không quá|up to|at most|ít nhất|at least|no more than|not more than)\s", "~ ", segment, flags=re.I
    )


def _base(behind: str) -> str:
    """What a share is of: the words behind it, up to the end of the part."""
    return re.split(
        r"[.;,|()]|\s(?:và|and|nếu|if|khi|when|cho|for|trong|per|mỗi|by|with)\s", behind.strip(), maxsplit=1
    )[0][:60].strip()


def _amounts(text: str, language: Language) -> Iterator[Amount]:
    for one in (tight(text, amount) for amount in amounts_in(text, language)):
        if not one.unit and _PENCE.match(text, one.start):
            yield replace(one, value=one.value / 100, unit="GBP", text=f"{one.text}p", end=one.end + 1)
        else:
            yield one
    for mark in _PENCE.finditer(text):
        if not any(one.start <= mark.start() < one.end for one in amounts_in(text, language)):
            yield Amount(Decimal(mark[1]) / 100, "GBP", mark[0], mark.start(), mark.end())


def _segments(text: str, amounts: Sequence[Amount]) -> list[tuple[int, int]]:
    """The parts of a text, each with an amount; a part without one belongs to the next, the last to the one before."""
    cuts = [0, *(mark.end() for mark in _SEPARATOR.finditer(text) if not _is_inside(mark, amounts)), len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for first, last in pairwise(cuts):
        if any(first <= one.start < last for one in amounts):
            spans.append((start, last))
            start = last
    if not spans:
        return [(0, len(text))]
    if start < len(text):
        spans[-1] = (spans[-1][0], len(text))
    return [
        _without_lead(span, spans[at + 1] if at + 1 < len(spans) else None, amounts) for at, span in enumerate(spans)
    ]


def _without_lead(
    span: tuple[int, int], following: tuple[int, int] | None, amounts: Sequence[Amount]
) -> tuple[int, int]:
    """“khách trả 10.000 đồng với xe máy và 35.000 đồng với ô tô”: what leads to the first is common to both."""
    own = [one.start for one in amounts if span[0] <= one.start < span[1] and not one.text[:1].isalpha()]
    is_parallel = following is not None and any(abs(one.start - following[0]) <= 1 for one in amounts)
    return (own[-1], span[1]) if is_parallel and len(own) == 1 else span


def _is_inside(mark: re.Match[str], amounts: Sequence[Amount]) -> bool:
    return any(one.start < mark.start() < one.end for one in amounts)


def _of_row(piece: Piece) -> Iterator[Stated]:
    cells, header = piece.unit.cells, piece.unit.header
    conditions = [
        cell_conditions(cell, header[at] if at < len(header) else "", piece, is_label=at == 0)
        for at, cell in enumerate(cells)
    ]
    beside = next((unit for column in header if (unit := per_of(column, len(column), len(column)))), "")
    row = " ".join(cell for at, cell in enumerate(cells) if at == 0 or not any(map(str.isdigit, cell)))
    label = cells[0] if cells else ""
    for at, cell in enumerate(cells):
        column = header[at] if at < len(header) else ""
        if at == 0:
            continue
        others = tuple(one for place, found in enumerate(conditions) if place != at for one in found)
        segment = f"{label} | {column} | {cell}"
        found = list(_amounts(cell, piece.language))
        for amount in found:
            one = _stated(piece, cell, segment, with_unit(amount, column), ())
            per = one.per or per_of(column, len(column), len(column)) or _per_in_lead(piece) or _per_in_label(label)
            per = per or (beside if one.kind == "money" and _PAYS.search(column) else "")
            is_condition = one.is_condition and len(cells) > 2 and bool(conditions[at]) and at + 1 < len(cells)
            yield replace(one, row=row, column=column, segment=segment, conditions=others, per=per,
            is_condition=is_condition,
                          bound=one.bound or _bound_of(f"{column} {piece.unit.lead}"),
                          base=one.base or column)  # fmt: skip
        yield from (replace(one, conditions=others) for one in _multiples(piece, cell, column, label))


_PAYS = re.compile(r"\btrả\b|\bpays?\b", re.IGNORECASE)
"""“Nhân viên trả” beside “Phí một tháng” is paid a month too."""


def _per_in_lead(piece: Piece) -> str:
    return per_of(piece.unit.lead, len(piece.unit.lead), len(piece.unit.lead)) if piece.unit.lead else ""


def _per_in_label(label: str) -> str:
    """“Standby, full week” is paid for a week."""
    mark = re.search(r"(?:full|whole|each|per|every|mỗi|một|trọn|cả)\s(?P<unit>[^\W\d]+)\s*$", label, re.IGNORECASE)
    unit = unit_of_word(mark["unit"]) if mark else ""
    return unit if unit in ("week", "day", "night", "month", "year", "hour", "time") else ""


def _bound_of(words: str) -> str:
    if re.search(r"tối đa|mức trần|hạn mức|maximum|highest|limit|ceiling", words, re.IGNORECASE):
        return "max"
    return "min" if re.search(r"tối thiểu|ít nhất|minimum|at least", words, re.IGNORECASE) else ""
