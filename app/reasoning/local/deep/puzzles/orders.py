"""Who is taller than whom: comparisons in a row, and who is first or last of all."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.solution import Solution, program

_NAME = r"(?P<{0}>[A-ZĐÀ-Ỹ][\w]*(?:\s[A-ZĐÀ-Ỹ][\w]*){{0,2}})"
_GREATER = "cao|lớn|già|nặng|nhanh|nhiều|giàu|dài|xa|to|giỏi|đắt|mạnh|nhiều tuổi|lớn tuổi"
_LESSER = "thấp|nhỏ|trẻ|nhẹ|chậm|ít|nghèo|ngắn|gần|bé|kém|lùn|rẻ|yếu|ít tuổi|nhỏ tuổi"
_GREATER_EN = (
    "taller|older|heavier|faster|bigger|larger|richer|longer|higher|stronger|later|more|quicker|farther|"
    "better|louder|wider|deeper"
)
_LESSER_EN = (
    "shorter|younger|lighter|slower|smaller|poorer|lower|weaker|earlier|less|fewer|nearer|closer|worse|cheaper|narrower"
)
_RELATION = re.compile(
    rf"{_NAME.format('a')}\s+(?:thì\s+|có\s+|chạy\s+|is\s+|runs?\s+|are\s+|was\s+|finished\s+|arrived\s+|"
    rf"earns\s+|scored\s+|has\s+)?(?:(?P<not>không)\s+)?"
    rf"(?:(?P<up>{_GREATER})\s(?:\w+\s)?hơn|(?P<down>{_LESSER})\s(?:\w+\s)?hơn|"
    rf"(?P<upe>{_GREATER_EN})(?:\s\w+)?\sthan|(?P<downe>{_LESSER_EN})(?:\s\w+)?\sthan|"
    rf"(?P<ahead>ahead of|in front of|before|về trước|đứng trước)|(?P<behind>behind|after|về sau|"
    rf"đứng sau))\s+{_NAME.format('b')}"
    rf"(?:\s+(?:nhưng|but)\s+(?:(?P<down2>{_LESSER})\shơn|(?P<up2>{_GREATER})\shơn|"
    rf"(?P<upe2>{_GREATER_EN})\sthan|(?P<downe2>{_LESSER_EN})\sthan)\s+{_NAME.format('c')})?",
)
_MOST = re.compile(
    rf"(?:{_GREATER})\s(?:\w+\s)?nhất|tallest|oldest|heaviest|fastest|biggest|largest|richest|longest|"
    rf"highest|strongest|the most|quickest|best|(?:came|finished|is|was|comes) first|về nhất|đứng đầu|"
    rf"first",
    re.IGNORECASE,
)
_LEAST = re.compile(
    rf"(?:{_LESSER})\s(?:\w+\s)?nhất|shortest|youngest|lightest|slowest|smallest|poorest|lowest|weakest|"
    rf"the least|worst|cheapest|last|về cuối|cuối cùng|bét",
    re.IGNORECASE,
)
_SECOND = re.compile(
    rf"(?:{_GREATER})\s(?:\w+\s)?(?:thứ hai|nhì)|second (?:{_GREATER_EN.replace('er', 'est')}|tallest|"
    rf"oldest|fastest|heaviest)|second",
    re.IGNORECASE,
)
_PLACE = re.compile(r"ai|who|người nào|which|thành phố nào|con nào", re.IGNORECASE)
_LOWER_START = frozenset(
    {"Biết", "Nếu", "Hỏi", "Trong", "Còn", "Và", "If", "In", "The", "And", "But", "While", "Who", "Ai"}
)
_CODE = """
above = [tuple(p) for p in pairs]
names = list(dict.fromkeys(n for p in above for n in p))
order = []
left = set(names)
while left:
    tops = [n for n in names if n in left and not any(b == n and a in left for a, b in above)]
    if not tops:
        break
    order.append(tops)
    left -= set(tops)
chosen = order[0] if place == 'first' else order[-1] if place == 'last' else order[1]
{'result': chosen[0] if len(chosen) == 1 and not left else 'unknown'}
"""


def order_puzzle(inquiry: Inquiry) -> Solution | None:
    """The one of several who is first, second or last in what the question compares them by."""
    text = inquiry.text
    pairs = _pairs(text)
    if len(pairs) < 2 or not _PLACE.search(text):
        return None
    asked = re.split(r"(?<=[.?!])\s+|,\s", text)[-1] if text.endswith("?") else text
    place = (
        "second"
        if _SECOND.search(asked)
        else "last"
        if _LEAST.search(asked)
        else "first"
        if _MOST.search(asked)
        else ""
    )
    if not place:
        return None
    how = ", ".join(f"{a} > {b}" for a, b in pairs)
    return program(_CODE, {"pairs": [list(pair) for pair in pairs], "place": place}, kind="text", how=how)


def _pairs(text: str) -> list[tuple[str, str]]:
    """Who is above whom."""
    found: list[tuple[str, str]] = []
    for mark in _RELATION.finditer(re.sub(r"(?<=[,.;] )(còn|và|nhưng|while|and|but) ", "", text)):
        first, second = _bare(mark["a"]), mark["b"]
        is_up = bool(mark["up"] or mark["upe"] or mark["ahead"])
        if mark["not"] or not first:
            continue
        found.append((first, second) if is_up else (second, first))
        if mark["c"]:
            up_again = bool(mark["up2"] or mark["upe2"])
            found.append((first, mark["c"]) if up_again else (mark["c"], first))
    return found


def _bare(name: str) -> str:
    words = name.split()
    while words and words[0] in _LOWER_START:
        words = words[1:]
    return " ".join(words)
