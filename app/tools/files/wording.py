"""Answers of tables in words: the number with its column, the conditions and the rows it was taken over."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from app.domain.knowledge import Language
from app.tables import Answered, Column, Filter, Sheet, TableQuery
from app.text.numbers import format_number
from app.tools.files.reading import SENTENCES, short

_WHOLE_ROWS, _SHOWN_ROWS, _SHOWN_GROUPS, _SHOWN_BAD, _CHARS, _MOST_CHARS = 3, 30, 30, 3, 60, 600
_PLACES, _EXACT_PLACES = 2, 9
"""Of averages, which are rounded; and where a computed number ends."""
_Row = tuple[str | None, ...]
_TEXTS, _REFUSALS = SENTENCES["answers"], SENTENCES["refusals"]


def refusal(reason: str, names: Sequence[str], language: Language, sheet: Sheet | None = None, where: str = "") -> str:
    """Why there is no answer, and what the table has."""
    quoted = [f"“{_short(name)}”" for name in names]
    columns = ", ".join(f"“{_short(one.name)}”" for one in sheet.columns[:20]) if sheet else ""
    return _REFUSALS[language][reason].format(
        told=", ".join(quoted)[:_MOST_CHARS], first="".join(quoted[:1]), rest=", ".join(quoted[1:])[:_MOST_CHARS],
        columns=columns, where=where,
    )  # fmt: skip


def result_of_sql(found: Answered, sql: str, language: Language) -> str:
    """What a SELECT gave, a line a row, with the statement it comes from."""
    lines = [
        "; ".join(f"{_short(name)}: {_plain(value, language)}" for name, value in zip(found.columns, row, strict=True))
        for row in found.rows[:_SHOWN_ROWS]
    ]
    return "\n".join([*_listed(lines, len(found.rows), language), f"({' '.join(sql.split())[:_MOST_CHARS]})"])


def _listed(lines: Sequence[str], count: int, language: Language) -> list[str]:
    """Lines of a list, and how many there are beyond them."""
    left = count - len(lines)
    more = [_TEXTS[language]["more"].format(count=left)] if left > 0 else []
    return [*(f"- {line}" for line in lines), *more]


def _plain(value: str | None, language: Language) -> str:
    try:
        return format_number(round(Decimal(value or "-"), _EXACT_PLACES), language)
    except InvalidOperation:
        return _short(value or "–")


class Wording:
    """The sentence of one answer."""

    def __init__(self, sheet: Sheet, query: TableQuery, found: Answered, language: Language):
        self._sheet, self._query, self._found, self._language = sheet, query, found, language
        self._texts = _TEXTS[language]
        self.column = query.measure[0].name if query.measure else ""
        self.where = self._where(query.filters)

    def text(self) -> str:
        """The answer with what it rests on; empty when no row fits."""
        query, rows = self._query, self._found.rows
        if query.how == "count" and query.group is None:
            return self._aggregate()
        if not rows or (query.group is None and query.how != "rows" and rows[0][0] is None):
            return ""
        if query.sides:
            return self._two_sides()
        if query.group is not None:
            return self._groups()
        return self._rows() if query.how == "rows" else self._aggregate()

    @property
    def value(self) -> str | None:
        """The result for machines: the first number, of rows the only cell or the label."""
        rows = self._found.rows
        if not rows:
            return None
        if self._query.group is not None and not self._query.sides:
            return rows[0][1]
        if self._query.how == "rows" and not self._query.order:
            return self._added()
        return rows[0][-1 if self._query.order else 0]

    @property
    def used(self) -> int:
        """Rows that were computed with."""
        query, rows = self._query, self._found.rows
        if query.how == "rows":
            return len(rows)
        if query.sides and query.group is None:
            return sum(int(rows[0][at] or 0) for at in (1, 3)) if query.how == "difference" else int(rows[0][3] or 0)
        if query.group is not None or query.how == "difference":
            return sum(int(row[-1] or 0) for row in rows)
        return int(rows[0][2] or 0)

    # -- shapes

    def _aggregate(self) -> str:
        query, row = self._query, self._found.rows[0]
        column = query.label.name if query.how == "distinct" and query.label else self.column
        text = self._texts[query.how].format(column=column, where=self.where, value=self._number(row[0]))
        notes = [*self._notes()]
        if query.how == "count" and query.label is not None and row[3] != row[0]:
            notes.append(self._texts["people"].format(column=query.label.name, count=row[3]))
        if query.how == "distinct" and row[1] != row[0]:
            notes.append(self._texts["used"].format(used=row[1]))
        return _sentence(text, notes)

    def _groups(self) -> str:
        query, rows = self._query, self._found.rows
        assert query.group is not None
        by = self._texts["by"].format(column=query.group.name)
        head = self._texts[query.how].format(column=self.column, where=f"{by}{self.where}", value="").rstrip(": ")
        if query.order:
            rows, ends = self._leading(at_least=3)
            leading = ", ".join(f"{self._key(row[0])}: {self._number(row[1])}" for row in (ends or rows)[:5])
            head = f"{head} — {leading}"
        elif query.how == "average":
            total = sum((Decimal(row[1] or 0) * int(row[3] or 0) for row in rows), Decimal(0))
            head += self._texts["per_group"].format(
                total=self._number(str(total)), count=len(rows), value=self._number(str(total / len(rows)))
            )
        lines = [
            self._texts["group"].format(label=self._key(key), value=self._number(value), rows=count)
            for key, value, count, _ in rows[:_SHOWN_GROUPS]
        ]
        return "\n".join([_sentence(head, list(self._notes())), *_listed(lines, len(rows), self._language)])

    def _leading(self, *, at_least: int = 0) -> tuple[tuple[_Row, ...], list[_Row]]:
        """The rows or groups at the end that is asked for, and those of them that share the first place."""
        first = self._found.rows[self._query.place - 1 :]
        ends = [row for row in first if row[1] == first[0][1]]
        return first[: self._query.limit or max(len(ends), at_least)], ends

    def _key(self, key: str | None) -> str:
        """The name of a group; of a month or a quarter without its year what its number is."""
        kind = self._query.group.kind if self._query.group else ""
        if kind not in ("month", "quarter") or key is None or not key.isdigit():
            return _short(key or "–")
        return f"Q{key}" if kind == "quarter" else f"{self._texts['month']} {key}"

    def _two_sides(self) -> str:
        query, row = self._query, self._found.rows[0]
        if query.how == "share":
            some, whole = Decimal(row[0] or 0), Decimal(row[2] or 0)
            if not whole:
                return ""
            text = self._texts["share"].format(
                part=self._condition(query.sides[0]), where=self.where, some=self._number(row[0] or "0"),
                whole=self._number(row[2]), value=format_number(some * 100 / whole, self._language, _PLACES),
            )  # fmt: skip
            return _sentence(text, list(self._notes()))
        if query.group is not None:
            values = {key: value for key, value, *_ in self._found.rows}
            pairs = [(side.values[0], values.get(side.values[0])) for side in query.sides]
        else:
            pairs = [(side.said or side.values[0], row[at]) for side, at in zip(query.sides, (0, 2), strict=True)]
        return self._subtracted(pairs)

    def _subtracted(self, pairs: Sequence[tuple[str, str | None]]) -> str:
        if any(value is None for _, value in pairs):
            return ""
        pairs = sorted(pairs, key=lambda pair: -Decimal(pair[1] or 0))
        difference = str(Decimal(pairs[0][1] or 0) - Decimal(pairs[1][1] or 0))
        sides = "; ".join(f"{_short(name)}: {self._number(value)}" for name, value in pairs)
        head = self._texts["difference"].format(where=self.where, value=self._number(difference))
        how = self._texts[self._query.how].format(column=self.column, where="", value="").rstrip(": ")
        by_column = f" (“{self.column}”)" if self._query.sides and self.column else ""
        named = by_column if self._query.how == "difference" else f" ({how})"
        return _sentence(f"{head} — {sides}{named}", list(self._notes()))

    def _rows(self) -> str:
        query, found = self._query, self._found.rows
        title = self._texts["rows"].format(where=self.where, value=len(found))
        if query.order:
            title = self._texts[query.order].format(column=self.column, where=self.where)
            found, _ = self._leading()
        added = self._added()
        if added is not None and len(found) > 1 and not query.order:
            title += self._texts["added"].format(column=self.column, rows=len(found), value=self._number(added))
        lines = [self._row(int(row[0] or 0), is_whole=len(found) <= _WHOLE_ROWS) for row in found[:_SHOWN_ROWS]]
        return "\n".join([_sentence(title, list(self._notes())), *_listed(lines, len(found), self._language)])

    def _row(self, number: int, *, is_whole: bool) -> str:
        """A row by its name; few rows with all their cells, many with those the question speaks of."""
        query = self._query
        label = query.label or self._sheet.columns[0]
        spoken = [*query.shown, *query.measure, *(one.column for one in query.filters)]
        columns = self._sheet.columns if is_whole else dict.fromkeys(spoken)
        cells = [
            f"{_short(one.label)}: {_short(self._cell(number, one))}"
            for one in columns
            if one is not label and self._sheet.cell(number, one)
        ]
        name = _short(self._cell(number, label)) or "–"
        return f"{name} — {'; '.join(cells)}" if cells else name

    # -- pieces

    def _added(self) -> str | None:
        query, rows = self._query, self._found.rows
        if query.how != "rows" or len(query.measure) != 1 or query.measure[0].kind != "number":
            return None
        values = [Decimal(row[1]) for row in rows if row[1] is not None]
        return str(sum(values, Decimal(0))) if values and len(query.measure[0].units) < 2 else None

    def _cell(self, number: int, column: Column) -> str:
        cell = self._sheet.cell(number, column)
        value = column.values[number - 1]
        if (
            not isinstance(value, Decimal)
            or column.kind != "number"
            or any(char.isalpha() or char in "£$€₫%" for char in cell)
        ):
            return cell
        return self._with_unit(format_number(value, self._language), column)

    def _number(self, value: str | None) -> str:
        if value is None:
            return "–"
        number = round(Decimal(value), _EXACT_PLACES)
        is_long = number != round(number, _PLACES) and self._query.how in ("average", "median")
        shown = format_number(number, self._language, _PLACES if is_long else None)
        shown = f"≈ {shown}" if is_long else shown
        computes = self._query.how not in ("count", "distinct") and self._query.measure
        return self._with_unit(shown, self._query.measure[-1]) if computes else shown

    @staticmethod
    def _with_unit(shown: str, column: Column) -> str:
        unit = column.units[0] if len(column.units) == 1 and len(column.units[0]) < 16 else ""
        return f"{shown}%" if unit == "%" else f"{shown} {unit}".strip()

    def _where(self, filters: Sequence[Filter]) -> str:
        told = "; ".join(map(self._condition, filters))
        return f" ({told})" if told else ""

    def _condition(self, one: Filter) -> str:
        name = _short(one.column.label)
        if one.sign in ("empty", "none"):
            return self._texts[one.sign].format(column=name)
        if one.said:
            return f"{name}: {_short(one.said)}"
        if one.other is not None:
            return f"{name} {one.sign} {_short(one.other.label)}"
        values = [_short(value) for value in one.values[:5]]
        if one.column.kind == "number":
            values = [format_number(Decimal(value), self._language) for value in values]
        if one.sign == "between":
            return f"{values[0]} ≤ {name} ≤ {values[1]}"
        sign = {"in": "=", "not in": "≠", ">=": "≥", "<=": "≤"}.get(one.sign, one.sign)
        return f"{name} {sign} {', '.join(values)}{'…' if len(one.values) > 5 else ''}"

    def _notes(self) -> Iterator[str]:
        query, texts = self._query, self._texts
        columns = [column for column in query.measure if column.kind == "number"]
        if query.how not in ("count", "distinct", "rows"):
            yield texts["used"].format(used=self.used)
        if query.how in ("sum", "average", "median") and query.group is None and not query.sides and columns:
            row = self._found.rows[0]
            bad = [cell for column in columns for cell in column.unreadable]
            lost = int(row[1] or 0) - int(row[2] or 0)
            unread = min(lost, len(bad))
            if unread:
                cells = ", ".join(f"“{_short(cell)}”" for cell in dict.fromkeys(bad[:_SHOWN_BAD]))
                yield texts["unreadable"].format(count=unread, cells=cells)
            if lost - unread > 0:
                yield texts["blank"].format(count=lost - unread)
        if self._sheet.totals:
            yield texts["totals"].format(count=self._sheet.totals)
        if any(column.is_assumed for column in columns) and query.how != "rows":
            yield texts["assumed"]
        if self._sheet.table.is_cut:
            yield texts["cut"]


def _sentence(text: str, notes: Sequence[str]) -> str:
    return f"{text} ({'; '.join(notes)})." if notes else f"{text}."


def _short(text: str) -> str:
    return short(text, _CHARS)
