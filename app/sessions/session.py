"""Conversations of one person: history, erasure, and what is remembered of them. Nobody else sees them.

Remembered are a vector a turn and a rolling summary, in the owner's rows, with the rights the turns were answered
under.
"""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from typing import Self
from uuid import UUID

from app.domain.principal import Principal
from app.domain.tasks import Message, Recollection, RememberedTurn, Session
from app.embedding import Embedder, EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.storage import sessions, tenants
from app.storage.audit import demand_not_held
from app.storage.database import Database
from app.storage.documents import note
from app.text.language import clean, normalise

_MAX_TURNS = 500
"""Turns of a conversation that are shown: 1,000 messages."""


class SessionStore:
    """The caller's conversations; every method does I/O."""

    def __init__(self, database: Database):
        self._database = database

    async def get(self, principal: Principal, session_id: UUID) -> Session:
        """A session with its messages. Raises `AppError` (404) for unknown and foreign ids alike."""
        async with self._database.statements_scope(principal) as tx:
            found = await sessions.find(tx, session_id)
            messages = await sessions.history(tx, session_id, _MAX_TURNS, whole=True)
            speaking = await sessions.speaking(tx, session_id)
        if found is None:
            raise _not_found()
        return found.model_copy(update={"messages": messages, "speaking": speaking})

    async def running(self, principal: Principal, session_id: UUID) -> UUID | None:
        """The last run of a session that has not ended; None when there is none, or no such session."""
        async with self._database.statements_scope(principal) as tx:
            return await sessions.running(tx, session_id)

    async def delete(self, principal: Principal, session_id: UUID) -> None:
        """Erase a session with its runs, journals and memory; a run going on is lost. Raises `AppError`: 404, and 409
        under legal hold."""
        async with self._database.principal_scope(principal) as tx:
            await demand_not_held(tx, principal.user_id)
            if not await sessions.delete(tx, session_id):
                raise _not_found()

    async def erase(self, caller: Principal, user_id: UUID) -> sessions.Erased:
        """Erase all that a person of the tenant asked, was told and attached; written to the audit before. Raises
        `AppError`: 403 unless it is the caller or an administrator asks, 409 under legal hold."""
        if user_id != caller.user_id and not caller.is_admin:
            detail = "Only that person or an administrator of the company may erase somebody's data."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        async with self._database.principal_scope(caller) as tx:
            await demand_not_held(tx, user_id)
            await note(tx, "data_erased", str(user_id), {})
        async with self._database.principal_scope(caller.model_copy(update={"user_id": user_id})) as tx:
            return await sessions.delete_all(tx)


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such session.", status=404)


_KNOWN_SECONDS = 60
"""How long a tenant's own settings are believed without asking again."""


class TenantClock:
    """What holds for all people of a tenant: when it is day for them, and how they are answered."""

    def __init__(self, database: Database):
        self._database = database
        self._known: dict[UUID, tuple[float, tenants.Own]] = {}

    async def own(self, principal: Principal) -> tenants.Own:
        """What holds for the caller's tenant. At most one query a minute and tenant; the last answer while the database
        is away. Raises `AppError` (503) when there is none."""
        until, own = self._known.get(principal.tenant_id, (0.0, None))
        if own is not None and time.monotonic() < until:
            return own
        try:
            async with self._database.statements_scope(principal, durable=False) as tx:
                own = await tenants.own(tx)
        except AppError as away:
            if own is None or away.code is not ErrorCode.DATABASE_UNAVAILABLE:
                raise
            return own
        self._known[principal.tenant_id] = (time.monotonic() + _KNOWN_SECONDS, own)
        return own


HISTORY_TURNS = 10
"""Earlier turns that are read whole."""
MAX_TURNS = 200
"""Turns of a session that are remembered; the oldest go."""
MAX_HEARD_CHARS = 8_000
"""Of one run, question and answer each."""
_RECALLED_TURNS = 3
_SUMMARISED_TURNS = 60
_MAX_QUESTION_CHARS = 1_000
_KEEP_SECONDS = 8.0
_WRITTEN_AT_ONCE, _MAX_WAITING = 2, 200
_log = logging.getLogger(__name__)


