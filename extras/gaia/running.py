"""Putting GAIA questions to the deep flow, each as its asker, with the attached file, and scoring what is answered.

The house is a port. Every question is asked by a user of the run's own with exactly the asker's rights, and what it
left behind is taken away before the next one, however it ends.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, Protocol
from uuid import UUID, uuid4

from app.domain.principal import Principal, user_id_of
from app.errors import AppError
from app.evaluation.dataset import refusal
from app.evaluation.observed import Observation, observed
from app.evaluation.running import Progress
from app.events import Event, FinalReport, TaskAvailable, TaskFailed, ToolRequest
from extras.gaia.question import GaiaQuestion, GaiaSet, bytes_of
from extras.gaia.report import GaiaAnswer
from extras.gaia.scoring import is_match

Mode = Literal["auto", "department", "deep"]
_NO_STEP = frozenset({"orchestrator", "router", "permission", "agent_tool"})
"""Visits that decide or call, but do none of the work themselves."""
_MOST_CHARS = 400


class DeepHouse(Protocol):
    """Who is asked. Every method does I/O and may raise `AppError`."""

    @property
    def max_file_bytes(self) -> int:
        """Of one attached file."""

    async def rights_of(self, user: str) -> Principal:
        """The stored rights of ``tenant/user``. Raises `AppError` NOT_FOUND."""

    async def attach(self, principal: Principal, name: str, content: bytes) -> UUID:
        """Attach a file as the caller does."""

    def question(self, principal: Principal, query: str, files: Sequence[UUID], mode: Mode) -> AsyncIterator[Event]:
        """The events of one run in a conversation of its own, up to its end; in the short answer style."""

    async def clear_up(self, principal: Principal, sessions: Sequence[UUID], files: Sequence[UUID]) -> None:
        """Erase conversations and attached files of one caller."""


class GaiaRun:
    """One run of a set over a house. `prepare` refuses before anything was asked."""

    def __init__(self, house: DeepHouse, asked: GaiaSet, *, asker: str, mode: Mode = "deep"):
        """`asker` asks what names nobody."""
        self._house, self._set, self._asker, self._mode = house, asked, asker, mode
        self._rights: dict[str, Principal] = {}
        self._id = uuid4().hex[:12]

    async def prepare(self) -> None:
        """Settle every asker. Raises `AppError` that lists who is not known."""
        faults: list[str] = []
        for asker in sorted({self._asker_of(question) for question in self._set.questions}):
            try:
                self._rights[asker] = await self._house.rights_of(asker)
            except AppError as error:
                faults.append(f"{self._set.name}: {error.detail}")
        if faults:
            raise refusal(faults)

    async def run(self, concurrency: int, progress: Progress, keep: Callable[[GaiaAnswer], None]) -> list[GaiaAnswer]:
        """Ask everything, `concurrency` questions at a time; `keep` gets each answer when it is there. In the set's
        order."""
        places, done = asyncio.Semaphore(concurrency), 0

        async def ask(question: GaiaQuestion) -> GaiaAnswer:
            nonlocal done
            async with places:
                answer = await self._ask(question)
            keep(answer)
            done += 1
            progress(done, len(self._set.questions), question.question)
            return answer

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(question)) for question in self._set.questions]
        return [task.result() for task in tasks]

    def _asker_of(self, question: GaiaQuestion) -> str:
        return question.asker or self._asker

    async def _ask(self, question: GaiaQuestion) -> GaiaAnswer:
        asker = self._asker_of(question)
        stored = self._rights[asker]
        nobody = user_id_of(stored.tenant_id, f"gaia-{self._id}-{question.task_id}")
        principal = stored.model_copy(update={"user_id": nobody})
        sessions: list[UUID] = []
        files: list[UUID] = []
        events: list[Event] = []
        began = time.perf_counter()
        try:
            if question.file_name:
                content = await asyncio.to_thread(self._content, question)
                files.append(await self._house.attach(principal, question.file_name, content))
            async for event in self._house.question(principal, question.question, files, self._mode):
                if isinstance(event, TaskAvailable):
                    sessions.append(event.session_id)
                events.append(event)
            seen = observed(events, time.perf_counter() - began)
        except AppError as error:
            told = f"{error.code.value}: {error.detail}"
            seen = Observation(outcome="failed", seconds=time.perf_counter() - began, error=told)
        finally:
            await self._house.clear_up(principal, sessions, files)
        return answer_of(question, asker, self._mode, seen, events)

    def _content(self, question: GaiaQuestion) -> bytes:
        return bytes_of(self._set.files, question.file_name, self._house.max_file_bytes)


def answer_of(question: GaiaQuestion, asker: str, mode: Mode, seen: Observation, events: Sequence[Event]) -> GaiaAnswer:
    """What a run's events say of a question, scored."""
    ending = events[-1] if events else None
    told = ending.answer if isinstance(ending, FinalReport | TaskFailed) else {}
    visits: list[dict[str, Any]] = list(told.get("flow_action") or ())
    given = "" if seen.error else seen.answer
    right = is_match(given, question.expected, question.spoken) if question.is_scored else None
    return GaiaAnswer(
        task_id=question.task_id, level=question.level, question=question.question, expected=question.expected,
        file_name=question.file_name, asker=asker, language=question.spoken, tags=question.tags, mode=mode,
        answer=given,
        right=False if right and seen.error else right,
        outcome=seen.outcome,
        error=seen.error,
        steps=sum(1 for visit in visits if visit.get("type") not in _NO_STEP),
        tool_calls=sum(1 for event in events if isinstance(event, ToolRequest)),
        seconds=seen.seconds,
        tokens=seen.tokens,
        reasoning=str(told.get("reasoning") or ""),
        trace=tuple(_line(visit) for visit in visits),
    )  # fmt: skip


def _line(visit: dict[str, Any]) -> str:
    """``7. critic completed 3 ms: rejected the plan …``."""
    spent = visit.get("duration_ms")
    head = f"{visit.get('order')}. {visit.get('node_id')} {visit.get('status')}"
    notes = "; ".join(_notes(visit.get("details")) + _notes(visit.get("error_details")))
    return head + ("" if spent is None else f" {spent} ms") + (f": {notes}" if notes else "")


def _notes(details: Any) -> list[str]:
    if not isinstance(details, dict):
        return []
    return [f"{name} {_cut(str(value))}" for name, value in details.items() if value not in (None, "", [], {})]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} …"
