"""The numbers Word writes in front of paragraphs ("Điều 5.", "a)"): they are counted, not stored."""

from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from app.ingestion.parsing.office import attribute, child, elements, local

_LEVELS = 9
_PLACE = "%"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


class _Level(NamedTuple):
    start: int
    shape: str
    """``decimal``, ``lowerLetter``, ``bullet``, …"""
    text: str
    """``%1.%2`` with a place for the number of each level."""


class Label(NamedTuple):
    """What stands in front of a paragraph of a list."""

    text: str
    """Empty for a bullet."""
    depth: int


class Numbering:
    """Counts the lists of one document; `label` must be asked in the order of the paragraphs."""

    def __init__(self, root: etree._Element | None):
        self._levels: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[str] = set()
        for element in elements(root, "abstractNum") if root is not None else ():
            self._levels[attribute(element, "abstractNumId")] = dict(_levels(element))
        for element in elements(root, "num") if root is not None else ():
            base = attribute(child(element, "abstractNumId"), "val")
            self._lists[attribute(element, "numId")] = (base, dict(_restarts(element)))

    def label(self, number: str, depth: int) -> Label | None:
        """The next label of a list at a level (0 is the outermost); None when the paragraph is in no list."""
        if number not in self._lists or not 0 <= depth < _LEVELS:
            return None
        base, restarts = self._lists[number]
        levels = self._levels.get(base, {})
        level = levels.get(depth)
        if level is None:
            return None
        counts = self._counts.setdefault(base, [None] * _LEVELS)
        if number not in self._begun:
            self._begun.add(number)
            for at in restarts:
                counts[at] = None
        start = restarts.get(depth, level.start)
        before = counts[depth]
        counts[depth] = start if before is None else before + 1
        counts[depth + 1 :] = [None] * (_LEVELS - depth - 1)
        return Label("" if level.shape == "bullet" else _written(level, levels, counts), depth)


def _levels(element: etree._Element) -> Iterator[tuple[int, _Level]]:
    for level in element:
        at = attribute(level, "ilvl")
        if local(level) == "lvl" and at.isdecimal():
            start = attribute(child(level, "start"), "val")
            shape = attribute(child(level, "numFmt"), "val") or "decimal"
            text = attribute(child(level, "lvlText"), "val")
            yield int(at), _Level(int(start) if start.isdecimal() else 1, shape, text[:100])


def _restarts(element: etree._Element) -> Iterator[tuple[int, int]]:
    for override in elements(element, "lvlOverride"):
        at, start = attribute(override, "ilvl"), attribute(child(override, "startOverride"), "val")
        if at.isdecimal() and start.isdecimal() and int(at) < _LEVELS:
            yield int(at), int(start)


def _written(level: _Level, levels: dict[int, _Level], counts: list[int | None]) -> str:
    text = level.text
    for at in range(_LEVELS):
        place = f"{_PLACE}{at + 1}"
        if place in text:
            other = levels.get(at, level)
            count = counts[at]
            text = text.replace(place, _number(other.start if count is None else count, other.shape))
    return text.strip()


def _number(value: int, shape: str) -> str:
    match shape:
        case "lowerLetter" | "upperLetter":
            letters = chr(ord("a") + (value - 1) % 26) * min((value - 1) // 26 + 1, 10)
            return letters if shape == "lowerLetter" else letters.upper()
        case "lowerRoman" | "upperRoman":
            return _roman(value) if shape == "lowerRoman" else _roman(value).upper()
        case "decimalZero":
            return f"{value:02}"
        case "none":
            return ""
        case _:
            return str(value)


def _roman(value: int) -> str:
    written = ""
    value = min(value, 3999)
    for amount, letters in _ROMAN:
        written += letters * (value // amount)
        value %= amount
    return written
