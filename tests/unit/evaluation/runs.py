"""Runs for the tests of the evaluation room: questions, events of a run, a house that answers by the book."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID, uuid4

from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import Case, Dataset
from app.evaluation.judging import Verdict, judge
from app.evaluation.observed import Observation, observed, shown_texts
from app.evaluation.question import Question
from app.evaluation.report import Asked, Circumstances, Report, summarise
from app.evaluation.running import KnownDocument, Progress
from app.events import ConflictResolved, Event, FinalReport, TaskAvailable, TextDelta
from tests.factories import principal

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LEAVE, SALARY = "https://intra.example/leave", "https://intra.example/salary"
URLS = {"leave": LEAVE, LEAVE: LEAVE, "salary": SALARY, SALARY: SALARY}


def question(**changes: Any) -> Question:
    values: dict[str, Any] = {
        "id": "q", "question": "How many days of leave?", "asker": "acme/lan",
        "expected": {"outcome": "answered", "evidence": ["leave"], "facts": ["12 days"]},
    }  # fmt: skip
    return Question.model_validate(values | changes)


def events(answer: str = "You have 12 days.", urls: Sequence[str] = (LEAVE,), **changes: Any) -> list[Event]:
    """The events of a finished run; `changes` are fields of its answer, `conflicts` those of its ledger."""
    conflicts = changes.pop("conflicts", None)
    told: list[Event] = [TaskAvailable(task_id=uuid4(), session_id=uuid4(), query="…"), TextDelta(text=answer)]
    if conflicts is not None:
        told.append(ConflictResolved(conflicts=conflicts, policy="weighted_scoring"))
    values: dict[str, Any] = {
        "answer": answer, "outcome": "answered", "confidence_score": 0.8, "follow_up_questions": [],
        "evidence": [
            {"url": url, "relevance_score": 0.9, "scope": "internal", "created_at": "2026-01-01T00:00:00Z"}
            for url in urls
        ],
        "flow_action": [{"node_id": "hr#rag", "status": "done", "duration_ms": 12}],
        "execution_metadata": {"agents_invoked": ["hr"], "model_usage": {"prompt_tokens": 30, "completion_tokens": 12}},
    }  # fmt: skip
    return [*told, FinalReport(answer=values | changes)]


def conflict(winner: str, loser: str, *, decided: bool = True, type_: str = "") -> dict[str, Any]:
    sides = {name: {"url": url, "claim": f"{name} says"} for name, url in (("winner", winner), ("loser", loser))}
    return {**sides, "decided": decided, "margin": 0.2, **({"conflict_type": type_} if type_ else {})}


def judged(asked: Question, told: Sequence[Event], forbidden: frozenset[str] = frozenset()) -> Verdict:
    return judge(asked, observed(told, 0.1), urls=URLS, texts=shown_texts(told), forbidden=forbidden)


def asked_of(number: int, verdict: Verdict, observation: Observation, **changes: Any) -> Asked:
    one = question(id=f"q{number}", **changes)
    return Asked(
        dataset="mine", question=one, language="en", asker="acme/lan", observation=observation, **dict(verdict)
    )  # fmt: skip


def report(*answers: list[Event], **changes: Any) -> Report:
    """A report of as many questions as answers."""
    asked = [
        asked_of(n, judged(question(), told), observed(told, 0.1 + n / 100), **changes)
        for n, told in enumerate(answers)
    ]
    circumstances = Circumstances(
        version="1", mind="local", space="s", settings={"max_retries": 3}, concurrency=1, today="2026-11-21"
    )
    datasets = [Dataset("mine", tuple(Case(one.question, "") for one in asked))]
    return summarise(asked, datasets, circumstances, made_at=NOON, total_seconds=1.0)


class PaperHouse:
    """A house in memory: every asker is told every document of the tenant that contains a word of the question."""

    def __init__(
        self, documents: dict[str, list[KnownDocument]] | None = None, answers: dict[str, list[Event]] | None = None
    ):
        self.documents, self.answers = dict(documents or {}), answers or {}
        self.asked: list[tuple[Principal, UUID | None, str, date | None]] = []
        self.sessions: set[UUID] = set()
        self.furnished: list[str] = []
        self.cleared: list[str] = []

    async def rights_of(self, user: str) -> Principal:
        tenant, _, name = user.partition("/")
        if name != "lan":
            raise AppError(ErrorCode.NOT_FOUND, f"There is no user {user!r}.", status=404)
        return principal(tenant, name)

    async def known_documents(self, tenant: str) -> list[KnownDocument]:
        if tenant not in self.documents:
            raise AppError(ErrorCode.NOT_FOUND, f"There is no tenant {tenant!r}.", status=404)
        return self.documents[tenant]

    async def furnish(self, tenant: str, documents: Sequence[DocumentDraft], progress: Progress) -> None:
        self.furnished.append(tenant)
        self.documents[tenant] = [
            KnownDocument(external_id=one.external_id, url=one.url, department=one.department, scope=one.scope)
            for one in documents
        ]

    async def clear(self, tenant: str) -> None:
        self.cleared.append(tenant)

    async def ask(
        self, principal: Principal, session_id: UUID | None, query: str, as_of: date | None
    ) -> AsyncIterator[Event]:
        self.asked.append((principal, session_id, query, as_of))
        if query not in self.answers:
            raise AppError(ErrorCode.PERMISSION_DENIED, "No agent may be used with these rights.", status=403)
        for event in self.answers[query]:
            if isinstance(event, TaskAvailable):
                self.sessions.add(event.session_id)
            yield event

    async def forget(self, principal: Principal, session_ids: Sequence[UUID]) -> None:
        self.sessions -= set(session_ids)
