"""Small stories with numbers: so many workers, times as old, two sums, a shopping list, a field and its fence."""

import re
from collections.abc import Callable

from app.reasoning.local.deep.inquiry import Inquiry, in_digits
from app.reasoning.local.deep.puzzles.solution import Solution, sum_for
from app.reasoning.local.deep.sayings import Saying

_N = r"(?P<{0}>\d+(?:[.,]\d+)*)"
_OFFICE = Saying(
    "theo (?:quy định|chính sách)",
    "quy định",
    "chính sách",
    "policy",
    "acme",
    "globex",
    "công ty",
    "lương",
    "salary",
    "phép",
    "annual leave",
    "overtime",
    "làm thêm",
    "khấu trừ",
    "phụ cấp",
    "thử việc",
    "hợp đồng",
    "allowance",
    "expenses?",
    "handbook",
    "bảo hiểm",
    "công tác",
)
_MAX_CHARS = 500
_WORKERS = (
    r"(?:công nhân|người|thợ|máy|workers?|people|men|machines?|painters?|printers?|cooks?|bạn|"
    r"chiếc máy|vòi|pumps?|taps?)"
)
_LENGTH = r"(?:ngày|giờ|phút|tuần|days?|hours?|minutes?|weeks?)"
_INVERSE = re.compile(
    rf"{_N.format('a')}\s+{_WORKERS}[^.?]*?(?:trong|mất|hết|in|takes?|for|"
    rf"làm xong)\s+(?:[^\d.?]{{0,14}})?{_N.format('t')}\s+(?P<u>{_LENGTH})[^?]*?(?:bao nhiêu|mấy|"
    rf"how (?:many|long))[^?]*",
    re.IGNORECASE,
)
_OTHER_WORKERS = re.compile(rf"{_N.format('m')}\s+(?:\w+\s+)?{_WORKERS}", re.IGNORECASE)
_TIMES = re.compile(
    rf"(?P<a>{_N.format('n1')}[^.,;?]{{0,30}}?)\s*,?\s*(?:gấp|bằng|is|which is|that is|has|"
    rf"and is)\s+(?:đúng\s+)?{_N.format('k')}\s*(?:lần|times)\s*(?P<rest>[^.,;?]*)",
    re.IGNORECASE,
)
_AGO = re.compile(r"năm (?:trước|sau|nữa)|years? (?:ago|from now|later)|in \d+ years", re.IGNORECASE)
_TOTAL_MORE = re.compile(
    rf"(?:cost|tổng|together|total|cả hai|sum|cộng "
    rf"lại)[^.?]*?[£$]?{_N.format('s')}[^.?]*[.,]?[^.?]*?[£$]?{_N.format('d')}[^.?\d]{{0,30}}?(?:more|"
    rf"hơn|greater|đắt hơn|nhiều hơn|lớn hơn)"
    rf"|(?:cost|tổng|together|total|cả hai|sum|"
    rf"cộng lại)[^.?]*?[£$]?{_N.format('s2')}[^.?]*[.,]?[^.?]*?(?:more|hơn|hiệu|difference|chênh lệch|"
    rf"đắt hơn|nhiều hơn|lớn hơn)[^.?\d]{{0,40}}?[£$]?{_N.format('d2')}",
    re.IGNORECASE,
)
_SMALLER = re.compile(r"số bé|số nhỏ|smaller|số kia|quả bóng|\bball\b|rẻ hơn|cheaper|younger|ít hơn", re.IGNORECASE)
_LARGER = re.compile(r"số lớn|larger|greater|bigger|\bbat\b|đắt hơn|older|nhiều hơn", re.IGNORECASE)
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
_SHARE = re.compile(
    rf"{_N.format('n')}\s+(?P<of>[^\W\d_]+(?:\s[^\W\d_]+)?)[^.?]*?{_N.format('p')}\s?(?:%|phần trăm|"
    rf"percent)\s*(?:of (?:them|the \w+)\s*)?(?:số \S+(?: \S+)?\s*)?(?:trong số đó\s*)?(?:là|are|is|were|"
    rf"have|có|đã)?\s*(?P<x>[^.,?]{{2,40}})",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"(?:bao nhiêu|mấy|how many)\s+(?P<y>[^?]{2,60})", re.IGNORECASE)
