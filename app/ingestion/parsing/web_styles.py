"""What CSS hides: enough of it to tell text a visitor reads from text that was put there for machines."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MAX_SHEET_CHARS, _MAX_RULES = 500_000, 400
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|em|rem|%|cm|in)?")
_FAR_AWAY = {"px": 900, "pt": 700, "em": 60, "rem": 60, "%": 300, "cm": 25, "in": 10, "": 900}
_TINY = {"px": 1.5, "pt": 1.2, "em": 0.1, "rem": 0.1, "%": 10, "cm": 0.04, "in": 0.015, "": 1.5}
_NAMED = {"white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5"}
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]+)(%?)\s*)?\)")
_BASE_STYLED = re.compile(r"background|bgcolor", re.I)


class Look(NamedTuple):
    """What text inherits from the elements around it."""

    color: str = ""
    """Six hexadecimal digits, ``transparent``, or empty when unknown."""
    background: str = ""
    is_tiny: bool = False

    @property
    def is_hidden(self) -> bool:
        """Whether text that looks like this cannot be read."""
        same = bool(self.background) and _is_near(self.color, self.background)
        return self.is_tiny or self.color == "transparent" or same


def first_look(source: str) -> Look:
    """How a page begins: black on white, unless anything in it sets a background, which is not worked out here."""
    return Look("", "" if _BASE_STYLED.search(source) or "stylesheet" in source else "ffffff")


def look_under(look: Look, style: dict[str, str]) -> Look:
    """The look inside an element with this style."""
    background = style.get("background-color") or style.get("background", "")
    size = style.get("font-size")
    return Look(
        _color(style["color"]) if "color" in style else look.color,
        _color(background.split()[0] if background.split() else "") if background else look.background,
        look.is_tiny if size is None else _length(size, _TINY) == -1,
    )


def hides(style: dict[str, str]) -> bool:
    """Whether an element with this style shows nothing, whatever is inside."""
    gone = style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse")
    faded = style.get("opacity", "1").rstrip("%") in ("0", "0.0", ".0", "0.00")
    placed = style.get("position") in ("absolute", "fixed")
    away = placed and any(_length(style.get(side, ""), _FAR_AWAY) == 1 for side in ("left", "top", "right", "bottom"))
    indented = _length(style.get("text-indent", ""), _FAR_AWAY) == 1
    clipped = placed and "rect(0" in style.get("clip", "").replace(" ", "")
    flat = style.get("overflow") == "hidden" and "0" in (_bare(style.get("height")), _bare(style.get("width")))
    return gone or faded or away or indented or clipped or flat


def declarations(text: str | None) -> dict[str, str]:
    """``a: b; c: d`` as a dictionary, lower case, without ``!important``."""
    found = (one.partition(":") for one in (text or "").lower().split(";")[:50])
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in found}


def hidden_by_sheets(page: LexborHTMLParser) -> set[int]:
    """Ids of the elements that the page's own style sheets do not display."""
    hidden: set[int] = set()
    for sheet in page.css("style"):
        for selector, style in _rules(sheet.text() or ""):
            is_gone = hides(style)
            if is_gone or style.get("display"):
                matched = {node.mem_id for node in _select(page, selector)}
                hidden = hidden | matched if is_gone else hidden - matched
    return hidden


def _rules(sheet: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Selectors with their declarations; rules for print or under a condition are passed over."""
    depth, start, prelude, found = 0, 0, "", 0
    text = _COMMENT.sub(" ", sheet[:_MAX_SHEET_CHARS])
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            depth += 1
            if depth == 1:
                prelude = text[start : match.start()].strip()
            start = match.end() if depth == 1 else start
        else:
            depth = max(0, depth - 1)
            if depth == 0:
                if prelude and not prelude.startswith("@") and found < _MAX_RULES:
                    found += 1
                    yield prelude.rpartition(";")[2], declarations(text[start : match.start()])
                start = match.end()


def _select(page: LexborHTMLParser, selector: str) -> list[LexborNode]:
    # A pseudo-element is no element, and a state such as :hover is not how the page begins.
    if ":" in selector:
        return []
    try:
        return page.css(selector)
    except ValueError:
        return []


def _bare(value: str | None) -> str:
    return (value or "").removesuffix("px")


def _length(text: str, limits: Mapping[str, float]) -> int:
    """1 for a negative length beyond the limit of its unit, -1 for one between 0 and the limit, else 0."""
    match = _LENGTH.fullmatch(text.strip())
    if match is None:
        return 0
    value, limit = float(match[1]), limits[match[2] or ""]
    return 1 if value < -limit else -1 if 0 <= value <= limit else 0


def _color(text: str) -> str:
    text = text.strip()
    if text == "transparent":
        return "transparent"
    if match := _RGB.fullmatch(text):
        if match[4] is not None and float(match[4]) == 0:
            return "transparent"
        return "".join(f"{min(int(match[at]), 255):02x}" for at in (1, 2, 3))
    digits = text.removeprefix("#") if text.startswith("#") else _NAMED.get(text, "")
    digits = "".join(digit * 2 for digit in digits[:3]) if len(digits) in (3, 4) else digits[:6]
    return digits if re.fullmatch("[0-9a-f]{6}", digits) else ""


def _is_near(one: str, other: str) -> bool:
    if len(one) != 6 or len(other) != 6:
        return False
    return all(abs(left - right) <= 12 for left, right in zip(bytes.fromhex(one), bytes.fromhex(other), strict=True))
