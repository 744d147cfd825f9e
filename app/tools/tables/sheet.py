"""A table with its columns read when they are first asked for."""

from functools import cached_property
from itertools import islice

from app.domain.attachments import AttachedTable, Cell
from app.domain.knowledge import Language
from app.text.language import fold, normalise
from app.tools.tables.cells import NumberColumn, When, is_nothing, read_numbers, read_whens, share_of

_MOSTLY = 0.8
_SAMPLE = 200
_TOTALS = frozenset({
    "tong", "tong cong", "tong so", "cong", "total", "totals", "grand total", "sum", "subtotal", "sub total",
    "tong chi", "tong thu", "cong don", "luy ke",
})  # fmt: skip
"""A row that begins so adds up others, and is none itself."""


class Column:
    """One column, by its number from 0."""

    def __init__(self, at: int, name: str, cells: tuple[Cell, ...], unit: str, language: Language):
        self.at, self.name, self.cells = at, name, cells
        self._unit, self._language = unit, language

    @cached_property
    def numbers(self) -> NumberColumn:
        """The column as numbers."""
        return read_numbers(self.cells, self._language, self._unit)

    @cached_property
    def whens(self) -> tuple[When | None, ...]:
        """The column as times."""
        return read_whens(self.cells, self.name)

    @cached_property
    def _some(self) -> tuple[Cell, ...]:
        """The first cells that say anything, for telling what a long column is about."""
        return tuple(islice((cell for cell in self.cells if not is_nothing(cell)), _SAMPLE))

    @cached_property
    def filled(self) -> int:
        """Cells that say anything."""
        return sum(not is_nothing(cell) for cell in self.cells)

    @cached_property
    def is_time(self) -> bool:
        """Whether the column names days, months, quarters or years."""
        some = self._some
        if share_of(read_whens(some, self.name), len(some)) < _MOSTLY / 2:
            return False  # no need to read them all
        return share_of(self.whens, self.filled) >= _MOSTLY

    @cached_property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers to compute with."""
        some = read_numbers(self._some, self._language)
        return some.readable * 10 > len(some.values) and not self.is_time and self.numbers.is_numeric

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Each cell as text for comparing: no case, no diacritics, single spaces."""
        known = {cell: folded(str(cell)) for cell in set(self.cells)}
        return tuple(known[cell] for cell in self.cells)


class Sheet:
    """A table of a file, ready to be asked."""

    def __init__(self, table: AttachedTable, language: Language):
        self.table, self.language = table, language
        units = table.units or ("",) * len(table.header)
        self.columns = tuple(
            Column(at, name or f"#{at + 1}", tuple(row[at] for row in table.rows), units[at], language)
            for at, name in enumerate(table.header)
        )

    @cached_property
    def totals(self) -> frozenset[int]:
        """Rows that add up others."""
        return frozenset(row for row, cells in enumerate(self.table.rows) if _is_total(cells))

    @cached_property
    def words_of_texts(self) -> frozenset[str]:
        """Every word of the cells that are neither numbers nor times, folded."""
        texts = (column for column in self.columns if not column.is_numeric and not column.is_time)
        return frozenset(word for column in texts for cell in set(column.folded) for word in cell.split())

    def label(self, column: Column) -> str:
        """Its name, with its place where another column has the same."""
        return f"{column.name} (#{column.at + 1})" if self.names.count(column.name) > 1 else column.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns, in order."""
        return tuple(column.name for column in self.columns)


def _is_total(cells: tuple[Cell, ...]) -> bool:
    first = next((cell for cell in cells if cell != ""), "")
    return isinstance(first, str) and folded(first).rstrip(" :.") in _TOTALS


def folded(text: str) -> str:
    """A text for comparing: normalised, without case and diacritics."""
    return fold(normalise(text)).lower()
