"""Markdown and plain text as they are, but for what a rendered page does not show; CSV as one table."""

import csv
import re
from collections import Counter
from collections.abc import Iterator

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode

_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:[^\n]{0,2000}\n){0,100}?)---[ \t]*(?:\n|$)")
_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.M | re.I)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)$", re.M)
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_OPENS = re.compile(
    r"<!--|<(script|style|template)\b[^<>]{0,1000}>"
    r"|<(\w{1,20})\s(?=[^<>]{0,500}(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0))[^<>]{0,1000}>"
    r"|^\[[^\]\n]{1,200}\]:[ \t]*(?:#|<>)[ \t]*[(\"']",
    re.I | re.M,
)
"""Where something begins that is not shown: comments, scripts, hidden elements, and link definitions that lead nowhere
and are used as comments."""


def read_plain(content: bytes, draft: Draft) -> None:
    """Fill the draft from a text file."""
    draft.verbatim(_decoded(content, draft))


def read_markdown(content: bytes, draft: Draft) -> None:
    """Fill the draft from a Markdown file; front matter gives the title and stays as plain lines."""
    text = _decoded(content, draft).replace("\r\n", "\n")
    if front := _FRONT_MATTER.match(text):
        title = _TITLE.search(front[1])
        draft.title = title[1].strip().strip("\"'") if title else ""
        draft.paragraph(front[1])
        text = text[front.end() :]
    seen = []
    for is_code, piece in _fenced(text):
        shown, dropped = (piece, 0) if is_code else _without_unseen(piece)
        draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, dropped)
        if not draft.title and not is_code and (heading := _HEADING.search(shown)):
            draft.title = heading[1].strip(" \t#")
        seen.append(shown)
    draft.verbatim("".join(seen))


def _fenced(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each inside a code fence or not: what is inside is shown as it is, comments too."""
    fence = ""
    piece: list[str] = []
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        is_mark = mark is not None and mark[1] == (fence or mark[1])
        if is_mark and not fence:
            yield False, "".join(piece)
            piece = []
        piece.append(line)
        if is_mark and fence:
            yield True, "".join(piece)
            piece = []
        if is_mark and mark is not None:
            fence = "" if fence else mark[1]
    yield bool(fence), "".join(piece)


def _without_unseen(text: str) -> tuple[str, int]:
    """Text outside of code without what is not shown, and how many pieces that were."""
    kept: list[str] = []
    folded = text.lower()
    at = dropped = 0
    while found := _OPENS.search(text, at):
        kept.append(text[at : found.start()])
        dropped += 1
        tag = found[1] or found[2]
        close = "-->" if found[0] == "<!--" else f"</{tag.lower()}" if tag else "\n"
        end = folded.find(close, found.end())
        # What never ends hides all that follows.
        at = len(text) if end < 0 else end if close == "\n" else end + len(close)
        if tag and end >= 0:
            at = text.find(">", at) + 1 or len(text)
    return "".join([*kept, text[at:]]), dropped


def _decoded(content: bytes, draft: Draft) -> str:
    # A character takes at most four bytes.
    if len(content) > draft.limits.output_chars * 4:
        raise ParseFailed(ParseFailure.TOO_MUCH_TEXT)
    return draft.decoded(content)


_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_CHARS, _SAMPLE_ROWS = 64 * 1024, 50
_MAX_CELL_CHARS = 1_000_000


def read_delimited(content: bytes, draft: Draft) -> None:
    """Fill the draft from the bytes of a CSV file; its first row is the header."""
    text = draft.decoded(content).replace("\x00", "")
    csv.field_size_limit(_MAX_CELL_CHARS)
    rows = list(_within(csv.reader(text.splitlines(keepends=True), delimiter=delimiter_of(text)), draft))
    draft.keep_table("", rows, is_cut=bool(draft.warnings[WarningCode.TRUNCATED_SHEETS]))
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
