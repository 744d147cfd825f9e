"""`conclave eval gaia`: questions in GAIA's format, put to the deep flow."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import opened
from app.cli.evaluation.local_app import offline
from app.cli.output import FAILED, OK, DocumentBar, print_json, run_async
from app.evaluation.dataset import refusal
from app.evaluation.report import DatasetTold
from app.evaluation.report_store import write_owned
from app.settings import Settings
from extras.gaia.display import show_gaia
from extras.gaia.house import LocalDeepHouse, deep_circumstances
from extras.gaia.kept import kept_answers, submission_lines
from extras.gaia.question import BUNDLED, GaiaSet, open_set
from extras.gaia.report import GaiaAnswer, GaiaReport, summarise
from extras.gaia.running import GaiaRun, Mode


@dataclass(frozen=True)
class _Wanted:
    """What is asked for, read and checked."""

    settings: Settings
    asked: GaiaSet
    asker: str
    mode: Mode
    concurrency: int
    out: Path
    is_resumed: bool
    demanded: float | None

    @property
    def answers(self) -> Path:
        """Where answers are kept while the run goes on."""
        return self.out / "answers.jsonl"


@run_async
async def gaia(
    questions: Annotated[str, typer.Argument(help=f"A JSON lines file, or one of: {', '.join(BUNDLED)}.")],
    files: Annotated[Path | None, typer.Option(help="Folder of the attached files; else beside the questions.")] = None,
    asker: Annotated[str, typer.Option("--as", help="tenant/user of questions that name nobody.")] = "",
    level: Annotated[int | None, typer.Option(min=1, max=3, help="Questions of this level only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many questions.")] = None,
    with_model: Annotated[bool, typer.Option(help="Ask the configured models and the web, too.")] = False,
    mode: Annotated[str, typer.Option(help="deep, auto or department.")] = "deep",
    out: Annotated[Path | None, typer.Option(help="Folder for the report and the submission.")] = None,
    resume: Annotated[bool, typer.Option(help="Keep the answers that are in the folder, ask the others.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 1,
    minimum: Annotated[float | None, typer.Option("--min", min=0, max=1, help="Exit code 1 below this share.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line; the last is the result.")] = False,
) -> int:
    """Ask questions in GAIA's format of the deep flow, and score them by quasi-exact match."""
    settings = Settings() if with_model else offline(Settings())
    asked = open_set(questions, files).narrowed(level, limit)
    if not asked.questions:
        raise refusal([f"{asked.name}: holds no question of level {level}"])
    wanted = _Wanted(
        settings=settings, asked=asked, asker=asker, mode=_mode(mode), concurrency=concurrency,
        out=out or settings.data_dir / "evaluation" / f"gaia-{asked.name}",
        is_resumed=resume, demanded=minimum,
    )  # fmt: skip
    return await _run(wanted, as_json)


def _mode(named: str) -> Mode:
    match named:
        case "deep" | "auto" | "department":
            return named
        case _:
            raise refusal([f"--mode: {named[:50]!r} is none of deep, auto, department"])


async def _run(wanted: _Wanted, as_json: bool) -> int:
    console, progress = Console(), Console(stderr=True)
    report = await _asked(wanted, progress)
    paths = _keep(wanted.out, report)
    if as_json:
        for one in report.answers:
            print_json(console, one.model_dump(mode="json", exclude={"reasoning", "trace", "tags"}))
        print_json(console, report.model_dump(mode="json", exclude={"answers"}))
    else:
        show_gaia(console, report)
        progress.print("\n".join(map(str, paths)), highlight=False, markup=False, soft_wrap=True)
    reached = report.score.value if report.score else None
    return FAILED if wanted.demanded is not None and (reached is None or reached < wanted.demanded) else OK


async def _asked(wanted: _Wanted, progress: Console) -> GaiaReport:
    asked = wanted.asked
    wanted.out.mkdir(parents=True, exist_ok=True)
    known = kept_answers(wanted.answers, asked.questions, wanted.mode) if wanted.is_resumed else {}
    write_owned(wanted.answers, "".join(map(_line, known.values())))
    open_ones = tuple(question for question in asked.questions if question.task_id not in known)
    async with opened(wanted.settings, progress, work=True) as services:
        asker = await services.storage.user_named(wanted.asker)
        run = GaiaRun(
            LocalDeepHouse(services), GaiaSet(asked.name, open_ones, asked.files), asker=asker, mode=wanted.mode
        )
        bar = DocumentBar(progress, "asking")
        try:
            await run.prepare()
            bar(0, len(open_ones), "")
            began = time.perf_counter()
            answers = await run.run(
                wanted.concurrency, bar, lambda one: write_owned(wanted.answers, _line(one), append=True)
            )
        finally:
            bar.stop()
        found = known | {one.task_id: one for one in answers}
        return summarise(
            [found[question.task_id] for question in asked.questions],
            deep_circumstances(services, wanted.concurrency, wanted.mode),
            DatasetTold(name=asked.name, questions=len(asked.questions), fingerprint=asked.fingerprint),
            mode=wanted.mode, made_at=services.rooms.now(), total_seconds=time.perf_counter() - began,
        )  # fmt: skip


def _line(answer: GaiaAnswer) -> str:
    return answer.model_dump_json() + "\n"


def _keep(folder: Path, report: GaiaReport) -> list[Path]:
    texts = {
        "report.json": report.model_dump_json(indent=1),
        "submission.jsonl": submission_lines(report.answers),
    }
    for name, text in texts.items():
        write_owned(folder / name, text)
    return [folder / name for name in texts]
