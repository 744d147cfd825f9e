"""The text of a file while it is being read: blocks of Markdown in order, where pages begin, what to warn of."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, ClassVar

from app.ingestion.parsing.encoding import KEPT_SOFT_HYPHEN, SOFT_HYPHEN, decode, from_legacy_fonts
from app.ingestion.parsing.outcome import FileKind, ParseFailed, ParseFailure, ParseLimits, WarningCode
from app.text.language import clean

MAX_LINE_CHARS = 20_000
_MAX_TITLE_CHARS = 300
_MIN_CHARACTERS = 4
"""Letters and digits a text must have to be one."""
_TAGS = re.compile("[\U000e0001-\U000e007f]+")
"""Tag characters: a whole sentence can be spelt in them, and nobody sees it."""
_BLANK_LINES = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"[.!?…;](?=\s)")
_UNREADABLE = "\ufffd"
Cell = int | float | str
_CELL_CHARS = 2_000
_HEADER_WITHIN = 10
"""Lines above a table that may be its title."""
_FILLED_IN = re.compile(
    r"(?:microsoft |powerpoint presentation|untitled|word document|slide 1|\(anonymous\)|unspecified).*"
    r"|document\d*|.*\.(?:docx?|pdf|tex|dvi|indd|xlsx?|pptx?)",
    re.I | re.S,
)
"""Titles that programs give by themselves."""


class Draft:
    """Collects what a reader finds. Raises `ParseFailed` (TOO_MUCH_TEXT) when the limit is passed."""

    recognise: ClassVar[Callable[["Draft", Any], list[Any]] | None] = None
    """Gives the lines of a picture, or a page of a PDF that is one; set in the process that recognises letters."""

    def __init__(self, limits: ParseLimits):
        self.limits = limits
        self.title = ""
        self.warnings: Counter[WarningCode] = Counter()
        self.facts: dict[str, str] = {}
        """What is said of a file that is described instead of read."""
        self._tables: list[dict[str, Any]] = []
        """The fields of `AttachedTable`s."""
        self._cells_left = limits.table_cells
        self._parts: list[tuple[str, str]] = []
        """Each with what stands before it."""
        self._page_parts: list[int] = []
        """Index of the part that each page begins with."""
        self._first_heading = ""
        self._chars = 0
        self._last_is_item = False

    @property
    def room(self) -> int:
        """Characters that may still be added."""
        return self.limits.output_chars - self._chars

    def warn(self, code: WarningCode, count: int = 1) -> None:
        """Count something to warn of; a count of 0 is nothing."""
        if count:
            self.warnings[code] += count

    def decoded(self, content: bytes, declared: str = "") -> str:
        """The characters of a text (`encoding.decode`); a guess is warned of."""
        text, is_guessed = decode(content, declared)
        self.warn(WarningCode.ENCODING_GUESSED, int(is_guessed))
        return text

    @property
    def page(self) -> int | None:
        """The page that was begun last, from 1; None before the first."""
        return len(self._page_parts) or None

    def entitle(self, title: str | None) -> None:
        """Take the title among the properties of a file, unless nobody typed it."""
        self.title = "" if _FILLED_IN.fullmatch((title or "").strip()) else title or ""

    def begin_page(self) -> None:
        """What is added from here on stands on the next page, slide or sheet."""
        self._page_parts.append(len(self._parts))

    def heading(self, level: int, text: str) -> None:
        """A heading of level 1–6; one that is too long to be a heading becomes a paragraph."""
        text = one_line(self._cleaned(text)).strip("# ")
        if len(text) > _MAX_TITLE_CHARS:
            self.paragraph(text)
        elif text:
            self._first_heading = self._first_heading or text
            self._add(f"{'#' * min(max(level, 1), 6)} {text}")

    def paragraph(self, text: str) -> None:
        """Running text; its line ends are kept, empty lines are not."""
        self._add(_lines(self._cleaned(text)))

    def continue_paragraph(self, text: str) -> None:
        """The rest of the paragraph that was added last."""
        self._add(_lines(self._cleaned(text)), " ")

    def item(self, text: str, depth: int = 0, mark: str = "-") -> None:
        """One item of a list; items that follow one another stand together."""
        text = one_line(self._cleaned(text))
        if text:
            self._add(f"{'  ' * min(depth, 8)}{mark} {text}", "\n" if self._last_is_item else "\n\n")
            self._last_is_item = True

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """A table whose first row is its header; one with a single row or column becomes paragraphs."""
        _, cells = _trimmed([one_line(self._cleaned(cell)) for cell in row] for row in rows)
        if len(cells) < 2 or len(cells[0]) < 2:
            for row in cells:
                for cell in row:
                    self._add(cell)
            return
        lines = [_row(row) for row in cells]
        self._add("\n".join([lines[0], "|" + "---|" * len(cells[0]), *lines[1:]]))

    def continue_table(self, rows: Iterable[Sequence[str]]) -> None:
        """Further rows of the table that was added last; as many columns as it has."""
        lines = [_row([one_line(self._cleaned(cell)) for cell in row]) for row in rows]
        self._add("\n".join(lines), "\n")

    def keep_table(
        self, name: str, rows: Sequence[Sequence[Cell]], *, units: Mapping[int, str] | None = None, is_cut: bool = False
    ) -> None:
        """Keep a table with a header and a row beside the text, as much of it as there is room for.

        Lines above its header join its name.
        """
        title, start = _title(rows)
        used, cells = _trimmed(rows[start:])
        kept = cells[1 : 1 + self._cells_left // max(len(used), 1)]
        if not kept:
            return
        self._cells_left -= len(kept) * len(used)
        self._tables.append(
            {
                "name": " – ".join(filter(None, [str(_tidy(name)), *title])),
                "page": self.page,
                "header": [str(_tidy(cell)) for cell in cells[0]],
                "rows": [list(map(_tidy, row)) for row in kept],
                "units": [(units or {}).get(at, "") for at in used],
                "is_cut": is_cut or len(kept) < len(cells) - 1,
            }
        )

    def verbatim(self, text: str) -> None:
        """Text that is Markdown or plain already: lines stay as they are, but for blanks at their ends."""
        lines = (line.rstrip() for line in self._cleaned(text).replace("\xa0", " ").split("\n"))
        self._add(_BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n"))

    def markdown(self, text: str, first_heading: str = "") -> None:
        """Text that a library made Markdown of, and the first heading in it."""
        self._first_heading = self._first_heading or one_line(self._cleaned(first_heading))
        self.verbatim(text)

    def finish(self, kind: FileKind) -> dict[str, Any]:
        """The fields of a `ParsedFile`, warnings as counts. Raises `ParseFailed` (NO_TEXT)."""
        self._mend_legacy_fonts()
        text, pages = self._joined()
        if len(list(islice(filter(str.isalnum, text), _MIN_CHARACTERS))) < _MIN_CHARACTERS:
            raise ParseFailed(ParseFailure.NO_TEXT)
        self.warn(WarningCode.UNREADABLE_CHARACTERS, text.count(_UNREADABLE))
        title = one_line(clean(self.title))[:_MAX_TITLE_CHARS].strip()
        return {
            "kind": kind.value,
            "title": title or self._first_heading,
            "text": text,
            "pages": pages,
            "warnings": {code.value: count for code, count in self.warnings.items()},
            **({"tables": self._tables} if self._tables else {}),
        }

    def _joined(self) -> tuple[str, list[int]]:
        written: list[str] = []
        starts: list[int] = []
        length = 0
        for before, text in self._parts:
            glue = before if written else ""
            starts.append(length + len(glue))
            written += glue, text
            length += len(glue) + len(text)
        starts.append(length)
        return "".join(written), [starts[at] for at in self._page_parts]

    def _mend_legacy_fonts(self) -> None:
        mended, is_changed = from_legacy_fonts([text for _, text in self._parts])
        self.warn(WarningCode.ENCODING_GUESSED, int(is_changed))
        self._parts = [(before, text) for (before, _), text in zip(self._parts, mended, strict=True)]

    def _cleaned(self, text: str) -> str:
        if not text.isascii():
            self.warn(WarningCode.HIDDEN_TEXT_DROPPED, len(_TAGS.findall(text)))
            text = text.replace(SOFT_HYPHEN, KEPT_SOFT_HYPHEN)
        return clean(text)

    def _add(self, text: str, before: str = "\n\n") -> None:
        self._last_is_item = False
        if not text:
            return
        if len(text) > self.room:
            raise ParseFailed(ParseFailure.TOO_MUCH_TEXT)
        text = break_long_lines(text)
        self._chars += len(text) + len(before)
        self._parts.append((before, text))


def one_line(text: str) -> str:
    """`text` with every run of white space as one space."""
    return " ".join(text.split())


def break_long_lines(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """Lines over `limit` broken as late as possible after a sentence, else at a space, else where the limit falls."""
    if len(text) <= limit:
        return text
    most, half = limit - 1, limit // 2
    piece = re.compile(f".{{1,{limit}}}$|.{{{half},{most - 1}}}[.!?…;](?=\\s)|.{{{half},{most}}}(?= )|.{{1,{limit}}}")
    lines = ([line] if len(line) <= limit else map(str.strip, piece.findall(line)) for line in text.split("\n"))
    return "\n".join(chain.from_iterable(lines))


def _lines(text: str) -> str:
    return "\n".join(filter(None, map(one_line, text.split("\n"))))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _trimmed(rows: Iterable[Sequence[Cell]]) -> tuple[list[int], list[list[Any]]]:
    """(which columns are used, rows of these alone), without rows that are empty."""
    filled = [row for row in rows if any(cell != "" for cell in row)]
    width = max(map(len, filled), default=0)
    padded = [[*row, *[""] * (width - len(row))] for row in filled]
    used = [at for at in range(width) if any(row[at] != "" for row in padded)]
    return used, [[row[at] for at in used] for row in padded]


def _title(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], int]:
    """Lines with a single cell above the header, and where the header is."""
    # Where no row has a second cell, the first one is the header.
    is_narrow = all(sum(cell != "" for cell in row) < 2 for row in rows)
    title: list[str] = []
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        filled = [cell for cell in row if cell != ""]
        if len(filled) > 1 or (filled and is_narrow):
            return title, at
        title += [str(_tidy(cell)) for cell in filled]
    return [], 0


def _tidy(cell: Cell) -> Cell:
    return one_line(clean(cell))[:_CELL_CHARS] if isinstance(cell, str) else cell
