"""What is shown while documents are brought in, and at the end."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from app.cli.documents.bringing import Outcome
from app.cli.output import print_json
from app.domain.documents import DocumentStatus, Progress
from app.text.language import clean

_STYLES = {
    "published": "green", "unchanged": "dim", "partial": "yellow", "failed": "red", "retired": "magenta",
    "skipped": "dim",
}  # fmt: skip
_STAGES = {
    DocumentStatus.RECEIVED: "waiting",
    DocumentStatus.PARSING: "reading",
    DocumentStatus.CHUNKING: "cutting",
    DocumentStatus.EMBEDDING: "making vectors",
    DocumentStatus.READY: "published",
    DocumentStatus.PARTIAL: "published in part",
    DocumentStatus.FAILED: "failed",
}
_ROWS_SHOWN = 40
"""More documents than these: only what needs a person is listed, the rest is counted."""
_TROUBLES_SHOWN = 100
_NAME_CHARS = 48


class Report:
    """Collects the outcomes; the bars show how far everything is, `print` tells the end."""

    def __init__(self, total: int, progress: Console, lines: Console | None):
        """`lines` = where each outcome is written at once as a JSON line; None = nowhere."""
        self.outcomes: list[Outcome] = []
        self._lines, self._started = lines, time.perf_counter()
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", style="dim", markup=False),
            TimeElapsedColumn(),
            console=progress,
            transient=True,
        )
        self._all = self._bars.add_task("documents", total=total, state=f"0 of {total}")
        self._done, self._total = 0, total
        self._one: dict[str, TaskID] = {}

    def __enter__(self) -> "Report":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, name: str) -> None:
        """See `Watcher`."""
        shown = name if len(name) <= _NAME_CHARS else f"…{name[1 - _NAME_CHARS :]}"
        self._one[name] = self._bars.add_task(f"  {clean(shown)}", total=100, state="waiting")

    def tell(self, name: str, progress: Progress) -> None:
        """See `Watcher`."""
        chunks = f" {progress.chunks_embedded}/{progress.chunks_total}" if progress.chunks_total else ""
        state = f"{progress.percentage} % {_STAGES[progress.stage]}{chunks}"
        self._bars.update(self._one[name], completed=progress.percentage, state=state)

    def end(self, outcome: Outcome) -> None:
        """See `Watcher`."""
        self.outcomes.append(outcome)
        if self._lines is not None:
            print_json(self._lines, outcome.model_dump(mode="json"))
        task = self._one.pop(outcome.file, None)
        if task is not None:
            self._bars.remove_task(task)
            self._done += 1
            self._bars.update(self._all, completed=self._done, state=f"{self._done} of {self._total}")

    @property
    def has_failed(self) -> bool:
        """Whether something is not as it should be."""
        return any(one.outcome == "failed" for one in self.outcomes)

    def summary(self) -> dict[str, Any]:
        """The counts, as the last JSON line tells them."""
        counts = Counter[str](one.outcome for one in self.outcomes)
        return {
            **{name: counts[name] for name in _STYLES},
            "chunks": sum(one.chunks for one in self.outcomes),
            "embedded": sum(one.embedded for one in self.outcomes),
            "seconds": round(time.perf_counter() - self._started, 3),
        }

    def print(self, out: Console) -> None:
        """The table of what became of the documents, and the counts."""
        _print_outcomes(out, self.outcomes)
        summary = self.summary()
        counts = ", ".join(f"{summary[name]} {name}" for name in _STYLES if summary[name]) or "nothing to do"
        out.print(text(f"{counts} · {summary['chunks']} chunks · {summary['seconds']:.1f} s"))


def _print_outcomes(out: Console, outcomes: Sequence[Outcome]) -> None:
    is_long = len(outcomes) > _ROWS_SHOWN
    ordered = sorted(outcomes, key=lambda one: one.file)
    shown = [one for one in ordered if not is_long or one.outcome in ("partial", "failed", "retired")]
    rows = (
        (one.file, text(one.outcome, _STYLES[one.outcome]), str(one.chunks or ""), f"{one.code} {one.detail}".strip())
        for one in shown[:_TROUBLES_SHOWN]
    )
    print_table(out, ("document", "outcome", "chunks", "what to know"), rows)
    left = len(shown) - _TROUBLES_SHOWN
    if left > 0:
        out.print(text(f"… and {left} more; --json tells them all", "dim"))


def print_table(out: Console, columns: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> None:
    """A plain table; nothing when there is no row."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else text(cell) for cell in row))
    if table.row_count:
        out.print(table)


def period(begins: date | None, ends: date | None) -> str:
    """``2026-01-01 to …``, or ``always``."""
    return "always" if begins is None and ends is None else f"{begins or '…'} to {ends or '…'}"


def text(value: object, style: str = "") -> Text:
    """Text as it is: no markup in it is obeyed, and no control character reaches the terminal."""
    return Text(clean(str(value)), style=style)
