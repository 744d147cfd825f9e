"""One server and one token: requests, files and documents, and runs followed over broken lines."""

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import date
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote
from uuid import UUID, uuid4

import aiohttp

from app.client.local import AS_HEADER, DEMO_KEY_HEADER
from app.client.records import Ingested, Streamed
from app.domain.documents import DocumentStatus, Progress
from app.domain.principal import tenant_id_of
from app.errors import AppError, ErrorCode
from app.events import TERMINAL_EVENTS

Params = Mapping[str, str] | Sequence[tuple[str, str]]
_RECONNECTS = 6
_LINE_BYTES = 2**20
"""An event is one line; the largest is an answer with its whole trace."""
_BUSY = (429, 503)
_MAX_WAIT_SECONDS = 30.0


class Connection:
    """One server, one token. Use as an async context manager."""

    def __init__(
        self,
        server: str = "http://127.0.0.1:8000",
        token: str = "",
        *,
        private_socket: Path | None = None,
        acting: str = "",
    ):
        """Without a token only `sign_in` works. `private_socket`: go over it instead of the network, and without a
        token as `acting` (see `AS_HEADER`)."""
        self._base = server.rstrip("/") + "/api/v1"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        connector = None
        if private_socket is not None:
            connector = aiohttp.UnixConnector(str(private_socket))
            self._headers = self._headers or {AS_HEADER: quote(acting)}
        # No total limit: the server ends every run; a silent line is cut after two missed pings.
        timeout = aiohttp.ClientTimeout(total=None, connect=10, sock_read=30)
        self._http = aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=_LINE_BYTES)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def who(self) -> tuple[str, str]:
        """Tenant and user as whom requests on a private socket are made. Raises `AppError`."""
        told = await self.send("GET", "/who")
        return told["tenant"], told["user"]

    async def demo_users(self, key: str) -> list[dict[str, Any]]:
        """The demo users of a server on this machine, the default asker first. `key`: of its sign-in links. Raises
        `AppError` where that is off."""
        self._headers = {DEMO_KEY_HEADER: key}
        return list(await self.send("GET", "/auth/dev"))

    async def sign_in(self, user: str, key: str) -> None:
        """Become a demo user (``tenant/user``) with the key of the sign-in links; works only on the server's own
        machine. Raises `AppError`."""
        self._headers = {DEMO_KEY_HEADER: key}
        told = await self.send("POST", "/auth/dev", body={"user": user})
        self._headers = {"Authorization": f"Bearer {told['token']}"}

    @property
    def tenant_id(self) -> UUID | None:
        """The tenant of the token; None when only the server can read it."""
        try:
            payload = self._headers["Authorization"].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            return tenant_id_of(str(claims["tenant_id"]))
        except (KeyError, IndexError, ValueError, TypeError, binascii.Error):
            return None

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        form: Callable[[], aiohttp.FormData] | None = None,
        params: Params | None = None,
        lines: bytes | None = None,
        content_type: str = "",
        idempotency_key: str = "",
    ) -> Any:
        """One request and its JSON answer, {} when there is none. With an idempotency key, or `lines` (text that may be
        sent twice without harm), it is sent again when the line breaks or the server is busy.

        Raises `AppError`, or `aiohttp.ClientError` when the server stays away.
        """
        further = {"Idempotency-Key": idempotency_key, "Content-Type": content_type}
        headers = {**self._headers, **{name: value for name, value in further.items() if value}}

        async def once() -> Any:
            async with self._http.request(
                method,
                f"{self._base}{path}",
                json=body,
                data=form() if form else lines,
                params=params,
                headers=headers,
                expect100=form is not None,  # a file that would be refused is not even sent
            ) as response:
                await _refuse_problem(response)
                return {} if response.status == 204 else await response.json()

        return await (_patiently(once) if idempotency_key or lines is not None else once())

    async def attach(self, path: Path) -> UUID:
        """Upload a file to ask about; its id."""
        content = await asyncio.to_thread(path.read_bytes)
        accepted = await self.send("POST", "/files", form=partial(_file_form, content, path.name))
        return UUID(accepted["file_id"])

    async def bring_in(
        self,
        fields: Mapping[str, Any],
        content: str | bytes,
        file_name: str = "",
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Ingested:
        """Send a document, a text or the bytes of a file, and wait for its task to end; tell how. Raises as `send`."""
        body = {**fields, "text": content} if isinstance(content, str) else None
        form = None if isinstance(content, str) else partial(_file_form, content, file_name, fields)
        accepted = await self.send("POST", "/documents", body=body, form=form, idempotency_key=str(uuid4()))
        told = Streamed(0, "", {})
        async for told in self.follow(accepted["task_id"]):
            if told.type == "progress" and on_progress is not None:
                on_progress(_progress_of(told.data["output"]))
        return ingested(accepted["document_id"], told.ending)

    def run(self, body: Mapping[str, Any]) -> AsyncIterator[Streamed]:
        """Ask and yield the run's events until its end; a lost line is taken up again. Raises as `send`."""
        return self._run(body, "")

    def follow(self, task_id: UUID | str) -> AsyncIterator[Streamed]:
        """The events of an own task from its first one to its end, also of one that ended long ago; like `run`."""
        return self._run({}, str(task_id))

    async def _run(self, body: Mapping[str, Any], task_id: str) -> AsyncIterator[Streamed]:
        seen, tries = 0, 0
        while True:
            try:
                async for seq, kind, event in self._stream(body, task_id, seen):
                    task_id, seen, tries = str(event.get("task_id", task_id)) if seq == 1 else task_id, seq, 0
                    yield Streamed(seq, kind, event)
                    if kind in TERMINAL_EVENTS:
                        return
            except (aiohttp.ClientError, TimeoutError):
                if not task_id or tries >= _RECONNECTS:
                    raise
            tries += 1
            await asyncio.sleep(_pause(tries))

    async def _stream(self, body: Mapping[str, Any], task_id: str, seen: int) -> AsyncIterator[Streamed]:
        """The run's events behind `seen`; without a task the question is asked first."""
        if task_id:
            headers = {**self._headers, "Last-Event-ID": str(seen)}
            request = self._http.get(f"{self._base}/tasks/{task_id}/events", headers=headers)
        else:
            request = self._http.post(f"{self._base}/chat/stream", json=body, headers=self._headers)
        async with request as response:
            await _refuse_problem(response)
            async for event in _events(response.content):
                yield event


async def _patiently(once: Callable[[], Awaitable[Any]]) -> Any:
    for tries in range(1, _RECONNECTS + 1):
        try:
            return await once()
        except (aiohttp.ClientError, TimeoutError):
            wait = _pause(tries)
        except AppError as error:
            if error.status not in _BUSY:
                raise
            wait = min(error.retry_after_seconds or _pause(tries), _MAX_WAIT_SECONDS)
        await asyncio.sleep(wait)
    return await once()


def _pause(tries: int) -> float:
    """Seconds before trying again."""
    return min(2.0**tries, 8.0) / 4


async def _refuse_problem(response: aiohttp.ClientResponse) -> None:
    if response.status < 400:
        return
    try:
        told = json.loads(await response.text())
        code, detail = ErrorCode(told["code"]), str(told["detail"])
    except (ValueError, KeyError, TypeError):
        code, detail = ErrorCode.INTERNAL, f"The server answered {response.status}."
    wait = response.headers.get("Retry-After", "")
    raise AppError(code, detail, status=response.status, retry_after_seconds=int(wait) if wait.isdecimal() else None)


async def _events(lines: aiohttp.StreamReader) -> AsyncIterator[Streamed]:
    fields: dict[str, str] = {}
    async for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            fields[name] = fields.get(name, "") + value.removeprefix(" ")
        elif "event" in fields:
            yield Streamed(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


def question_body(
    query: str,
    mode: str = "auto",
    *,
    session_id: object = None,
    as_of: date | None = None,
    agents: Sequence[str] = (),
    files: Sequence[str] = (),
    approve_plan: bool = False,
) -> dict[str, Any]:
    """The request body of a question."""
    told = {
        "session_id": session_id and str(session_id), "as_of": as_of and as_of.isoformat(),
        "agents": {agent: {} for agent in agents}, "files": list(files), "approve_plan": approve_plan,
    }  # fmt: skip
    return {"query": query, "mode": mode, **{name: value for name, value in told.items() if value}}


def _file_form(content: bytes, name: str, fields: Mapping[str, Any] | None = None) -> aiohttp.FormData:
    """A form with one file, and the fields that stand beside it."""
    form = aiohttp.FormData(dict(fields or {}))
    form.add_field("file", BytesIO(content), filename=name, content_type="application/octet-stream")
    return form


def ingested(document_id: str, ending: Mapping[str, Any]) -> Ingested:
    """Read from the ending of its task how a document ended."""
    if "status" in ending:
        return Ingested.model_validate(ending, extra="ignore")
    code, detail = ending.get("error_code", ""), ending.get("error_message", "")
    return Ingested(document_id=UUID(document_id), code=code, detail=detail)


def _progress_of(output: Mapping[str, Any]) -> Progress:
    """What a ``progress`` event of an ingestion says."""
    return Progress(
        stage=DocumentStatus(output["processing_status"]),
        chunks_total=output["chunks_total"],
        chunks_embedded=output["chunks_embedded"],
    )
