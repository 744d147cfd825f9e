"""Shopping lists, recipes and rounds of games: prices, proportions, pairs."""

import re

from app.reasoning.local.deep.puzzles.solution import Solution, sum_for

_N = r"(?P<{0}>\d+(?:[.,]\d+)*)"
_EACH_PRICE = re.compile(
    rf"(?P<thing>[^\W\d_]+(?:\s[^\W\d_]+)?)\s+(?:cost|costs|giá|có giá|are|sell for|is|at|"
    rf"bán)\s+(?:là\s+)?(?:[£$€]\s?)?{_N.format('p')}\s*(?:đồng|nghìn|dollars?|pounds?|euros?|"
    rf"VND)?\s*(?:each|apiece|a piece|per \w+|một \w+|/\w+|mỗi \w+)?",
    re.IGNORECASE,
)
_NEXT_PRICE = re.compile(
    rf"(?:and|,|và|còn)\s+(?P<thing>[^\W\d_]+(?:\s[^\W\d_]+)?)\s+(?:[£$€]\s?)?{_N.format('p')}\s*(?:đồng|"
    rf"nghìn|dollars?|pounds?|VND)?\s*(?:each|apiece|một \w+|per \w+)",
    re.I,
)
_BOUGHT = re.compile(
    rf"{_N.format('q')}\s+(?:(?:cái|chiếc|quyển|kg|quả|hộp|cân|boxes of|bottles of|kilos? of)\s+)?(?P<thing>[^\W\d_]+)",
    re.IGNORECASE,
)
_BUYS = re.compile(r"\bbuys?\b|bought|\bmua\b|order(?:s|ed)?|đặt", re.IGNORECASE)
_LISTED = re.compile(
    r"(?P<q>\d+|an?|một|one)\s+(?:(?:cái|chiếc|quyển|cây|kg|hộp|ly|"
    r"cốc)\s+)?(?P<thing>[^\W\d_]+(?:\s[^\W\d_]+){0,2}?)\s+(?:at|for|giá|với giá|costing)\s+(?:[£$€]\s?)?"
    r"(?P<p>\d+(?:[.,]\d+)*)\s*(?:đồng|nghìn|dollars?|pounds?|VND)?\s*(?P<each>each|apiece|mỗi|một|/)?",
    re.IGNORECASE,
)
_PAID_WITH = re.compile(
    r"(?:pays? (?:with|using)|gives?|hands over|đưa|trả bằng|"
    r"with a)[^\d?.]{0,24}[£$€]?\s?(?P<w>\d+(?:[.,]\d+)*)",
    re.IGNORECASE,
)
_CHANGE_ASKED = re.compile(r"change|trả lại|thối|còn lại", re.IGNORECASE)


def plain_number(number: str) -> str:
    """As a calculator reads it: separators of thousands gone, a point before the decimals."""
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", number)
    return re.sub(r"[.,]", "", number) if grouped else number.replace(",", ".")


def shopping(text: str) -> Solution | None:
    """So many of each thing at its price."""
    listed = _listed_prices(text)
    if listed:
        return listed
    bought_at = _BUYS.search(text)
    prices = {
        mark["thing"].lower().split()[-1].rstrip("s"): plain_number(mark["p"])
        for pattern in (_EACH_PRICE, _NEXT_PRICE)
        for mark in pattern.finditer(text)
    }
    if not bought_at or len(prices) < 2 or not re.search(r"how much|bao nhiêu|total|tổng", text, re.IGNORECASE):
        return None
    bought = [(mark["q"], mark["thing"].lower().rstrip("s")) for mark in _BOUGHT.finditer(text[bought_at.end() :])]
    parts = [f"{plain_number(count)} * {prices[thing]}" for count, thing in bought if thing in prices]
    if len(parts) != len(bought) or len(parts) < 2:
        return None
    paid = re.search(
        rf"(?:pays? with|gives?|hands over|đưa|trả bằng)\s+(?:[^\d?.]{{0,20}})?[£$]?{_N.format('w')}",
        text,
        re.IGNORECASE,
    )
    total = " + ".join(parts)
    return sum_for(
        f"{plain_number(paid['w'])} - ({total})"
        if paid and re.search(r"change|trả lại|thối", text, re.IGNORECASE)
        else total
    )


def _listed_prices(text: str) -> Solution | None:
    """“3 notebooks at $4.25 each and a pen for $1.80”, and the change from a note."""
    if not _BUYS.search(text):
        return None
    parts = []
    for mark in _LISTED.finditer(text):
        count = plain_number(mark["q"]) if mark["q"][0].isdigit() else "1"
        if count != "1" and not mark["each"]:
            return None
        parts.append(f"{count} * {plain_number(mark['p'])}" if count != "1" else plain_number(mark["p"]))
    if len(parts) < 2:
        return None
    paid, total = _PAID_WITH.search(text), " + ".join(parts)
    if _CHANGE_ASKED.search(text):
        return sum_for(f"{plain_number(paid['w'])} - ({total})") if paid else None
    return sum_for(total)


_PAIRS = re.compile(
    r"(?P<n>\d+)\s+(?:đội|người|bạn|đấu thủ|kỳ thủ|teams|players|people|clubs)[^?]*(?:mỗi cặp|từng đôi|"
    r"vòng tròn|each pair|every pair|round[- ]robin|"
    r"(?:each|every) other (?:team |player )?(?:exactly )?once|đúng (?:một|1) (?:trận|ván|lần)|bắt tay|"
    r"shakes? hands|handshakes?)",
    re.IGNORECASE,
)


def round_robin(text: str) -> Solution | None:
    """Every two of them once."""
    mark = _PAIRS.search(text)
    return sum_for(f"{mark['n']} * ({mark['n']} - 1) / 2") if mark else None


_AMOUNT = re.compile(r"(?P<n>\d+(?:[.,]\d+)*)\s*(?P<u>[^\W\d_]+)")
_SAME_UNIT = {
    "g": "gram", "grams": "gram", "gam": "gram", "litres": "lít", "liters": "lít", "litre": "lít", "people": "person",
    "persons": "person", "kilometres": "km", "kilometers": "km",
}  # fmt: skip
_ASKED_UNIT = re.compile(r"(?:bao nhiêu|mấy|how (?:many|much))\s+(?P<u>[^\W\d_]+)", re.IGNORECASE)


def of_three(text: str) -> Solution | None:
    """So much of one thing for so much of another; how much for more of it."""
    found = [(plain_number(mark["n"]), _unit(mark["u"])) for mark in _AMOUNT.finditer(text)]
    asked = _ASKED_UNIT.search(text)
    if len(found) != 3 or not asked or re.search(r"%|cùng lúc|together", text):
        return None
    wanted = _unit(asked["u"])
    known = [amount for amount, unit in found if unit == wanted]
    others = [(amount, unit) for amount, unit in found if unit != wanted]
    if len(known) != 1 or len(others) != 2 or others[0][1] != others[1][1]:
        return None
    return sum_for(f"{known[0]} / {others[0][0]} * {others[1][0]}")


def _unit(word: str) -> str:
    low = word.lower()
    return _SAME_UNIT.get(low, low.rstrip("s") if low.isascii() else low)
