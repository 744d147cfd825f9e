"""`python -m bench.tables FILE.jsonl`: how often a question to an attached table is answered right.

Every row names a file beside the question file, a question and what its answer must say: `answer.facts`, each a list
of spellings of which one must stand in the answer as whole words; rows with `decline` are right when the outcome is
not `answered`. Each question goes through the whole service in the mode `auto`, with the file attached. Printed are
totals and figures by kind; the questions themselves only with `--show`.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from app.api.schemas import ChatBody
from app.cli.evaluation.local_app import LocalApp
from app.domain.principal import Principal
from app.errors import AppError
from app.evaluation.observed import observed
from app.events import Event, TaskAvailable
from app.main import Services
from app.settings import Settings

ASKER = "acme/lan"
Verdict = Literal["right", "wrong and answered", "declined"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong and answered", "declined")


class Expected(BaseModel):
    """What an answer must say."""

    facts: list[list[str]] = []
    decline: bool = False


class Row(BaseModel):
    """One question to one file."""

    id: str
    file: str
    question: str
    kind: str
    answer: Expected


class Judged(NamedTuple):
    """A question with its answer and the verdict on it."""

    row: Row
    answer: str
    verdict: Verdict


def judge(row: Row, answer: str, outcome: str) -> Verdict:
    """Compare an answer with what it must say; everything not `answered` is declined, rightly or not."""
    if outcome != "answered":
        return "right" if row.answer.decline else "declined"
    if row.answer.decline:
        return "wrong and answered"
    return "right" if all(_stands(fact, answer) for fact in row.answer.facts) else "wrong and answered"


def _stands(spellings: Iterable[str], answer: str) -> bool:
    """Whether one of the spellings stands in the answer as whole words; no digits may go on before or behind it."""
    said = " ".join(answer.split()).casefold()
    return any(
        re.search(rf"(?<![\w])(?<!\d[.,]){re.escape(one.casefold())}(?![\w])(?![.,]\d)", said) for one in spellings
    )


async def ask(house: LocalApp, principal: Principal, row: Row, content: bytes) -> Judged:
    """Attach the file, ask in the mode `auto`, judge the answer, and remove what was made for it."""
    attachments = house.services.attachments
    file_id = (await attachments.bring_in(principal, content, row.file)).file_id
    body = ChatBody(query=row.question, files=(file_id,), answer_style="short")
    events: list[Event] = []
    try:
        events.extend([event async for event in house.events_of(principal, body)])
        seen = observed(events, 0.0)
        answer, outcome = seen.answer, seen.outcome
    except AppError as error:
        answer, outcome = f"{error.code.value}: {error.detail}", "failed"
    finally:
        sessions = [event.session_id for event in events if isinstance(event, TaskAvailable)]
        await house.forget(principal, sessions)
        await attachments.delete(principal, file_id)
    return Judged(row, answer, judge(row, answer, outcome))


def report(judged: Sequence[Judged], out: Console, *, show: bool) -> None:
    """Print totals, figures by kind and, where they are asked for, the questions with their answers."""
    table = Table("kind", "asked", *VERDICTS, title="questions to attached tables")
    kinds = sorted({one.row.kind for one in judged})
    for kind, members in [(kind, [one for one in judged if one.row.kind == kind]) for kind in kinds]:
        table.add_row(kind, str(len(members)), *(str(sum(one.verdict == v for one in members)) for v in VERDICTS))
    shares = [sum(one.verdict == verdict for one in judged) for verdict in VERDICTS]
    table.add_section()
    table.add_row("all", str(len(judged)), *(f"{n} ({n / max(len(judged), 1):.2f})" for n in shares))
    out.print(table)
    for one in judged if show else ():
        out.print(f"{one.row.id} [{one.row.kind}] {one.verdict}: {one.row.question}\n    → {one.answer}", markup=False)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of JSON lines."""
    return [Row.model_validate(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


async def measure(path: Path, data_dir: Path, out: Console, *, show: bool) -> list[Judged]:
    """Open the service, ask every question of the file, print the report."""
    rows = read_rows(path)
    services = await Services.open(Settings(data_dir=data_dir, enable_caching=False))
    try:
        house = LocalApp(services)
        principal = await house.rights_of(ASKER)
        judged = [await ask(house, principal, row, (path.parent / row.file).read_bytes()) for row in rows]
    finally:
        await services.aclose()
    report(judged, out, show=show)
    return judged


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--show", action="store_true", help="print questions and answers too")
    parser.add_argument("--data-dir", type=Path, help="keep the database here; default: a temporary folder")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        asyncio.run(measure(told.questions, told.data_dir or Path(folder), Console(), show=told.show))


if __name__ == "__main__":
    main()
