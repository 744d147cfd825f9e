"""Tables cell by cell, kept beside the text of a file where somebody will compute with them."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.text.language import clean

Cell = int | float | str
_CELL_CHARS = 2_000
_HEADER_WITHIN = 10
"""Lines above a table that may be its title."""


class KeptTables:
    """Collects tables up to a number of cells; a table that does not fit whole is cut."""

    def __init__(self, cells: int):
        self.tables: list[dict[str, Any]] = []
        """The fields of `ParsedTable`s."""
        self._cells = cells
        self._left = cells

    @property
    def is_wanted(self) -> bool:
        """Whether tables are kept at all."""
        return self._cells > 0

    def add(
        self,
        name: str,
        page: int | None,
        rows: Sequence[Sequence[Cell]],
        *,
        units: Mapping[int, str] | None = None,
        is_cut: bool = False,
    ) -> None:
        """Keep a table with at least a header, a row and a column. Lines above its header join its name."""
        title, start = _title(rows)
        header, *body = rows[start:] or [()]
        # A sheet may be written far wider than it is filled.
        used = [at for at in range(max(map(len, rows), default=0)) if any(_at(row, at) != "" for row in rows[start:])]
        body = [row for row in body if any(cell != "" for cell in row)]
        if not used or not body:
            return
        room = self._left // len(used)
        kept = body[:room]
        if not kept:
            return
        self._left -= len(kept) * len(used)
        self.tables.append(
            {
                "name": " – ".join(filter(None, [_tidy(name), *title])),
                "page": page,
                "header": [str(_tidied(_at(header, at))) for at in used],
                "rows": [[_tidied(_at(row, at)) for at in used] for row in kept],
                "units": [(units or {}).get(at, "") for at in used],
                "is_cut": is_cut or len(kept) < len(body),
            }
        )


def _title(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], int]:
    """Lines with a single cell above the header, and where the header is."""
    title: list[str] = []
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        filled = [cell for cell in row if cell != ""]
        if len(filled) > 1 or (filled and _is_narrow(rows)):
            return title, at
        title += [_tidy(str(cell)) for cell in filled]
    return [], 0


def _is_narrow(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether no row has a second cell: then the first one is the header."""
    return all(sum(cell != "" for cell in row) < 2 for row in rows)


def _at(row: Sequence[Cell], at: int) -> Cell:
    return row[at] if at < len(row) else ""


def _tidied(cell: Cell) -> Cell:
    return _tidy(cell) if isinstance(cell, str) else cell


def _tidy(text: str) -> str:
    return " ".join(clean(text).split())[:_CELL_CHARS]
