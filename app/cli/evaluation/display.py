"""Reports in the terminal."""

from collections.abc import Iterable

from rich.console import Console

from app.cli.output import print_table, text
from app.evaluation.comparison import Comparison
from app.evaluation.figures import BY_NAME, LEADING
from app.evaluation.report import GateResult, Group, Report, Score, median_wait, rows_of_groups, rows_of_rates, wrong_of

_WORST = 5
_STYLES = {"better": "green", "worse": "red", "even": "dim"}
_BLIND = {
    "fully_right": ("ok", "right"), "partly": ("part", "partly right"), "wrong_answered": ("w&a", "wrong and answered"),
    "wrong_hedged": ("w&h", "wrong and hedged"), "wrongly_refused": ("ref", "wrongly refused"),
    "not_found_f1": ("nf", "not-found F1"), "extra": ("ext", "with sentences that do not belong"),
    "stale": ("old", "stale value without a note"), "recall": ("cite", "gold document cited"),
}  # fmt: skip
"""The figures of blind sets, with a head of few letters and a name."""


def show_report(console: Console, report: Report) -> None:
    """Print rates with intervals, groups, the most confidently wrong, and the gates."""
    sets = ", ".join(one.name for one in report.datasets)
    title = f"{report.questions} questions from {sets}"
    print_table(console, ("rate", "value", "95 % interval", "questions"), rows_of_rates(report), title)
    head = ("", "questions", *(BY_NAME[name].title for name in LEADING))
    print_table(console, head, rows_of_groups(report), "Groups")
    if report.to_review:
        console.print(text(f"{report.to_review} to review count nowhere", "dim"))
    wrong = wrong_of(report)
    for one in wrong[:_WORST]:
        faults = "; ".join(fault.detail for fault in one.faults)
        console.print(text(f"✗ {one.key} {one.question.question}", "bold"))
        console.print(text(f"    {faults} (confidence {one.observation.confidence:.2f})", "dim"))
    if wrong[_WORST:]:
        console.print(text(f"  and {len(wrong) - _WORST} more wrong answers", "dim"))
    _show_gates(console, report.gates)


def show_blind(console: Console, report: Report) -> None:
    """Print the figures of blind sets by set, language and kind, each with its interval; no question."""
    wait = median_wait(report.asked, report.seed)
    whole = Group(kind="dataset", name="", questions=report.questions, scores=report.scores, seconds=wait)
    rows = []
    for group in (whole, *(one for one in report.groups if one.kind != "department")):
        name = f"{'kind' if group.kind == 'tag' else group.kind} {group.name}" if group.name else "all"
        cells = (_short(group.scores.get(metric)) for metric in _BLIND)
        rows.append(
            (name, str(group.questions), *cells, "–" if group.seconds is None else f"{group.seconds.value:.1f}")
        )
    head = ("", "n", *(short for short, _ in _BLIND.values()), "s")
    print_table(console, head, rows, f"{report.questions} questions; s = median seconds")
    languages = {group.name: group for group in report.groups if group.kind == "language"}
    intervals = (
        (f"{short} = {name}", *(_interval(group.scores.get(metric)) for group in (whole, *languages.values())))
        for metric, (short, name) in _BLIND.items()
    )
    print_table(console, ("", "all", *languages), intervals, "95 % intervals")
    _show_gates(console, report.gates)


def show_wrong_rows(console: Console, report: Report) -> None:
    """Print every question that was not answered right, or with sentences that do not belong."""
    for one in report.asked:
        if one.grade in ("right", "rightly_refused") and not one.extra:
            continue
        console.print(text(f"{one.grade} · {one.key} ({', '.join(one.question.tags[:1])}) {one.question.question}"))
        lines = [" ".join(one.observation.answer.split())[:400], *(fault.detail for fault in one.faults)]
        lines += [f"does not belong: {sentence[:160]}" for sentence in one.extra]
        for line in filter(None, lines):
            console.print(text(f"    {line}", "dim"))


def show_comparison(console: Console, found: Comparison) -> None:
    """Print what changed, and the questions that moved."""
    rows = ([text(cell, _STYLES[verdict]) for cell in cells] for *cells, verdict in found.rows())
    print_table(console, ("rate", "before", "after", "change, 95 % interval"), rows, "Since the earlier run")
    console.print(text(found.summary))
    for verdict, moved in (("worse", found.worse), ("better", found.better)):
        for one in moved:
            console.print(text(f"{verdict}: {one}", _STYLES[verdict]))
    _show_gates(console, found.gates)


def _show_gates(console: Console, gates: Iterable[GateResult]) -> None:
    for gate in sorted(gates, key=lambda gate: not gate.holds):
        console.print(text(str(gate), "green" if gate.holds else "bold red"))


def _short(score: Score | None) -> str:
    return "–" if score is None else _two_digits(score.value)


def _interval(score: Score | None) -> str:
    if score is None:
        return "–"
    return f"{_two_digits(score.value)} ({_two_digits(score.low)}–{_two_digits(score.high)})"


def _two_digits(rate: float) -> str:
    """``.07``, ``.50``, ``1.0``: four signs at most."""
    return "1.0" if rate >= 0.995 else f"{rate:.2f}".removeprefix("0")
