"""The grammar of numbers: every token of a text gets one letter for what it can be, and rows of letters are read.

The letters and values of words are those of `numerals`; digits are ``N``, or ``n`` right behind a letter.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from app.domain.knowledge import Language
from app.text.language import fold, guess_language, is_unaccented_vietnamese
from app.text.numerals import (
    COUNTED,
    NOT_FIVE_AFTER,
    NOT_FIVE_BEFORE,
    NOT_ONE_AFTER,
    ORDINAL_BEFORE,
    VALUES,
    Number,
    read_digits,
    tokens_of,
)  # fmt: skip

_MILLION_SIGN = re.compile(r"[£$€]\s?$")
_VI_SMALL = re.compile(
    r"[uwz]H(?:o[uwlyv]|[uw]T[uwlyv]?|t[uwly]?|[uw](?![TH])|r)?|[uw]T[uwlyv]?|t[uwly]?|[uw][ly]|[uwz]"
)
_EN_SMALL = re.compile(r"(?:YO?|E|O|A)C(?:&?(?:YO?|E|O))?|YO?|E|[OZ]|A(?=[KGC])")
_VI_SHARE = re.compile(r"([uwtN])F([uwtyN])(?![H])|uh|h")
_EN_SHARE = re.compile(r"([AO]|E|N)([qx])|x(?!A[KG])")
_DIGIT_ROW = re.compile(r"[zuw]{2,}(?![TH])|z+")
_POINT_ROW = re.compile(r"[ZO]+|YO?|E")
_NUMERIC = frozenset("uwlytTHsSMBNkOEYCKGn")
_DIGITS = frozenset("0123456789")
_TENS, _HUNDRED, _DOZEN, _HALF = 10, 100, 12, Fraction(1, 2)


class Reader:
    """Reads the numbers of one text; `is_alone`: the whole text is meant to be one number."""

    def __init__(
        self, text: str, language: Language, *, bare: bool | None = None, is_alone: bool = False,
        groups_first: bool = False,
    ):  # fmt: skip
        self._text, self._language, self._is_alone, self._groups_first = text, language, is_alone, groups_first
        bare = is_unaccented_vietnamese(text) if bare is None else bare
        self._words, self._spans, self._letters = tokens_of(text, bare=bare)

    def numbers(self) -> Iterator[Number]:
        """The numbers in order."""
        at = self._behind = 0
        while at < len(self._words):
            found = self._at(at) if self._letters[at] not in " ;n" else None
            if found is None:
                at += 1
                continue
            exact, end, is_share = found
            start, stop = self._spans[at][0], self._spans[end - 1][1]
            sign, start = self._sign(at, start)
            is_spelled = any(self._words[place][0] not in _DIGITS for place in range(at, end))
            yield Number(sign * exact, start, stop, is_spelled, is_share)
            at = self._behind = end

    def _sign(self, at: int, start: int) -> tuple[int, int]:
        """-1 behind a minus sign or word, with the place where it stands."""
        if at and self._letters[at - 1] == "m" and (at < 2 or self._letters[at - 2] not in _NUMERIC):
            return -1, self._spans[at - 1][0]
        before = self._text[max(0, start - 2) : start]
        is_minus = before[-1:] in ("-", "−") and not re.match(r"[\w)%]", before[:-1] or " ")
        return (-1, start - 1) if is_minus else (1, start)

    def _at(self, at: int) -> tuple[Fraction, int, bool] | None:
        """Value and end of the number that begins at a token, and whether it is a share."""
        if (self._letters[at] == "N" and self._digits(at) is None) or not self._may_begin(at):
            return None
        if share := self._share(at):
            return *share, True
        found = self._english(at) if self._letters[at] in "AOEYZx" else self._vietnamese(at)
        return (*found, False) if found else None

    def _may_begin(self, at: int) -> bool:
        letter, word = self._letters[at], self._words[at]
        before = self._words[at - 1] if at else ""
        if (letter in "uwtOE" and before in ORDINAL_BEFORE) or (word == "one" and before in NOT_ONE_AFTER):
            return False
        if letter == "z":
            return self._letters[at + 1] in "Hp" or self._is_alone
        return letter != "w" or self._is_alone or self._is_digit(at)

    def _is_digit(self, at: int) -> bool:
        """Whether “năm” is five and no year (without diacritics also: “sau” six and not after, “bay” seven)."""
        following, then = self._letters[at + 1], self._letters[at + 2]
        if at and at == self._behind:
            return False
        if following in "THsMBlr" or (following == "F" and then in "uwtyNH"):
            return True
        word, behind = (fold(one) for one in (*self._words[at + 1 : at + 3], "", "")[:2])
        if word == "nam" and behind not in COUNTED:  # “trong năm năm”
            return True
        if at and fold(self._words[at - 1]) in NOT_FIVE_AFTER and self._letters[at - 1] != "w":
            return False
        return word in COUNTED and not (behind[:1].isdecimal() or behind in NOT_FIVE_BEFORE)

    def _digits(self, at: int) -> Fraction | None:
        read = read_digits(self._words[at], self._language, groups_first=self._groups_first)
        return None if read is None else Fraction(read)

    def _share(self, at: int) -> tuple[Fraction, int] | None:
        """“một phần ba”, “2 phần 3”, “một nửa”, “half”, “two thirds”, “three-quarters of”."""
        if match := _VI_SHARE.match(self._letters, at):
            if match[0] in ("uh", "h"):
                is_one = match[0] == "h" or VALUES[self._words[at]] == 1
                return (_HALF, match.end()) if is_one else None
            above, below = self._single(at), self._single(at + 2)
            return (above / below, match.end()) if above and below else None
        if match := _EN_SHARE.match(self._letters, at):
            if match[0] == "x":
                return _HALF, match.end()
            above, part = self._single(at), self._words[at + 1]
            if above is None or not self._is_part(at, part):
                return None
            return above / VALUES[part], match.end()
        return None

    def _single(self, at: int) -> Fraction | None:
        return self._digits(at) if self._letters[at] == "N" else Fraction(VALUES[self._words[at]])

    def _is_part(self, at: int, part: str) -> bool:
        """Whether “a third”, “three quarters” is a share and no ordinal or part of a year."""
        behind = self._words[at + 2] if at + 2 < len(self._words) else ";"
        is_quarter = part.startswith("quarter")
        is_sure = part.startswith("hal") or (part.endswith("s") and not is_quarter) or self._is_alone
        return is_sure or behind in ("of", "off") or (behind == ";" and not is_quarter)

    def _vietnamese(self, at: int) -> tuple[Fraction, int] | None:
        """“hai triệu ba trăm nghìn”, “15 triệu rưỡi”, “1tr5”, “hai mươi lăm phẩy hai”; digits with a scale as well."""
        if self._letters[at] in "HsMB" and self._letters[at + 1] == "r":  # “triệu rưỡi”
            return Fraction(3, 2) * (_HUNDRED if self._letters[at] == "H" else 10 ** self._power(at)), at + 2
        total, limit, end = Fraction(0), 99, at
        while True:
            part = self._part(end, is_first=end == at)
            if part is None:
                break
            section, behind = part
            power = self._power(behind)
            is_ascending = power == 9 and limit < 9
            if end != at and not power and self._letters[end] == "N" and len(self._words[end]) > 1:
                break
            if power and power >= limit and not is_ascending:
                break
            if not power:
                is_half = self._letters[behind] == "r"
                return total + section + (_HALF if is_half else 0), behind + is_half
            total = (total + section) * 10**power if is_ascending else total + section * 10**power
            end, limit = behind + 1, power
            if self._power(end) == 9 and limit < 9:
                total, end, limit = total * 10**9, end + 1, 9
        return self._tail(end, total, limit) if end > at else None

    def _tail(self, end: int, total: Fraction, limit: int) -> tuple[Fraction, int]:
        """What may follow a scale: “rưỡi”, “1tr5”, “hai triệu ba”, “hai nghìn linh năm”."""
        scale = Fraction(10**limit)
        letters = self._letters
        if letters[end] == "n" and len(self._words[end]) <= 3 and self._words[end].isdigit():
            return total + Fraction(Decimal(f"0.{self._words[end]}")) * scale, end + 1
        if letters[end] == "o" and letters[end + 1] in "uwly":
            return total + VALUES[self._words[end + 1]], end + 2
        return (total + scale / 2, end + 1) if letters[end] == "r" else (total, end)

    def _power(self, at: int) -> int:
        if self._letters[at] in "sMBKk":
            return VALUES[self._words[at]]
        return 6 if self._is_million_sign(at) else 0

    def _is_million_sign(self, at: int) -> bool:
        """``$5m``, ``£2.5M``."""
        if at >= len(self._words) or at == 0 or self._words[at] != "m" or self._letters[at - 1] != "N":
            return False
        is_glued = self._spans[at][0] == self._spans[at - 1][1]
        return is_glued and bool(_MILLION_SIGN.search(self._text[: self._spans[at - 1][0]][-3:]))

    def _part(self, at: int, *, is_first: bool) -> tuple[Fraction, int] | None:
        """A number below a thousand in words, or one in digits; with its decimals."""
        letters = self._letters
        if letters[at] == "N" and not is_first and len(self._words[at]) == 1 and not self._power(at + 1):
            return self._tenth(at, at + 1)
        if letters[at] == "N":
            digits = self._digits(at)
            return None if digits is None else self._with_half_or_dozen(digits, at + 1)
        if not is_first and letters[at] in "uwly" and letters[at + 1] not in "THlysMB":
            return self._tenth(at, at + 1)
        match = _VI_SMALL.match(letters, at)
        if match is None:
            return None
        end = match.end()
        value = self._small(at, end)
        return self._decimals(value, end) if letters[end] == "p" else self._with_half_or_dozen(value, end)

    def _tenth(self, at: int, end: int) -> tuple[Fraction, int] | None:
        """“hai triệu ba”: the digit behind the last scale is tenths of it, where nothing is counted behind it."""
        power = VALUES[self._words[at - 1]] if self._letters[at - 1] in "sMB" else 0
        is_last = end >= len(self._words) or self._letters[end] == ";" or self._words[end] in ("đồng", "dong", "đ")
        if not power or not is_last:
            return None
        digit = int(self._words[at]) if self._letters[at] == "N" else VALUES[self._words[at]]
        return Fraction(digit * 10 ** (power - 1)), end

    def _small(self, at: int, end: int) -> Fraction:
        """The value of the words of `_VI_SMALL`."""
        total = last = 0
        for place in range(at, end):
            letter, before = self._letters[place], self._letters[place - 1] if place > at else " "
            if letter in "TH":
                total += last * ((_TENS if letter == "T" else _HUNDRED) - 1)
            elif letter == "r":
                total += _HUNDRED // 2
            elif letter != "o":
                is_bare_tens = before == "H" and self._letters[place + 1] != "T" and letter != "t"  # “một trăm hai”
                total += last * 9 if before in "uw" else 0  # “hai lăm”
                last = VALUES[self._words[place]]
                total += last * (_TENS if is_bare_tens else 1)
        return Fraction(total)

    def _decimals(self, whole: Fraction, at: int) -> tuple[Fraction, int]:
        """“phẩy năm”, “phẩy hai lăm”, “phẩy không năm”."""
        row = _DIGIT_ROW.match(self._letters, at + 1)
        small = _VI_SMALL.match(self._letters, at + 1)
        if row:
            digits, end = "".join(str(VALUES[word]) for word in self._words[at + 1 : row.end()]), row.end()
        elif small:
            digits, end = str(self._small(at + 1, small.end())), small.end()
        else:
            return whole, at
        return whole + Fraction(Decimal(f"0.{digits}")), end

    def _english(self, at: int) -> tuple[Fraction, int] | None:
        """“two and a half million”, “one hundred and five”, “half a million”, “three point five”, “two dozen”."""
        if self._letters.startswith("xA", at):  # “half a million”, “half a dozen”
            power = self._power(at + 2)
            return _HALF * (10**power if power else _DOZEN), at + 3
        total, limit, end = Fraction(0), 99, at
        while match := _EN_SMALL.match(self._letters, end):
            section, behind = self._spoken(end, match.end())
            power = self._power(behind)
            if power >= limit:
                break
            end, total = behind + bool(power), total + section * 10**power
            limit = power
            if not power:
                break
            if self._letters.startswith("&Ax", end):
                return total + _HALF * 10**power, end + 3
            ahead = end + (self._letters[end] == "&")
            end = ahead if ahead > end and self._letters[ahead] in "OEY" else end
        if end > at and self._letters[end - 1] == "&":
            end -= 1
        return (total, end) if end > at else None

    def _spoken(self, at: int, end: int) -> tuple[Fraction, int]:
        """The value of the words of `_EN_SMALL` with what may stand behind them: a half, decimals, dozens."""
        total = Fraction(0)
        for place in range(at, end):
            letter = self._letters[place]
            total = total * _HUNDRED if letter == "C" else total + (letter != "&" and VALUES[self._words[place]])
        if self._letters.startswith("&Aq", end):
            return total + Fraction(1, VALUES[self._words[end + 2]]), end + 3
        row = _POINT_ROW.match(self._letters, end + 1) if self._letters[end] == "." else None
        if row:
            spoken = self._words[end + 1 : row.end()]
            is_row = set(row[0]) <= {"Z", "O"}
            digits = "".join(str(VALUES[w]) for w in spoken) if is_row else str(sum(VALUES[w] for w in spoken))
            return total + Fraction(Decimal(f"0.{digits}")), row.end()
        return self._with_half_or_dozen(total, end)

    def _with_half_or_dozen(self, value: Fraction, end: int) -> tuple[Fraction, int]:
        if self._letters.startswith("&Ax", end):
            return value + _HALF, end + 3
        return (value * _DOZEN, end + 1) if self._letters[end] in "GD" else (value, end)


@lru_cache(maxsize=2048)
def numbers_in(text: str, language: Language | None = None, *, groups_first: bool = False) -> tuple[Number, ...]:
    """Every number of `text` in order; without `language` the text's own decides how ``1.500`` is read, `groups_first`
    makes it thousands. Names (``A4``), ordinals and months in words are none."""
    known = language or ("vi" if groups_first else guess_language(text))
    return tuple(Reader(text, known, groups_first=groups_first).numbers())
