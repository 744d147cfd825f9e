"""A question to a table as a small specification that a fixed program carries out."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.tables.filters import (
    compare_columns,
    filter_days,
    filter_none,
    filter_numbers,
    filter_values,
)
from app.reasoning.local.deep.tables.rows import Column, Table
from app.reasoning.local.deep.tables.spec import Spec
from app.reasoning.local.deep.tables.words import named, spoken_of, values_said

_LEAST_OF = Saying(
    r"ít(?: [^\W\d]+){0,3} nhất|thấp nhất|nhỏ nhất|rẻ nhất|ngắn nhất|trẻ nhất|sớm nhất|chậm nhất|bé nhất",
    r"lowest|smallest|least|cheapest|shortest|fewest|youngest|earliest|minimum|lightest",
)
_MOST_OF = Saying(
    r"nhiều(?: [^\W\d]+){0,3} nhất|cao nhất|lớn nhất|đắt nhất|dài nhất|già nhất|muộn nhất|lâu nhất|nặng nhất|đông nhất",
    r"highest|largest|most|greatest|longest|oldest|latest|maximum|biggest|heaviest|most expensive",
)
_AVERAGE = Saying("trung bình", "bình quân", "average", "mean")
_MEDIAN = Saying("trung vị", "median")
_COUNT = Saying(
    r"(?:có )?(?:bao nhiêu|mấy) (?!đồng|tiền|giờ|phút|%|phần trăm|lít|kg|km|"
    r"triệu|pounds|usd|điểm)",
    "đếm",
    "số (?:nhân viên|người|dòng|đơn|mặt hàng|dự án|lần)(?! tiền)",
    r"how many (?!pounds|dollars|euros|hours|days|units|minutes|pieces|"
    r"litres|points|kg|km)",
    "number of (?!hours|days|units)",
    "count",
    ends=False,
)
_DISTINCT = Saying("khác nhau", "bao nhiêu loại", "different", "distinct", "unique")
_SUM = Saying("tổng", "cộng", "total", "sum", "altogether", "in all", "combined", "tất cả")
_SHARE = Saying(
    r"(?:chiếm )?(?:bao nhiêu|mấy) (?:phần trăm|%)", "tỷ lệ", "tỉ lệ", "what (?:percentage|per ?cent|share|proportion)"
)
_WHICH = Saying(
    r"(?:[^\W\d]+ ){1,3}nào",
    "ai",
    "which",
    "who",
    "whose",
    "what (?:is the name|product|customer|item|city|department)",
    "tên",
)
_LIST = Saying(
    "những ai",
    r"(?:những|các) [^?]{1,40} nào",
    "liệt kê",
    "kể tên",
    "list",
    "which (?:\\w+ ){1,3}(?:are|have|were|is|did|do)\\b",
    "name all",
    "who (?:are|have|were)",
    "ghi (?:họ )?tên",
    "gồm những ai",
)
_PRODUCT = Saying(r"(?:nhân|×|\*|x)(?: với)?", "times", "multiplied by", ends=False)
_VALUE = Saying(
    "tổng giá trị",
    "giá trị (?:các )?đơn",
    "thành tiền",
    "doanh thu",
    "tổng tiền",
    "total value",
    "revenue",
    "order value",
    "value of (?:all|the)",
    "giá trị",
    "worth",
)
_QUANTITY_COLUMN = re.compile(r"\b(?:so luong|sl|quantity|qty|units|in stock|ton kho|so gio|hours|so dem|so ngay)\b")
_PRICE_COLUMN = re.compile(r"\b(?:don gia|gia|unit price|price|rate|cost per|unit cost)\b")
_SECOND = Saying("thứ hai", "thứ nhì", "second")


def spec_of(inquiry: Inquiry, table: Table) -> Spec | None:
    """What is asked of a table; None when that is not clear."""
    spec = Spec()
    text = inquiry.text
    said = values_said(table, text)
    spec.label = _label_column(inquiry, table).at
    filter_values(spec, said, text)
    filter_days(spec, inquiry, table)
    used = filter_numbers(spec, inquiry, table) or filter_none(spec, inquiry, table)
    compare_columns(spec, inquiry, table)
    measured = _measure(inquiry, table, used)
    spec.measure = [one.at for one in measured]
    spec.unit = measured[0].unit if len(measured) == 1 else ""
    return _shaped(spec, inquiry, table, said)


def _label_column(inquiry: Inquiry, table: Table) -> Column:
    """What names a row: the text column the question asks for, else the first."""
    asked = [one for one in named(table.textual, _which_part(inquiry.text)) if one.kind == "text"]
    texts = table.textual or table.columns
    unique = [one for one in texts if len(table.values(one)) == len(table.rows)]
    return asked[0] if asked else (unique or list(texts))[0]


def _which_part(text: str) -> str:
    """The words around “nào”, behind “which”."""
    marks = [
        mark[0]
        for mark in re.finditer(
            r"(?:[^\W\d]+\s){1,3}nào|(?:which|whose|what)\s(?:[^\W\d]+\s?){1,3}|(?:những )?ai\b|who\b|(?:họ )?tên\b",
            text,
            re.IGNORECASE,
        )
    ]
    return " ".join(marks)


def _measure(inquiry: Inquiry, table: Table, used: list[Column]) -> list[Column]:
    """The column that is added up, or two that are multiplied."""
    text = inquiry.text
    quantity = [one for one in table.numeric if _QUANTITY_COLUMN.search(one.plain)]
    price = [one for one in table.numeric if _PRICE_COLUMN.search(one.plain) and one not in quantity]
    said = named(table.numeric, text)
    is_worth = text in _VALUE or (
        inquiry.wanted == "money" and not [one for one in table.numeric if one not in (*quantity, *price)]
    )
    if (
        quantity
        and price
        and (text in _PRODUCT or (is_worth and not [one for one in said if one not in (*quantity, *price)]))
    ):
        return [quantity[0], price[0]]
    free = [one for one in said if one not in used] or said
    if free:
        return free[:1]
    money = [
        one
        for one in table.numeric
        if re.search(r"tien|amount|cost|chi phi|total|thanh tien|luong|salary|doanh thu|revenue", one.plain)
    ]
    if inquiry.wanted == "money" and len(money) == 1:
        return money
    return list(table.numeric) if len(table.numeric) == 1 else []


def _shaped(spec: Spec, inquiry: Inquiry, table: Table, said: list[tuple[Column, str, int]]) -> Spec | None:
    """Aggregate, group and what is told."""
    text = inquiry.text
    is_most, is_least = (
        text in _MOST_OF,
        text in _LEAST_OF and not re.search(r"(?:ít nhất|at least)\s*\d", text, re.IGNORECASE),
    )
    counts = text in _COUNT and inquiry.wanted not in ("money", "%") and text not in _SHARE
    spec.aggregate = "average" if text in _AVERAGE else "median" if text in _MEDIAN else "sum"
    if text in _DISTINCT and counts:
        spec.aggregate, spec.answer = "distinct", "value"
        spec.measure = [(named(table.textual, text) or list(table.textual))[0].at]
        return spec
    if (is_most or is_least) and not spec.compared:
        return _extreme(spec, inquiry, table, is_most=is_most)
    if text in _LIST and not counts:
        spec.answer, spec.aggregate = "list", "list"
        return spec if spec.filters else None
    if text in _SHARE:
        return _share(spec, inquiry)
    if spec.compared:
        if counts or not spec.measure:
            spec.aggregate = "count"
        spec.answer = "value"
        return spec
    if counts and not _counts_measure(inquiry, table):
        spec.aggregate, spec.measure = "count", []
        return spec
    if text in _WHICH and inquiry.wanted == "text" and spec.filters:
        spec.answer, spec.aggregate = "list", "list"
        return spec
    if not spec.measure:
        return None
    return spec


def _counts_measure(inquiry: Inquiry, table: Table) -> bool:
    """Whether “bao nhiêu …” names a column of numbers: so many late arrivals, so many hours."""
    mark = _COUNT.search(inquiry.text)
    behind = inquiry.text[mark.start() :][:45] if mark else ""
    return any(spoken_of(one, behind) >= 0.7 for one in table.numeric) and inquiry.text in _SUM


def _share(spec: Spec, inquiry: Inquiry) -> Spec | None:
    """The part that the filters keep, of the whole."""
    if not spec.filters:
        return None
    if inquiry.text not in _SUM and not spec.measure:
        spec.measure = []
    spec.aggregate, spec.unit = "share", "%"
    return spec


def _extreme(spec: Spec, inquiry: Inquiry, table: Table, *, is_most: bool) -> Spec | None:
    """Which row or group has the most, or how much that is."""
    text = inquiry.text
    spec.order = "most" if is_most else "least"
    spec.place = 2 if text in _SECOND else 1
    asks_label = text in _WHICH or inquiry.kind in ("who",)
    label = next((one for one in table.columns if one.at == spec.label), table.columns[0])
    is_repeated = len(table.values(label)) < len(table.rows)
    asks_count = re.search(
        r"most (?:orders|entries|rows|times|often)|nhiều (?:đơn|lần|dòng|khoản|dự án|nhân viên|người)|"
        r"đông (?:nhân viên|người)|most (?:\w+ )?(?:projects|employees|people|items|visits)",
        text,
        re.IGNORECASE,
    )
    if not spec.measure and not asks_count and not table.numeric:
        return None
    if asks_count or (not spec.measure and is_repeated):
        measured = named(table.numeric, asks_count[0] if asks_count else "", 0.7)
        spec.measure = [measured[0].at] if measured else []
        spec.aggregate = "sum" if measured else "count"
    elif not spec.measure:
        return None
    if asks_label:
        spec.answer = "label"
        spec.group = spec.label if is_repeated else None
    else:
        spec.answer = "value"
        spec.group = spec.label if is_repeated and re.search(r"tổng|total", text, re.IGNORECASE) else None
    return spec
