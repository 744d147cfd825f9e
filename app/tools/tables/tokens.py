"""The words of a question or of a column's name, with quarters, months and years as one word each: ``q2 m4 y2026``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.language import normalise
from app.tools.tables.cells import MONTH_WORDS, ROMAN
from app.tools.tables.sheet import folded
from app.tools.tables.words import longest_first

_TOKEN = re.compile(r"\d+(?:[.,/\-]\d+)*%?|[^\W_]+|[<>]=?|=")
_LETTER_PERIOD = re.compile(r"(?P<kind>[qt])(?P<number>\d{1,2})")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_YEAR = re.compile(r"(?P<month>\d{1,2})[/\-](?P<year>(?:19|20)\d\d)")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "mot": 1,
             "hai": 2, "ba": 3, "bon": 4, "tu": 4}  # fmt: skip
_SPELT = {
    "dem": "đếm", "tu": "từ", "den": "đến", "tru": "trừ", "duoi": "dưới", "moi": "mỗi", "tung": "từng", "tren": "trên",
    "nao": "nào", "tong": "tổng", "khac": "khác", "ngoai": "ngoài", "hon": "hơn", "khong": "không", "theo": "theo",
    "chua": "chưa", "dung": "đừng", "sau": "sau",
}  # fmt: skip
"""Words that decide what is asked, as they are spelt: ``đêm`` does not count, ``đếm`` does."""
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
    spelt = normalise(text)
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
        tokens, size = _period(raw, at)
        found += tokens
        at += size
    return found


def _period(raw: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """The period that begins here and how many words it has; the word itself when none does."""
    word = raw[at]
    after = raw[at + 1].text if at + 1 < len(raw) else ""
    written = f"{word.written} {raw[at + 1].written}" if after else ""
    if word.text in ("quy", "quarter", "q") and (number := _quarter(after)):
        return [Token(f"q{number}", written)], 2
    if after == "quarter" and word.text in _ORDINALS:
        return [Token(f"q{_ORDINALS[word.text]}", written)], 2
    if word.text in ("thang", "month") and after.isdecimal() and 1 <= int(after) <= 12:
        return [Token(f"m{int(after)}", written)], 2
    if word.text in ("thang", "month") and (match := _MONTH_YEAR.fullmatch(after)):
        return [Token(f"m{int(match['month'])}", written), Token(f"y{match['year']}", "")], 2
    if word.text in ("nam", "year") and _YEAR.fullmatch(after):
        return [Token(f"y{after}", written)], 2
    return [_short(word, after)], 1


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