_SPLIT = re.compile(
    rf"(?:chia (?:đều )?)?{_N.format('a')}\s+[^\d?]*?(?:chia (?:đều )?cho|cho|among|between|"
    rf"into groups of|thành (?:các )?nhóm|packed in(?:to)? boxes of|mỗi (?:hộp|nhóm|túi|"
    rf"thùng))\s+{_N.format('b')}[^?]*?(?P<what>dư|còn lại|thừa|left over|remain|left|mỗi (?:em|người|"
    rf"bạn|nhóm)|each)",
    re.IGNORECASE,
)
_RECTANGLE = re.compile(
    rf"(?:chữ nhật|rectang\w+)[^?]*?{_N.format('a')}\s*(?:m|cm|km|mét|metres?|meters?|feet|"
    rf"ft)?[^\d?]*?{_N.format('b')}\s*(?:m|cm|km|mét|metres?|meters?|feet|ft)?",
    re.I,
)
_SQUARE = re.compile(rf"(?:hình vuông|square)[^?]*?{_N.format('a')}", re.IGNORECASE)
_TRIANGLE = re.compile(
    rf"(?:tam giác|triangle)[^?]*?(?:đáy|base)[^\d?]*{_N.format('a')}[^\d?]*(?:cao|height)[^\d?]*{_N.format('b')}",
    re.IGNORECASE,
)
_BOX = re.compile(
    rf"(?:hộp chữ nhật|box|tank|bể|cuboid|khối)[^?]*?{_N.format('a')}[^\d?]*{_N.format('b')}[^\d?]*{_N.format('c')}",
    re.IGNORECASE,
)
_AREA, _AROUND, _VOLUME = (
    re.compile(p, re.IGNORECASE)
    for p in (r"diện tích|\barea\b", r"chu vi|perimeter|fence|hàng rào", r"thể tích|volume|dung tích")
)
_THINK = re.compile(
    r"(?:think of|nghĩ (?:ra |đến )?|lấy|take|có)\s+(?:of )?(?:a|một|some)\s+(?:number|số)", re.IGNORECASE
)
_STEPS: tuple[tuple[re.Pattern[str], Callable[[str, str], str]], ...] = (
    (
        re.compile(rf"(?:add(?:ing|ed)?|cộng(?: thêm| với)?|thêm|plus)\s+(?:to it\s+)?{_N.format('k')}", re.I),
        lambda whole, k: f"({whole} - {k})",
    ),
    (
        re.compile(rf"(?:subtract(?:ing|ed)?|take away|trừ(?: đi| bớt)?|bớt|minus|less)\s+{_N.format('k')}", re.I),
        lambda whole, k: f"({whole} + {k})",
    ),
    (
        re.compile(
            rf"(?:multipl\w+(?: it| that)?(?: by)?|nhân(?: với| cho)?|gấp(?: lên)?|times)\s+{_N.format('k')}", re.I
        ),
        lambda whole, k: f"({whole} / {k})",
    ),
    (
        re.compile(rf"(?:divid\w+(?: it| that)?(?: by)?|chia(?: cho)?)\s+{_N.format('k')}", re.I),
        lambda whole, k: f"({whole} * {k})",
    ),
    (re.compile(r"(?P<k>double|gấp đôi|nhân đôi)(?:\s+it)?", re.I), lambda whole, _: f"({whole} / 2)"),
    (re.compile(r"(?P<k>triple|gấp ba|nhân ba)(?:\s+it)?", re.I), lambda whole, _: f"({whole} / 3)"),
    (re.compile(r"(?P<k>halve|chia đôi)(?:\s+it)?", re.I), lambda whole, _: f"({whole} * 2)"),
)
_RESULT = re.compile(
    rf"(?:get|gives?|is|result(?: is)?|equals?|được(?: kết quả)?(?: là)?|bằng|thì được|"
    rf"kết quả(?: là)?)\s+{_N.format('r')}",
    re.IGNORECASE,
)


def story_puzzle(inquiry: Inquiry) -> Solution | None:
    """The story a question tells, as a calculation."""
    if len(inquiry.text) > _MAX_CHARS or inquiry.text in _OFFICE:
        return None
    text = in_digits(inquiry)
    rules = (_workers, _round_robin, _of_three, _thought, _field, _shared, _two_sums, _times_as, _shopping, _part)
    return next((found for rule in rules if (found := rule(text)) is not None), None)


def _plain(number: str) -> str:
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", number)
    return re.sub(r"[.,]", "", number) if grouped else number.replace(",", ".")