class SessionMemory:
    """The memory of everybody's conversations. Safe for concurrent use; an async context manager that waits at its end
    for what is being written, a few seconds at most."""

    def __init__(self, database: Database, embedder: Embedder):
        self._database = database
        self._embedder = embedder
        self._writing: set[asyncio.Task[None]] = set()
        self._side_by_side = asyncio.Semaphore(_WRITTEN_AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writing:
            late = (await asyncio.wait(self._writing, timeout=_KEEP_SECONDS))[1]
            for writing in late:
                writing.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until nothing is being written."""
        while self._writing:
            await asyncio.wait(self._writing)

    async def recall(
        self, principal: Principal, session_id: UUID, question: str, given: tuple[Message, ...] = ()
    ) -> Recollection:
        """The conversation a question stands in: its last turns (or those `given`), and of a longer one the summary and
        the nearest earlier turns; nothing that was answered with wider rights than the caller has now. Does I/O."""
        async with self._database.statements_scope(principal, durable=False) as tx:
            history = given or await sessions.history(tx, session_id, HISTORY_TURNS)
            session = await sessions.find(tx, session_id) if history else None
        if session is None or given:
            return Recollection(history=history, active_agent=session.active_agent if session else None)
        if sum(message.role == "user" for message in history) == HISTORY_TURNS:
            history = (*await self._further_up(principal, session_id, session.summary, question), *history)
        return Recollection(history=history, active_agent=session.active_agent)

    async def _further_up(
        self, principal: Principal, session_id: UUID, summary: str | None, question: str
    ) -> tuple[Message, ...]:
        told = (Message(role="assistant", content=summary, is_recalled=True),) if summary else ()
        try:
            [vector] = await self._embedder.embed_queries([normalise(question[:_MAX_QUESTION_CHARS])])
        except EmbeddingUnavailable:
            return told
        async with self._database.statements_scope(principal, durable=False) as tx:
            nearest = await sessions.nearest(
                tx, session_id, self._embedder.model, vector, beyond=HISTORY_TURNS, limit=_RECALLED_TURNS
            )
        return (*told, *nearest)

    def listener(self, principal: Principal, session_id: UUID, task_id: UUID) -> "MemoryManager":
        """Who listens to one run."""
        return MemoryManager(self, principal, session_id, task_id)

    def store_soon(self, principal: Principal, session_id: UUID, turn: RememberedTurn, answer: str) -> None:
        """Remember a turn in the background. Never raises; a failure, or more than `_MAX_WAITING` turns, costs the
        memory only."""
        if len(self._writing) >= _MAX_WAITING:
            _log.warning("turn_not_remembered", extra={"task_id": str(turn.task_id)})
            return
        writing = asyncio.create_task(self._store(principal, session_id, turn, answer))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    async def _store(self, principal: Principal, session_id: UUID, turn: RememberedTurn, answer: str) -> None:
        try:
            async with self._side_by_side, asyncio.timeout(_KEEP_SECONDS):
                await self.store_turn(principal, session_id, turn, answer)
        except (AppError, EmbeddingUnavailable, TimeoutError) as failure:
            _log.warning("turn_not_remembered", extra={"error_class": type(failure).__name__})
        except Exception:
            _log.exception("turn_not_remembered", extra={"task_id": str(turn.task_id)})

    async def store_turn(self, principal: Principal, session_id: UUID, turn: RememberedTurn, answer: str) -> None:
        """Remember a turn and renew the summary, without a model. Raises `EmbeddingUnavailable`, `AppError`."""
        turn = turn.model_copy(update={"question": clean(turn.question), "gist": clean(gist_of(answer))})
        content = normalise(f"{turn.question}\n{turn.gist}")
        [vector] = await self._embedder.embed_passages([content])
        async with self._database.principal_scope(principal, durable=False) as tx:
            if not await sessions.lock_session(tx, session_id):
                return  # erased meanwhile
            await sessions.store_turn(tx, session_id, turn, content, self._embedder.model, vector, max_turns=MAX_TURNS)
            known = await sessions.turns(tx, session_id, _SUMMARISED_TURNS)
            summary, count = summary_of([one for one, _ in known])
            rights = [rights for _, rights in known[len(known) - count :]]
            scopes = sorted({scope for scopes, _ in rights for scope in scopes})
            departments = sorted({one for _, departments in rights for one in departments})
            await sessions.summarise(tx, session_id, summary, (scopes, departments))


class MemoryManager:
    """Hears one run, and remembers it when it has ended; goes with the run."""

    def __init__(self, memory: SessionMemory, principal: Principal, session_id: UUID, task_id: UUID):
        """Use `SessionMemory.listener`."""
        self._memory = memory
        self._principal = principal
        self._session_id = session_id
        self._task_id = task_id
        self._heard: dict[str, list[str]] = {"user": [], "assistant": []}
        self._room = dict.fromkeys(self._heard, MAX_HEARD_CHARS)

    def on_message(self, chunk: Message) -> None:
        """Hear the question, or a piece of the answer as it is streamed; beyond `MAX_HEARD_CHARS` nothing is kept."""
        piece = chunk.content[: self._room[chunk.role]]
        if piece:
            self._room[chunk.role] -= len(piece)
            self._heard[chunk.role].append(piece)

    def remember_turn(self, agent: str | None, meaning: str = "", *, found: bool = True) -> None:
        """Remember the turn, when its answer is committed. `meaning`: the question made complete; of a run that `found`
        nothing only the question is remembered."""
        question, answer = meaning or "".join(self._heard["user"]), "".join(self._heard["assistant"])
        if not question or not answer:
            return
        turn = RememberedTurn(
            task_id=self._task_id, agent=agent, question=shortened(question, _MAX_QUESTION_CHARS), gist=""
        )
        self._memory.store_soon(self._principal, self._session_id, turn, answer if found else "")


MAX_SUMMARY_CHARS = 2_000
MAX_GIST_CHARS = 300
"""Of one turn's answer."""
_TOLD_TURNS = 4
"""The last turns are told with their answers, those before by their questions."""
_SUMMARISED_QUESTION_CHARS = 200
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s|$)|$)", re.DOTALL)
_DRESSING = re.compile(r"^\s*(?:[-*#>]+|\d+[.)])\s+|\*\*", re.MULTILINE)


