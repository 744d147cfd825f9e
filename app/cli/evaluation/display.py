"""A report in the terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.evaluation.comparison import Comparison, Moved
from app.evaluation.measures import BY_NAME, LEADING, METRICS
from app.evaluation.report import GateResult, Report
from app.text.language import clean

_WORST = 5
_STYLES = {"better": "green", "worse": "red", "even": "dim"}


def show_report(console: Console, report: Report) -> None:
    """Rates with intervals, outcomes, groups, the most confidently wrong, and the gates."""
    console.print(_rates(report))
    console.print(_outcomes(report))
    console.print(_groups(report))
    console.print(_spent(report))
    _show_wrong(console, report)
    show_gates(console, report.gates)


def show_comparison(console: Console, found: Comparison) -> None:
    """What changed, and the questions that moved."""
    table = _table(f"Since the earlier run ({found.questions} questions in both)", "rate", "before", "after", "change")
    table.add_column("95 % interval", justify="right")
    for one in found.changes:
        cells = (f"{one.before:.3f}", f"{one.after:.3f}", f"{one.after - one.before:+.3f}")
        ends = f"{one.low:+.3f} … {one.high:+.3f}"
        table.add_row(BY_NAME[one.metric].title, *cells, ends, style=_STYLES[one.verdict])
    console.print(table)
    before, after = found.median_seconds
    told = f"leaks {found.leaks[0]} → {found.leaks[1]} · median wait {before * 1000:.0f} → {after * 1000:.0f} ms"
    console.print(_text(told))
    if found.unlike:
        console.print(_text(f"not alike: {'; '.join(found.unlike)}", "yellow"))
    _show_moved(console, "worse", found.worse)
    _show_moved(console, "better", found.better)
    show_gates(console, found.gates)


def show_gates(console: Console, gates: Iterable[GateResult]) -> None:
    """Each demand with what was reached, the broken ones last."""
    for gate in sorted(gates, key=lambda gate: not gate.holds):
        mark, style = ("✓", "green") if gate.holds else ("✗", "bold red")
        value = "not asked" if gate.value is None else f"{gate.value:.3f}"
        where = f" ({gate.where})" if gate.where else ""
        console.print(_text(f"{mark} {gate.metric}{where} {value}, wanted {gate.demand}", style))


def _rates(report: Report) -> Table:
    sets = ", ".join(one.name for one in report.datasets)
    table = _table(f"{report.questions} questions from {sets}", "rate", "value", "95 % interval", "questions")
    for metric in METRICS:
        if score := report.scores.get(metric.name):
            ends = f"{score.low:.3f} – {score.high:.3f}"
            table.add_row(metric.title, f"{score.value:.3f}", ends, str(score.questions))
    style = "bold red" if report.leak_count else "green"
    table.add_row("leaks", str(report.leak_count), "", str(len(report.asked)), style=style)
    if found := report.calibration:
        table.add_row("calibration error", f"{found.error:.3f}", "", str(found.answers))
    return table


def _outcomes(report: Report) -> Table:
    table = _table("Outcomes", "outcome", "due", "said", "precision", "recall", "F1")
    for one in report.outcomes:
        shares = ("–" if value is None else f"{value:.2f}" for value in (one.precision, one.recall, one.f1))
        table.add_row(one.outcome, str(one.due), str(one.said), *shares)
    return table


def _groups(report: Report) -> Table:
    table = _table("Groups", "", "questions", *(BY_NAME[name].title for name in LEADING))
    for group in report.groups:
        scores = (f"{group.scores[name].value:.2f}" if name in group.scores else "–" for name in LEADING)
        table.add_row(_text(f"{group.kind} {group.name}"), str(group.questions), *scores)
    return table


def _spent(report: Report) -> Text:
    spent = report.spent
    told = f"median {spent.median_seconds * 1000:.0f} ms, p95 {spent.p95_seconds * 1000:.0f} ms a question"
    if spent.tokens:
        told += f" · {spent.tokens_per_question:.0f} tokens a question"
    if report.to_review:
        told += f" · {report.to_review} to review count nowhere"
    return _text(told, "dim")


def _show_wrong(console: Console, report: Report) -> None:
    wrong = [one for one in report.asked if not one.right and not one.question.to_review]
    wrong.sort(key=lambda one: (not one.leaks, -one.observation.confidence))
    for one in wrong[:_WORST]:
        faults = "; ".join(fault.detail for fault in one.faults)
        console.print(_text(f"✗ {one.key} {one.question.question}", "yellow"))
        console.print(_text(f"    {faults} (confidence {one.observation.confidence:.2f})", "dim"))
    if wrong[_WORST:]:
        console.print(_text(f"  and {len(wrong) - _WORST} more wrong answers", "dim"))


def _show_moved(console: Console, name: str, questions: Iterable[Moved]) -> None:
    for one in questions:
        why = "; ".join(one.after or one.before)
        console.print(_text(f"{name}: {one.key} {one.question} ({why})", _STYLES[name]))


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=_text(title), title_justify="left", box=None, header_style="dim")
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _text(value: str, style: str = "") -> Text:
    return Text(clean(value), style=style)
