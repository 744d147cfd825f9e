"""Formulas that documents write, in signs or in words: “lương cơ bản chia 26 ngày và chia 8 giờ”."""

import re
from dataclasses import dataclass
from functools import lru_cache

from app.reasoning.local.deep.per import unit_of_noun
from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.formula import Formula, formulas_in

_IN_SIGNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:hãy )?(?:lấy|multiply|take)\s+(?=.{1,60}(?:nhân|chia|by))", re.I), "kết quả = "),
    (re.compile(r"(?:,\s*)?\s(?:và|rồi|sau đó|and|then|and then)\s(?=(?:chia|nhân|divided?|multipl))", re.I), " "),
    (
        re.compile(
            r"\s(?:được tính (?:bằng(?: cách lấy)?|là)|tính bằng(?: cách lấy)?|bằng|is calculated as|"
            r"is worked out as|equals|is|là)\s"
            r"(?=[^.;=]{2,60}(?:\schia|\snhân|\sdivided|\smultiplied|\s?[/×]\s?\d))",
            re.I,
        ),
        " = ",
    ),
    (re.compile(r"\s(?:được )?chia (?:cho )?", re.I), " / "),
    (re.compile(r"\s(?:được )?nhân (?:với )?", re.I), " × "),
    (re.compile(r",?\s(?:divided? by|over)\s", re.I), " / "),
    (re.compile(r",?\s(?:multiplied by|times)\s", re.I), " × "),
    (re.compile(r"(?<== )([^=]{1,40}?) by (?=your|the|\d|weekly|number)", re.I), r"\1 × "),
)
_TAIL = re.compile(
    r",\s*(?:rounded|then round|làm tròn)[^.;]*|(?<=\d)\s+(?:ngày công|ngày|giờ|days?|hours?)(?=\s*(?:[/×.]|$))",
    re.IGNORECASE,
)
_PER = re.compile(r"(?:một|mỗi|per|an?|each)\s(?P<noun>[^\W\d]+)|\b(?P<ly>hourly|daily)\b", re.IGNORECASE)
_LY = {"hourly": "hour", "daily": "day"}
_MOST_OPERANDS = 5


@dataclass(frozen=True, slots=True)
class Equation:
    """A formula with the piece it stands in."""

    formula: Formula
    left: str
    piece: Piece

    @property
    def per(self) -> str:
        """What its result is the price of: ``hour`` for “tiền lương một giờ”; empty for none."""
        mark = _PER.search(self.left)
        if not mark:
            return ""
        return _LY[mark["ly"].lower()] if mark["ly"] else unit_of_noun(mark["noun"])


@lru_cache(maxsize=2048)
def equations_in(piece: Piece) -> tuple[Equation, ...]:
    """The formulas of a piece with a name to fill in."""
    found: list[Equation] = []
    for text in dict.fromkeys((piece.unit.text, in_signs(piece.unit.text))):
        found += [
            Equation(formula, formula.text.partition("=")[0].strip(), piece)
            for formula in formulas_in(text, piece.language)
            if formula.is_named and len(formula.operands) <= _MOST_OPERANDS
        ]
    found += _from_examples(piece)
    unique = {tuple(operand.text for operand in one.formula.operands): one for one in found}
    return tuple(unique.values())


_EXAMPLE_PRICE = re.compile(
    r"(?P<left>(?:tiền |lương |hourly |daily |the )?[^.;=:]{0,50}?(?:một giờ|mỗi giờ|một ngày|mỗi ngày|"
    r"hourly|an hour|per hour|daily|a day|per day)[^.;=:\d]{0,20}?)(?:\slà|\sis|\s=|"
    r"\sbằng)\s(?P<sum>[£$]?\d[\d.,]*(?:\s*[/×*]\s*\d[\d.,]*)+)\s*=",
    re.IGNORECASE,
)


def _from_examples(piece: Piece) -> list[Equation]:
    """The price of an hour as an example works it out: the salary in it becomes a name."""
    found = []
    for mark in _EXAMPLE_PRICE.finditer(piece.unit.text):
        named = re.sub(r"^[£$]?\d[\d.,]*", "lương cơ bản" if piece.language == "vi" else "basic salary", mark["sum"])
        left = mark["left"].split(",")[-1].strip()
        found += [
            Equation(formula, left, piece)
            for formula in formulas_in(f"{left} = {named}", piece.language)
            if formula.is_named
        ]
    return found


def in_signs(text: str) -> str:
    """Words of calculation as signs."""
    written = text.strip("`")
    for pattern, sign in _IN_SIGNS:
        written = pattern.sub(sign, written)
    return _TAIL.sub("", written)
