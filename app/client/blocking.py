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

from app.client.asynchronous import AsyncConclave, Deciding, Mode, Told
from app.client.records import Answer, Conversation, Ingested, Streamed
from app.domain.knowledge import Evidence, Passage
from app.domain.tasks import TaskView

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
        on_plan: Deciding | None = None,
    ) -> Answer:
        """Ask and wait for the answer; `on_plan` is called in the client's own thread."""
        return self._call(
            partial(
                self._behind.ask, question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files,
                on_plan=on_plan,
            )
        )  # fmt: skip

    def stream(
        self,
        question: str,
        *,
        session_id: UUID | None = None,
        mode: Mode = "auto",
        as_of: date | None = None,
        agents: Sequence[str] = (),
        files: Sequence[Path] = (),
        approve_plan: bool = False,
    ) -> Iterator[Streamed]:
        """Ask and yield the run's events until its end."""
        return self._each(
            self._behind.stream(
                question, session_id=session_id, mode=mode, as_of=as_of, agents=agents, files=files,
                approve_plan=approve_plan,
            )
        )  # fmt: skip

    def attach(self, path: Path) -> UUID:
        """Upload a file to ask about; its id."""
        return self._call(partial(self._behind.attach, path))

    def follow(self, task_id: UUID) -> Iterator[Streamed]:
        """The events of an own run from its first one to its end."""
        return self._each(self._behind.follow(task_id))

    def task(self, task_id: UUID) -> TaskView:
        """How a task stands."""
        return self._call(partial(self._behind.task, task_id))

    def cancel(self, task_id: UUID) -> TaskView:
        """Stop a run."""
        return self._call(partial(self._behind.cancel, task_id))

    def retry(self, task_id: UUID) -> UUID:
        """Have a run or document that failed done anew; the new task's id. Administrators only."""
        return self._call(partial(self._behind.retry, task_id))

    def approve(self, task_id: UUID, *, attempt: int | None = None) -> TaskView:
        """Have a plan that waits carried out."""
        return self._call(partial(self._behind.approve, task_id, attempt=attempt))

    def refuse(self, task_id: UUID, feedback: str = "", *, attempt: int | None = None) -> TaskView:
        """Have another plan made that heeds `feedback`; without a word the run is cancelled."""
        return self._call(partial(self._behind.refuse, task_id, feedback, attempt=attempt))

    def feedback(self, task_id: UUID, rating: Literal[-1, 0, 1], correction: str = "") -> None:
        """Say what you think of an own answer."""
        self._call(partial(self._behind.feedback, task_id, rating, correction))

    def search(
        self, query: str, *, departments: Sequence[str] = (), limit: int = 8, as_of: date | None = None
    ) -> tuple[Passage, ...]:
        """Passages you may read, best first."""
        return self._call(partial(self._behind.search, query, departments=departments, limit=limit, as_of=as_of))

    def titles(self, evidence: Sequence[Evidence]) -> dict[str, str]:
        """What the documents of an answer's evidence are called, by its addresses."""
        return self._call(partial(self._behind.titles, evidence))

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
