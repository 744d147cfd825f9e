"""`python -m bench.quality`: the bundled question sets asked of the whole house, judged by what a right answer shows.

Every question goes the whole way (registered, planned, searched under its asker's rights, answered). Counted per kind:
was an expected document cited, do all expected phrases stand in the answer, and was `not_found` said exactly where
nothing may be found. ``--wrong`` prints the questions that failed; ``--markdown FILE`` writes the table for the docs.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.events import FinalReport, TaskFailed
from app.ingestion.seed import read_seed
from app.main import Services
from app.settings import Settings
from app.text.language import normalise

ROOT = Path(__file__).parents[1]
SEED = ROOT / "seed_data"


@dataclass(frozen=True)
class Judged:
    """One question and how its answer fared; None = not asked of this question."""

    question: dict[str, Any]
    answer: dict[str, Any]
    seconds: float
    cited: bool | None
    phrases: bool | None
    outcome: bool

    @property
    def right(self) -> bool:
        """Everything that was asked of the answer holds."""
        return self.outcome and self.cited is not False and self.phrases is not False


def questions(seed: Path, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """All question sets, by file and line."""
    lines = [line for path in sorted(seed.glob("*/questions*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if not kinds or row["kind"] in kinds]


def judge(question: dict[str, Any], urls: dict[str, str], answer: dict[str, Any], seconds: float) -> Judged:
    """Compare an answer with what the question set expects."""
    expected = {urls[name] for name in question["expect_documents"]}
    cited = {evidence["url"] for evidence in answer.get("evidence", [])}
    text = normalise(answer.get("answer", "")).lower()
    phrases = [normalise(phrase).lower() for phrase in question["expect_phrases"]]
    wants_nothing = question["outcome"] == "not_found"
    return Judged(
        question,
        answer,
        seconds,
        cited=bool(expected & cited) if expected else None,
        phrases=all(phrase in text for phrase in phrases) if phrases else None,
        outcome=(answer.get("outcome") == "not_found") == wants_nothing,
    )


async def ask(services: Services, question: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Ask as the question's asker, after its earlier questions in the same session."""
    principal = (await services.claims_of(f"{question['tenant']}/{question['asker']}")).principal()
    session_id = None
    answer: dict[str, Any] = {}
    clock = time.perf_counter()
    for text in (*question.get("history", ()), question["question"]):
        clock = time.perf_counter()
        run = await start_run(services.rooms, principal, ChatBody(query=text, session_id=session_id), None)
        session_id = run.session_id
        async for entry in services.rooms.journal.follow(principal, run.task_id):
            if isinstance(entry.event, FinalReport | TaskFailed):
                answer = entry.event.answer
    return answer, time.perf_counter() - clock


def table(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Rows: kind, questions, cited, phrases, outcome, all right; then the sums."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[one.question["kind"]].append(one)
    rows = [_row(kind, members) for kind, members in sorted(groups.items())]
    return [*rows, _row("all", judged)]


def _row(kind: str, members: Sequence[Judged]) -> tuple[str, ...]:
    return (
        kind,
        str(len(members)),
        _share([one.cited for one in members]),
        _share([one.phrases for one in members]),
        _share([one.outcome for one in members]),
        _share([one.right for one in members]),
    )


def _share(values: Sequence[bool | None]) -> str:
    asked = [value for value in values if value is not None]
    return f"{sum(asked) / len(asked):.2f}" if asked else "–"


def abstention(judged: Sequence[Judged]) -> str:
    """Precision and recall of `not_found`."""
    said = [one for one in judged if one.answer.get("outcome") == "not_found"]
    due = [one for one in judged if one.question["outcome"] == "not_found"]
    right = sum(one.question["outcome"] == "not_found" for one in said)
    return f"not_found: precision {right / max(len(said), 1):.2f}, recall {right / max(len(due), 1):.2f}"


def markdown(judged: Sequence[Judged]) -> str:
    """The table as the docs show it."""
    head = ("kind", "questions", "expected document cited", "expected phrases shown", "outcome right", "all right")
    lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *table(judged))]
    median = statistics.median(one.seconds for one in judged) * 1000
    return "\n".join([*lines, "", f"{abstention(judged)}; median {median:.0f} ms a question."])


async def measure(arguments: argparse.Namespace, out: Console) -> None:
    """Ask everything and report."""
    settings = Settings(_env_file=None, data_dir=arguments.data_dir, seed_dir=arguments.seed)
    services = await Services.open(settings)
    try:
        seed = await asyncio.to_thread(read_seed, arguments.seed)
        urls = {draft.external_id: draft.url for tenant in seed for draft in tenant.documents}
        asked = track(questions(arguments.seed, arguments.kind), "asking", console=out)
        judged = [judge(question, urls, *await ask(services, question)) for question in asked]
    finally:
        await services.aclose()
    for one in judged if arguments.wrong else ():
        if not one.right:
            out.print_json(data=_shown(one))
    out.print(markdown(judged))
    if arguments.markdown:
        arguments.markdown.write_text(markdown(judged) + "\n", "utf-8")


def _shown(one: Judged) -> dict[str, Any]:
    keys = ("id", "asker", "question", "history", "kind", "outcome", "expect_documents", "expect_phrases")
    return {
        **{key: one.question[key] for key in keys if key in one.question},
        "failed": [name for name in ("cited", "phrases", "outcome") if getattr(one, name) is False],
        "got": one.answer.get("outcome"),
        "confidence": one.answer.get("confidence_score"),
        "cited": [(e["url"].rsplit("/", 1)[-1], e["relevance_score"]) for e in one.answer.get("evidence", [])],
        "agents": one.answer.get("execution_metadata", {}).get("agents_invoked"),
        "answer": one.answer.get("answer", "")[:600],
    }


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path(".conclave"))
    parser.add_argument("--seed", type=Path, default=SEED)
    parser.add_argument("--kind", action="append", default=[], help="only these kinds")
    parser.add_argument("--wrong", action="store_true", help="print what failed")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    asyncio.run(measure(parser.parse_args(), Console(width=160)))


if __name__ == "__main__":
    main()
