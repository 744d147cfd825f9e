"""Plots as inline SVG: bars with intervals, the reliability diagram, the histogram of waiting times.

Colours are the page's own (CSS classes), so that both schemes work. Each plot says in words what it shows.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from app.evaluation.calibration import BINS, Bin

WIDTH, HEIGHT = 360, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 14, 34, 40


def bar(value: float, low: float, high: float, *, title: str, is_low: bool = False) -> str:
    """A share as a bar of the width it is given, with its interval as a whisker; values 0-1."""
    shown = [f"{100 * min(max(part, 0.0), 1.0):.2f}%" for part in (value, low, high)]
    at, start, end = shown
    tone = "fill low" if is_low else "fill"
    return (
        f'<svg class="bar" role="img" aria-label="{escape(title)}" height="18" width="100%">'
        f"<title>{escape(title)}</title>"
        '<rect class="track" x="0" y="4" width="100%" height="10" rx="5"/>'
        f'<rect class="{tone}" x="0" y="4" width="{at}" height="10" rx="5"/>'
        f'<line class="halo" x1="{start}" x2="{end}" y1="9" y2="9"/>'
        f'<line class="whisker" x1="{start}" x2="{end}" y1="9" y2="9"/>'
        f'<line class="whisker" x1="{start}" x2="{start}" y1="5" y2="13"/>'
        f'<line class="whisker" x1="{end}" x2="{end}" y1="5" y2="13"/></svg>'
    )


def difference(low: float, value: float, high: float, *, reach: float, verdict: str, title: str) -> str:
    """A change around zero with its interval; `reach` is the largest change of the table."""
    places = [f"{50 + 48 * max(-1.0, min(1.0, part / reach if reach else 0.0)):.2f}%" for part in (low, value, high)]
    return (
        f'<svg class="bar" role="img" aria-label="{escape(title)}" height="18" width="100%">'
        f'<title>{escape(title)}</title><rect class="track" x="0" y="4" width="100%" height="10" rx="5"/>'
        '<line class="axis" x1="50%" x2="50%" y1="1" y2="17"/>'
        f'<line class="whisker" x1="{places[0]}" x2="{places[2]}" y1="9" y2="9"/>'
        f'<circle class="dot {escape(verdict)}" cx="{places[1]}" cy="9" r="5"/></svg>'
    )


def reliability_diagram(bins: Sequence[Bin]) -> str:
    """Share of right answers over confidence; the diagonal is perfect, the area of a dot is its number of answers."""
    most = max((one.answers for one in bins), default=1)
    told = "; ".join(f"confidence {one.confidence:.2f}: {one.right:.2f} right of {one.answers}" for one in bins)
    parts = [*_frame([0, 0.25, 0.5, 0.75, 1], [0, 0.25, 0.5, 0.75, 1], "confidence", percent=True)]
    parts.append(f'<line class="diagonal" x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}" y2="{_y(1):.1f}"/>')
    for one in bins:
        x, y, size = _x(one.confidence), _y(one.right), 4 + 9 * math.sqrt(one.answers / most)
        hint = f"{one.low:.1f}-{one.low + 1 / BINS:.1f}: {one.right:.0%} right of {one.answers}"
        parts.append(f'<line class="gap" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(one.confidence):.1f}" y2="{y:.1f}"/>')
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"><title>{hint}</title></circle>')
    return _plot(f"Share of right answers by confidence: {told}", parts)


def histogram(seconds: Sequence[float], marks: Sequence[tuple[str, float]]) -> str:
    """Questions by waiting time in milliseconds; `marks` are named times drawn as lines."""
    edges = edges_of(seconds)
    counted = [sum(1 for one in seconds if low <= one * 1000 < high) for low, high in pairwise(edges)]
    counted[-1] += sum(1 for one in seconds if one * 1000 >= edges[-1])
    most, last = max(counted), edges[-1]
    parts = [
        *_frame(
            _ticks(last), [0.0, most / 2, float(most)] if most > 1 else [0.0, 1.0], "milliseconds", top=most, right=last
        )
    ]
    for low, high, number in zip(edges, edges[1:], counted, strict=False):
        x, y = _x(low / last), _y(number / most)
        width = max(_x(high / last) - x - 1, 1)
        hint = f"{low:.0f}-{high:.0f} ms: {number}"
        parts.append(
            f'<rect class="fill" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_y(0) - y:.1f}">'
            f"<title>{hint}</title></rect>"
        )
    for row, (name, value) in enumerate(marks):
        x, y = _x(min(value * 1000 / last, 1)), 12 + 14 * row
        side, shift = ("end", -5) if x > WIDTH * 0.6 else ("start", 5)
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 9}" y2="{_y(0):.1f}"/>')
        parts.append(
            f'<text class="note" x="{x + shift:.1f}" y="{y}" text-anchor="{side}">'
            f"{escape(name)} {value * 1000:.0f} ms</text>"
        )
    return _plot(f"Waiting times of {len(seconds)} questions", parts)


def edges_of(seconds: Sequence[float], bins: int = 24) -> list[float]:
    """Edges of equal bins in milliseconds, from 0 to a round number at or above the 99th percentile, ascending."""
    ordered = sorted(seconds) or [0.0]
    reach = max(ordered[min(len(ordered) - 1, math.ceil(0.99 * len(ordered)) - 1)] * 1000, 1.0)
    step = 10 ** math.floor(math.log10(reach))
    last = next(step * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * factor >= reach)
    return [last * number / bins for number in range(bins + 1)]


def _ticks(last: float) -> list[float]:
    return [last * part / 4 for part in range(5)]


def _frame(
    across: Sequence[float], up: Sequence[float], label: str, *, top: float = 1, right: float = 1, percent: bool = False
) -> Iterator[str]:
    for value in up:
        y = _y(value / top)
        told = f"{value:.0%}" if percent else f"{value:.0f}"
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{told}</text>'
    for value in across:
        x = _x(value / right)
        told = f"{value:.0%}" if percent else f"{value:g}"
        yield f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">{told}</text>'
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield f'<text class="label" x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{label}</text>'


def _plot(told: str, parts: Sequence[str]) -> str:
    shape = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(told)}"'
    return f'<svg class="plot" {shape}>{"".join(parts)}</svg>'


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)
