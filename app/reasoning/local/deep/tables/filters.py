"""Which rows of a table a question is about: values, days and numbers it names."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.tables.rows import Column, Table, day_of
from app.reasoning.local.deep.tables.spec import Spec
from app.reasoning.local.deep.tables.words import named
from app.reasoning.local.numbers import plain

_DIFFERENCE = Saying(
    r"(?:nhiều|cao|lớn|ít|thấp|kém|hơn)[^?]{0,40}(?:hơn|"
    r"kém)?[^?]{0,40}bao nhiêu",
    "chênh lệch",
    "chênh",
    "how much (?:more|less|higher|lower)",
    "how many (?:more|fewer|less)",
    "difference",
    "by how much",
)
_COMPARE: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        ">=",
        re.compile(
            r"(?:từ|ít nhất|tối thiểu|không dưới|at least|from|minimum|no less than|not less than)\s*(?:đủ\s*)?[£$€]?$",
            re.I,
        ),
    ),
    ("<=", re.compile(r"(?:không quá|tối đa|đến|at most|up to|no more than|not more than|maximum)\s*[£$€]?$", re.I)),
    (
        ">",
        re.compile(
            r"(?:trên|hơn|quá|vượt(?: quá)?|above|over|more than|greater than|exceed(?:s|ing)?|"
            r"higher than|longer than|older than)\s*[£$€]?$",
            re.I,
        ),
    ),
    (
        "<",
        re.compile(
            r"(?:dưới|chưa đến|chưa đủ|below|under|less than|fewer than|lower than|younger than|"
            r"shorter than)\s*[£$€]?$",
            re.I,
        ),
    ),
    ("=", re.compile(r"(?:đúng|bằng|exactly|equal to)\s*$", re.I)),
)
_BEHIND_UP = re.compile(
    r"^\s*(?:[^\W\d]+\s){0,2}(?:trở lên|or more|or over|or higher|or above|and above|and over)", re.IGNORECASE
)
_BEHIND_DOWN = re.compile(r"^\s*(?:[^\W\d]+\s){0,2}(?:trở xuống|or less|or fewer|or below|and under)", re.IGNORECASE)
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = re.compile(
    rf"(?:tháng\s+(?P<m>\d{{1,2}})|(?P<name>\b(?:{'|'.join(_MONTHS)})\b))(?:\s*/\s*|\s+năm\s+|\s+)?(?P<y>\d{{4}})?",
    re.IGNORECASE,
)
_QUARTER = re.compile(r"(?:quý|q|quarter)\s*(?P<q>[1-4]|I{1,3}|IV)\b(?:[\s/]*(?:năm\s*)?(?P<y>\d{4}))?", re.IGNORECASE)
_BELOW = Saying(
    "dưới",
    "thấp hơn",
    "nhỏ hơn",
    "ít hơn",
    "kém",
    "chưa đạt",
    "không đạt",
    "below",
    "under",
    "less than",
    "lower than",
    "fewer than",
    "short of",
)
_ABOVE = Saying(
    "trên",
    "vượt(?: quá)?",
    "cao hơn",
    "lớn hơn",
    "nhiều hơn",
    "quá",
    "above",
    "over",
    "exceed(?:s|ed|ing)?",
    "more than",
    "higher than",
    "greater than",
)


def filter_values(spec: Spec, said: list[tuple[Column, str, int]], text: str) -> None:
    """Rows with the values that are said, or two values to be compared."""
    by_column: dict[int, list[str]] = {}
    for column, value, _ in said:
        by_column.setdefault(column.at, []).append(value)
    for at, values in by_column.items():
        is_compared = len(values) == 2 and text in _DIFFERENCE
        if is_compared and not spec.compared:
            spec.compared = [at, *values]
            continue
        negated = any(
            re.search(
                rf"(?:không (?:phải|thuộc|tính|kể)|trừ|except|excluding|other than|"
                rf"not)\s(?:\S+\s){{0,3}}{re.escape(value)}",
                text,
                re.I,
            )
            for value in values
        )
        spec.filters.append([at, "not in" if negated else "in", list(values)])


def filter_days(spec: Spec, inquiry: Inquiry, table: Table) -> None:
    """Rows of a month, a quarter, a day or a stretch of days."""
    if len(table.days) == 0:
        return
    column = (named(table.days, inquiry.text) or list(table.days))[0]
    years = {day.year for row in table.rows if (day := day_of(row[column.at]))}
    if len(inquiry.days) == 2:
        first, last = sorted(one.day for one in inquiry.days)
        spec.filters.append([column.at, "between", [first.isoformat(), last.isoformat()]])
        return
    quarter, month = _QUARTER.search(inquiry.text), _MONTH.search(inquiry.text)
    if month and not inquiry.days:
        number = int(month["m"]) if month["m"] else _MONTHS.index(month["name"].lower()) + 1
        year = int(month["y"]) if month["y"] else (max(years) if years else inquiry.today.year)
        spec.filters.append([column.at, "between", [f"{year}-{number:02}-01", f"{year}-{number:02}-31"]])
    elif quarter:
        said = quarter["q"].upper()
        number = {"I": 1, "II": 2, "III": 3, "IV": 4}.get(said) or int(said)
        year = int(quarter["y"]) if quarter["y"] else (max(years) if years else inquiry.today.year)
        spec.filters.append([column.at, "between", [f"{year}-{number * 3 - 2:02}-01", f"{year}-{number * 3:02}-31"]])
    elif len(inquiry.days) == 1:
        _filter_one_day(spec, inquiry, column)


def _filter_one_day(spec: Spec, inquiry: Inquiry, column: Column) -> None:
    day = inquiry.days[0]
    before = inquiry.text[max(0, day.start - 14) : day.start].lower()
    sign = (
        "<"
        if re.search(r"trước|before", before)
        else ">"
        if re.search(r"sau|after", before)
        else ">="
        if re.search(r"từ|since|from", before)
        else "="
    )
    spec.filters.append([column.at, sign, day.day.isoformat()])


def filter_numbers(spec: Spec, inquiry: Inquiry, table: Table) -> list[Column]:
    """Bounds on columns of numbers; the columns they are about."""
    used: list[Column] = []
    for quantity in inquiry.quantities:
        sign = _sign(inquiry.text, quantity)
        if not sign or not table.numeric:
            continue
        near = inquiry.text[max(0, quantity.start - 50) : quantity.end + 30]
        columns = (
            named(table.numeric, near, 0.4)
            or named(table.numeric, inquiry.text, 0.4)
            or (list(table.numeric) if len(table.numeric) == 1 else [])
        )
        if columns:
            spec.filters.append([columns[0].at, sign, plain(quantity.value)])
            used.append(columns[0])
    return used


_NONE_AT_ALL = re.compile(
    r"không [^?,.]{0,30}(?:lần|ngày|giờ|đơn|lỗi) nào|chưa (?:từng|bao giờ)|(?:no|never|zero|not a single) ",
    re.IGNORECASE,
)


def filter_none(spec: Spec, inquiry: Inquiry, table: Table) -> list[Column]:
    """“không đi muộn lần nào”: rows with nothing in the column."""
    columns = named(table.numeric, inquiry.text, 0.4) or (list(table.numeric) if len(table.numeric) == 1 else [])
    if not columns or not _NONE_AT_ALL.search(inquiry.text):
        return []
    spec.filters.append([columns[0].at, "=", "0"])
    return columns[:1]


def _sign(text: str, quantity: Quantity) -> str:
    if _BEHIND_UP.match(text[quantity.end :]):
        return ">="
    if _BEHIND_DOWN.match(text[quantity.end :]):
        return "<="
    return next((sign for sign, pattern in _COMPARE if pattern.search(text[: quantity.start])), "")


def compare_columns(spec: Spec, inquiry: Inquiry, table: Table) -> None:
    """“below their reorder level”: one column of numbers against another in the same row."""
    if inquiry.quantities or len(table.numeric) < 2 or spec.compared:
        return
    for saying, sign in ((_BELOW, "<"), (_ABOVE, ">")):
        mark = saying.search(inquiry.text)
        if not mark:
            continue
        right = named(table.numeric, inquiry.text[mark.end() :][:50], 0.4)
        left = [one for one in named(table.numeric, inquiry.text[: mark.start()], 0.4) if one not in right[:1]]
        left = left or [one for one in table.numeric if one not in right[:1]]
        if right and left:
            spec.filters.append([left[0].at, sign, {"column": right[0].at}])
            return
