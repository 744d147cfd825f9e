"""What a Word document's styles and lists say of a paragraph: heading, hidden, and the number in front of it."""

from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from app.ingestion.parsing.archive import attribute, child, elements, local

_INVISIBLE_HALF_POINTS = 3
_WHITE_FROM = 0xF0
_OFF = ("0", "false", "off", "none")
_MAX_DEPTH = 20
"""Of styles based on styles; a loop ends here."""


class Look(NamedTuple):
    """How characters look; None where nothing is said."""

    is_vanished: bool | None = None
    color: str | None = None
    half_points: int | None = None
    fill: str | None = None

    def over(self, below: "Look") -> "Look":
        """This look where it says something, else the one below."""
        said = {name: value for name, value in self._asdict().items() if value is not None}
        return below._replace(**said)

    def is_hidden(self, *, on_colour: bool) -> bool:
        """Whether a reader sees nothing. `on_colour`: the background is not known to be white."""
        if self.is_vanished or (self.half_points is not None and self.half_points < _INVISIBLE_HALF_POINTS):
            return True
        if self.color is None or (on_colour and self.fill is None):
            return False
        return _is_white(self.color) if self.fill is None else self.color == self.fill


class Style(NamedTuple):
    """What a paragraph or character style settles."""

    name: str = ""
    look: Look = Look()
    level: int | None = None
    """0-based outline level; None for running text."""
    numbering: tuple[str, int] | None = None
    """(list, level) of the list it belongs to."""


class Styles:
    """The styles of one document, resolved along what they are based on."""

    def __init__(self, root: etree._Element | None):
        self._elements: dict[str, etree._Element] = {}
        self._known: dict[str, Style] = {}
        self.shaded_tables: set[str] = set()
        """Table styles that colour cells."""
        self._default = look_of(child(root, "docDefaults", "rPrDefault", "rPr"))
        self.default_paragraph = ""
        for element in elements(root, "style"):
            self._add(element)

    def _add(self, element: etree._Element) -> None:
        name = attribute(element, "styleId")
        self._elements[name] = element
        if attribute(element, "type") == "paragraph" and attribute(element, "default") in ("1", "true"):
            self.default_paragraph = name
        if any(_fill(one) not in (None, "FFFFFF") for one in elements(element, "shd")):
            self.shaded_tables.add(name)

    def style(self, name: str, depth: int = 0) -> Style:
        """A style by its id; an empty one when the document does not define it."""
        if name in self._known or name not in self._elements or depth > _MAX_DEPTH:
            return self._known.get(name, Style())
        element = self._elements[name]
        below = self.style(attribute(child(element, "basedOn"), "val"), depth + 1)
        properties = child(element, "pPr")
        level = outline_level(properties)
        found = Style(
            attribute(child(element, "name"), "val").lower(),
            look_of(child(element, "rPr")).over(below.look),
            below.level if level is None else level,
            numbering_of(properties) or below.numbering,
        )
        self._known[name] = found
        return found

    def look(self, direct: etree._Element | None, paragraph: Style) -> Look:
        """How a run looks: its own properties, its character style, its paragraph's style, the defaults."""
        own = look_of(direct)
        named = self.style(attribute(child(direct, "rStyle"), "val")).look if direct is not None else Look()
        return own.over(named).over(paragraph.look).over(self._default)


def look_of(properties: etree._Element | None) -> Look:
    """What run properties say themselves."""
    if properties is None:
        return Look()
    vanish, color, size = child(properties, "vanish"), child(properties, "color"), child(properties, "sz")
    # A text effect may have no filling at all.
    is_emptied = any(local(one) == "textFill" and child(one, "noFill") is not None for one in properties)
    value = attribute(size, "val")
    return Look(
        True if is_emptied else None if vanish is None else attribute(vanish, "val").lower() not in _OFF,
        _color(color),
        int(value) if value.isdecimal() else None,
        _fill(child(properties, "shd")),
    )


def outline_level(properties: etree._Element | None) -> int | None:
    """The outline level that paragraph properties set, 0–8."""
    value = attribute(child(properties, "outlineLvl"), "val")
    return int(value) if value.isdecimal() and int(value) < 9 else None


def numbering_of(properties: etree._Element | None) -> tuple[str, int] | None:
    """(list, level) that paragraph properties put the paragraph in."""
    listed = child(properties, "numPr")
    if listed is None:
        return None
    level = attribute(child(listed, "ilvl"), "val")
    return attribute(child(listed, "numId"), "val"), int(level) if level.isdecimal() else 0


def fill_of(properties: etree._Element | None) -> str | None:
    """The background that paragraph or cell properties set; None when they set none."""
    return _fill(child(properties, "shd"))


def _color(element: etree._Element | None) -> str | None:
    value = attribute(element, "val").upper()
    if attribute(element, "themeColor") in ("background1", "bg1", "light1") and value in ("", "AUTO"):
        return "FFFFFF"
    return value if len(value) == 6 else None


def _fill(element: etree._Element | None) -> str | None:
    if element is None:
        return None
    value = attribute(element, "fill").upper()
    if value in ("", "AUTO"):
        return None if attribute(element, "val") in ("clear", "nil", "") else "000000"
    return value


def _is_white(color: str) -> bool:
    try:
        return min(bytes.fromhex(color)) >= _WHITE_FROM
    except ValueError:
        return False


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
        for element in elements(root, "abstractNum"):
            self._levels[attribute(element, "abstractNumId")] = dict(_levels(element))
        for element in elements(root, "num"):
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
