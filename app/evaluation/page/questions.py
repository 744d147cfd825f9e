"""The page's questions: what went wrong, worst first, each with its trace."""

from collections.abc import Sequence
from html import escape

from app.evaluation.observed import Source, Weighed
from app.evaluation.page.figures import lines
from app.evaluation.report import Asked, Report

MOST = 60
"""Wrong answers shown; the JSON holds all."""
_MOST_CHARS = 2_000


def left_out(number: int) -> str:
    """That some questions are not the reader's to see."""
    if not number:
        return ""
    told = "question is" if number == 1 else "questions are"
    why = "asked about another company, or with rights you do not hold. The figures above count them."
    return f"<section><h2>Not shown</h2><p class='hint'>{number} {told} left out here: {why}</p></section>"


def wrong(report: Report) -> str:
    """The wrong answers: leaks first, then failures, then the others, the most confident first."""
    found = sorted((one for one in report.asked if not one.right and not one.question.to_review), key=_badness)
    leaking = [one for one in report.asked if one.leaks and one.question.to_review]
    if not found and not leaking:
        return "<section><h2>Wrong answers</h2><p>None.</p></section>"
    shown = [*leaking, *found]
    more = f"<p class='hint'>{len(shown) - MOST} more stand in the JSON report.</p>" if shown[MOST:] else ""
    listed = "".join(_question(one) for one in shown[:MOST])
    hint = "<p class='hint'>The worst first: what leaked, what failed, then what was told with most confidence.</p>"
    return f'<section class="wrong"><h2>Wrong answers <small>{len(shown)}</small></h2>{hint}{listed}{more}</section>'


def to_review(report: Report) -> str:
    """Questions whose expectation nobody has confirmed."""
    waiting = [one for one in report.asked if one.question.to_review and not one.leaks]
    if not waiting:
        return ""
    listed = "".join(_question(one) for one in waiting[:MOST])
    hint = "<p class='hint'>Nobody has confirmed what is expected of these; they count nowhere.</p>"
    return f'<section class="wrong"><h2>To review <small>{len(waiting)}</small></h2>{hint}{listed}</section>'


def _badness(one: Asked) -> tuple[int, float, str]:
    rank = 0 if one.leaks else 1 if one.observation.error else 2
    return rank, -one.observation.confidence, one.key


def _question(one: Asked) -> str:
    checks = dict.fromkeys(fault.check for fault in one.faults)
    badges = "".join(f'<i class="badge {escape(check)}">{escape(check)}</i>' for check in checks)
    summary = f"<summary><span>{escape(one.question.question)}</span><span class='badges'>{badges}</span></summary>"
    seen = one.observation
    head = f"{one.key} · {one.asker} · {seen.outcome} · confidence {seen.confidence:.2f} · {seen.seconds * 1000:.0f} ms"
    parts = [
        f"<p class='hint'>{escape(head)}</p>",
        _list("Why it is wrong" if not one.right else "", [fault.detail for fault in one.faults], "faults"),
        _list("Asked before", list(one.question.history)),
        _prose("Answer", seen.answer or seen.error or "–"),
        _list("Evidence", [_source(item) for item in seen.evidence]),
        _list("Disagreements", [_weighed(conflict) for conflict in seen.conflicts]),
        _list("Agents", [", ".join(seen.agents)] if seen.agents else []),
        _list("Flow", list(seen.flow)),
    ]  # fmt: skip
    return f"<details>{summary}<div class='trace'>{''.join(parts)}</div></details>"


def _source(item: Source) -> str:
    return f"{item.relevance:.2f} {item.url} ({item.scope}, {item.created_at})"


def _weighed(conflict: Weighed) -> str:
    verb, end = ("over", "") if conflict.decided else ("against", ", undecided")
    kind = f"{conflict.type}: " if conflict.type else ""
    winner, loser = (
        f"{url} “{claim}”" for url, claim in zip((conflict.winner, conflict.loser), conflict.claims, strict=True)
    )
    return f"{kind}{winner} {verb} {loser} (margin {conflict.margin:.2f}{end})"


def _list(title: str, texts: Sequence[str], tone: str = "") -> str:
    return f'<h4>{title}</h4><ul class="{tone}">{"".join(lines(texts))}</ul>' if texts else ""


def _prose(title: str, text: str) -> str:
    cut = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} …"
    return f"<h4>{title}</h4><blockquote>{escape(cut)}</blockquote>"
