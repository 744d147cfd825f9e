"""Sums put in a sentence: “giảm 20% của 450.000 còn bao nhiêu”, “20 is what percent of 80”, averages, squares.

A question is one of these or it is not: nothing else may stand in it. Policies are asked about in other words.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isqrt

from app.reasoning.local.cues import alternatives, named_lines
from app.reasoning.local.pure_arithmetic import Figure, figures_in, number_language, unit_of, with_numbers
from app.reasoning.local.reckoning import Reckoning, sum_of
from app.text.language import normalise

_N, _P = "\x00\\d+[\x00\x01]", "\x00\\d+\x00 ?(?:%|phan tram|percent|per cent)"
_MARK = re.compile("\x00(\\d+)[\x00\x01]")
_LEAD = rf"(?:(?:{alternatives('reckoning.lead')})[ ,:]+){{0,4}}"
_TAIL = rf"(?: (?:{alternatives('reckoning.tail')})){{0,4}}[ ?!.=,]*"
_MAX_CHARS = 300
"""Longer questions say more than a sum."""


def _form(pattern: str) -> re.Pattern[str]:
    """A whole question of the cues, their letters filled in."""
    filled = _LETTER.sub(lambda mark: _LETTERS[mark[0]], pattern)
    return re.compile(rf"{_LEAD}(?:{filled}){_TAIL}")


_LETTERS = {
    "N": f"({_N})", "P": f"({_P})", "T": rf"(?:{alternatives('reckoning.thing')})",
    "H": rf"(?: (?:la|bang|duoc|se|la duoc|thi duoc|thi la|thi bang)){{0,2}} (?:{alternatives('word_sums.how_much')})",
    "L": rf"(?: thi| hoi)?(?: se| chi)? (?:{alternatives('word_sums.left')})",
    "R": rf"(?: thi| hoi)?(?: se)? (?:{alternatives('word_sums.risen')})",
}  # fmt: skip
_LETTER = re.compile(r"(?<![a-zA-Z])[NPTHLR](?![a-zA-Z])")
_CHANGE = "({1} - {0}) / {0} * 100"
_WRITTEN: dict[str, tuple[str, str]] = {
    "less of": ("{1} * (100 - {0}) / 100", "="), "whole less": ("{0} * (100 - {1}) / 100", "="),
    "more than": ("{1} * (100 + {0}) / 100", "="), "whole more": ("{0} * (100 + {1}) / 100", "="),
    "change": (_CHANGE, "%"), "share of": ("{0} / {1} * 100", "%"), "share from": ("{1} / {0} * 100", "%"),
    "quotient": ("{0} / {1}", "="), "product": ("{0} * {1}", "="), "total": ("{0} + {1}", "="),
    "difference": ("{0} - {1}", "="), "square": ("{0} ** 2", "="), "cube": ("{0} ** 3", "="),
}  # fmt: skip
"""The expression of each form, and its unit: ``=`` is that of its numbers. Roots are written by themselves."""
_FORMS = tuple((name, _form(written)) for name, written in named_lines("word_sums.form"))
_LIST = rf"{_N}(?:(?: ?, ?| (?:va|and|voi) |, ?(?:va|and) ){_N})+"
_AVERAGE = re.compile(
    rf"{_LEAD}(?:(?:so |gia tri |diem )?trung binh(?: cong)?(?: cua)?(?: cac so)?"
    r"|(?:the )?(?:average|mean)(?: value)?(?: of)?)"
    rf" ?:? ?(?P<list>{_LIST})(?:{_LETTERS['H']})?{_TAIL}"
)
_SPACES = re.compile(r"\s+")


def word_sum(text: str) -> Reckoning | None:
    """The sum a question puts in words; None when it says anything else as well."""
    return _read(normalise(text)) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=512)
def _read(text: str) -> Reckoning | None:
    figures = figures_in(text, number_language(text))
    if not figures:
        return None
    said = _SPACES.sub(" ", with_numbers(text, figures)).strip()
    average = _AVERAGE.fullmatch(said)
    if average:
        return _average(_numbered(average["list"], figures))
    for name, form in _FORMS:
        match = form.fullmatch(said)
        if match:
            return _reckoned(name, _numbered(" ".join(match.groups()), figures))
    return None


def _numbered(said: str, figures: Sequence[Figure]) -> list[Figure]:
    """The numbers that are marked in a piece of the question."""
    return [figures[int(index)] for index in _MARK.findall(said)]


def _reckoned(name: str, used: Sequence[Figure]) -> Reckoning | None:
    numbers = [figure.written for figure in used]
    grounds = [figure.text for figure in used]
    if name not in _WRITTEN:
        number = numbers[-1] if name == "root" or numbers[0] == "2" else ""
        root = _root(number)
        return sum_of(f"{number} / {root}", grounds, is_stated=False) if root else None
    expression, unit = _WRITTEN[name]
    own = unit_of([figure for figure in used if figure.unit in _MONEY]) if unit == "=" else unit
    is_stated = not any(figure.is_spelt for figure in used)
    return sum_of(expression.format(*numbers), grounds, unit=own, is_stated=is_stated)


def _average(used: Sequence[Figure]) -> Reckoning:
    total = " + ".join(figure.written for figure in used)
    grounds = [figure.text for figure in used]
    return sum_of(f"({total}) / {len(used)}", grounds, unit=unit_of(used), is_stated=False)


_MONEY = frozenset({"VND", "GBP", "USD", "EUR", "CAD"})
"""Units a sum of theirs keeps."""


def _root(number: str) -> int:
    """The square root of a square, which the quotient ``144 / 12`` shows; 0 for any other number."""
    root = isqrt(int(number)) if number.isdigit() else 0
    return root if root and root**2 == int(number) else 0