def _workers(text: str) -> Solution | None:
    """The more of them, the sooner."""
    mark = _INVERSE.search(text)
    if not mark or re.search(r"cùng tốc độ|%|sản phẩm|items", text, re.IGNORECASE):
        return None
    others = [one for one in _OTHER_WORKERS.finditer(text) if one.start() >= mark.end("t") or one["m"] != mark["a"]]
    if len(others) != 1 or not re.search(
        rf"(?:bao nhiêu|mấy|how many)\s+{_LENGTH}|how long|bao lâu", text, re.IGNORECASE
    ):
        return None
    return sum_for(f"{_plain(mark['a'])} * {_plain(mark['t'])} / {_plain(others[0]['m'])}")


def _times_as(text: str) -> Solution | None:
    """“mẹ 36 tuổi, gấp 3 lần tuổi con”: the other is a third of it."""
    mark = _TIMES.search(text)
    asks = re.search(r"(?:bao nhiêu|mấy|how (?:many|old|much))", text, re.IGNORECASE)
    numbers = re.findall(r"\d+(?:[.,]\d+)*", text)
    if not mark or not asks or len(numbers) != 2 or _AGO.search(text) or asks.start() < mark.start():
        return None
    return sum_for(f"{_plain(mark['n1'])} / {_plain(mark['k'])}")


def _two_sums(text: str) -> Solution | None:
    """Two amounts, together so much, one so much more than the other."""
    mark = _TOTAL_MORE.search(text)
    if not mark or len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 2:
        return None
    whole, more = _plain(mark["s"] or mark["s2"]), _plain(mark["d"] or mark["d2"])
    asked = text[mark.end() :] or text
    if _SMALLER.search(asked) and not _LARGER.search(asked):
        return sum_for(f"({whole} - {more}) / 2")
    if _LARGER.search(asked) and not _SMALLER.search(asked):
        return sum_for(f"({whole} + {more}) / 2")
    return None


def _shopping(text: str) -> Solution | None:
    """So many of each thing at its price."""
    listed = _listed_prices(text)
    if listed:
        return listed
    bought_at = _BUYS.search(text)
    prices = {
        mark["thing"].lower().split()[-1].rstrip("s"): _plain(mark["p"])
        for pattern in (_EACH_PRICE, _NEXT_PRICE)
        for mark in pattern.finditer(text)
    }
    if not bought_at or len(prices) < 2 or not re.search(r"how much|bao nhiêu|total|tổng", text, re.IGNORECASE):
        return None
    bought = [(mark["q"], mark["thing"].lower().rstrip("s")) for mark in _BOUGHT.finditer(text[bought_at.end() :])]
    parts = [f"{_plain(count)} * {prices[thing]}" for count, thing in bought if thing in prices]
    if len(parts) != len(bought) or len(parts) < 2:
        return None
    paid = re.search(
        rf"(?:pays? with|gives?|hands over|đưa|trả bằng)\s+(?:[^\d?.]{{0,20}})?[£$]?{_N.format('w')}",
        text,
        re.IGNORECASE,
    )
    total = " + ".join(parts)
    return sum_for(
        f"{_plain(paid['w'])} - ({total})" if paid and re.search(r"change|trả lại|thối", text, re.IGNORECASE) else total
    )


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


def _listed_prices(text: str) -> Solution | None:
    """“3 notebooks at $4.25 each and a pen for $1.80”, and the change from a note."""
    if not _BUYS.search(text):
        return None
    parts = []
    for mark in _LISTED.finditer(text):
        count = _plain(mark["q"]) if mark["q"][0].isdigit() else "1"
        if count != "1" and not mark["each"]:
            return None
        parts.append(f"{count} * {_plain(mark['p'])}" if count != "1" else _plain(mark["p"]))
    if len(parts) < 2:
        return None
    paid, total = _PAID_WITH.search(text), " + ".join(parts)
    if _CHANGE_ASKED.search(text):
        return sum_for(f"{_plain(paid['w'])} - ({total})") if paid else None
    return sum_for(total)


def _part(text: str) -> Solution | None:
    """So many per cent of so many are one thing: how many are, how many are not."""
    mark, asked = _SHARE.search(text), _HOW_MANY.search(text)
    if not mark or not asked or len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 2:
        return None
    share, whole = _plain(mark["p"]), _plain(mark["n"])
    key = [word for word in re.findall(r"[^\W\d_]+", mark["x"].lower()) if len(word) > 1]
    said = re.findall(r"[^\W\d_]+", asked["y"].lower())
    is_other = bool({"not", "không", "chưa"} & set(said)) != bool({"not", "không", "chưa"} & set(key)) or not set(
        key
    ) & set(said)
    return sum_for(f"{whole} * (100 - {share}) / 100" if is_other else f"{whole} * {share} / 100")


