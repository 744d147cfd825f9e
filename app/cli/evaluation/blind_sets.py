"""`conclave eval blind`: figures on questions whose wording nobody who changes the program has seen.

Question texts are not printed, logged or kept, except of the sets that are `--seen`.
"""

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.evaluation.circumstances import circumstances_of, offline
from app.cli.evaluation.display import show_gates
from app.cli.evaluation.house import LocalHouse
from app.cli.output import FAILED, OK, DocumentBar, finish, opened, print_json
from app.evaluation.dataset import Dataset, lines_of, read_dataset, refusal
from app.evaluation.gates import Gate, held, read_gates
from app.evaluation.report import Asked, Group, Report, Score
from app.evaluation.running import Evaluation
from app.evaluation.summary import median_wait, summarise
from app.settings import Settings

BLIND_FOLDER = Path(__file__).parents[3] / "bench" / "blind"
_COLUMNS = {
    "fully_right": "right", "partly": "partly", "wrong_answered": "wrong & answered", "wrong_hedged": "wrong & hedged",
    "wrongly_refused": "wrongly refused", "not_found_f1": "not-found F1", "extra": "extra sentences", "stale": "stale",
    "recall": "gold cited",
}  # fmt: skip
"""The figures that are shown, with their heads."""


def blind(
    folder: Annotated[Path, typer.Option(help="Holds a folder for each set, and gates.toml.")] = BLIND_FOLDER,
    dataset: Annotated[str | None, typer.Option(help="Only the set in this folder.")] = None,
    seen: Annotated[bool, typer.Option("--seen", help="Ask seen.jsonl instead, and show what went wrong.")] = False,
    with_model: Annotated[bool, typer.Option(help="Ask the configured models and the web, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Ask the blind sets and print figures, never a question; exit code 1 when a limit of gates.toml is broken."""
    settings = Settings() if with_model else offline(Settings())
    limits = folder / "gates.toml"
    gates = read_gates(limits) if limits.exists() and not seen else ()
    finish(_run(settings, _sets(folder, dataset, "seen" if seen else "blind"), gates, seen, as_json))


def _sets(folder: Path, dataset: str | None, name: str) -> list[Dataset]:
    """The sets below a folder. Questions about attached files are of another kind: `bench.tables` asks them."""
    found = []
    for path in sorted(folder.glob(f"{dataset or '*'}/{name}.jsonl")):
        first, *_ = lines_of(path)
        if "file" not in json.loads(first):
            found.append(read_dataset(path, path.parent.name))
    if not found:
        raise refusal([f"{folder}: holds no {dataset or '*'}/{name}.jsonl"])
    return found


async def _run(settings: Settings, sets: list[Dataset], gates: tuple[Gate, ...], seen: bool, as_json: bool) -> int:
    console, progress = Console(), Console(stderr=True)
    report = await _asked(settings, sets, progress)
    report = report.model_copy(update={"gates": held(gates, report)})
    if as_json:
        print_json(console, report.model_dump(mode="json", exclude={"asked"}))
    else:
        if seen:
            _show_wrong(console, report)
        console.print(_table(report))
        show_gates(console, report.gates)
    return OK if report.holds else FAILED


async def _asked(settings: Settings, sets: list[Dataset], progress: Console) -> Report:
    bar = DocumentBar(progress, "asking")
    async with opened(settings, progress, work=True) as services, Evaluation(LocalHouse(services), sets) as evaluation:
        await evaluation.prepare(lambda done, total, title: None)
        began = time.perf_counter()
        try:
            asked = await evaluation.run(1, lambda done, total, question: bar(done, total, ""))
        finally:
            bar.stop()
        return summarise(
            asked, evaluation.datasets, circumstances_of(services, 1, evaluation.corpora), kinds_only=True,
            made_at=services.rooms.now(), total_seconds=time.perf_counter() - began,
        )  # fmt: skip


def _table(report: Report) -> Table:
    table = Table(title=f"{report.questions} questions, 95 % intervals", title_justify="left", box=None)
    table.add_column("", no_wrap=True)
    for head in ("n", *_COLUMNS.values(), "median ms"):
        table.add_column(head, justify="right")
    everything = Group(
        kind="dataset", name="all", questions=report.questions, scores=report.scores,
        seconds=median_wait(report.asked, seed=report.seed),
    )  # fmt: skip
    for group in (everything, *(one for one in report.groups if one.kind != "department")):
        name = "all" if group is everything else f"{'kind' if group.kind == 'tag' else group.kind} {group.name}"
        scores = (_cell(group.scores.get(metric)) for metric in _COLUMNS)
        table.add_row(name, str(group.questions), *scores, _cell(group.seconds, thousandfold=True))
    return table


def _cell(score: Score | None, *, thousandfold: bool = False) -> str:
    if score is None:
        return "–"
    if thousandfold:
        return f"{score.value * 1000:.0f}\n{score.low * 1000:.0f}–{score.high * 1000:.0f}"
    return f"{score.value:.2f}\n{score.low:.2f}–{score.high:.2f}".replace("0.", ".")


def _show_wrong(console: Console, report: Report) -> None:
    for one in report.asked:
        if one.grade not in ("right", "rightly_refused") or one.extra:
            console.print(Text(f"{one.grade} · {one.key} ({', '.join(one.question.tags[:1])}) {one.question.question}"))
            for line in _why(one):
                console.print(Text(f"    {line}", style="dim"))


def _why(one: Asked) -> list[str]:
    answer = " ".join(one.observation.answer.split())[:400]
    faults = "; ".join(fault.detail for fault in one.faults)
    extra = " · ".join(sentence[:120] for sentence in one.extra)
    return [line for line in (answer, faults, f"does not belong: {extra}" if extra else "") if line]