def summary_of(turns: Sequence[RememberedTurn]) -> tuple[str, int]:
    """The summary of turns (oldest first), at most `MAX_SUMMARY_CHARS`, and how many of the last turns are in it."""
    lines: list[str] = []
    left = MAX_SUMMARY_CHARS
    for age, turn in enumerate(reversed(turns)):
        line = _line(turn, with_answer=age < _TOLD_TURNS)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines)), len(lines)


def _line(turn: RememberedTurn, *, with_answer: bool) -> str:
    question = shortened(turn.question, _SUMMARISED_QUESTION_CHARS)
    return f"- {question} → {turn.gist}" if with_answer and turn.gist else f"- {question}"


def gist_of(text: str) -> str:
    """The first whole sentences of an answer, on one line, at most `MAX_GIST_CHARS`."""
    return shortened(_DRESSING.sub("", text), MAX_GIST_CHARS)


def shortened(text: str, limit: int) -> str:
    """`text` on one line, cut behind a sentence; behind a word where the first sentence is longer than `limit`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = ""
    for sentence in _SENTENCE.finditer(line):
        if sentence.end() > limit:
            break
        kept = line[: sentence.end()]
    if kept:
        return kept.rstrip()
    return f"{line[: limit - 1].rpartition(' ')[0] or line[: limit - 1]}…"
