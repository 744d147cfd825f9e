"""`AsyncConclave`: a server as an object, for code with an event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from app.client.connection import Connection, question_body
from app.client.records import (
    Answer,
    AskFailed,
    Ingested,
    IngestFailed,
    Streamed,
    WaitingPlan,
    code_named,
)
from app.domain.documents import DocumentStatus, DocumentTitle, Progress
from app.domain.knowledge import Evidence, Passage, titles_by_url
from app.domain.tasks import Session, TaskView
from app.errors import AppError, ErrorCode

Mode = Literal["auto", "department", "deep"]
Told = Callable[[Progress], None]
Deciding = Callable[[WaitingPlan], bool | str]
_PAGE = 100


class AsyncConclave(Connection):
    """One server and one token. Use as an async context manager.

    Methods do I/O and raise `AppError` with the server's code and sentence; `aiohttp.ClientError` when it stays away.
    """

    async def ask(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
        on_plan: Deciding | None = None,
    ) -> Answer:
        """Ask and wait for the answer; a lost line is taken up again. Raises `AskFailed` when the run gave none.

        Args:
            question: In Vietnamese or English.
            session_id: Of an earlier answer, to go on with that conversation.
            mode: ``deep`` for questions of several dependent steps.
            as_of: By the rules of this day.
            agents: Only these; empty = whoever can answer.
            files: Answered from these as well; uploaded first.
            on_plan: With ``deep``: looks at each plan before it is carried out. True does it, a text has another one
                made that heeds it, False gives the question up.
        """
        events = self.stream(
            question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files,
            approve_plan=on_plan is not None,
        )  # fmt: skip
        told, task_id = Streamed(0, "", {}), ""
        async for told in events:
            if told.type == "task_available":
                task_id = told.data["task_id"]
            elif told.type == "interrupt" and on_plan is not None:
                plan = WaitingPlan.model_validate({**told.data, "task_id": task_id}, extra="ignore")
                await self._decide(plan, on_plan)
        return answer_of(told)

    async def _decide(self, waiting: WaitingPlan, on_plan: Deciding) -> None:
        decided = on_plan(waiting)
        if decided is True:
            await self.approve(waiting.task_id, attempt=waiting.attempt)
        else:
            await self.refuse(waiting.task_id, decided or "", attempt=waiting.attempt)

    async def stream(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
        approve_plan: bool = False,
    ) -> AsyncIterator[Streamed]:
        """Ask and yield the run's events until its end; see `ask`. Leaving early does not stop the run.

        With `approve_plan` a deep question waits behind its ``interrupt`` event until `approve` or `refuse`.
        """
        body = question_body(
            question, mode, session_id=session_id, as_of=as_of, agents=agents, approve_plan=approve_plan,
            files=[str(await self.attach(path)) for path in files],
        )  # fmt: skip
        async for told in self.run(body):
            yield told

    async def task(self, task_id: UUID) -> TaskView:
        """How a task stands: status, plan, result, trace, steps."""
        return _state(await self.send("GET", f"/tasks/{task_id}"))

    async def cancel(self, task_id: UUID) -> TaskView:
        """Stop a run; a finished one stays as it is."""
        return _state(await self.send("POST", f"/tasks/{task_id}/cancel"))

    async def retry(self, task_id: UUID) -> UUID:
        """Have a run or document of the company that failed done anew, for whoever it was done for; the new task's id.
        Administrators only."""
        return UUID((await self.send("POST", f"/admin/tasks/{task_id}/retry"))["task_id"])

    async def approve(self, task_id: UUID, *, attempt: int | None = None) -> TaskView:
        """Have a plan that waits carried out; with `attempt` only if it is that one."""
        return await self._answer_plan(task_id, attempt, {"approved": True})

    async def refuse(self, task_id: UUID, feedback: str = "", *, attempt: int | None = None) -> TaskView:
        """Have another plan made that heeds `feedback`; without a word the run is cancelled."""
        return await self._answer_plan(task_id, attempt, {"approved": False, "feedback": feedback})

    async def _answer_plan(self, task_id: UUID, attempt: int | None, body: dict[str, Any]) -> TaskView:
        said = body if attempt is None else {**body, "attempt": attempt}
        return _state(await self.send("POST", f"/tasks/{task_id}/approve", body=said))

    async def feedback(self, task_id: UUID, rating: Literal[-1, 0, 1], correction: str = "") -> None:
        """Say what you think of an own answer; 0 takes back what was said."""
        body = {"rating": rating, **({"correction": correction} if correction else {})}
        await self.send("PUT", f"/tasks/{task_id}/feedback", body=body)

    async def search(
        self, query: str, *, departments: Sequence[str] = (), limit: int = 8, as_of: date | None = None
    ) -> tuple[Passage, ...]:
        """Passages you may read, best first; with `as_of` of the documents in force that day."""
        body: dict[str, Any] = {"query": query, "limit": limit}
        if departments:
            body["departments"] = list(departments)
        if as_of is not None:
            body["as_of"] = as_of.isoformat()
        found = await self.send("POST", "/search", body=body)
        return tuple(Passage.model_validate(passage) for passage in found["passages"])

    async def titles(self, evidence: Sequence[Evidence]) -> dict[str, str]:
        """What the documents of an answer's evidence are called, by its addresses; what has no title is left out."""
        params = [("url", url) for url in sorted({one.url for one in evidence}) if url]
        if not params:
            return {}
        found = await self.send("GET", "/reading/titles", params=params)
        documents = [DocumentTitle.model_validate(one) for one in found["documents"]]
        return titles_by_url([(one.url, one.created_at) for one in evidence], documents)

    async def ingest(
        self,
        /,
        document: Path | str,
        *,
        department: str,
        scope: Literal["public", "internal", "private"],
        on_progress: Told | None = None,
        **fields: Any,
    ) -> Ingested:
        """Bring a document in and wait until it can be found. Administrators only. Raises `IngestFailed`.

        Args:
            document: A file (PDF, DOCX …), or a text; a text needs ``title``, ``url`` and ``external_id``.
            department: Whose it is.
            scope: Who may read it.
            on_progress: Told every stage.
            fields: Of `POST /documents`: title, url, created_at, effective_from, supersedes, external_id …
        """
        said = {name: _spelt(value) for name, value in {**fields, "department": department, "scope": scope}.items()}
        if isinstance(document, str):
            found = await self.bring_in(said, document, on_progress=on_progress)
        else:
            content = await asyncio.to_thread(document.read_bytes)
            found = await self.bring_in(said, content, document.name, on_progress)
        if found.status is DocumentStatus.FAILED:
            raise IngestFailed(code_named(found.code), found.detail, status=422)
        return found

    async def sessions(self) -> AsyncIterator[Session]:
        """Own conversations that are not archived, pinned ones first, then newest first."""
        params = {"limit": str(_PAGE)}
        while True:
            page = await self.send("GET", "/sessions", params=params)
            for one in page["sessions"]:
                yield _conversation(one)
            if page["next_cursor"] is None:
                return
            params["cursor"] = page["next_cursor"]

    async def session(self, session_id: UUID) -> Session:
        """A conversation with its messages."""
        return _conversation(await self.send("GET", f"/sessions/{session_id}"))

    async def erase_session(self, session_id: UUID) -> None:
        """Erase a conversation for good."""
        await self.send("DELETE", f"/sessions/{session_id}")


def answer_of(last: Streamed) -> Answer:
    """The answer inside a run's last event. Raises `AskFailed` when there is none."""
    ending = last.ending
    if not ending:
        raise AppError(ErrorCode.INTERNAL, "The server's account of the run broke off.", status=500)
    if last.type != "final_report":
        raise AskFailed(code_named(str(ending.get("error_code"))), str(ending.get("error_message")), ending)
    return Answer.model_validate(ending, extra="ignore")


def _state(told: Mapping[str, Any]) -> TaskView:
    return TaskView.model_validate(told, extra="ignore")


def _conversation(told: Mapping[str, Any]) -> Session:
    lists = {name: told[name] or () for name in ("messages", "speaking")}
    return Session.model_validate({**told, **lists}, extra="ignore")


def _spelt(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
