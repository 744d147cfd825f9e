"""Figures a text tells in passing: a budget and what was spent of it, departure and arrival, so many at so much."""

import re
from collections.abc import Iterator

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.durations import durations
from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.statements import Stated, stated_in
from app.reasoning.local.number_words import spelt_numbers
from app.reasoning.local.numbers import plain

_FUND = re.compile(
    r"budget|approved|allocated|granted|ngân sách|được duyệt|phê duyệt|cấp|kinh phí|tổng số|ban đầu|deposit|available",
    re.IGNORECASE,
)
_OUT = re.compile(
    r"spent|paid|used|invoice|cost|still open|outstanding|đã chi|chi|hóa đơn|thanh toán|đã dùng|"
    r"mua|ứng|còn nợ|chưa trả",
    re.IGNORECASE,
)
_OPEN = re.compile(r"open|outstanding|unpaid|due|chưa (?:trả|thanh toán)|còn nợ|sẽ", re.IGNORECASE)
_TOO = Saying(
    "open",
    "outstanding",
    "unpaid",
    "too",
    "also",
    "invoices?",
    "cả",
    "cũng",
    "chưa thanh toán",
    "hóa đơn",
    "sau khi (?:trả|thanh toán)",
)
_EACH = re.compile(
    r"^\s*(?:[^\W\d]+\s){0,2}(?:each|apiece|mỗi|một)(?:\s+[^\W\d]+)?|(?:mỗi|each)\s+[^\d.;,]{0,30}$", re.IGNORECASE
)
_SMALL: dict[str, int] = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "hai": 2,
    "ba": 3, "bốn": 4,
    "năm": 5, "sáu": 6, "bảy": 7, "tám": 8, "chín": 9, "mười": 10,
}  # fmt: skip
_LEAST = 0.2


def narrative_derivations(case: Case) -> Iterator[Derivation]:
    """What a text tells, put together."""
    yield from _balance(case)
    yield from durations(case)
    yield from _times_told(case)
    yield from _out_of(case)


def _paragraphs(case: Case) -> list[list[Piece]]:
    """Pieces that stand together, the most relevant first."""
    groups: dict[object, list[Piece]] = {}
    for piece in case.pieces:
        groups.setdefault((piece.passage.chunk_id, piece.unit.block), []).append(piece)
    scored = sorted(groups.values(), key=lambda group: -max(case.scales.cover_of_piece(piece) for piece in group))
    return scored[:3]


def _balance(case: Case) -> Iterator[Derivation]:
    """What was approved, less what was spent and what is still open."""
    if case.inquiry.operation != "left" or case.inquiry.wanted not in ("money", "count", "text", ""):
        return
    for group in _paragraphs(case):
        money = [one for piece in group for one in stated_in(piece) if one.kind == "money"]
        funds = [one for one in money if _FUND.search(_near(one)) and not _OUT.search(_near(one))]
        outs = [one for one in money if one not in funds and _OUT.search(_near(one))]
        if case.inquiry.text not in _TOO:
            outs = [one for one in outs if not _OPEN.search(one.segment)]
        if len(funds) != 1 or not outs:
            continue
        cover = max(case.scales.cover_of_piece(piece) for piece in group)
        expression = " - ".join([plain(funds[0].value), *(_times(one) for one in outs)])
        value = evaluated(expression)
        if value is None or cover < _LEAST:
            continue
        yield Derivation(
            route="left",
            score=cover + 0.4,
            expression=expression,
            unit=funds[0].unit,
            value=value,
            rules=(funds[0], *outs),
        )


def _near(one: Stated) -> str:
    return one.segment


def _times(one: Stated) -> str:
    """“two invoices of 4,800 pounds each” is twice as much."""
    text = one.piece.unit.text
    if not _EACH.match(text[one.end :]) and not _EACH.search(text[: one.start][-40:]):
        return plain(one.value)
    count = _count_before(text[: one.start])
    return f"{count} * {plain(one.value)}" if count > 1 else plain(one.value)


def _count_before(before: str) -> int:
    """The last small number before an amount."""
    for word in reversed(re.findall(r"\d+|[^\W\d_]+", before)[-7:]):
        if word.isdigit():
            return int(word)
        if word.lower() in _SMALL:
            return _SMALL[word.lower()]
    return 1


