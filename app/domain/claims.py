"""Claims that can be compared: what a sentence says in amounts, and what of.

Two claims contradict each other when they speak of the same thing and give amounts of the same unit that have no value
in common ("12 ngày phép năm" against "14 ngày phép năm"). Answers compare the claims of their quotes, the health report
those of neighbouring passages. Both read and exclude here; how sure they must be of "the same thing" is theirs: quotes
answer one question already, passages only lie near one another.
"""

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import NamedTuple

from app.domain.amounts import DATE, DAY_OF_YEAR, UNIT_WORDS, Amount, amounts_in
from app.domain.language import content_words, fold

Weight = Callable[[str], float]
"""How much a folded word tells of what is spoken about, above 0: a rare word more than one of every document."""

_LETTERS, _HEADINGS = 8_000, 500
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE_END = re.compile(r"[,:](?=\s)|\s[–-]\s|[()]")
_CLAUSE_WORDS, _BORROWED = 3, 4
"""A clause with fewer content words borrows from those before it, then from those after it: as many as the second."""
_CLAUSES = 8
"""Looked at in one sentence; more stand only in long lists."""
_TABLE_RULE = frozenset("|:- \t")
_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_ADDRESS = re.compile(r"https?://\S+|[^\s@]{1,64}@\S+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CASE = re.compile(r"[=×]|\bví dụ\b|\bfor example\b|\bexample:|\be\.g\.", re.IGNORECASE)
"""An example or a calculation: what follows on the line holds for that case only."""
_OF_THE_DOCUMENT = re.compile(
    r"ban hành|hiệu lực|áp dụng từ|cập nhật|quyết định số|effective|takes? effect|in force|appl(?:y|ies) from|issued"
    r"|updated|published|version",
    re.IGNORECASE,
)
"""Dates beside these words are the document's own."""
_BOUNDS = {
    "least": re.compile(r"ít nhất|tối thiểu|trở lên|at least|minimum|no less|or more", re.IGNORECASE),
    "most": re.compile(
        r"tối đa|không quá|không vượt|chậm nhất|trong vòng|up to|at most|no more|maximum|within|no later", re.IGNORECASE
    ),
}
_PERIOD = r"(ngày|tuần|tháng|quý|năm|giờ|lần|người|day|week|month|quarter|year|annum|hour|person|night|time)\b"
_RATE = re.compile(
    rf"\s?/\s?{_PERIOD}"
    rf"|(?:\s[^\W\d_]+){{0,2}}\s(?:mỗi|một|hằng|hàng|per|an?|each|every)(?:\scalendar)?\s{_PERIOD}",
    re.IGNORECASE,
)
_WORKING_TIME = re.compile(r"\slàm việc\b", re.IGNORECASE)
_BESIDE = 3
"""Content words on either side of an amount."""
_HALF_SURE = 6.0
"""Weight of shared words at which likeness reaches half of what it can: two or three rare words."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The amounts of one unit in one sentence, or in one cell of a table."""

    sentence: str
    """As people read it; a table row becomes ``Dưới 3 năm: 14 ngày``."""
    amounts: tuple[str, ...]
    """As written: ``14 ngày``."""
    unit: str
    values: frozenset[Decimal]
    clause: str
    """The part of the sentence the amounts stand in."""
    beside: frozenset[str]
    """Folded content words next to the amounts."""
    surroundings: str
    """The sentence with what it stands under: question, lead line, table head, section."""
    conditions: dict[str, frozenset[Decimal]]
    """Other amounts of the sentence by unit: the case it holds for, perhaps."""
    bounds: frozenset[str]
    """``least``, ``most``: which side the sentence limits."""
    rates: frozenset[str]
    """For what the amounts are given: ``day`` in “350.000 đồng một ngày”."""
    years: frozenset[str]
    """Years the sentence names."""
    is_working_time: bool
    """Whether working days are meant, not days of the calendar."""

    @property
    def subject(self) -> frozenset[str]:
        """Folded content words of the sentence and what it stands under, without the unit's own."""
        return subject_words(self.surroundings, self.unit)

    def excludes(self, other: "Claim") -> bool:
        """Whether both cannot hold if they speak of one thing: no value in common in the same unit, rate and case."""
        if self.unit != other.unit or self._stated & other.values or other._stated & self.values:
            return False
        units = self.conditions.keys() & other.conditions.keys()
        if any(self.conditions[unit] != other.conditions[unit] for unit in units):
            return False
        pairs = ((self.bounds, other.bounds), (self.rates, other.rates), (self.years, other.years))
        return all(not mine or not theirs or mine & theirs for mine, theirs in pairs)

    @property
    def _stated(self) -> frozenset[Decimal]:
        return self.values | self.conditions.get(self.unit, frozenset())


class _Sentence(NamedTuple):
    text: str
    context: str
    parts: tuple[str, ...]
    """What claims are read from: the sentence, or the cells of a table row."""
    label: str = ""
    """The first cell of a row, which says what the row is about."""


def claims_in(text: str, section: str = "") -> list[Claim]:
    """Every amount `text` states, by sentence and unit; examples, calculations and the document's own dates apart.

    Of a text longer than any passage only the beginning is read.
    """
    return [claim for sentence in _sentences(text[:_LETTERS]) for claim in _claims(sentence, section[:_HEADINGS])]


def subject_words(text: str, unit: str = "") -> frozenset[str]:
    """Folded content words of `text` without addresses, bare numbers and the words of `unit`."""
    words = {fold(word) for word in content_words(_ADDRESS.sub(" ", text))}
    return frozenset(word for word in words if not word.isdigit() and UNIT_WORDS.get(word, "-") != unit)


def likeness(one: Set[str], other: Set[str], weight: Weight) -> float:
    """How far two sets of words name the same thing, 0–1: shared weight against both and against the smaller one,
    damped where little is shared."""
    shared, mine, theirs = (sum(map(weight, words)) for words in (one & other, one, other))
    if not shared:
        return 0.0
    return (shared / (mine + theirs) + shared / (2 * min(mine, theirs))) * shared / (shared + _HALF_SURE)


def _sentences(text: str) -> Iterator[_Sentence]:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    lead, head = "", tuple[str, ...]()
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        if not line.startswith("|"):
            head = ()
            yield from _prose(line, lead)
            lead = _lead(line, lead)
        elif _is_rule(following):
            head = _cells(line)
        elif not _is_rule(line):
            yield from _row(_cells(line), " ".join((lead, *head)))


def _is_rule(line: str) -> bool:
    """The line of dashes below the head of a table."""
    return "-" in line and _TABLE_RULE.issuperset(line)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def _row(cells: tuple[str, ...], context: str) -> Iterator[_Sentence]:
    shown = ": ".join(filter(None, cells))
    if not _CASE.search(shown):
        yield _Sentence(shown, context, cells[1:] or cells, cells[0] if cells[1:] else "")


def _prose(line: str, lead: str) -> Iterator[_Sentence]:
    for piece in _SENTENCE_END.split(_without_mark(line)):
        if _CASE.search(piece):
            return
        yield _Sentence(piece, lead, (piece,))
        lead = piece if piece.endswith("?") else lead


def _lead(line: str, lead: str) -> str:
    """What the lines after `line` stand under: a question, a line with a colon, a heading; items change nothing."""
    last = _SENTENCE_END.split(line)[-1]
    if _ITEM.match(line):
        return lead
    is_heading = last == line and line[-1].isalnum()
    return last if last.endswith((":", "?")) or is_heading else ""


def _without_mark(line: str) -> str:
    mark = _ITEM.match(line)
    return line[mark.end() :] if mark else line


def _claims(sentence: _Sentence, section: str) -> Iterator[Claim]:
    found = [(part, list(amounts_in(part))) for part in sentence.parts]
    label = list(amounts_in(sentence.label))
    if not any(amounts for _, amounts in found):
        found, label = [(sentence.label, label)], []
    skipped = {DATE, DAY_OF_YEAR} if _OF_THE_DOCUMENT.search(sentence.text) else set()
    for at, (part, amounts) in enumerate(found):
        elsewhere = label + [amount for other, (_, listed) in enumerate(found) if other != at for amount in listed]
        for unit in dict.fromkeys(amount.unit for amount in amounts if amount.unit not in skipped):
            own = [amount for amount in amounts if amount.unit == unit]
            others = [amount for amount in amounts if amount.unit != unit]
            yield _claim(sentence, section, part, own, others + elsewhere)


def _claim(sentence: _Sentence, section: str, part: str, own: list[Amount], others: list[Amount]) -> Claim:
    is_cell = part != sentence.text
    written = tuple(dict.fromkeys(part[amount.start : amount.end] for amount in own))
    return Claim(
        sentence=sentence.text,
        amounts=written,
        unit=own[0].unit,
        values=frozenset(amount.value for amount in own),
        clause=f"{sentence.label} {part}" if is_cell else " ".join(_clauses(part, own)),
        beside=_beside(sentence.label if is_cell else "", part, own),
        surroundings=f"{sentence.text} {sentence.context} {section}",
        conditions={
            unit: frozenset(amount.value for amount in others if amount.unit == unit)
            for unit in dict.fromkeys(amount.unit for amount in others)
        },
        bounds=frozenset(name for name, pattern in _BOUNDS.items() if pattern.search(part)),
        rates=frozenset(_rate(part, amount.end) for amount in own) - {""},
        years=frozenset(_YEAR.findall(sentence.text)),
        is_working_time=any(word in written[0].lower() for word in ("working", "business"))
        or bool(_WORKING_TIME.match(part, own[0].end)),
    )


def _beside(label: str, part: str, amounts: list[Amount]) -> frozenset[str]:
    found: set[str] = set()
    for amount in amounts[:_CLAUSES]:
        before = content_words(f"{label} {part[: amount.start]}")
        found.update(before[-_BESIDE:], content_words(part[amount.end :])[:_BESIDE])
    return frozenset(fold(word) for word in found if not word.isdigit())


def _clauses(sentence: str, amounts: list[Amount]) -> list[str]:
    """The clauses that hold the amounts, each with enough words to tell what it is about."""
    ends = [mark.span() for mark in _CLAUSE_END.finditer(sentence)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(sentence)]
    kept: dict[tuple[int, int], None] = {}
    for amount in amounts[:_CLAUSES]:
        first = last = max(at for at, start in enumerate(starts) if start <= amount.start)
        for _ in range(_BORROWED):
            if len(subject_words(sentence[starts[first] : stops[last]], amount.unit)) >= _CLAUSE_WORDS:
                break
            first, last = (first - 1, last) if first else (first, min(last + 1, len(stops) - 1))
        kept[starts[first], stops[last]] = None
    return [sentence[start:stop] for start, stop in kept]


def _rate(text: str, end: int) -> str:
    match = _RATE.match(text, end)
    word = fold(match[1] or match[2]).lower() if match else ""
    return UNIT_WORDS.get(word, word)
