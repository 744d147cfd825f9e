"""The GAIA report as one HTML page in the style of the other reports: it needs nothing else and runs nothing."""

from collections.abc import Iterator
from html import escape

from app.evaluation.page import circumstances_list, html_page, item_list, section, table, unfolding
from app.evaluation.report import Score
from extras.gaia.report import GaiaAnswer, GaiaReport


def gaia_page(report: GaiaReport) -> str:
    """Write the whole page. Reads its style sheet."""
    about = f"{len(report.answers)} questions of {report.dataset.name}, {report.mode} flow"
    head = ("", "right", "share", "95 % interval", "steps", "seconds")
    ordered = sorted(report.answers, key=lambda one: (one.right is not False, not one.error))
    parts = [
        f"<header><h1>Deep questions</h1><p>{escape(about)} · {report.made_at:%d %B %Y, %H:%M} UTC</p></header>",
        section("Figures", table(head, _rows(report))),
        section("Questions", "".join(map(_question, ordered))),
        circumstances_list(report.circumstances),
    ]
    return html_page(f"{report.dataset.name}, {report.made_at:%Y-%m-%d %H:%M}", parts)


def _rows(report: GaiaReport) -> Iterator[tuple[str, ...]]:
    if report.score:
        steps, wait = report.median_steps, report.spent.median_seconds
        yield "all", str(report.right), *_shares(report.score), f"{steps:g}", f"{wait:.2f}"
    for one in report.groups:
        name = f"{one.kind} {one.name}"
        yield name, str(one.right), *_shares(one.score), f"{one.median_steps:g}", f"{one.median_seconds:.2f}"


def _shares(score: Score) -> tuple[str, str]:
    return f"{score.value:.2f} of {score.questions}", f"{score.low:.2f} – {score.high:.2f}"


def _question(one: GaiaAnswer) -> str:
    verdict = {True: "right", False: "wrong", None: "not scored"}[one.right]
    about = [verdict, f"level {one.level}", one.task_id, one.asker, one.outcome, f"{one.steps} steps"]
    about += [f"{one.tool_calls} tool calls", f"{one.seconds:.2f} s", one.file_name]
    texts = [("Answer", one.answer or one.error or "–"), ("Expected", one.expected), ("Reasoning", one.reasoning)]
    prose = [(title, text) for title, text in texts if text]
    return unfolding(one.question, " · ".join(filter(None, about)), prose, lists=item_list(one.trace, "Flow"))
