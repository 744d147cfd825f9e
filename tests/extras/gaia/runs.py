"""A house that answers GAIA questions by the book, and the events of a deep run."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.evaluation.observed import observed
from app.evaluation.report import Circumstances, DatasetTold
from app.events import Event, FinalReport, TaskAvailable, ToolRequest
from extras.gaia.question import GaiaQuestion, GaiaSet
from extras.gaia.report import GaiaReport, summarise
from extras.gaia.running import Mode, answer_of
from tests.factories import principal
from tests.unit.evaluation.runs import NOON

VISITS = [
    {"order": 1, "node_id": "Orchestrator#1", "type": "orchestrator", "status": "completed", "duration_ms": 1},
    {"order": 2, "node_id": "planner#1", "type": "planner", "status": "completed", "duration_ms": 3},
    {"order": 3, "node_id": "critic#1", "type": "critic", "status": "rejected", "details": {"note": "<b>vague</b>"}},
    {"order": 4, "node_id": "expert#math:1", "type": "agent_tool", "status": "completed", "duration_ms": 2},
    {"order": 5, "node_id": "finalizer#1", "type": "finalizer", "status": "completed", "duration_ms": 1},
]  # fmt: skip


def question(**changes: Any) -> GaiaQuestion:
    values = {"task_id": "q", "Question": "How many?", "Level": 1, "Final answer": "17", "tags": ["puzzle", "count"]}
    return GaiaQuestion.model_validate(values | changes)


def events(answer: str = "17", **changes: Any) -> list[Event]:
    told: dict[str, Any] = {
        "answer": answer, "outcome": "answered", "confidence_score": 0.9, "evidence": [], "reasoning": "8 + 9 = 17",
        "flow_action": VISITS,
    }  # fmt: skip
    call = ToolRequest(agent="expert", node_id="expert#math:1", tool="math_tool", input_hash="0")
    return [TaskAvailable(task_id=uuid4(), session_id=uuid4(), query="…"), call, FinalReport(answer=told | changes)]


def report(*answered: tuple[GaiaQuestion, list[Event]]) -> GaiaReport:
    found = [answer_of(one, "acme/lan", "deep", observed(told, 0.2), told) for one, told in answered]
    circumstances = Circumstances(version="1", mind="local", space="s", settings={}, concurrency=1, today="2026-11-21")
    dataset = DatasetTold(name="mine", questions=len(found), fingerprint="f")
    return summarise(found, circumstances, dataset, mode="deep", made_at=NOON, total_seconds=1.0)


def asked_set(*questions: GaiaQuestion, files: Path = Path()) -> GaiaSet:
    return GaiaSet("mine", questions, files)


class PaperDeepHouse:
    """Answers what it has an answer for, and remembers what it was asked and what is left behind."""

    max_file_bytes = 100

    def __init__(self, answers: dict[str, list[Event]]):
        self.answers = answers
        self.asked: list[tuple[Principal, str, Mode]] = []
        self.read: list[tuple[str, bytes]] = []
        self.left: set[UUID] = set()

    async def rights_of(self, user: str) -> Principal:
        tenant, _, name = user.partition("/")
        if name != "lan":
            raise AppError(ErrorCode.NOT_FOUND, f"There is no user {user!r}.", status=404)
        return principal(tenant, name)

    async def attach(self, principal: Principal, name: str, content: bytes) -> UUID:
        self.read.append((name, content))
        self.left.add(file_id := uuid4())
        return file_id

    async def question(
        self, principal: Principal, query: str, files: Sequence[UUID], mode: Mode
    ) -> AsyncIterator[Event]:
        self.asked.append((principal, query, mode))
        assert set(files) <= self.left
        if query not in self.answers:
            raise AppError(ErrorCode.LLM_UNAVAILABLE, "No model answers.", status=502)
        for event in self.answers[query]:
            if isinstance(event, TaskAvailable):
                self.left.add(event.session_id)
            yield event

    async def clear_up(self, principal: Principal, sessions: Sequence[UUID], files: Sequence[UUID]) -> None:
        self.left -= {*sessions, *files}