def _shared(text: str) -> Solution | None:
    """What is left when so many are shared among so many, or what each gets."""
    mark = _SPLIT.search(text)
    if not mark or len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 2:
        return None
    a, b = _plain(mark["a"]), _plain(mark["b"])
    is_rest = mark["what"].lower() in ("dư", "còn lại", "thừa", "left over", "remain", "left") or re.search(
        r"dư|thừa|left over|remain", text, re.I
    )
    return sum_for(f"{a} % {b}") if is_rest and "." not in f"{a}{b}" else sum_for(f"{a} / {b}") if not is_rest else None


def _field(text: str) -> Solution | None:
    """Areas, perimeters and volumes."""
    box = _BOX.search(text) if _VOLUME.search(text) else None
    if box:
        return sum_for(f"{_plain(box['a'])} * {_plain(box['b'])} * {_plain(box['c'])}")
    rectangle, square, triangle = _RECTANGLE.search(text), _SQUARE.search(text), _TRIANGLE.search(text)
    if triangle and _AREA.search(text):
        return sum_for(f"{_plain(triangle['a'])} * {_plain(triangle['b'])} / 2")
    if rectangle and len(re.findall(r"\d+(?:[.,]\d+)*", text)) == 2:
        a, b = _plain(rectangle["a"]), _plain(rectangle["b"])
        return (
            sum_for(f"({a} + {b}) * 2")
            if _AROUND.search(text)
            else sum_for(f"{a} * {b}")
            if _AREA.search(text)
            else None
        )
    if (
        square
        and not rectangle
        and len(re.findall(r"\d+(?:[.,]\d+)*", text)) == 1
        and (_AREA.search(text) or _AROUND.search(text))
    ):
        side = _plain(square["a"])
        return sum_for(f"{side} * 4" if _AROUND.search(text) else f"{side} ** 2")
    return None


def _thought(text: str) -> Solution | None:
    """A number that was doubled, added to and so on: back to it, step by step."""
    start, results = _THINK.search(text), list(_RESULT.finditer(text))
    if not start or not results:
        return None
    result = results[-1]
    steps = sorted(
        (
            (mark.start(), mark.group("k"), back)
            for pattern, back in _STEPS
            for mark in pattern.finditer(text, start.end(), result.start())
        ),
        key=lambda one: one[0],
    )
    if not steps:
        return None
    whole = _plain(result["r"])
    for _, amount, back in reversed(steps):
        whole = back(whole, _plain(amount))
    return sum_for(whole.removeprefix("(").removesuffix(")") if whole.count("(") == 1 else whole)


_PAIRS = re.compile(
    r"(?P<n>\d+)\s+(?:đội|người|bạn|đấu thủ|kỳ thủ|teams|players|people|clubs)[^?]*(?:mỗi cặp|từng đôi|"
    r"vòng tròn|each pair|every pair|round[- ]robin|"
    r"(?:each|every) other (?:team |player )?(?:exactly )?once|đúng (?:một|1) (?:trận|ván|lần)|bắt tay|"
    r"shakes? hands|handshakes?)",
    re.IGNORECASE,
)


def _round_robin(text: str) -> Solution | None:
    """Every two of them once."""
    mark = _PAIRS.search(text)
    return sum_for(f"{mark['n']} * ({mark['n']} - 1) / 2") if mark else None


_AMOUNT = re.compile(r"(?P<n>\d+(?:[.,]\d+)*)\s*(?P<u>[^\W\d_]+)")
_SAME_UNIT = {
    "g": "gram", "grams": "gram", "gam": "gram", "litres": "lít", "liters": "lít", "litre": "lít", "people": "person",
    "persons": "person", "kilometres": "km", "kilometers": "km",
}  # fmt: skip
_ASKED_UNIT = re.compile(r"(?:bao nhiêu|mấy|how (?:many|much))\s+(?P<u>[^\W\d_]+)", re.IGNORECASE)


def _of_three(text: str) -> Solution | None:
    """So much of one thing for so much of another; how much for more of it."""
    found = [(_plain(mark["n"]), _unit(mark["u"])) for mark in _AMOUNT.finditer(text)]
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
