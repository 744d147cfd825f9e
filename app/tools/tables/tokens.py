"""The words of a question or of a column's name, with quarters, months and years as one word each: ``q2 m4 y2026``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.text.language import normalise
from app.tools.tables.cells import MONTH_WORDS, ROMAN
from app.tools.tables.sheet import folded
from app.tools.tables.words import RECORDS, longest_first

_TOKEN = re.compile(r"\d+(?:[.,/\-]\d+)*%?|[^\W_]+|[<>]=?|=")
_LETTER_PERIOD = re.compile(r"(?P<kind>[qt])(?P<number>\d{1,2})")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_YEAR = re.compile(r"(?P<month>\d{1,2})[/\-](?P<year>(?:19|20)\d\d)")
_QUARTER_YEAR = re.compile(r"(?P<quarter>[1-4])[/\-](?P<year>(?:19|20)\d\d)")
_RANGE = re.compile(r"(?P<first>\d{1,2})-(?P<last>\d{1,2})")
_LISTED = re.compile(r"(?<=\d)\s*,\s+(?=\d)")
_MONTH_NUMBERS = {"gieng": 1, "hai": 2, "ba": 3, "tư": 4, "sáu": 6, "bay": 7, "tam": 8, "chin": 9, "muoi": 10,
                  "chap": 12}  # fmt: skip
"""Without ``năm``, a year, and ``sau``, the next one."""
_IS = frozenset(["=", "la", "bang", "is", "equals"])
_AND, _TO = frozenset(["va", "and", "hoac", "or"]), frozenset(["den", "toi", "to"])
_MOST_MONTHS, _MOST_QUARTERS = 12, 4
_COUNTED = RECORDS | frozenset(["nghin", "ngan", "trieu", "tr", "ty", "ti", "thousand", "million", "billion", "dong"])
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "mot": 1,
             "hai": 2, "ba": 3, "bon": 4, "tu": 4,
             "tư": 4}  # fmt: skip
_SPELT = {
    "dem": "đếm", "tu": "từ", "den": "đến", "tru": "trừ", "duoi": "dưới", "moi": "mỗi", "tung": "từng", "tren": "trên",
    "nao": "nào", "tong": "tổng", "khac": "khác", "ngoai": "ngoài", "hon": "hơn", "khong": "không", "theo": "theo",
    "chua": "chưa", "dung": "đừng", "sau": "sau",
}  # fmt: skip
"""Words that decide what is asked, as they are spelt: ``đêm`` does not count, ``đếm`` does."""
_KINDS = {"thang": "m", "month": "m", "months": "m", "quy": "q", "quarter": "q", "quarters": "q"}
_PERIODS = frozenset([*_KINDS, "q", "nam", "year"])
_UNIT = re.compile(r"[(\[][^)\]]*[)\]]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, compared by `text` and shown as `written`."""

    text: str
    written: str


@dataclass
class Tokens:
    """A question on its way to being understood: what was taken is not looked at again."""

    all: tuple[Token, ...]
    taken: set[int] = field(default_factory=set)

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as they are compared."""
        return tuple(token.text for token in self.all)

    def places(self, phrase: Sequence[str], *, anywhere: bool = False) -> list[int]:
        """Where `phrase` stands among what was not taken, or among all words."""
        size, texts = len(phrase), self.texts
        return [
            at
            for at in range(len(texts) - size + 1)
            if texts[at : at + size] == tuple(phrase) and (anywhere or self.taken.isdisjoint(range(at, at + size)))
        ]

    def take(self, at: int, size: int) -> None:
        """These words are understood."""
        self.taken.update(range(at, at + size))

    def take_first(self, phrases: Sequence[tuple[str, ...]] | frozenset[tuple[str, ...]]) -> tuple[int, int] | None:
        """Take the longest of `phrases` that is there; (place, words), None when none is."""
        for phrase in longest_first(phrases):
            for at in self.places(phrase):
                self.take(at, len(phrase))
                return at, len(phrase)
        return None

    def left(self, harmless: frozenset[str]) -> list[Token]:
        """What nobody understood; `harmless` holds words as they are spelt, with marks and without."""
        return [t for at, t in enumerate(self.all) if at not in self.taken and t.written.lower() not in harmless]


def read_tokens(text: str) -> Tokens:
    """The words of a text."""
    spelt = _LISTED.sub(" và ", normalise(text))
    raw = [Token(_compared(found[0]), found[0]) for found in _TOKEN.finditer(spelt)]
    return Tokens(tuple(_with_periods(raw)))


def name_tokens(name: str) -> tuple[str, ...]:
    """The words of a column's name, without its unit in brackets."""
    bare = _UNIT.sub(" ", name).strip() or name
    return read_tokens(bare).texts


def _compared(written: str) -> str:
    """A word without diacritics, unless it would then be taken for another that decides what is asked."""
    bare, spelt = folded(written), written.lower()
    return spelt if bare in _SPELT and spelt not in (bare, _SPELT[bare]) else bare


def _with_periods(raw: Sequence[Token]) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(raw):
        tokens, size = _first_months(raw, at) or _period(raw, at)
        found += tokens
        at += size
        while further := _further(raw, at, found[-1]):
            found += further
            at += len(further)
    return found


