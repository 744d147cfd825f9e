"""CSV and its relatives: one table, whatever stands between the columns."""

import csv
from collections import Counter
from collections.abc import Iterator

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.encoding import decode
from app.ingestion.parsing.outcome import WarningCode

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_CHARS, _SAMPLE_ROWS = 64 * 1024, 50
_MAX_FIELD_CHARS = 1_000_000


def read_delimited(content: bytes, draft: Draft) -> None:
    """Fill the draft from the bytes of a CSV file; its first row is the header."""
    decoded = decode(content)
    draft.warn(WarningCode.ENCODING_GUESSED, int(decoded.is_guessed))
    text = decoded.text.replace("\x00", "")
    csv.field_size_limit(_MAX_FIELD_CHARS)
    rows = _within(csv.reader(text.splitlines(keepends=True), delimiter=delimiter_of(text)), draft)
    if draft.kept.is_wanted:
        listed = list(rows)
        draft.kept.add("", None, listed, is_cut=bool(draft.warnings[WarningCode.TRUNCATED_SHEETS]))
        draft.table(listed)
    else:
        draft.table(rows)


def delimiter_of(text: str) -> str:
    """The sign that cuts the first rows into the most regular columns."""
    sample = text[:_SAMPLE_CHARS]
    return max(_DELIMITERS, key=lambda sign: _regularity(sample, sign))


def _regularity(sample: str, delimiter: str) -> tuple[float, int]:
    """(share of rows with the usual number of columns, that number); one column counts for nothing."""
    widths: Counter[int] = Counter()
    try:
        for row in csv.reader(sample.splitlines(keepends=True), delimiter=delimiter):
            widths[len(row)] += bool(row)
            if widths.total() == _SAMPLE_ROWS:
                break
    except csv.Error:
        return 0.0, 0
    width, rows = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    return (rows / widths.total(), width) if width > 1 else (0.0, 0)


def _within(rows: Iterator[list[str]], draft: Draft) -> Iterator[list[str]]:
    """Rows and columns within the limits."""
    limits = draft.limits
    for number, row in enumerate(rows, 1):
        if number > limits.sheet_rows or len(row) > limits.sheet_columns:
            draft.warn(WarningCode.TRUNCATED_SHEETS, 1 - draft.warnings[WarningCode.TRUNCATED_SHEETS])
        if number > limits.sheet_rows:
            return
        yield row[: limits.sheet_columns]
