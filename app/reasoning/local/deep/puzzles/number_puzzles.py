"""Rows of numbers, sums of ranges, divisors, statistics, number systems."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.numerals import numeral_puzzle
from app.reasoning.local.deep.puzzles.sequences import sequence_puzzle
from app.reasoning.local.deep.puzzles.solution import Solution, program, sum_for

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_RANGE = re.compile(
    r"(?P<what>sum|total|tổng|how many|bao nhiêu|product|tích|count)[^?]{0,60}?(?P<kind>even|odd|chẵn|lẻ|"
    r"prime|nguyên tố|multiples? of \d+|bội (?:số )?của \d+|"
    r"divisible by \d+|chia hết cho \d+|integers?|whole numbers?|natural numbers?|số nguyên|số tự nhiên|"
    r"numbers|các số|số)[^?]{0,40}?"
    r"(?:from|between|từ|trong khoảng)\s+(?P<a>\d[\d.,]*)\s+(?:to|and|through|đến|tới|"
    r"và)\s+(?P<b>\d[\d.,]*)(?P<tail>[^?]*)",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"(?P<kind>even|odd|chẵn|lẻ|prime|nguyên tố|multiples? of \d+|bội (?:số )?của \d+|"
    r"divisible by \d+|chia hết cho \d+)",
    re.IGNORECASE,
)
_BELOW = re.compile(
    r"(?P<what>sum|total|tổng|how many|bao nhiêu)[^?]{0,40}?(?P<kind>even|odd|chẵn|lẻ|prime|"
    r"nguyên tố)[^?]{0,30}?(?P<than>less than|below|under|smaller than|nhỏ hơn|"
    r"bé hơn|dưới|up to|not greater than|không quá)\s+(?P<b>\d+)",
    re.IGNORECASE,
)
_GCD = re.compile(
    r"(?:greatest common divisor|greatest common factor|gcd|hcf|highest common factor|"
    r"ước (?:số )?chung lớn nhất|ưcln)(?P<rest>[^?]*)",
    re.I,
)
_LCM = re.compile(
    r"(?:least common multiple|lowest common multiple|lcm|bội (?:số )?chung nhỏ nhất|bcnn)(?P<rest>[^?]*)",
    re.IGNORECASE,
)
_FACTORIAL = re.compile(
    r"(?P<n>\d{1,3})\s*(?:!|giai thừa|factorial)|(?:factorial of|giai thừa của)\s+(?P<n2>\d{1,3})", re.IGNORECASE
)
_DIVISORS = re.compile(
    r"how many (?:positive )?(?:divisors|factors)[^?\d]*(?P<n>\d+)|(?P<n2>\d+) có (?:bao nhiêu|mấy) ước", re.IGNORECASE
)
_REST = re.compile(
    r"(?:remainder|số dư|phần dư)[^?\d]*(?P<a>\d[\d.,]*)[^?\d]*(?:divided by|chia (?:cho )?|"
    r"mod)\s*(?P<b>\d+)|(?P<a2>\d[\d.,]*) chia (?:cho )?(?P<b2>\d+)[^?]*dư (?:bao nhiêu|mấy)",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"(?P<what>median|trung vị|mode|mốt|range|khoảng biến thiên|mean|average|"
    r"trung bình(?: cộng)?)[^?:\d]{0,60}?:?\s*(?P<row>-?\d+(?:[.]\d+)?(?:\s*(?:,|;|\sand\s|"
    r"\svà\s)\s*-?\d+(?:[.]\d+)?){2,})",
    re.I,
)
_HANDSHAKES = re.compile(
    r"(?P<n>\d+)\s+(?:people|persons|người|đội|teams|bạn|players)[^?]*(?:shakes? hands|handshakes?|"
    r"bắt tay|plays? (?:each|every) other|đấu với|once with)",
    re.I,
)
_HEADS = re.compile(
    r"(?P<heads>\d+)\s+(?:con|heads|animals|cái đầu|đầu|vehicles|xe)\b[^?]*?(?P<legs>\d+)\s+(?:chân|"
    r"cái chân|legs|feet|wheels|bánh)",
    re.IGNORECASE,
)
_LEGGED = {"gà": 2, "vịt": 2, "chim": 2, "chó": 4, "thỏ": 4, "mèo": 4, "bò": 4, "lợn": 4, "chicken": 2, "hen": 2,
"duck": 2, "rabbit": 4, "dog": 4,
           "cow": 4, "pig": 4, "sheep": 4, "goat": 4, "bird": 2, "xe máy": 2, "ô tô": 4, "bicycle": 2, "car": 4,
           "motorbike": 2, "tricycle": 3}  # fmt: skip
_PERCENTS = re.compile(
    r"(?P<verb>reduced?|discount(?:ed)?|off|giảm(?: giá)?|cut|falls?|drops?|decreases?d?|increases?d?|"
    r"rises?|tăng|added|raised|marked up|tax|cộng(?: thêm)?|thuế|vat|tip)"
    r"[^.;?%\d]{0,30}?(?P<p>\d+(?:[.,]\d+)?)\s?%|(?P<p2>\d+(?:[.,]\d+)?)\s?%\s(?P<verb2>off|discount|tax|"
    r"vat|increase|decrease|reduction|thuế|tip|giảm giá|is added|surcharge)",
    re.I,
)
_DOWN = re.compile(r"reduc|discount|off|giảm|cut|fall|drop|decreas", re.IGNORECASE)
_POLICY = re.compile(
    r"acme|globex|quy định|chính sách|policy|công ty|company|nhân viên|employee|lương|salary", re.IGNORECASE
)


def number_puzzle(inquiry: Inquiry) -> Solution | None:
    """The puzzle about numbers a question is."""
    text = inquiry.text
    for rule in (
        sequence_puzzle,
        _range,
        _below,
        _common,
        _factorial,
        _divisors,
        _remainder,
        _statistic,
        numeral_puzzle,
        _hands,
        _heads,
    ):
        found = rule(text)
        if found:
            return found
    return _percents(inquiry)


def _plain(number: str) -> int:
    return int(re.sub(r"[.,](?=\d{3}\b)", "", number).rstrip(".,"))


_PRIMES = "n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))"
_PICKS = {
    "even": "n % 2 == 0",
    "chẵn": "n % 2 == 0",
    "odd": "n % 2 == 1",
    "lẻ": "n % 2 == 1",
    "prime": _PRIMES,
    "nguyên tố": _PRIMES,
}


def _range(text: str) -> Solution | None:
    mark = _RANGE.search(text)
    if not mark or _POLICY.search(text):
        return None
    special = _SPECIAL.search(mark[0])
    low, high, kind = _plain(mark["a"]), _plain(mark["b"]), (special or mark)["kind"].lower()
    if high - low > 200_000 or high < low:
        return None
    tail = re.search(r"(?:divisible by|chia hết cho|multiples? of|bội (?:số )?của)\s*(\d+)", mark["tail"])
    by = re.search(r"\d+", kind) or (tail and re.search(r"\d+", tail[0]))
    pick = f"n % {by[0]} == 0" if by else _PICKS.get(kind, "True")
    return _over(f"range({low}, {high + 1})", pick, mark["what"], mark[0])


def _over(numbers: str, pick: str, what: str, how: str) -> Solution:
    name = what.lower()
    total = (
        "sum"
        if name in ("sum", "total", "tổng")
        else "len"
        if name in ("how many", "bao nhiêu", "count")
        else "math.prod"
    )
    code = f"import math\nchosen = [n for n in {numbers} if {pick}]\n{{'result': str({total}(chosen))}}"
    return program(code, {}, kind="number", how=how)


def _below(text: str) -> Solution | None:
    mark = _BELOW.search(text)
    if not mark or _POLICY.search(text):
        return None
    up_to = mark["than"].lower() in ("up to", "not greater than", "không quá")
    return _over(f"range(1, {int(mark['b']) + up_to})", _PICKS[mark["kind"].lower()], mark["what"], mark[0])


def _common(text: str) -> Solution | None:
    for pattern, name in ((_GCD, "gcd"), (_LCM, "lcm")):
        mark = pattern.search(text)
        numbers = [int(one) for one in re.findall(r"\d+", mark["rest"])] if mark else []
        if len(numbers) > 1:
            return program(
                f"import math\n{{'result': math.{name}(*numbers)}}",
                {"numbers": list(numbers)},
                kind="number",
                how=f"{name}({numbers})",
            )
    return None


def _factorial(text: str) -> Solution | None:
    mark = _FACTORIAL.search(text)
    if not mark or len(text) > 80:
        return None
    n = int(mark["n"] or mark["n2"])
    return program("import math\n{'result': str(math.factorial(n))}", {"n": n}, kind="number", how=f"{n}!")


def _divisors(text: str) -> Solution | None:
    mark = _DIVISORS.search(text)
    if not mark:
        return None
    n = int(mark["n"] or mark["n2"])
    code = "{'result': sum(1 for d in range(1, n + 1) if n % d == 0)}"
    return program(code, {"n": n}, kind="number", how=f"divisors of {n}") if 0 < n < 10**6 else None


def _remainder(text: str) -> Solution | None:
    mark = _REST.search(text)
    if not mark:
        return None
    a, b = _plain(mark["a"] or mark["a2"]), int(mark["b"] or mark["b2"])
    return sum_for(f"{a} % {b}", how=f"{a} mod {b}") if b else None


def _statistic(text: str) -> Solution | None:
    mark = _STATISTIC.search(text)
    if not mark or _POLICY.search(text):
        return None
    row = [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", mark["row"])]
    name = {"median": "median", "trung vị": "median", "mode": "mode", "mốt": "mode"}.get(mark["what"].lower(), "")
    if mark["what"].lower() in ("range", "khoảng biến thiên"):
        code = "{'result': str(max(row) - min(row))}"
    elif name:
        code = (
            "row.sort()\nmid = len(row) // 2\n{'result': str(row[mid] if len(row) % 2 else "
            "(row[mid - 1] + row[mid]) / 2)}"
            if name == "median"
            else "from collections import Counter\n{'result': str(Counter(row).most_common(1)[0][0])}"
        )
    else:
        code = "from decimal import Decimal\nmean = sum(Decimal(str(x)) for x in row) / len(row)\n{'result': str(mean)}"
    return program(code, {"row": list(row)}, kind="number", how=f"{mark['what']}: {mark['row']}")


def _hands(text: str) -> Solution | None:
    mark = _HANDSHAKES.search(text)
    return sum_for(f"{mark['n']} * ({mark['n']} - 1) / 2") if mark else None


def _heads(text: str) -> Solution | None:
    """Chickens and rabbits: so many heads, so many legs; how many of the kind that is asked about."""
    mark = _HEADS.search(text)
    if not mark:
        return None
    said = [
        (text.lower().find(name), name) for name in _LEGGED if re.search(rf"(?<!\w){name}s?(?!\w)", text, re.IGNORECASE)
    ]
    kinds = [name for _, name in sorted(said)]
    asked = [
        name
        for name in kinds
        if re.search(rf"(?:bao nhiêu|mấy|how many)(?: con| chiếc)? {name}s?(?!\w)", text, re.IGNORECASE)
    ]
    if len(kinds) != 2 or len(asked) != 1 or _LEGGED[kinds[0]] == _LEGGED[kinds[1]]:
        return None
    other = next(name for name in kinds if name != asked[0])
    a, b = _LEGGED[asked[0]], _LEGGED[other]
    expression = (
        f"({mark['legs']} - {b} * {mark['heads']}) / ({a} - {b})"
        if a > b
        else f"({b} * {mark['heads']} - {mark['legs']}) / ({b} - {a})"
    )
    return sum_for(expression)


def _percents(inquiry: Inquiry) -> Solution | None:
    """A price that is changed by one share after the other."""
    money = [q for q in inquiry.quantities if q.kind == "money"] or [q for q in inquiry.quantities if not q.kind]
    changes = list(_PERCENTS.finditer(inquiry.text))
    if (
        len(money) != 1
        or not 2 <= len(changes) <= 4
        or inquiry.wanted not in ("money", "count", "", "text")
        or _POLICY.search(inquiry.text)
    ):
        return None
    factors = []
    for mark in changes:
        share, verb = (mark["p"] or mark["p2"]).replace(",", "."), mark["verb"] or mark["verb2"]
        factors.append(f"(100 {'-' if _DOWN.search(verb) else '+'} {share}) / 100")
    value = format(money[0].value, "f")
    return sum_for(" * ".join([value, *factors]), unit=money[0].unit if money[0].unit != "money" else "")