def _first_months(raw: Sequence[Token], at: int) -> tuple[list[Token], int] | None:
    """``6 tháng đầu năm``, ``nửa cuối năm``, ``first half``: a range of months."""
    texts = tuple(token.text for token in raw[at : at + 4])
    count = 0
    if texts[1:] in (("thang", "dau", "nam"), ("thang", "cuoi", "nam")) and texts[0].isdecimal():
        count, size = int(texts[0][:3]), 4
    elif texts[:3] in (("nua", "dau", "nam"), ("nua", "cuoi", "nam")):
        count, size = 6, 3
    elif texts[:2] in (("first", "half"), ("second", "half")):
        count, size = 6, 2
    if not 1 < count < _MOST_MONTHS:
        return None
    is_last = {"cuoi", "second"} & set(texts[:size])
    first = _MOST_MONTHS - count + 1 if is_last else 1
    written = " ".join(token.written for token in raw[at : at + size])
    return [Token(f"m{first}", written), Token("den", ""), Token(f"m{first + count - 1}", "")], size


def _further(raw: Sequence[Token], at: int, last: Token) -> list[Token]:
    """``và 5`` behind a month, ``đến 3`` behind a quarter: the same kind again, unless the number counts something."""
    kind, most = last.text[:1], _MOST_MONTHS if last.text[:1] == "m" else _MOST_QUARTERS
    if not re.fullmatch(r"[mq]\d{1,2}", last.text) or at + 1 >= len(raw) or raw[at].text not in _AND | _TO:
        return []
    number, after = raw[at + 1], raw[at + 2].text if at + 2 < len(raw) else ""
    is_number = number.text.isdecimal() and len(number.text) <= 2 and 1 <= int(number.text) <= most
    return [raw[at], Token(f"{kind}{int(number.text)}", number.written)] if is_number and after not in _COUNTED else []


def _period(raw: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """The period that begins here and how many words it has; the word itself when none does."""
    word = raw[at]
    after = raw[at + 1].text if at + 1 < len(raw) else ""
    if word.text in _PERIODS and after in _IS and at + 2 < len(raw):
        tokens, size = _period([word, raw[at + 2]], 0)
        return (tokens, 3) if size == 2 else ([word], 1)
    written = f"{word.written} {raw[at + 1].written}" if after else ""
    if word.text in ("quy", "quarter", "quarters", "q") and (number := _quarter(after)):
        return [Token(f"q{number}", written)], 2
    if found := _several(word, after, written):
        return found, 2
    if word.text == "thang" and after in _MONTH_NUMBERS:
        return _month_in_words(raw, at)
    if after == "quarter" and word.text in _ORDINALS:
        return [Token(f"q{_ORDINALS[word.text]}", written)], 2
    if word.text in ("thang", "month", "months") and after.isdecimal() and 1 <= int(after) <= 12:
        return [Token(f"m{int(after)}", written)], 2
    if word.text in ("thang", "month") and (match := _MONTH_YEAR.fullmatch(after)):
        return [Token(f"m{int(match['month'])}", written), Token(f"y{match['year']}", "")], 2
    if word.text in ("nam", "year") and _YEAR.fullmatch(after):
        return [Token(f"y{after}", written)], 2
    return [_short(word, after)], 1


def _several(word: Token, after: str, written: str) -> list[Token]:
    """``quý 2/2026``, ``tháng 1-3``; nothing where it is neither."""
    kind = _KINDS.get(word.text, "")
    if kind == "q" and (match := _QUARTER_YEAR.fullmatch(after)):
        return [Token(f"q{match['quarter']}", written), Token(f"y{match['year']}", "")]
    if kind and (match := _RANGE.fullmatch(after)):
        first, last = int(match["first"]), int(match["last"])
        if 1 <= first < last <= (_MOST_MONTHS if kind == "m" else _MOST_QUARTERS):
            return [Token(f"{kind}{first}", written), Token("den", ""), Token(f"{kind}{last}", "")]
    return []


def _month_in_words(raw: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """``tháng ba``, ``tháng mười hai``."""
    number, size = _MONTH_NUMBERS[raw[at + 1].text], 2
    if number == 10 and at + 2 < len(raw) and raw[at + 2].text in ("mot", "hai"):
        number, size = 10 + _ORDINALS[raw[at + 2].text], 3
    return [Token(f"m{number}", " ".join(token.written for token in raw[at : at + size]))], size


def _short(word: Token, after: str) -> Token:
    if match := _LETTER_PERIOD.fullmatch(word.text):
        kind, number = match["kind"], int(match["number"])
        if kind == "q" and 1 <= number <= 4:
            return Token(f"q{number}", word.written)
        if kind == "t" and 1 <= number <= 12:
            return Token(f"m{number}", word.written)
    is_month = word.text in MONTH_WORDS and (word.written[:1].isupper() or len(word.text) > 3)
    if is_month and word.text != "mar" and not (word.text == "may" and not word.written[:1].isupper()):
        return Token(f"m{MONTH_WORDS[word.text]}", word.written)
    if _YEAR.fullmatch(word.text) and not after.startswith(("dong", "trieu", "vnd")):
        return Token(f"y{word.text}", word.written)
    return word


def _quarter(word: str) -> int:
    if word.isdecimal() and len(word) == 1:
        return int(word) if 1 <= int(word) <= 4 else 0
    return ROMAN.get(word) or _ORDINALS.get(word, 0)