def _times_told(case: Case) -> Iterator[Derivation]:
    """“4 chặng, mỗi chặng 140.000 đồng”, “1 đêm, giá 650.000 đồng”: how many times how much, told in one sentence."""
    wanted = case.inquiry.wanted
    if wanted not in ("money", "hour", "minute", "day"):
        return
    told: list[tuple[float, Stated, str]] = []
    for piece in case.pieces:
        money = [one for one in stated_in(piece) if one.kind == wanted]
        if len(money) != 1 or piece.unit.kind == "row" or piece.passage.authority != "attachment":
            continue
        before = piece.unit.text[: money[0].start]
        count = _told_count(before)
        value = _with_minutes(money[0]) if wanted == "hour" else plain(money[0].value)
        is_each = _EACH_BEFORE.search(before) or _EACH.match(piece.unit.text[money[0].end :])
        if count and is_each:
            told.append((case.scales.cover_of_piece(piece), money[0], f"{count} * {value}"))
    asked = [one for one in sorted(told, key=lambda one: -one[0]) if one[0] >= _LEAST]
    if not asked:
        return
    best = asked[0]
    yield Derivation(
        route="sum",
        score=best[0] + 0.3,
        expression=best[2],
        unit=best[1].unit,
        value=evaluated(best[2]),
        rules=(best[1],),
    )
    if case.inquiry.operation == "total" and len(asked) > 1:
        expression = " + ".join(one[2] for one in asked[:3])
        mean = sum(one[0] for one in asked[:3]) / len(asked[:3])
        rules = tuple(one[1] for one in asked[:3])
        yield Derivation(
            route="total",
            score=mean + 0.4,
            expression=expression,
            unit=best[1].unit,
            value=evaluated(expression),
            rules=rules,
        )


def times_told(one: Stated) -> str:
    """An amount of an attached file as often as its sentence says: “4 chặng, mỗi chặng 140.000 đồng”."""
    text = one.piece.unit.text
    before = text[: one.start]
    is_each = _EACH_BEFORE.search(before) or _EACH.match(text[one.end :])
    count = _told_count(before) if one.piece.passage.authority == "attachment" and is_each else 0
    return f"{count} * {plain(one.value)}" if count > 1 else plain(one.value)


_EACH_BEFORE = re.compile(r"(?:mỗi|each|giá|per)\s[^\d.;]{0,25}$", re.IGNORECASE)


_MINUTES = re.compile(r"^\s*(?:và\s|and\s)?(?P<m>\d+)\s*(?:phút|minutes?|mins?)", re.IGNORECASE)


def _with_minutes(hours: Stated) -> str:
    """“2 giờ 30 phút” in hours."""
    mark = _MINUTES.match(hours.piece.unit.text[hours.end :])
    return f"({plain(hours.value)} * 60 + {mark['m']}) / 60" if mark else plain(hours.value)


def _told_count(before: str) -> int:
    words = re.findall(r"\d+(?![\d/:.%])(?!\s?%)|[^\W\d_]+", before)
    for word in reversed(words[-6:]):
        if word.isdigit():
            return int(word)
        if word.lower() in _SMALL:
            return _SMALL[word.lower()]
    return 0


_OUT_OF = re.compile(
    r"(?P<part>\d+|[^\W\d_]+)\s+(?:of|out of|trong(?: số| tổng số)?|trên tổng số|/)\s+(?:the\s+|"
    r"all\s+)?(?P<whole>\d+|[^\W\d_]+(?:[- ][^\W\d_]+)?)\s",
    re.IGNORECASE,
)
_NOT_YET = Saying(
    "not",
    "yet to",
    "haven't",
    "hasn't",
    "have not",
    "without",
    "chưa",
    "không",
    "còn lại",
    "remaining",
    "left",
    "still",
)


def _out_of(case: Case) -> Iterator[Derivation]:
    """“Nine of the fifteen staff have passed”: how many have, and how many have not."""
    if case.inquiry.wanted not in ("count", "person", "%", ""):
        return
    for piece in case.pieces:
        for mark in _OUT_OF.finditer(piece.unit.text):
            part, whole = (
                _read(mark["part"], piece),
                _read(mark["whole"], piece) or _read(mark["whole"].split()[0], piece),
            )
            cover = case.scales.cover_of_piece(piece)
            if part is None or whole is None or part > whole or cover < _LEAST:
                continue
            rest = case.inquiry.text in _NOT_YET and piece.unit.text not in _NOT_YET
            expression = (
                f"{whole} - {part}" if rest else f"{part} * 100 / {whole}" if case.inquiry.wanted == "%" else f"{part}"
            )
            yield Derivation(
                route="sum",
                score=cover + 0.35,
                expression=expression,
                unit="%" if case.inquiry.wanted == "%" else "",
                value=evaluated(expression),
                pieces=(piece,),
            )


def _read(word: str, piece: Piece) -> int | None:
    if word.isdigit():
        return int(word)
    found = spelt_numbers(word, piece.language)
    return int(found[0].written) if len(found) == 1 and found[0].written.isdigit() and found[0].start == 0 else None
