"""Answers of tables in words: what was computed, over which rows, and what was left out; and why one is not given."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from app.domain.knowledge import Language
from app.text.numbers import format_number
from app.tools.tables.query import DaysIn, Filter, Group, NumberIs, PeriodIs, TableAnswer, TableQuery, ValueIs, total
from app.tools.tables.question import Unclear
from app.tools.tables.sheet import Sheet

_SHOWN_ROWS, _SHOWN_CELLS, _SHOWN_GROUPS, _SHOWN_LABELS, _SHOWN_BAD = 5, 8, 30, 40, 3
_AVERAGE_PLACES = 2
_CHARS = 60

_TEXTS: dict[Language, dict[str, str]] = {
    "vi": {
        "sum": "Tổng cột “{column}”{where}: {value}", "average": "Trung bình cột “{column}”{where}: {value}",
        "max": "Giá trị lớn nhất của cột “{column}”{where}: {value}",
        "min": "Giá trị nhỏ nhất của cột “{column}”{where}: {value}",
        "count": "Số dòng{where}: {value}", "distinct": "Cột “{column}”{where} có {value} giá trị khác nhau: {labels}",
        "list": "Các dòng{where}", "where": " ({filters})", "by": " theo “{column}”",
        "unit": " theo {unit} của “{column}”",
        "added": "; tổng cột “{column}” của {rows} dòng này: {value}",
        "used": "tính trên {used} dòng", "unreadable": "bỏ qua {count} ô không đọc được là số: {cells}",
        "blank": "bỏ qua {count} ô trống", "totals": "không tính {count} dòng tổng có sẵn",
        "undated": "{count} dòng không đọc được thời gian",
        "cut": "bảng quá lớn nên chỉ đọc được phần đầu",
        "assumed": "các số như 1.500 được đọc theo cách viết tiếng Việt",
        "rounded": "làm tròn", "nothing": "Không có dòng nào{where} trong bảng có số ở cột “{column}”.",
        "none": "Không có dòng nào{where}.", "row": "Dòng {number}: {cells}", "more": "… và {count} dòng nữa",
        "best": "“{label}” đứng đầu với {value}", "month": "tháng", "quarter": "quý", "year": "năm",
        "group": "{label}: {value} ({rows} dòng)",
    },
    "en": {
        "sum": "Total of column “{column}”{where}: {value}", "average": "Average of column “{column}”{where}: {value}",
        "max": "Largest value of column “{column}”{where}: {value}",
        "min": "Smallest value of column “{column}”{where}: {value}",
        "count": "Number of rows{where}: {value}",
        "distinct": "Column “{column}”{where} has {value} different values: {labels}",
        "list": "Rows{where}", "where": " ({filters})", "by": " by “{column}”", "unit": " by {unit} of “{column}”",
        "added": "; total of column “{column}” of these {rows} rows: {value}",
        "used": "rows used: {used}", "unreadable": "cells skipped that are no numbers: {count} ({cells})",
        "blank": "empty cells skipped: {count}", "totals": "rows left out that are totals themselves: {count}",
        "undated": "rows whose time cannot be read: {count}",
        "cut": "the table is too large, only its first part was read",
        "assumed": "numbers like 1,500 were read the English way", "rounded": "rounded",
        "nothing": "No row{where} of the table has a number in column “{column}”.",
        "none": "There is no such row{where}.", "row": "Row {number}: {cells}", "more": "… and {count} more",
        "best": "“{label}” comes first with {value}", "month": "month", "quarter": "quarter", "year": "year",
        "group": "{label}: {value} (rows: {rows})",
    },
}  # fmt: skip
_UNCLEAR: dict[Language, dict[str, str]] = {
    "vi": {
        "no_column": "Không rõ cần tính cột nào. Bảng có các cột: {told}.",
        "ambiguous": "Có nhiều cột phù hợp: {told}. Hãy nêu rõ tên cột.",
        "value": "{first} có ở nhiều cột: {rest}. Hãy nêu rõ cột, ví dụ: {second} {first}.",
        "number": "{first} là hai số khác nhau theo cách viết của câu hỏi và của cột {rest}. "
        "Hãy viết số đó không có dấu phân cách.",
        "operations": "Câu hỏi nêu nhiều phép tính cùng lúc: {told}. Hãy hỏi từng phép một.",
        "not_numbers": "Cột {told} không chứa số nên không tính được.",
        "no_period": "Bảng không có cột nào cho biết {first}. Các cột: {rest}.",
        "years": "Dữ liệu có nhiều năm: {told}. Hãy nêu rõ năm.",
        "words": "Không tìm thấy trong bảng: {told}. Hãy dùng đúng tên cột hoặc giá trị có trong bảng.",
        "units": "Cột có nhiều đơn vị khác nhau: {told}. Không thể tính chung.",
        "tables": "Có nhiều bảng phù hợp: {told}. Hãy nêu rõ trang tính hoặc tệp.",
    },
    "en": {
        "no_column": "It is not clear which column is meant. The table has the columns: {told}.",
        "ambiguous": "Several columns fit: {told}. Please name one.",
        "value": "{first} stands in several columns: {rest}. Please name the column, as in: {second} {first}.",
        "number": "{first} is one number as the question is written and another as column {rest} is. "
        "Please write it without separators.",
        "operations": "The question asks for several computations at once: {told}. Please ask for one at a time.",
        "not_numbers": "Column {told} holds no numbers to compute with.",
        "no_period": "No column of the table tells {first}. Its columns: {rest}.",
        "years": "The data cover several years: {told}. Please name the year.",
        "words": "Not found in the table: {told}. Use names of columns or values that stand in it.",
        "units": "The column mixes units: {told}. They cannot be computed together.",
        "tables": "Several tables fit: {told}. Please name the sheet or the file.",
    },
}  # fmt: skip
_CHAR_LIMIT = 600
_NAMES: dict[Language, dict[str, str]] = {
    "vi": {
        "sum": "tổng", "average": "trung bình", "max": "lớn nhất", "min": "nhỏ nhất", "count": "đếm", "month": "tháng",
        "quarter": "quý", "year": "năm",
    },
    "en": {"sum": "total", "max": "largest", "min": "smallest"},
}  # fmt: skip
"""Operations and times as people say them."""


def unclear(why: Unclear, language: Language) -> str:
    """Why there is no answer, and what the table has."""
    names = _NAMES[language]
    is_named = why.reason in ("operations", "no_period")
    return refusal(why.reason, [names.get(one, one) for one in why.told] if is_named else why.told, language)


def refusal(reason: str, told: Sequence[str], language: Language) -> str:
    """The sentence of a reason of `Unclear`, of ``units`` or of ``tables``."""
    quoted = [f"“{_short(name)}”" for name in told]
    first, rest = "".join(quoted[:1]), ", ".join(quoted[1:])[:_CHAR_LIMIT]
    listed, second = ", ".join(quoted)[:_CHAR_LIMIT], "".join(quoted[1:2])
    return _UNCLEAR[language][reason].format(told=listed, first=first, rest=rest, second=second)


def sentence(sheet: Sheet, query: TableQuery, answer: TableAnswer, language: Language) -> str:
    """The answer with what it rests on."""
    texts = _TEXTS[language]
    where = _where(sheet, query.filters, language)
    column = "" if query.column is None else sheet.columns[query.column].name
    if not answer.matched and query.aggregate != "count":
        return texts["none"].format(where=where)
    if answer.value is None and query.aggregate not in ("list", "distinct"):
        return texts["nothing"].format(where=where, column=column)
    if query.group_by is not None:
        told = _grouped(sheet, query, answer, language, where)
    else:
        shown = "" if answer.value is None else written(sheet, query, answer.value, language)
        labels = ", ".join(map(_short, answer.labels[:_SHOWN_LABELS])) + ("…" * (len(answer.labels) > _SHOWN_LABELS))
        told = texts[query.aggregate].format(column=column, where=where, value=shown, labels=labels)
        if (added := _added(sheet, query, answer)) is not None:
            value = written(sheet, query, added, language)
            told += texts["added"].format(column=column, rows=answer.used, value=value)
    notes = "; ".join(_notes(sheet, query, answer, texts))
    ends = "" if told.endswith((".", "…")) else "."
    head = f"{told} ({notes})." if notes else f"{told}{ends}"
    return "\n".join([head, *_rows(sheet, query, answer, texts)])


def _added(sheet: Sheet, query: TableQuery, answer: TableAnswer) -> Decimal | None:
    """The sum of the rows that a list shows, where a column of one unit was named and there are several."""
    if query.aggregate != "list" or query.column is None or len(answer.rows) < 2:
        return None
    column = sheet.columns[query.column]
    values = [value for row in answer.rows if (value := column.numbers.values[row]) is not None]
    return total(values) if column.is_numeric and len(column.numbers.units) < 2 else None


def written(sheet: Sheet, query: TableQuery, value: Decimal, language: Language) -> str:
    """A value with its unit; an average with at most two decimals."""
    is_counted = query.column is None or query.aggregate in ("count", "distinct")
    unit = "" if is_counted else unit_of(sheet, query)
    shown = value
    if query.aggregate == "average" and value != value.quantize(Decimal(1).scaleb(-_AVERAGE_PLACES)):
        return f"≈ {format_number(value, language, _AVERAGE_PLACES)}{_spaced(unit)}"
    return f"{format_number(shown, language)}{_spaced(unit)}"


def unit_of(sheet: Sheet, query: TableQuery) -> str:
    """What the numbers of the asked column are: as its cells say, else as its name says in brackets."""
    if query.column is None:
        return ""
    column = sheet.columns[query.column]
    if column.numbers.units:
        return column.numbers.units[0]
    _, bracket, rest = column.name.partition("(")
    return rest.partition(")")[0].strip()[:16] if bracket else ""


def _spaced(unit: str) -> str:
    return unit if unit == "%" else f" {unit}" if unit else ""


def _grouped(sheet: Sheet, query: TableQuery, answer: TableAnswer, language: Language, where: str) -> str:
    texts = _TEXTS[language]
    assert query.group_by is not None
    by = sheet.columns[query.group_by].name
    how = (
        texts["by"].format(column=by)
        if query.group_unit == "value"
        else texts["unit"].format(unit=texts[query.group_unit], column=by)
    )
    column = "" if query.column is None else sheet.columns[query.column].name
    title = texts[query.aggregate].format(column=column, where=f"{how}{where}", value="", labels="").rstrip(": ")
    if query.top == 1 and answer.groups:
        best = [group for group in answer.groups if group.value == answer.groups[0].value]
        led = "; ".join(
            texts["best"].format(label=_label(one), value=written(sheet, query, one.value, language))
            for one in best[:3]
        )
        return f"{title}: {led}"
    return title


def _label(group: Group) -> str:
    return _short(group.label) or "–"


def _where(sheet: Sheet, filters: Sequence[Filter], language: Language) -> str:
    told = "; ".join(_filter(sheet, one, language) for one in filters)
    return _TEXTS[language]["where"].format(filters=told) if told else ""


def _filter(sheet: Sheet, one: Filter, language: Language) -> str:
    name = _short(sheet.columns[one.column].name)
    match one:
        case ValueIs():
            return f"{name} {'≠' if one.excluded else '='} {', '.join(map(_short, one.shown[:5]))}"
        case NumberIs():
            low, high = (None if v is None else format_number(v, language) for v in (one.low, one.high))
            if low and low == high:
                return f"{name} = {low}"
            parts = [f"{'≥' if one.low_included else '>'} {low}"] if low else []
            parts += [f"{'≤' if one.high_included else '<'} {high}"] if high else []
            return f"{name} {', '.join(parts)}"
        case PeriodIs():
            return f"{name}: {_period(one, language)}"
        case DaysIn():
            since, until = (day.isoformat() if day else "…" for day in (one.since, one.until))
            return f"{name}: {since} ≤ … < {until}"


def _period(one: PeriodIs, language: Language) -> str:
    texts = _TEXTS[language]
    parts = (("quarter", one.quarters), ("month", one.months), ("year", one.years))
    return ", ".join(f"{texts[kind]} {', '.join(map(str, numbers))}" for kind, numbers in parts if numbers)


def _notes(sheet: Sheet, query: TableQuery, answer: TableAnswer, texts: dict[str, str]) -> Iterator[str]:
    numbers = None if query.column is None else sheet.columns[query.column].numbers
    if query.aggregate in ("sum", "average", "max", "min", "distinct"):
        yield texts["used"].format(used=answer.used)
    if answer.unreadable:
        cells = ", ".join(f"“{_short(cell)}”" for cell in dict.fromkeys(answer.unreadable[:_SHOWN_BAD]))
        yield texts["unreadable"].format(count=len(answer.unreadable), cells=cells)
    if answer.blank:
        yield texts["blank"].format(count=answer.blank)
    if answer.totals:
        yield texts["totals"].format(count=answer.totals)
    if answer.undated:
        yield texts["undated"].format(count=answer.undated)
    if numbers is not None and numbers.assumed and query.aggregate != "count":
        yield texts["assumed"]
    if sheet.table.is_cut:
        yield texts["cut"]


def _rows(sheet: Sheet, query: TableQuery, answer: TableAnswer, texts: dict[str, str]) -> Iterator[str]:
    """The groups or the rows that are asked for, a line each."""
    language = "vi" if texts is _TEXTS["vi"] else "en"
    groups = answer.groups if query.top is None else answer.groups[: max(query.top, 1) if query.top != 1 else 0]
    for group in groups[:_SHOWN_GROUPS]:
        value = written(sheet, query, group.value, "vi" if language == "vi" else "en")
        yield f"- {texts['group'].format(label=_label(group), value=value, rows=group.rows)}"
    limit = query.top or _SHOWN_ROWS
    for row in answer.rows[:limit]:
        yield f"- {texts['row'].format(number=row + 1, cells=_cells(sheet, row, 'vi' if language == 'vi' else 'en'))}"
    further = max(len(groups) - _SHOWN_GROUPS, len(answer.rows) - limit if query.top is None else 0)
    if further > 0:
        yield texts["more"].format(count=further)


def _cells(sheet: Sheet, row: int, language: Language) -> str:
    shown: list[str] = []
    for column in sheet.columns:
        cell = column.cells[row]
        if cell != "" and len(shown) < _SHOWN_CELLS:
            is_plain = isinstance(cell, str) or column.is_time
            text = str(cell) if is_plain else format_number(Decimal(repr(cell)), language)
            shown.append(f"{_short(column.name)}: {_short(text)}")
    return "; ".join(shown)


def _short(text: str) -> str:
    return text if len(text) <= _CHARS else f"{text[: _CHARS - 1]}…"
