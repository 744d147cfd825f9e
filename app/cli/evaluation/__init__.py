"""`conclave eval`: ask datasets of the real flow.

Offline unless asked otherwise: no language model and no web, whatever the settings say.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr
from rich.console import Console

from app.cli.connecting import opened
from app.cli.evaluation.display import show_report
from app.cli.evaluation.local_app import LocalApp, circumstances_of, offline
from app.cli.output import FAILED, OK, DocumentBar, print_json, run_async
from app.evaluation.dataset import DEFAULT, Dataset, lines_of, open_dataset, read_dataset, refusal
from app.evaluation.gates import DEFAULT_GATES, check_gates, read_gates
from app.evaluation.report import Report, summarise
from app.evaluation.report_store import REPORT_NAME, REPORTS_FOLDER, ReportStore, write_owned
from app.evaluation.running import Evaluation, Progress
from app.plugins import COMMANDS, entries_of
from app.settings import Settings

BLIND_FOLDER = Path(__file__).parents[3] / "bench" / "blind"
eval_commands = typer.Typer(no_args_is_help=True, help="How good the answers are.")
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line; the last line is the result.")]
Gates = Annotated[Path | None, typer.Option(help="A TOML file of thresholds; default: the gates that come along.")]
WithModel = Annotated[bool, typer.Option("--with-model", "--model", help="Ask the configured models and the web, too.")]


@eval_commands.command("run")
@run_async
async def run(
    dataset: Annotated[list[str] | None, typer.Option(help="A file, or a name of those in bench/sets.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for a copy of report.json.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 1,
    gates: Gates = None,
    with_model: WithModel = False,
    as_json: AsJson = False,
) -> int:
    """Ask datasets and report; exit code 1 when a gate is broken."""
    settings = Settings() if with_model else offline(Settings())
    sets = [open_dataset(name) for name in dict.fromkeys(dataset or DEFAULT)]
    limits = read_gates(gates or DEFAULT_GATES)
    report = await _ask(settings, sets, concurrency=concurrency)
    report = report.model_copy(update={"gates": check_gates(limits, report)})
    kept = ReportStore(settings.data_dir / REPORTS_FOLDER).keep(report)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        write_owned(out / REPORT_NAME, report.model_dump_json(indent=1))
    if as_json:
        for one in report.asked:
            told = {"question": one.key, "right": one.right, "grade": one.grade, "outcome": one.observation.outcome}
            print_json(Console(), {**told, "faults": [fault.model_dump() for fault in one.faults]})
        print_json(Console(), report.model_dump(mode="json", exclude={"asked"}))
        return OK if report.holds else FAILED
    show_report(Console(), report)
    Console(stderr=True).print(str((out or kept) / REPORT_NAME), highlight=False, markup=False, soft_wrap=True)
    return OK if report.holds else FAILED


@eval_commands.command("blind")
@run_async
async def blind(
    folder: Annotated[
        Path,
        typer.Option(
            help="Holds a folder for each set, and gates.toml.",
            show_default="bench/blind beside the source",
        ),
    ] = BLIND_FOLDER,
    dataset: Annotated[str | None, typer.Option(help="Only the set in this folder.")] = None,
    seen: Annotated[bool, typer.Option("--seen", help="Ask seen.jsonl instead, and show what went wrong.")] = False,
    with_model: WithModel = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The figures as a JSON object for each organisation.")
    ] = False,
) -> int:
    """Ask the blind sets and print figures, never a question; exit code 1 when a limit of gates.toml is broken.

    A set with the name of an organisation in bench/companies is asked over that organisation's documents, with its
    agents; the first time brings them in.
    """
    base = Settings() if with_model else offline(Settings())
    limits = folder / "gates.toml"
    gates = read_gates(limits) if limits.exists() and not seen else ()
    sets = blind_sets(folder, f"{dataset or '*'}/{'seen' if seen else 'blind'}.jsonl")
    held_all = True
    for settings, one_company in by_company(base, folder.parent / "companies", sets):
        report = await _ask(settings, one_company, is_blind=True)
        report = report.model_copy(update={"gates": check_gates(gates, report)})
        held_all &= report.holds
        if as_json:
            print_json(Console(), report.model_dump(mode="json", exclude={"asked"}))
            continue
        show_report(Console(), report, worst=len(report.asked) if seen else 0)
    return OK if held_all else FAILED


def blind_sets(folder: Path, pattern: str) -> list[Dataset]:
    """The sets below a folder. Questions about attached files are of another kind: `bench.tables` asks them."""
    paths = [path for path in sorted(folder.glob(pattern)) if "file" not in json.loads(lines_of(path)[0])]
    if not paths:
        raise refusal([f"{folder}: holds no {pattern}"])
    return [read_dataset(path, path.parent.name) for path in paths]


def by_company(settings: Settings, companies: Path, sets: Sequence[Dataset]) -> list[tuple[Settings, list[Dataset]]]:
    """The sets about the demo companies together, then each organisation with an embedded database of its own."""
    own = {one.name for one in sets if (companies / one.name / "demo.toml").is_file()}
    found = [(settings, [one for one in sets if one.name not in own])]
    for one in sets:
        if one.name in own:
            changed: dict[str, object] = {
                "seed_dir": companies / one.name, "agents_dir": companies / "agents" / one.name,
                "data_dir": settings.data_dir / "companies" / one.name, "database_url": SecretStr(""),
                "database_owner_url": SecretStr(""),
            }  # fmt: skip
            found.append((settings.model_copy(update=changed), [one]))
    return [(settings, sets) for settings, sets in found if sets]


async def _ask(settings: Settings, sets: Sequence[Dataset], *, concurrency: int = 1, is_blind: bool = False) -> Report:
    """Ask everything of services opened for it. With `is_blind` no question is shown, and kinds are the groups."""
    progress = Console(stderr=True)
    bringing, asking = DocumentBar(progress, "bringing documents in"), DocumentBar(progress, "asking")
    shown: Progress = (lambda done, of, question: asking(done, of, "")) if is_blind else asking
    roomy = settings.model_copy(
        update={"max_open_runs_per_user": concurrency + 1, "max_running_per_user": concurrency + 1}
    )
    async with opened(roomy, progress, work=True) as services:
        async with Evaluation(LocalApp(services), sets) as evaluation:
            try:
                await evaluation.prepare(bringing)
                bringing.stop()
                shown(0, evaluation.questions, "")
                began = time.perf_counter()
                asked = await evaluation.run(concurrency, shown)
            finally:
                bringing.stop()
                asking.stop()
        return summarise(
            asked, evaluation.datasets, circumstances_of(services, concurrency),
            made_at=services.rooms.now(), total_seconds=time.perf_counter() - began, kinds_only=is_blind,
        )  # fmt: skip


for plugin in entries_of(COMMANDS):
    if plugin.name.startswith("eval."):
        eval_commands.command(plugin.name.removeprefix("eval."))(plugin.load())
