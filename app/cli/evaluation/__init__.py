"""`conclave eval`: ask datasets of the real flow, compare runs, make cases of users' corrections.

Offline unless asked otherwise: no language model and no web, whatever the settings say.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import Tenant, opened
from app.cli.evaluation.circumstances import circumstances_of, offline, write_owned
from app.cli.evaluation.display import show_comparison, show_report
from app.cli.evaluation.gaia import gaia
from app.cli.evaluation.house import LocalHouse, corrections_in
from app.cli.output import FAILED, OK, DocumentBar, finish, print_json
from app.evaluation.bundled import DEFAULT, NAMES, open_dataset
from app.evaluation.comparison import Comparison, compare
from app.evaluation.dataset import Dataset
from app.evaluation.feedback import as_lines, cases_from
from app.evaluation.gates import DEFAULT_GATES, Gate, held, read_gates
from app.evaluation.page import report_page
from app.evaluation.report import Report, read_report
from app.evaluation.running import Evaluation
from app.evaluation.shelf import PAGE_NAME, REPORT_NAME, SHELF_FOLDER, Shelf
from app.evaluation.summary import SEED, summarise
from app.settings import Settings

eval_commands = typer.Typer(no_args_is_help=True, help="How good the answers are.")
eval_commands.command("gaia")(gaia)
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line; the last line is the result.")]
Gates = Annotated[Path | None, typer.Option(help="A TOML file of thresholds; default: the gates that come along.")]


@dataclass(frozen=True)
class _Wanted:
    """What `run` is asked for, read and checked."""

    settings: Settings
    datasets: list[Dataset]
    gates: tuple[Gate, ...]
    before: Report | None
    limit: int | None
    concurrency: int
    seed: int


@eval_commands.command("run")
def run(
    dataset: Annotated[list[str] | None, typer.Option(help=f"A file, or one of: {', '.join(NAMES)}.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for a copy of report.json and report.html.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Questions of each dataset.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 1,
    gates: Gates = None,
    compare_with: Annotated[Path | None, typer.Option("--compare", help="report.json of an earlier run.")] = None,
    with_model: Annotated[bool, typer.Option(help="Ask the configured models and the web, too.")] = False,
    seed: Annotated[int, typer.Option(help="Of the intervals.")] = SEED,
    as_json: AsJson = False,
) -> None:
    """Ask datasets and report; exit code 1 when a gate is broken."""
    settings = Settings() if with_model else offline(Settings())
    wanted = _Wanted(
        settings=settings,
        datasets=[open_dataset(name, settings.seed_dir) for name in dict.fromkeys(dataset or DEFAULT)],
        gates=read_gates(gates or DEFAULT_GATES),
        before=read_report(compare_with) if compare_with else None,
        limit=limit,
        concurrency=concurrency,
        seed=seed,
    )
    finish(_run(wanted, out, as_json))


async def _run(wanted: _Wanted, out: Path | None, as_json: bool) -> int:
    console, progress = Console(), Console(stderr=True)
    report = await _asked(wanted, progress)
    report = report.model_copy(update={"gates": held(wanted.gates, report, wanted.before)})
    comparison = compare(wanted.before, report) if wanted.before else None
    kept = Shelf(wanted.settings.data_dir / SHELF_FOLDER).keep(report, comparison)
    paths = _keep(out, report, comparison) if out else [kept / REPORT_NAME, kept / PAGE_NAME]
    if as_json:
        for one in report.asked:
            faults = [fault.model_dump() for fault in one.faults]
            outcome = one.observation.outcome
            print_json(console, {"question": one.key, "right": one.right, "outcome": outcome, "faults": faults})
        print_json(console, report.model_dump(mode="json", exclude={"asked"}))
    else:
        show_report(console, report)
        if comparison:
            show_comparison(console, comparison)
        progress.print(f"{paths[0]}\n{paths[1]}", highlight=False, markup=False, soft_wrap=True)
    return OK if report.holds else FAILED


async def _asked(wanted: _Wanted, progress: Console) -> Report:
    async with opened(wanted.settings, progress, work=True) as services:
        evaluation = Evaluation(LocalHouse(services), wanted.datasets, limit=wanted.limit)
        async with evaluation:
            bringing, asking = DocumentBar(progress, "bringing documents in"), DocumentBar(progress, "asking")
            try:
                await evaluation.prepare(bringing)
                bringing.stop()
                asking(0, evaluation.questions, "")
                began = time.perf_counter()
                asked = await evaluation.run(wanted.concurrency, asking)
            finally:
                bringing.stop()
                asking.stop()
        return summarise(
            asked, evaluation.datasets, circumstances_of(services, wanted.concurrency, evaluation.corpora),
            made_at=services.rooms.now(), total_seconds=time.perf_counter() - began, seed=wanted.seed,
        )  # fmt: skip


@eval_commands.command("compare")
def compare_runs(
    before: Annotated[Path, typer.Argument(help="report.json of the earlier run.")],
    after: Annotated[Path, typer.Argument(help="report.json of the later run.")],
    gates: Gates = None,
    html: Annotated[Path | None, typer.Option(help="Write the later run's page, with the changes, here.")] = None,
    as_json: AsJson = False,
) -> None:
    """What changed from one run to the next; exit code 1 when a gate is broken."""
    earlier, later = read_report(before), read_report(after)
    results = held(read_gates(gates or DEFAULT_GATES), later, earlier)
    found = compare(earlier, later).model_copy(update={"gates": results})
    if html:
        write_owned(html, report_page(later.model_copy(update={"gates": ()}), found))
    if as_json:
        print_json(Console(), found.model_dump(mode="json"))
    else:
        show_comparison(Console(), found)
    raise typer.Exit(OK if found.holds else FAILED)


@eval_commands.command("check")
def check(
    dataset: Annotated[list[str], typer.Argument(help="Files, or names of datasets.")],
    as_json: AsJson = False,
) -> None:
    """Read datasets and say what is wrong with them; asks nothing."""
    seed_dir = Settings().seed_dir
    for name in dataset:
        found = open_dataset(name, seed_dir)
        told = {"dataset": found.name, "questions": len(found.cases), "fingerprint": found.fingerprint}
        if as_json:
            print_json(Console(), told)
        else:
            typer.echo(f"{found.name}: {len(found.cases)} questions ({found.fingerprint})")


@eval_commands.command("from-feedback")
def from_feedback(
    tenant: Tenant = "",
    out: Annotated[Path | None, typer.Option(help="Write the cases here instead of printing them.")] = None,
) -> None:
    """Make cases of what users corrected: question, rights and correction, nobody's name and no answer.

    They wait for review: make a fact of each correction, then remove to_review.
    """
    finish(_from_feedback(tenant, out))


async def _from_feedback(tenant: str, out: Path | None) -> int:
    async with opened(Settings(), Console(stderr=True)) as services:
        tenant = await services.storage.tenant_named(tenant)
        found = await corrections_in(services, tenant)
    lines = as_lines(cases_from(tenant, found))
    if out is None:
        typer.echo(lines, nl=False)
    else:
        write_owned(out, lines)
        typer.echo(f"{len(found)} cases to review in {out}")
    return OK


def _keep(folder: Path, report: Report, comparison: Comparison | None) -> Sequence[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    texts = {REPORT_NAME: report.model_dump_json(indent=1), PAGE_NAME: report_page(report, comparison)}
    for name, text in texts.items():
        write_owned(folder / name, text)
    return [folder / name for name in texts]
