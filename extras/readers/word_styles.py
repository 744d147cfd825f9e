"""What a Word document's styles and lists say of a paragraph: heading, hidden, and the number in front of it."""

from typing import NamedTuple

from lxml import etree

from app.ingestion.parsing.archive import attribute, child, elements, value_at

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
        self._elements = {attribute(element, "styleId"): element for element in elements(root, "style")}
        self._known: dict[str, Style] = {}
        self._default = look_of(child(root, "docDefaults", "rPrDefault", "rPr"))
        self.default_paragraph = ""
        self.shaded_tables: set[str] = set()
        """Table styles that colour cells."""
        for name, element in self._elements.items():
            if attribute(element, "type") == "paragraph" and attribute(element, "default") in ("1", "true"):
                self.default_paragraph = name
            if any(_fill(one) not in (None, "FFFFFF") for one in elements(element, "shd")):
                self.shaded_tables.add(name)

    def style(self, name: str, depth: int = 0) -> Style:
        """A style by its id; an empty one when the document does not define it."""
        if name in self._known or name not in self._elements or depth > _MAX_DEPTH:
            return self._known.get(name, Style())
        element = self._elements[name]
        below = self.style(value_at(element, "basedOn"), depth + 1)
        properties = child(element, "pPr")
        level = outline_level(properties)
        self._known[name] = Style(
            value_at(element, "name").lower(),
            look_of(child(element, "rPr")).over(below.look),
            below.level if level is None else level,
            numbering_of(properties) or below.numbering,
        )
        return self._known[name]

    def look(self, direct: etree._Element | None, paragraph: Style) -> Look:
        """How a run looks: its own properties, its character style, its paragraph's style, the defaults."""
        named = self.style(value_at(direct, "rStyle")).look
        return look_of(direct).over(named).over(paragraph.look).over(self._default)


def look_of(properties: etree._Element | None) -> Look:
    """What run properties say themselves."""
    # A text effect may have no filling at all.
    is_emptied = child(properties, "textFill", "noFill") is not None
    vanish = child(properties, "vanish")
    return Look(
        True if is_emptied else None if vanish is None else attribute(vanish, "val").lower() not in _OFF,
        _color(child(properties, "color")),
        _number_in(value_at(properties, "sz")),
        fill_of(properties),
    )


def outline_level(properties: etree._Element | None) -> int | None:
    """The outline level that paragraph properties set, 0–8."""
    level = _number_in(value_at(properties, "outlineLvl"))
    return level if level is not None and level < _LEVELS else None


def numbering_of(properties: etree._Element | None) -> tuple[str, int] | None:
    """(list, level) that paragraph properties put the paragraph in."""
    listed = child(properties, "numPr")
    return None if listed is None else (value_at(listed, "numId"), _number_in(value_at(listed, "ilvl")) or 0)


def fill_of(properties: etree._Element | None) -> str | None:
    """The background that paragraph, run or cell properties set; None when they set none."""
    return _fill(child(properties, "shd"))


def _number_in(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


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
        levels = {attribute(one, "abstractNumId"): _levels(one) for one in elements(root, "abstractNum")}
        self._lists: dict[str, tuple[str, dict[int, _Level], dict[int, int]]] = {}
        """By number: the list it is a use of, the levels of that, and where it begins to count anew."""
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[str] = set()
        for one in elements(root, "num"):
            base = value_at(one, "abstractNumId")
            self._lists[attribute(one, "numId")] = base, levels.get(base, {}), _restarts(one)

    def label(self, number: str, depth: int) -> Label | None:
        """The next label of a list at a level (0 is the outermost); None when the paragraph is in no list."""
        base, levels, restarts = self._lists.get(number, ("", {}, {}))
        level = levels.get(depth)
        if level is None:
            return None
        counts = self._counts.setdefault(base, [None] * _LEVELS)
        if number not in self._begun:
            self._begun.add(number)
            for at in restarts:
                counts[at] = None
        before = counts[depth]
        counts[depth] = restarts.get(depth, level.start) if before is None else before + 1
        counts[depth + 1 :] = [None] * (_LEVELS - depth - 1)
        return Label("" if level.shape == "bullet" else _written(level, levels, counts), depth)


def _levels(element: etree._Element) -> dict[int, _Level]:
    found: dict[int, _Level] = {}
    for level in element.findall("{*}lvl"):
        at, start = _number_in(attribute(level, "ilvl")), _number_in(value_at(level, "start"))
        if at is not None and at < _LEVELS:
            shape = value_at(level, "numFmt") or "decimal"
            found[at] = _Level(1 if start is None else start, shape, value_at(level, "lvlText")[:100])
    return found


def _restarts(element: etree._Element) -> dict[int, int]:
    found: dict[int, int] = {}
    for override in elements(element, "lvlOverride"):
        at, start = _number_in(attribute(override, "ilvl")), _number_in(value_at(override, "startOverride"))
        if at is not None and start is not None and at < _LEVELS:
            found[at] = start
    return found


def _written(level: _Level, levels: dict[int, _Level], counts: list[int | None]) -> str:
    text = level.text
    for at, count in enumerate(counts):
        other = levels.get(at, level)
        text = text.replace(f"%{at + 1}", _number(other.start if count is None else count, other.shape))
    return text.strip()


def _number(value: int, shape: str) -> str:
    match shape:
        case "lowerLetter":
            return chr(ord("a") + (value - 1) % 26) * min((value - 1) // 26 + 1, 10)
        case "lowerRoman":
            return _roman(value)
        case "upperLetter" | "upperRoman":
            return _number(value, shape.replace("upper", "lower")).upper()
        case "decimalZero":
            return f"{value:02}"
        case "none":
            return ""
        case _:
            return str(value)


def _roman(value: int) -> str:
    written, value = "", min(value, 3999)
    for amount, letters in _ROMAN:
        written += letters * (value // amount)
        value %= amount
    return written
