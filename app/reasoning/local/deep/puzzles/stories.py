"""Small stories with numbers: so many workers, times as old, two sums, a shopping list, a field and its fence."""

import re
from collections.abc import Callable

from app.reasoning.local.deep.inquiry import Inquiry, in_digits
from app.reasoning.local.deep.puzzles.shopping import of_three, plain_number, round_robin, shopping
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
    rules = (_workers, round_robin, of_three, _thought, _field, _shared, _two_sums, _times_as, shopping, _part)
    return next((found for rule in rules if (found := rule(text)) is not None), None)


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
    return sum_for(f"{plain_number(mark['a'])} * {plain_number(mark['t'])} / {plain_number(others[0]['m'])}")


def _times_as(text: str) -> Solution | None:
    """“mẹ 36 tuổi, gấp 3 lần tuổi con”: the other is a third of it."""
    mark = _TIMES.search(text)
    asks = re.search(r"(?:bao nhiêu|mấy|how (?:many|old|much))", text, re.IGNORECASE)
    numbers = re.findall(r"\d+(?:[.,]\d+)*", text)
    if not mark or not asks or len(numbers) != 2 or _AGO.search(text) or asks.start() < mark.start():
        return None
    return sum_for(f"{plain_number(mark['n1'])} / {plain_number(mark['k'])}")


def _two_sums(text: str) -> Solution | None:
    """Two amounts, together so much, one so much more than the other."""
    mark = _TOTAL_MORE.search(text)
    if not mark or len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 2:
        return None
    whole, more = plain_number(mark["s"] or mark["s2"]), plain_number(mark["d"] or mark["d2"])
    asked = text[mark.end() :] or text
    if _SMALLER.search(asked) and not _LARGER.search(asked):
        return sum_for(f"({whole} - {more}) / 2")
    if _LARGER.search(asked) and not _SMALLER.search(asked):
        return sum_for(f"({whole} + {more}) / 2")
    return None


def _part(text: str) -> Solution | None:
    """So many per cent of so many are one thing: how many are, how many are not."""
    mark, asked = _SHARE.search(text), _HOW_MANY.search(text)
    if not mark or not asked or len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 2:
        return None
    share, whole = plain_number(mark["p"]), plain_number(mark["n"])
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
    a, b = plain_number(mark["a"]), plain_number(mark["b"])
    is_rest = mark["what"].lower() in ("dư", "còn lại", "thừa", "left over", "remain", "left") or re.search(
        r"dư|thừa|left over|remain", text, re.I
    )
    return sum_for(f"{a} % {b}") if is_rest and "." not in f"{a}{b}" else sum_for(f"{a} / {b}") if not is_rest else None


def _field(text: str) -> Solution | None:
    """Areas, perimeters and volumes."""
    box = _BOX.search(text) if _VOLUME.search(text) else None
    if box:
        return sum_for(f"{plain_number(box['a'])} * {plain_number(box['b'])} * {plain_number(box['c'])}")
    rectangle, square, triangle = _RECTANGLE.search(text), _SQUARE.search(text), _TRIANGLE.search(text)
    if triangle and _AREA.search(text):
        return sum_for(f"{plain_number(triangle['a'])} * {plain_number(triangle['b'])} / 2")
    if rectangle and len(re.findall(r"\d+(?:[.,]\d+)*", text)) == 2:
        a, b = plain_number(rectangle["a"]), plain_number(rectangle["b"])
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
        side = plain_number(square["a"])
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
    whole = plain_number(result["r"])
    for _, amount, back in reversed(steps):
        whole = back(whole, plain_number(amount))
    return sum_for(whole.removeprefix("(").removesuffix(")") if whole.count("(") == 1 else whole)
