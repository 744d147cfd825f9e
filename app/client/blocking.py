"""`Conclave`: the same for code without an event loop; a thread of its own holds one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from uuid import UUID

from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.client.asynchronous import AsyncConclave, Mode, Told
from app.client.records import Answer, Conversation, Ingested, Streamed
from app.domain.knowledge import Passage

T = TypeVar("T")


class Conclave:
    """One server and one token. Use as a context manager; one thread at a time.

    Methods are those of `AsyncConclave`, which tells what they take, give and raise.
    """

    def __init__(self, server: str = "http://127.0.0.1:8000", token: str = ""):
        self._behind = AsyncConclave(server, token)
        self._opened = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self._behind))
            self._opened = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._portal = None
        self._opened.close()

    def sign_in(self, user: str) -> None:
        """Become a demo user; works only on the server's own machine."""
        self._call(partial(self._behind.sign_in, user))

    def ask(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
    ) -> Answer:
        """Ask and wait for the answer."""
        return self._call(
            partial(
                self._behind.ask, question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files
            )
        )

    def stream(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
    ) -> Iterator[Streamed]:
        """Ask and yield the run's events until its end."""
        return self._each(
            self._behind.stream(
                question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files
            )
        )  # fmt: skip

    def cancel(self, task_id: UUID) -> None:
        """Stop a run."""
        self._call(partial(self._behind.cancel, task_id))

    def feedback(self, task_id: UUID, rating: Literal[-1, 1], correction: str = "") -> None:
        """Say what you think of an own answer."""
        self._call(partial(self._behind.feedback, task_id, rating, correction))

    def search(self, query: str, *, departments: Sequence[str] = (), limit: int = 8) -> tuple[Passage, ...]:
        """Passages you may read, best first."""
        return self._call(partial(self._behind.search, query, departments=departments, limit=limit))

    def ingest(
        self,
        document: Path | str,
        *,
        department: str,
        scope: Literal["public", "internal", "private"],
        on_progress: Told | None = None,
        **fields: Any,
    ) -> Ingested:
        """Bring a document in and wait until it can be found; `on_progress` is called in the client's own thread."""
        return self._call(
            partial(
                self._behind.ingest, document, department=department, scope=scope, on_progress=on_progress, **fields
            )
        )

    def sessions(self) -> Iterator[Conversation]:
        """Own conversations, newest first."""
        return self._each(self._behind.sessions())

    def session(self, session_id: UUID) -> Conversation:
        """A conversation with its messages."""
        return self._call(partial(self._behind.session, session_id))

    def erase_session(self, session_id: UUID) -> None:
        """Erase a conversation for good."""
        self._call(partial(self._behind.erase_session, session_id))

    def _call(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._portal is None:
            raise RuntimeError("use it as a context manager: with Conclave(…) as conclave")
        return self._portal.call(work)

    def _each(self, items: AsyncIterator[T]) -> Iterator[T]:
        try:
            while True:
                try:
                    yield self._call(items.__anext__)
                except StopAsyncIteration:
                    return
        finally:
            if self._portal is not None:
                self._call(items.aclose)  # type: ignore[attr-defined]
