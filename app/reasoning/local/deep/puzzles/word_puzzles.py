"""Words turned round, counted, sorted, shortened."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.solution import Solution, program
from app.text.language import ENGLISH_STOP_WORDS, words

_QUOTED = r"[\"“”'‘’«»](?P<{0}>[^\"“”'‘’«»]+)[\"“”'‘’«»]"
_WORD = r"(?:(?:the )?(?:word|phrase|text|sentence|string|name|từ|cụm từ|chữ|câu|chuỗi|tu|cum tu|cau)\s+)?"
_OPPOSITES = {
    "left": "right", "right": "left", "up": "down", "down": "up", "yes": "no", "no": "yes", "hot": "cold",
    "cold": "hot",
    "big": "small", "small": "big", "true": "false", "false": "true", "open": "closed", "day": "night", "night": "day",
    "black": "white", "white": "black", "in": "out", "out": "in", "on": "off", "off": "on", "first": "last",
    "last": "first",
    "high": "low", "low": "high", "fast": "slow", "slow": "fast", "north": "south", "south": "north", "east": "west",
    "west": "east", "early": "late", "late": "early", "full": "empty", "empty": "full", "start": "end", "begin": "end",
    "long": "short", "short": "long", "old": "new", "new": "old", "young": "old", "light": "dark", "dark": "light",
    "always": "never", "never": "always", "before": "after", "after": "before", "win": "lose", "buy": "sell",
    "sell": "buy",
    "wet": "dry", "dry": "wet", "rich": "poor", "poor": "rich", "strong": "weak", "weak": "strong", "heavy": "light",
    "trái": "phải", "phải": "trái", "trên": "dưới", "dưới": "trên", "cao": "thấp", "thấp": "cao", "nóng": "lạnh",
    "lạnh": "nóng",
    "ngày": "đêm", "đêm": "ngày", "đúng": "sai", "sai": "đúng", "nhanh": "chậm", "chậm": "nhanh", "mở": "đóng",
    "đóng": "mở",
    "đầu": "cuối", "cuối": "đầu", "trong": "ngoài", "ngoài": "trong", "lớn": "nhỏ", "nhỏ": "lớn", "dài": "ngắn",
    "ngắn": "dài",
}  # fmt: skip
_WRITE = re.compile(
    rf"(?:write|give|answer with|say|type|return|reply with|viết|ghi|trả lời(?: bằng)?)(?: only| just|"
    rf" out)? {_WORD}{_QUOTED.format('w')}"
    r"(?: as the(?: only)? answer| only| as the answer only)?",
    re.IGNORECASE,
)
_OPPOSITE = re.compile(
    rf"(?:opposite (?:of|to)|trái nghĩa (?:với|của)|ngược nghĩa với) {_WORD}{_QUOTED.format('w')}", re.IGNORECASE
)
_TURN = re.compile(
    rf"(?:(?:reverse|spell|write|viết ngược|đảo ngược|viết|đọc ngược)\s+{_WORD}{_QUOTED.format('w')}(?P<tail>[^?.]*)|"
    rf"{_WORD}{_QUOTED.format('w2')}\s+(?P<tail2>(?:spelled|spelt|written|read|viết|"
    rf"đọc)?\s*(?:backwards?|in reverse|ngược(?: lại)?)))",
    re.IGNORECASE,
)
_BACKWARDS = re.compile(r"backwards?|reverse|ngược", re.IGNORECASE)
_LETTER_COUNT = re.compile(
    rf"(?:how many (?:times does |times is |)(?:the )?(?:letters?|characters?|"
    rf"chữ)?\s*{_QUOTED.format('l')}(?:s|'s)?[^?\"“']*?"
    rf"(?:in|of)\s+{_WORD}{_QUOTED.format('w')}|"
    rf"(?:bao nhiêu|mấy)\s+(?:lần\s+)?(?:chữ cái|chữ|ký tự|"
    rf"kí tự)\s+{_QUOTED.format('l2')}[^?\"“']*?(?:trong|của)\s+{_WORD}{_QUOTED.format('w2')}|"
    rf"(?:chữ cái|chữ|ký tự|kí tự)\s+{_QUOTED.format('l3')}\s+xuất hiện[^?\"“']*?(?:bao nhiêu|"
    rf"mấy)\s+lần\s+trong\s+{_WORD}{_QUOTED.format('w3')}|"
    rf"(?:chữ cái|chữ|ký tự|kí tự)\s+{_QUOTED.format('l4')}\s+xuất "
    rf"hiện[^?\"“']*?trong\s+{_WORD}{_QUOTED.format('w4')}[^?]*?(?:bao nhiêu|mấy)\s+lần)",
    re.IGNORECASE,
)
_VOWELS = re.compile(
    rf"(?:how many (?P<what>vowels|consonants)[^?\"“']*|(?:bao nhiêu|mấy) (?P<what2>nguyên âm|"
    rf"phụ âm)[^?\"“']*){_QUOTED.format('w')}",
    re.I,
)
_LENGTH = re.compile(
    rf"(?:how many (?P<what>letters|characters|words)[^?\"“']*|(?:bao nhiêu|mấy) (?P<what2>chữ cái|ký tự|"
    rf"kí tự|từ|tiếng)[^?\"“']*){_QUOTED.format('w')}"
    rf"|{_QUOTED.format('w2')}[^?\"“']*(?:bao nhiêu|mấy) (?P<what3>chữ cái|ký tự|kí tự|từ|tiếng)",
    re.IGNORECASE,
)
_NTH = re.compile(
    rf"(?:what is|which is|give|chữ cái|ký tự|letter)?[^?\"“']*?(?P<n>\d+)(?:st|nd|rd|th)? (?:letter|"
    rf"character)[^?\"“']*{_QUOTED.format('w')}|"
    rf"(?:chữ cái|ký tự|kí tự) thứ (?P<n2>\d+)[^?\"“']*{_QUOTED.format('w2')}",
    re.IGNORECASE,
)
_SORT = re.compile(
    r"(?:sort|arrange|order|put|list|sắp xếp|xếp|liệt kê)(?P<head>[^:?]*)(?P<abc>alphabet\w*|"
    r"bảng chữ cái|abc|a đến z|a-z|ascending|descending|"
    r"tăng dần|giảm dần|smallest to (?:largest|biggest|greatest)|largest to smallest|(?:nhỏ|bé|"
    r"thấp) (?:đến|tới) lớn|lớn (?:đến|tới) (?:nhỏ|bé))"
    r"[^:?]*:\s*(?P<list>[^?]+)",
    re.IGNORECASE,
)
_INITIALS = re.compile(rf"(?:first letters?|initials|acronym|chữ cái đầu)[^?\"“']*{_QUOTED.format('w')}", re.IGNORECASE)
_LONGEST = re.compile(
    r"(?:which|what|từ nào|tên nào|thành phố nào)[^:?]*(?P<what>longest|shortest|most letters|"
    r"fewest letters|dài nhất|ngắn nhất)[^:?]*[:]\s*(?P<list>[^?]+)",
    re.I,
)
_DESCENDING = re.compile(
    r"descending|giảm dần|largest to smallest|lớn (?:đến|tới) (?:nhỏ|bé)|z đến a|z-a|reverse alphabet", re.IGNORECASE
)
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_MAX_CHARS = 600


def word_puzzle(inquiry: Inquiry) -> Solution | None:
    """The puzzle about words a question is."""
    text = inquiry.text
    if len(text) > _MAX_CHARS:
        return None
    turned = text[::-1].strip()
    if _reads(turned) > _reads(text) + 1:
        return _asked_word(turned) or _word_in(turned)
    return _asked_word(text, is_turned=False) or _word_in(text)


def _reads(text: str) -> int:
    return sum(word in ENGLISH_STOP_WORDS or word in ("write", "word", "answer", "viết", "từ") for word in words(text))


def _group(mark: re.Match[str], *names: str) -> str:
    return next((mark[name].strip() for name in names if name in mark.re.groupindex and mark[name]), "")


def _asked_word(text: str, *, is_turned: bool = True) -> Solution | None:
    """“Write the word "x" as the answer”, “the opposite of the word "left"”."""
    opposite = _OPPOSITE.search(text)
    if opposite:
        known = _OPPOSITES.get(opposite["w"].lower())
        return program("{'result': pairs[word]}", {"pairs": {opposite["w"].lower(): known},
        "word": opposite["w"].lower()}, kind="text",
                       how=f"opposite of {opposite['w']}") if known else None  # fmt: skip
    write = _WRITE.search(text)
    if write and is_turned and not _BACKWARDS.search(text):
        return program(
            "{'result': turned[::-1]}", {"turned": write["w"][::-1]}, kind="text", how=f"read backwards: {text}"
        )
    return None


def _word_in(text: str) -> Solution | None:
    for rule in (_letters, _vowels, _nth, _turned, _sorted, _longest, _lengths, _initials):
        found = rule(text)
        if found:
            return found
    return None


_BARE_LETTERS = re.compile(
    r"(?:letter|chữ cái|chữ|ký tự)\s+(?P<l>[^\W\d_])\b[^?]*?(?:\bin\b|\bof\b|trong|"
    r"của)\s+(?:the )?(?:word |name |từ |chữ |cụm từ )?(?P<w>[^\W\d_]{2,})(?:\s*(?:có bao nhiêu|"
    r"mấy)?[^?]*)\?",
    re.IGNORECASE,
)


def _letters(text: str) -> Solution | None:
    mark = _LETTER_COUNT.search(text) or (
        _BARE_LETTERS.search(text) if re.search(r"how many|bao nhiêu|mấy", text, re.IGNORECASE) else None
    )
    if not mark:
        return None
    letter, word = _group(mark, "l", "l2", "l3", "l4"), _group(mark, "w", "w2", "w3", "w4")
    code = "{'result': word.lower().count(letter.lower())}"
    return (
        program(code, {"word": word, "letter": letter}, kind="number", how=f"“{letter}” in “{word}”")
        if len(letter) <= 3
        else None
    )


def _vowels(text: str) -> Solution | None:
    mark = _VOWELS.search(text)
    if not mark:
        return None
    what = _group(mark, "what", "what2").lower()
    code = (
        "import unicodedata\nplain = [c for c in unicodedata.normalize('NFD', word.lower()) if c.isalpha()]\n"
        "{'result': sum((c in 'aeiou"
        + ("y" if what in ("nguyên âm", "phụ âm") else "")
        + "') == vowels for c in plain)}"
    )
    return program(
        code,
        {"word": mark["w"], "vowels": what in ("vowels", "nguyên âm")},
        kind="number",
        how=f"{what}: “{mark['w']}”",
    )


def _nth(text: str) -> Solution | None:
    mark = _NTH.search(text)
    if not mark:
        return None
    place, word = int(_group(mark, "n", "n2")), _group(mark, "w", "w2")
    if not 1 <= place <= len(word):
        return None
    code = "{'result': [c for c in word if not c.isspace()][n - 1]}"
    return program(code, {"word": word, "n": place}, kind="text", how=f"letter {place} of “{word}”")


def _turned(text: str) -> Solution | None:
    mark = _TURN.search(text)
    if not mark or not _BACKWARDS.search(text):
        return None
    word = _group(mark, "w", "w2")
    return program("{'result': word[::-1]}", {"word": word}, kind="text", how=f"“{word}” backwards")


def listed(text: str) -> list[str]:
    """The members of a list as it is written."""
    parts = re.split(r"\s*[,;]\s*(?:và |and )?|\s+(?:và|and)\s+", text.strip(" .?!"))
    return [part.strip(" .\"“”'") for part in parts if part.strip(" .\"“”'")]


def _sorted(text: str) -> Solution | None:
    mark = _SORT.search(text)
    if not mark:
        return None
    members = listed(mark["list"])
    if len(members) < 2:
        return None
    down = bool(_DESCENDING.search(text))
    if all(_NUMBER.fullmatch(member) for member in members):
        code = "{'result': ', '.join(sorted(items, key=lambda t: float(t.replace(',', '.')), reverse=down))}"
    else:
        code = (
            "import unicodedata\nkey = lambda t: ''.join(c for c in unicodedata.normalize('NFD', "
            "t.casefold().replace('đ', 'd~')) "
            "if not unicodedata.combining(c))\n{'result': ', '.join(sorted(items, key=key, reverse=down))}"
        )
    return program(code, {"items": list(members), "down": down}, kind="list", how=f"sorted: {', '.join(members)}")


def _longest(text: str) -> Solution | None:
    mark = _LONGEST.search(text)
    if not mark:
        return None
    members = listed(mark["list"])
    is_most = mark["what"].lower() in ("longest", "most letters", "dài nhất")
    code = "size = lambda t: sum(c.isalpha() for c in t)\n{'result': (max if most else min)(items, key=size)}"
    return (
        program(
            code, {"items": list(members), "most": is_most}, kind="text", how=f"{mark['what']}: {', '.join(members)}"
        )
        if len(members) > 1
        else None
    )


def _lengths(text: str) -> Solution | None:
    mark = _LENGTH.search(text)
    if not mark:
        return None
    what, word = _group(mark, "what", "what2", "what3").lower(), _group(mark, "w", "w2")
    if what in ("words", "từ", "tiếng"):
        code = "{'result': len(word.split())}"
    else:
        code = (
            "{'result': sum(c.isalpha() for c in word)}" if what in ("letters", "chữ cái") else "{'result': len(word)}"
        )
    return program(code, {"word": word}, kind="number", how=f"{what}: “{word}”")


def _initials(text: str) -> Solution | None:
    mark = _INITIALS.search(text)
    if not mark or " " not in mark["w"].strip():
        return None
    return program(
        "{'result': ''.join(part[0] for part in word.split())}",
        {"word": mark["w"]},
        kind="text",
        how=f"first letters of “{mark['w']}”",
    )
