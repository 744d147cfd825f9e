"""`AsyncConclave`: a server as an object, for code with an event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID, uuid4

from app.client.connection import Connection
from app.client.records import Answer, AskFailed, Conversation, Ingested, IngestFailed, Streamed, code_named
from app.client.uploads import file_form, progress_of
from app.domain.documents import DocumentStatus, Progress
from app.domain.knowledge import Passage
from app.errors import AppError, ErrorCode

Mode = Literal["auto", "department", "deep"]
Told = Callable[[Progress], None]
_PAGE = 100


class AsyncConclave:
    """One server and one token. Use as an async context manager.

    Methods do I/O and raise `AppError` with the server's code and sentence; `aiohttp.ClientError` when it stays away.
    """

    def __init__(self, server: str = "http://127.0.0.1:8000", token: str = ""):
        """Without a token only `sign_in` works."""
        self._server, self._token = server, token
        self._line: Connection | None = None

    async def __aenter__(self) -> Self:
        self._line = Connection(self._server, self._token)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        line, self._line = self._connection, None
        await line.__aexit__(kind, error, traceback)

    @property
    def _connection(self) -> Connection:
        if self._line is None:
            raise RuntimeError("use it as a context manager: with Conclave(…) as conclave")
        return self._line

    async def sign_in(self, user: str) -> None:
        """Become a demo user (``acme/lan``); works only on the server's own machine."""
        await self._connection.sign_in(user)

    async def ask(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
    ) -> Answer:
        """Ask and wait for the answer; a lost line is taken up again. Raises `AskFailed` when the run gave none.

        Args:
            question: In Vietnamese or English.
            session_id: Of an earlier answer, to go on with that conversation.
            mode: ``deep`` for questions of several dependent steps.
            as_of: By the rules of this day.
            agents: Only these; empty = whoever can answer.
            files: Answered from these as well; uploaded first.
        """
        events = self.stream(question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files)
        told = [Streamed(0, "", {})]
        async for event in events:
            told[0] = event
        return answer_of(told[0])

    async def stream(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
    ) -> AsyncIterator[Streamed]:
        """Ask and yield the run's events until its end; see `ask`. Leaving early does not stop the run."""
        body: dict[str, Any] = {"query": question, "mode": mode}
        if session_id is not None:
            body["session_id"] = str(session_id)
        if as_of is not None:
            body["as_of"] = as_of.isoformat()
        if agents:
            body["agents"] = {agent: {} for agent in agents}
        if files:
            body["files"] = [str(await self.attach(path)) for path in files]
        async for told in self._connection.ask(body):
            yield Streamed(*told)

    async def attach(self, path: Path) -> UUID:
        """Upload a file to ask about; its id."""
        content = await asyncio.to_thread(path.read_bytes)
        accepted = await self._connection.send("POST", "/files", form=lambda: file_form(content, path.name))
        return UUID(accepted["file_id"])

    async def cancel(self, task_id: UUID) -> None:
        """Stop a run; a finished one stays as it is."""
        await self._connection.send("POST", f"/tasks/{task_id}/cancel")

    async def feedback(self, task_id: UUID, rating: Literal[-1, 1], correction: str = "") -> None:
        """Say what you think of an own answer."""
        body = {"rating": rating, **({"correction": correction} if correction else {})}
        await self._connection.send("PUT", f"/tasks/{task_id}/feedback", body=body)

    async def search(self, query: str, *, departments: Sequence[str] = (), limit: int = 8) -> tuple[Passage, ...]:
        """Passages you may read, best first."""
        body = {"query": query, "limit": limit, **({"departments": list(departments)} if departments else {})}
        found = await self._connection.send("POST", "/search", body=body)
        return tuple(Passage.model_validate(passage) for passage in found["passages"])

    async def ingest(
        self,
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
        key = str(uuid4())
        if isinstance(document, Path):
            content = await asyncio.to_thread(document.read_bytes)
            accepted = await self._connection.send(
                "POST", "/documents", form=lambda: file_form(content, document.name, said), idempotency_key=key
            )
        else:
            accepted = await self._connection.send(
                "POST", "/documents", body={**said, "text": document}, idempotency_key=key
            )
        async for _, kind, event in self._connection.follow(str(accepted["task_id"])):
            if kind == "progress" and on_progress is not None:
                on_progress(progress_of(event["output"]))
            elif kind in ("final_report", "task_failed", "task_cancelled"):
                return _ingested(accepted, event)
        raise AppError(ErrorCode.INTERNAL, "The server's account of the document broke off.", status=500)

    async def sessions(self) -> AsyncIterator[Conversation]:
        """Own conversations, newest first."""
        params = {"limit": str(_PAGE)}
        while True:
            page = await self._connection.send("GET", "/sessions", params=params)
            for one in page["sessions"]:
                yield _conversation(one)
            if page["next_cursor"] is None:
                return
            params["cursor"] = page["next_cursor"]

    async def session(self, session_id: UUID) -> Conversation:
        """A conversation with its messages."""
        return _conversation(await self._connection.send("GET", f"/sessions/{session_id}"))

    async def erase_session(self, session_id: UUID) -> None:
        """Erase a conversation for good."""
        await self._connection.send("DELETE", f"/sessions/{session_id}")


def answer_of(last: Streamed) -> Answer:
    """The answer inside a run's last event. Raises `AskFailed` when there is none."""
    match last.type:
        case "final_report":
            known = {name: value for name, value in last.data["answer"].items() if name in Answer.model_fields}
            return Answer.model_validate(known)
        case "task_failed":
            told = last.data["answer"]
            raise AskFailed(code_named(str(told.get("error_code"))), str(told.get("error_message")), told)
        case "task_cancelled":
            raise AskFailed(ErrorCode.TASK_CANCELLED, str(last.data["reason"]), {})
        case _:
            raise AppError(ErrorCode.INTERNAL, "The server's account of the run broke off.", status=500)


def _ingested(accepted: Mapping[str, Any], event: Mapping[str, Any]) -> Ingested:
    told = event.get("answer", {})
    status = told.get("status")
    if status not in (DocumentStatus.READY, DocumentStatus.PARTIAL):
        code = str(told.get("code") or told.get("error_code") or ErrorCode.DOCUMENT_REJECTED.value)
        detail = str(told.get("detail") or told.get("error_message") or event.get("reason", ""))
        raise IngestFailed(code_named(code), detail, status=422)
    return Ingested(
        document_id=accepted["document_id"], task_id=accepted["task_id"], version=told.get("version"), status=status
    )


def _conversation(told: Mapping[str, Any]) -> Conversation:
    known = {name: told[name] for name in Conversation.model_fields if told.get(name) is not None}
    return Conversation.model_validate(known)


def _spelt(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
