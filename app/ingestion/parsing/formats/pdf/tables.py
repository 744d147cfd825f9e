"""Tables of a PDF page that are drawn with lines: cells between the lines, text by where its characters stand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from app.ingestion.parsing.formats.pdf.lines import HYPHEN, Line, PageText
from app.ingestion.parsing.formats.pdf.marks import Box, Rule

_SLACK = 3.0
"""Points by which lines that meet may miss one another."""
_MAX_RULES, _MAX_CELLS = 3_000, 5_000


class Table(NamedTuple):
    """A ruled table."""

    box: Box
    columns: tuple[float, ...]
    """Left edges of the columns, and the right edge of the last."""
    rows: list[list[str]]


class Grid(NamedTuple):
    """The lines of a table before its cells are filled."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    """From the top down."""
    rules: list[Rule]

    @property
    def box(self) -> Box:
        """What lies inside the outermost lines."""
        return Box(self.xs[0], self.ys[-1], self.xs[-1], self.ys[0])


def grids_of(rules: Sequence[Rule]) -> list[Grid]:
    """Lines that meet, put together; only what has at least two rows and two columns."""
    grids = []
    for group in _connected(list(rules)[:_MAX_RULES]):
        xs = _distinct([rule.at for rule in group if not rule.is_horizontal])
        ys = _distinct([rule.at for rule in group if rule.is_horizontal])[::-1]
        if len(xs) > 2 < len(ys) and (len(xs) - 1) * (len(ys) - 1) <= _MAX_CELLS:
            grids.append(Grid(tuple(xs), tuple(ys), group))
    return grids


def filled(grid: Grid, lines: Sequence[Line], page: PageText) -> Table | None:
    """The table with its texts; None when it has hardly any, as a frame or a drawing has."""
    roots = _roots(grid)
    cells = [["" for _ in grid.xs[1:]] for _ in grid.ys[1:]]
    for line in lines:
        previous: tuple[int, int] | None = None
        for index in range(line.first, line.last + 1):
            place = _cell(grid, *page.center(index))
            if place is None:
                continue
            row, column = roots[place[0]][place[1]]
            if (row, column) != previous and cells[row][column]:
                cells[row][column] += " "
            cells[row][column] += page.character(index)
            previous = row, column
    rows = _spread([[" ".join(cell.replace(HYPHEN, "").split()) for cell in row] for row in cells], roots)
    if sum(any(row) for row in rows) < 2 or sum(bool(cell) for row in rows for cell in row) < 4:
        return None
    return Table(grid.box, grid.xs, rows)


def _cell(grid: Grid, x: float, y: float) -> tuple[int, int] | None:
    if not grid.box.holds(x, y):
        return None
    column = sum(edge <= x for edge in grid.xs[1:-1])
    row = sum(edge >= y for edge in grid.ys[1:-1])
    return row, column


def _roots(grid: Grid) -> list[list[tuple[int, int]]]:
    """For each place the first place of the cell it belongs to: cells are what lines part."""
    roots: list[list[tuple[int, int]]] = []
    for row, (top, bottom) in enumerate(pairwise(grid.ys)):
        roots.append([])
        for column, (left, right) in enumerate(pairwise(grid.xs)):
            if column and not _has_rule(grid, False, left, (top + bottom) / 2):
                roots[row].append(roots[row][column - 1])
            elif row and not _has_rule(grid, True, top, (left + right) / 2):
                roots[row].append(roots[row - 1][column])
            else:
                roots[row].append((row, column))
    return roots


def _spread(rows: list[list[str]], roots: list[list[tuple[int, int]]]) -> list[list[str]]:
    """A cell that spans rows is repeated in each of them; one that spans columns stands in the first."""
    return [
        [rows[root[0]][root[1]] if root[1] == column else "" for column, root in enumerate(places)] for places in roots
    ]


def _has_rule(grid: Grid, is_horizontal: bool, at: float, across: float) -> bool:
    return any(
        rule.is_horizontal is is_horizontal
        and abs(rule.at - at) <= _SLACK
        and rule.start - _SLACK <= across <= rule.end + _SLACK
        for rule in grid.rules
    )


def _connected(rules: list[Rule]) -> list[list[Rule]]:
    """Groups of lines that meet, by following who meets whom."""
    upright = [rule for rule in rules if not rule.is_horizontal]
    flat = [rule for rule in rules if rule.is_horizontal]
    groups: list[list[Rule]] = []
    while flat:
        group, waiting = [], [flat.pop()]
        while waiting:
            rule = waiting.pop()
            group.append(rule)
            others = upright if rule.is_horizontal else flat
            met = [other for other in others if _meet(rule, other)]
            waiting += met
            if met:
                others[:] = [other for other in others if not _meet(rule, other)]
        groups.append(group)
    return groups


def _meet(one: Rule, other: Rule) -> bool:
    inside = one.start - _SLACK <= other.at <= one.end + _SLACK
    return inside and other.start - _SLACK <= one.at <= other.end + _SLACK


def _distinct(places: list[float]) -> list[float]:
    """Rising, those that are almost the same as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _SLACK:
            found.append(place)
    return found
