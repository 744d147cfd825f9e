"""The page's comparison with an earlier run."""

from collections.abc import Sequence
from html import escape

from app.evaluation.comparison import Change, Comparison, Moved
from app.evaluation.measures import BY_NAME
from app.evaluation.page.figures import gates, lines
from app.evaluation.page.svg import difference


def changes(found: Comparison) -> str:
    """What moved since the earlier run, and which questions made it move."""
    reach = max((abs(part) for one in found.changes for part in (one.low, one.high)), default=0.0)
    moved = [one for one in found.changes if one.low or one.high or one.before != one.after]
    rows = "".join(f"<li>{_change(one, reach)}</li>" for one in moved)
    still = ", ".join(BY_NAME[one.metric].title for one in found.changes if one not in moved)
    unmoved = f"<p class='hint'>Unmoved: {escape(still)}.</p>" if still else ""
    unlike = f"<p class='hint'>Not alike: {escape('; '.join(found.unlike))}.</p>" if found.unlike else ""
    waited = " → ".join(f"{seconds * 1000:.0f} ms" for seconds in found.median_seconds)
    told = f"{found.questions} questions in both runs; leaks {found.leaks[0]} → {found.leaks[1]}; median wait {waited}."
    return (
        f"<section><h2>Since the earlier run</h2><p class='hint'>{told}</p>{unlike}"
        f'<ul class="rates">{rows}</ul>{unmoved}'
        f"{_moved('Worse', found.worse)}{_moved('Better', found.better)}</section>"
        f"{gates(found.gates)}"
    )


def _change(one: Change, reach: float) -> str:
    title, by = BY_NAME[one.metric].title, one.after - one.before
    told = f"{title}: {by:+.3f}, 95 % interval {one.low:+.3f} to {one.high:+.3f}"
    drawn = difference(one.low, by, one.high, reach=reach, verdict=one.verdict, title=told)
    name = f'<span class="name">{escape(title)}<small>{one.before:.3f} → {one.after:.3f}</small></span>'
    ends = f"{one.low:+.2f} to {one.high:+.2f}"
    return f'{name}{drawn}<span class="value {one.verdict}"><b>{by:+.3f}</b><small>{ends}</small></span>'


def _moved(title: str, questions: Sequence[Moved]) -> str:
    if not questions:
        return ""
    rows = "".join(lines([_told(one) for one in questions]))
    return f"<details><summary>{title} <small>{len(questions)}</small></summary><ul>{rows}</ul></details>"


def _told(one: Moved) -> str:
    what = one.after or one.before
    return f"{one.question} ({one.key}): {'; '.join(what)}"
