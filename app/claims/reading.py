"""Reading claims of amounts: what a sentence, or a cell of a table, says in amounts, and what of."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import zip_longest
from typing import NamedTuple

from app.claims.record import Claim, Validity, subject_words
from app.domain.knowledge import Language, Passage
from app.text.amounts import DATE, DAY_OF_YEAR, UNIT_WORDS, Amount, amounts_in
from app.text.language import content_words, fold

_BEGINS = re.compile(
    r"\btừ(?:\s(?:ngày|năm))?\s*$"
    r"|\b(?:from|since|as of|effective|starting|beginning)(?:\s(?:on|from))?\s*$",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:đến|tới|hết)(?:\s(?:ngày|năm|hết))*\s*$"
    r"|\b(?:until|till|through|up to|(?:expires?|ends?)(?:\son)?)\s*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BEFORE = 24
"""Letters looked at in front of a date."""


def validity_in(sentence: str) -> Validity:
    """The days a sentence gives for itself; open where it says nothing."""
    begins = ends = None
    for first, last, start in _days(sentence):
        before = sentence[max(0, start - _BEFORE) : start]
        if _BEGINS.search(before):
            begins = begins or first
        elif _ENDS.search(before):
            ends = ends or last
    return Validity(begins, ends) if begins is None or ends is None or begins <= ends else Validity()


def validity_of(passage: Passage) -> Validity:
    """The days a passage's document is in force; it began at the latest when it was last updated."""
    return Validity(passage.effective_from or passage.created_at.date(), passage.effective_to)


def _days(sentence: str) -> list[tuple[date, date, int]]:
    """(first day, last day, place) of every date, and of every year that stands alone."""
    found: list[tuple[date, date, int]] = []
    taken: list[tuple[int, int]] = []
    for amount in amounts_in(sentence):
        day = _day(amount.value) if amount.unit == DATE else None
        if day:
            found.append((day, day, amount.start))
            taken.append((amount.start, amount.end))
    for year in _YEAR.finditer(sentence):
        if not any(start <= year.start() < end for start, end in taken):
            number = int(year[0])
            found.append((date(number, 1, 1), date(number + 1, 1, 1) - timedelta(days=1), year.start()))
    return found


def _day(value: Decimal) -> date | None:
    number = int(value)
    try:
        return date(number // 10_000, number // 100 % 100, number % 100)
    except ValueError:
        return None


_LETTERS, _HEADINGS = 8_000, 500
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE_END = re.compile(r"[,:](?=\s)|\s[–-]\s|[()]")
_CLAUSE_WORDS, _BORROWED = 3, 4
"""A clause with fewer content words borrows from those before it, then from those after it: as many as the second."""
_CLAUSES = 8
"""Looked at in one sentence; more stand only in long lists."""
_TABLE_RULE = frozenset("|:- \t")
_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
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


class Sentence(NamedTuple):
    """A sentence, or a row of a table, as claims are read from it."""

    text: str
    context: str
    parts: tuple[str, ...]
    """What claims are read from: the sentence, or the cells of a table row."""
    label: str = ""
    """The first cell of a row, which says what the row is about."""


def claims_in(text: str, section: str = "", language: Language | None = None) -> list[Claim]:
    """Every amount `text` states, by sentence and unit; examples, calculations and the document's own dates apart.

    `language` decides what ``1.500`` is. Of a text longer than any passage only the beginning is read.
    """
    section = section[:_HEADINGS]
    return [claim for one in sentences_of(text) for claim in _claims(one, section, language)]


def sentences_of(text: str) -> list[Sentence]:
    """The sentences and rows of a text with what they stand under; worked examples apart."""
    return list(_sentences(text[:_LETTERS]))


def _sentences(text: str) -> Iterator[Sentence]:
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


def _row(cells: tuple[str, ...], context: str) -> Iterator[Sentence]:
    shown = ": ".join(filter(None, cells))
    if not _CASE.search(shown):
        yield Sentence(shown, context, cells[1:] or cells, cells[0] if cells[1:] else "")


def _prose(line: str, lead: str) -> Iterator[Sentence]:
    for piece in _SENTENCE_END.split(_without_mark(line)):
        if _CASE.search(piece):
            return
        yield Sentence(piece, lead, (piece,))
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


def _claims(sentence: Sentence, section: str, language: Language | None) -> Iterator[Claim]:
    found = [(part, list(amounts_in(part, language))) for part in sentence.parts]
    label = list(amounts_in(sentence.label, language))
    if not any(amounts for _, amounts in found):
        found, label = [(sentence.label, label)], []
    skipped = {DATE, DAY_OF_YEAR} if _OF_THE_DOCUMENT.search(sentence.text) else set()
    for at, (part, amounts) in enumerate(found):
        elsewhere = label + [amount for other, (_, listed) in enumerate(found) if other != at for amount in listed]
        for unit in dict.fromkeys(amount.unit for amount in amounts if amount.unit not in skipped):
            own = [amount for amount in amounts if amount.unit == unit]
            others = [amount for amount in amounts if amount.unit != unit]
            yield _claim(sentence, section, part, own, others + elsewhere)


def _claim(sentence: Sentence, section: str, part: str, own: list[Amount], others: list[Amount]) -> Claim:
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
        bounds=bounds_of(part),
        rates=frozenset(_rate(part, amount.end) for amount in own) - {""},
        years=years_of(sentence.text),
        is_working_time=any(word in written[0].lower() for word in ("working", "business"))
        or bool(_WORKING_TIME.match(part, own[0].end)),
        validity=validity_in(sentence.text),
    )


def bounds_of(text: str) -> frozenset[str]:
    """Which side a text limits: ``least``, ``most``."""
    return frozenset(name for name, pattern in _BOUNDS.items() if pattern.search(text))


def years_of(text: str) -> frozenset[str]:
    """The years a text names."""
    return frozenset(_YEAR.findall(text))


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
