"""``python -m bench.ceiling [NAME …]``: how much of what is found a perfect reader could tell.

A scripted model stands in for one: asked to write, it tells the sentences that hold the expected facts if, and only if,
the prompt shows them, else that nothing was found; asked to plan, it sends the question to every department on offer.
Over the blind sets (or those named) printed side by side: answered right, the share of questions whose facts stand in
the twelve passages a search over everything finds, and questions about which the model was never asked to write.
Figures only, never a question.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from app.cli.connecting import opened
from app.cli.evaluation import BLIND_FOLDER, blind_sets, by_company
from app.cli.evaluation.local_app import LocalApp
from app.evaluation.dataset import Dataset
from app.evaluation.fact import Alternatives, missing_facts
from app.evaluation.question import Question
from app.evaluation.report import Asked
from app.evaluation.running import Evaluation
from app.flow.wording import MOST_READ
from app.main import Services
from app.reasoning.local.pieces import units_of
from app.settings import Settings
from tests.fakes.house_mind import lines_of, stage_of
from tests.fakes.model_server import Asked as Call
from tests.fakes.model_server import ModelServer, Reply, scripted_model_server


class Ceiling(NamedTuple):
    """Of the questions of one set that the documents answer."""

    name: str
    questions: int
    right: float
    in_found: float
    """Share whose facts stand in what a search over everything finds."""
    right_of_found: float
    several: float
    """Right, of those with facts in several documents."""
    never_asked: int
    prompt_tokens: float
    """Of a question, in both calls; three bytes each."""


class IdealReader:
    """Plans as wide as it may, and writes what the prompt holds of the expected facts."""

    def __init__(self, questions: Sequence[Question]):
        self._facts = {one.question: one.expected.facts for one in questions}
        self.asked: set[str] = set()

    def __call__(self, call: Call) -> Reply:
        """The reply to a call."""
        lines = lines_of(call)
        question = str(lines[-1].get("question", ""))
        match stage_of(call):
            case "plan":
                return Reply.json(self._plan(call, question))
            case "compose":
                self.asked.add(question)
                return Reply(self._told(lines, self._facts.get(question, ())))
            case _:
                return Reply.json({"statements": []})

    def _plan(self, call: Call, question: str) -> dict[str, Any]:
        offered = [one for one in lines_of_system(call) if "rag_tool" in one.get("tools", ())]
        agents = [{"agent": one["agent"], "queries": [question], "tools": ["rag_tool"]} for one in offered]
        return {"kind": "question", "refined_query": question, "chitchat_response": "", "agents": agents}

    def _told(self, lines: Sequence[dict[str, Any]], facts: Sequence[Alternatives]) -> str:
        told: dict[str, None] = {}
        for fact in facts:
            for line in lines:
                text = str(line.get("text", ""))
                if "n" in line and not missing_facts(text, [fact]):
                    holding = [unit.text for unit in units_of(text) if not missing_facts(unit.text, [fact])]
                    told[f"{' '.join((holding or [text])[0].split())} [{line['n']}]"] = None
                    break
        return "\n\n".join(told) or "NOT_FOUND"


def lines_of_system(call: Call) -> list[dict[str, Any]]:
    """The agents on offer."""
    return [
        json.loads(line) for line in call.system.splitlines() if line.startswith('{"agent": "') and '"about"' in line
    ]


async def measured(settings: Settings, sets: Sequence[Dataset], server: ModelServer, out: Console) -> Ceiling:
    """Ask one organisation's sets of the ideal reader."""
    questions = [case.question for one in sets for case in one.cases]
    reader = IdealReader(questions)
    server.respond = reader
    modelled = settings.model_copy(
        update={"llm_base_url": server.base_url, "llm_model": "ideal", "llm_answer_mode": "model",
                "enable_caching": False, "task_token_budget": 0, "web_allowed_hosts": frozenset()}
    )  # fmt: skip
    server.forget()
    async with opened(modelled, out, work=True) as services:
        async with Evaluation(LocalApp(services), sets) as evaluation:
            await evaluation.prepare(lambda *_: None)
            asked = await evaluation.run(2, lambda *_: None)
        answerable = [one for one in asked if one.question.expected.facts]
        found = [await _is_found(services, one) for one in answerable]
    right = [one.grade == "right" for one in answerable]
    several = [ok for one, ok in zip(answerable, right, strict=True) if len(_cited(one.question)) > 1]
    return Ceiling(
        "+".join(one.name for one in sets), len(answerable), _mean(right), _mean(found),
        _mean([ok for ok, held in zip(right, found, strict=True) if held]), _mean(several),
        sum(one.question.question not in reader.asked for one in answerable),
        sum(call.prompt_tokens for call in server.requests) / max(1, len(asked)),
    )  # fmt: skip


def _cited(question: Question) -> tuple[frozenset[str], ...]:
    return question.expected.evidence.needs if question.expected.evidence else ()


async def _is_found(services: Services, asked: Asked) -> bool:
    """Whether the facts stand in the twelve passages that a search over all the asker may read finds."""
    question = asked.question
    if isinstance(question.asker, str):
        principal = (await services.claims_of(question.asker)).principal()
    else:
        principal = question.asker.principal(question.asker.tenant)
    found = await services.rooms.retriever.search(
        principal, question.question, departments=None, limit=MOST_READ, as_of=question.as_of
    )
    return not missing_facts("\n".join(one.text for one in found.passages), question.expected.facts)


def _mean(held: Sequence[bool]) -> float:
    return sum(held) / len(held) if held else float("nan")


async def measure(names: Sequence[str], folder: Path, base: Settings, out: Console) -> list[Ceiling]:
    """Ask every set and print the table."""
    sets = [one for name in names or ["*"] for one in blind_sets(folder, f"{name}/blind.jsonl")]
    table = Table(title=f"a perfect reader of the {MOST_READ} passages shown")
    columns = (
        "set",
        "answerable",
        "right",
        "facts among the found",
        "right of those",
        "in several documents",
        "never asked",
        "prompt tokens",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "set" else "right")
    told: list[Ceiling] = []
    async with scripted_model_server(lambda _: Reply("")) as server:
        for settings, own in by_company(base, folder.parent / "companies", sets):
            one = await measured(settings, own, server, Console(stderr=True))
            told.append(one)
            figures = (f"{one.right:.3f}", f"{one.in_found:.3f}", f"{one.right_of_found:.3f}", f"{one.several:.2f}")
            table.add_row(one.name, str(one.questions), *figures, str(one.never_asked), f"{one.prompt_tokens:.0f}")
    out.print(table)
    return told


def main() -> None:
    """Parse arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="folders of bench/blind; all of them by default")
    parser.add_argument("--folder", type=Path, default=BLIND_FOLDER)
    parser.add_argument("--data-dir", type=Path, help="keep the databases here; default: those of the settings")
    parser.add_argument("--seed", type=Path, help="the documents; default: those of the settings")
    given = parser.parse_args()
    named = {"data_dir": given.data_dir, "seed_dir": given.seed}
    base = Settings(**{name: path for name, path in named.items() if path is not None})
    asyncio.run(measure(given.names, given.folder, base, Console(width=130)))


if __name__ == "__main__":
    main()
