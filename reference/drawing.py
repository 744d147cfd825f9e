"""A small hand for pictures: boxes, arrows, frames and notes as one SVG that reads in light and in dark.

A picture brings its own ground, so it can be read on any page; the colours are those of the chat page.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

_STYLE = """
.ground{fill:#fff;stroke:#d9dedf}.box{fill:#f7f7f4;stroke:#8d989e}.main{fill:#e8f0f4;stroke:#1f6384}
.good{fill:#e6f3ec;stroke:#1c6b42}.bad{fill:#fbe9e9;stroke:#a32a2a}.warn{fill:#fbf1dc;stroke:#855600}
.frame{fill:none;stroke:#8d989e;stroke-dasharray:5 5}.line{fill:none;stroke:#566169;stroke-width:1.6}
.dashed{stroke-dasharray:5 4}.head{fill:#566169}.bar{fill:#1f6384}.rail{fill:#d9dedf}
text{fill:#1d2327;font:13px system-ui,sans-serif}.title{font-weight:600;font-size:14px}
.soft{fill:#566169;font-size:12px}
@media (prefers-color-scheme:dark){.ground{fill:#1c2226;stroke:#333d43}.box{fill:#14181b;stroke:#7d8a92}
.main{fill:#22313a;stroke:#7cc0e0}.good{fill:#1b3227;stroke:#7fd3a4}.bad{fill:#3a2222;stroke:#f29a9a}
.warn{fill:#352b16;stroke:#e8b85c}.frame{stroke:#7d8a92}.line{stroke:#a3b0b8}.head{fill:#a3b0b8}.bar{fill:#7cc0e0}
.rail{fill:#333d43}text{fill:#e7ebed}.soft{fill:#a3b0b8}}
"""
_TITLE_WIDTH, _LINE_WIDTH = 7.6, 6.3
"""Pixels a letter takes at most on average, in a title and in a line."""
_LINE = 17


class Place(NamedTuple):
    """Where a box stands, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def side(self, name: str, aside: float) -> tuple[float, float]:
        """The middle of a side (left, right, top or bottom), or so many pixels to the right of it."""
        middle, centre = self.x + self.width / 2 + aside, self.y + self.height / 2
        return {
            "left": (self.x, centre), "right": (self.x + self.width, centre),
            "top": (middle, self.y), "bottom": (middle, self.y + self.height),
        }[name]  # fmt: skip


class Drawing:
    """A picture that is being drawn; `told` says in words what it shows."""

    def __init__(self, width: int, height: int, told: str):
        self._size = (width, height)
        self._told = told
        self._parts: list[str] = []
        self._places: dict[str, Place] = {}

    def box(self, key: str, x: float, y: float, width: float, title: str, *lines: str, tone: str = "box") -> None:
        """A box with a title and lines below it; refuses text that would not fit."""
        widest = max([len(title) * _TITLE_WIDTH, *(len(line) * _LINE_WIDTH for line in lines)])
        if widest > width - 12:
            raise ValueError(f"the text of '{key}' needs {widest + 12:.0f} pixels")
        place = Place(x, y, width, 34 + _LINE * len(lines))
        self._places[key] = place
        self._parts.append(_rect(place, tone, 8))
        middle = x + width / 2
        self._parts.append(_text(middle, y + 22, title, "title", "middle"))
        self._parts += [_text(middle, y + 22 + _LINE * n, line, "soft", "middle") for n, line in enumerate(lines, 1)]

    def frame(self, x: float, y: float, width: float, height: float, title: str) -> None:
        """A dashed frame around what belongs together."""
        self._parts += [
            _rect(Place(x, y, width, height), "frame", 12),
            _text(x + width - 12, y + 18, title, "soft", "end"),
        ]

    def note(self, x: float, y: float, text: str, kind: str = "soft", anchor: str = "start") -> None:
        """Words without a box."""
        self._parts.append(_text(x, y, text, kind, anchor))

    def bar(self, x: float, y: float, width: float, share: float) -> None:
        """A bar that is filled to a share of its width."""
        rail, bar = Place(x, y, width, 9), Place(x, y, width * share, 9)
        self._parts += [_rect(rail, "rail", 4), _rect(bar, "bar", 4)]

    def arrow(
        self, start: str, end: str, label: str = "", *, dashed: bool = False,
        via: Iterable[tuple[float, float]] = (), at: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        """An arrow from ``key.side`` to ``key.side`` over the corners `via`; its label stands at `at` or its middle.

        ``key.top+25`` is 25 pixels to the right of the middle.
        """
        points = [self._end(start), *via, self._end(end)]
        path = " ".join(f"{'L' if n else 'M'}{x:g} {y:g}" for n, (x, y) in enumerate(points))
        kind = "line dashed" if dashed else "line"
        between = quoteattr(f"{start.split('.')[0]} {end.split('.')[0]}")
        self._parts.append(f'<path class="{kind}" data-arrow={between} d="{path}" marker-end="url(#head)"/>')
        if label:
            (x1, y1), (x2, y2) = points[len(points) // 2 - 1], points[len(points) // 2]
            x, y = at or ((x1 + x2) / 2, (y1 + y2) / 2 - 6)
            self._parts.append(_text(x, y, label, "soft", "middle"))

    def svg(self) -> str:
        """The picture."""
        width, height = self._size
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="head" d="M0 0 8 4 0 8z"/></marker>'
        )
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f"width=\"{width}\" height=\"{height}\" aria-label={quoteattr(self._told)}>",
            f"<title>{escape(self._told)}</title>", f"<style>{_STYLE}</style>", f"<defs>{head}</defs>",
            _rect(Place(0.5, 0.5, width - 1, height - 1), "ground", 12), *self._parts, "</svg>",
        ])  # fmt: skip

    def _end(self, name: str) -> tuple[float, float]:
        found = re.fullmatch(r"(\w+)\.([a-z]+)([+-]\d+)?", name)
        assert found is not None, name
        return self._places[found[1]].side(found[2], float(found[3] or 0))


def _rect(place: Place, kind: str, radius: int) -> str:
    x, y, width, height = (f"{one:g}" for one in place)
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
