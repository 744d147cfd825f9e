"""Reports in the terminal."""

from collections.abc import Iterator

from rich.console import Console

from app.cli.output import print_table, text
from app.evaluation.figures import METRICS
from app.evaluation.report import Asked, Group, Report, Score

_WORST = 5
_GROUP_COLUMNS = {
    "right": "all", "fully_right": "ok", "partly": "part", "wrong_answered": "w&a", "wrong_hedged": "w&h",
    "wrongly_refused": "ref", "not_found_f1": "nf", "extra": "ext", "stale": "old", "recall": "cite",
}  # fmt: skip
"""The rates told of every group, with a head of few letters."""


def show_report(console: Console, report: Report, *, worst: int = _WORST) -> None:
    """Print every rate with its interval, the groups, the `worst` wrong answers, and the gates."""
    languages = {group.name: group for group in report.groups if group.kind == "language"}
    title = f"{report.questions} questions from {', '.join(one.name for one in report.datasets)}"
    print_table(
        console,
        ("95 % intervals", "all", *languages),
        _rates(report, [report.scores, *(group.scores for group in languages.values())]),
        title,
    )
    columns = [name for name in _GROUP_COLUMNS if name in report.scores]
    heads = (f"{_GROUP_COLUMNS[name]} = {METRICS[name]}" for name in columns)
    rows = ((f"{one.kind} {one.name}", str(one.questions), *_cells(one, columns)) for one in report.groups)
    head = ("", "n", *(_GROUP_COLUMNS[name] for name in columns), "s")
    print_table(console, head, rows, f"Groups; {', '.join(heads)}; s = median seconds")
    if report.to_review:
        console.print(text(f"{report.to_review} to review count nowhere", "dim"))
    if worst:
        _show_wrong(console, wrong_of(report), worst)
    for gate in sorted(report.gates, key=lambda gate: not gate.holds):
        console.print(text(str(gate), "green" if gate.holds else "bold red"))


def wrong_of(report: Report) -> list[Asked]:
    """List what was not answered right: leaks first, failures, the others by confidence; last right answers with
    sentences that do not belong."""
    wrong = [one for one in report.asked if one.leaks or one.extra or not (one.right or one.question.to_review)]
    return sorted(
        wrong,
        key=lambda one: (not one.leaks, not one.observation.error, one.right, -one.observation.confidence, one.key),
    )


def _show_wrong(console: Console, wrong: list[Asked], most: int) -> None:
    for one in wrong[:most]:
        about = f"{one.grade or 'wrong'}, confidence {one.observation.confidence:.2f}"
        console.print(text(f"✗ {one.key} {one.question.question} ({about})", "bold"))
        lines = [" ".join(one.observation.answer.split())[:400], *(fault.detail for fault in one.faults)]
        lines += [f"does not belong: {sentence[:160]}" for sentence in one.extra]
        for line in filter(None, lines):
            console.print(text(f"    {line}", "dim"))
    if wrong[most:]:
        console.print(text(f"  and {len(wrong) - most} more wrong answers", "dim"))


def _rates(report: Report, scores: list[dict[str, Score]]) -> Iterator[tuple[str, ...]]:
    for metric, title in METRICS.items():
        if metric in report.scores:
            yield title, *(_interval(one.get(metric)) for one in scores)
    yield "leaks", str(report.leak_count)
    if found := report.calibration:
        yield "calibration error", f"{found.error:.3f}"
    yield "wait, median · p95", f"{report.spent.median_seconds * 1000:.0f} · {report.spent.p95_seconds * 1000:.0f} ms"
    if report.spent.tokens:
        yield "tokens a question", f"{report.spent.tokens_per_question:.0f}"


def _cells(group: Group, columns: list[str]) -> Iterator[str]:
    for name in columns:
        yield _two_digits(group.scores[name].value) if name in group.scores else "–"
    yield f"{group.seconds:.1f}"


def _interval(score: Score | None) -> str:
    if score is None:
        return "–"
    return f"{_two_digits(score.value)} ({_two_digits(score.low)}–{_two_digits(score.high)})"


def _two_digits(rate: float) -> str:
    """``.07``, ``.50``, ``1.0``: four signs at most."""
    return "1.0" if rate >= 0.995 else f"{rate:.2f}".removeprefix("0")
