"""A GAIA report in the terminal: a line a question, then totals."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.text.language import clean
from extras.gaia.report import GaiaAnswer, GaiaReport

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}
_MOST_CHARS = 160
_KINDS = ("level", "kind", "language")
"""Groups that are shown; those by further tags stand in the report."""


def show_gaia(console: Console, report: GaiaReport) -> None:
    """Every question, the groups, and what it cost."""
    console.print(_questions(report))
    console.print(_groups(report))
    spent = report.spent
    told = (
        f"median {report.median_steps:g} steps, {report.median_tool_calls:g} tool calls, "
        f"{spent.median_seconds * 1000:.0f} ms · p95 {spent.p95_seconds * 1000:.0f} ms a question"
    )
    if spent.tokens:
        told += f" · {spent.tokens_per_question:.0f} tokens a question"
    console.print(Text(told, style="dim"))


def _questions(report: GaiaReport) -> Table:
    table = Table(box=None, header_style="dim", expand=True)
    table.add_column("", no_wrap=True)
    for name, ratio in (("question", 5), ("answer", 3), ("expected", 2)):
        table.add_column(name, ratio=ratio, no_wrap=True, overflow="ellipsis")
    for name in ("steps", "tools", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in report.answers:
        mark, style = _MARKS[one.right]
        told = one.answer or one.error or "–"
        figures = (str(one.steps), str(one.tool_calls), f"{one.seconds:.2f}")
        table.add_row(Text(mark, style=style), _named(one), _text(told), _text(one.expected), *figures)
    return table


def _groups(report: GaiaReport) -> Table:
    table = Table(box=None, header_style="dim")
    table.add_column(f"{report.dataset.name}, {report.mode}")
    for name in ("right", "share", "95 % interval", "steps", "ms"):
        table.add_column(name, justify="right")
    if score := report.score:
        ends = f"{score.low:.2f} – {score.high:.2f}"
        count, value = f"{report.right} / {score.questions}", f"{score.value:.3f}"
        wait = f"{report.spent.median_seconds * 1000:.0f}"
        table.add_row("all", count, value, ends, f"{report.median_steps:g}", wait, style="bold")
    for group in report.groups:
        if group.kind in _KINDS:
            score = group.score
            table.add_row(
                _text(f"{group.kind} {group.name}"), f"{group.right} / {score.questions}", f"{score.value:.3f}",
                f"{score.low:.2f} – {score.high:.2f}", f"{group.median_steps:g}", f"{group.median_seconds * 1000:.0f}",
            )  # fmt: skip
    return table


def _named(one: GaiaAnswer) -> Text:
    return _text(f"{one.task_id} {one.question}")


def _text(value: str) -> Text:
    flat = clean(value).replace("\n", " ")
    return Text(flat if len(flat) <= _MOST_CHARS else f"{flat[:_MOST_CHARS]}…")
