"""`Conclave`: the same for code without an event loop; a thread of its own holds one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from functools import partial, update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.client.asynchronous import AsyncConclave

P = ParamSpec("P")
T = TypeVar("T")


def _waiting(
    method: Callable[Concatenate[AsyncConclave, P], Awaitable[T]],
) -> Callable[Concatenate["Conclave", P], T]:
    """The same method, waited for."""

    def call(self: "Conclave", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._portal.call(partial(method, self._behind, *args, **kwargs))

    update_wrapper(call, method)
    return call


def _iterating(
    method: Callable[Concatenate[AsyncConclave, P], AsyncIterator[T]],
) -> Callable[Concatenate["Conclave", P], Iterator[T]]:
    """The same method, its items waited for one by one."""

    def call(self: "Conclave", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items: Any = method(self._behind, *args, **kwargs)
        try:
            while True:
                try:
                    yield self._portal.call(items.__anext__)
                except StopAsyncIteration:
                    return
        finally:
            if self._opened is not None:
                self._portal.call(items.aclose)

    update_wrapper(call, method)
    return call


class Conclave:
    """One server and one token. Use as a context manager; one thread at a time.

    Methods are those of `AsyncConclave`, which tells what they take, give and raise; callbacks are called in the
    client's own thread.
    """

    def __init__(self, server: str = "http://127.0.0.1:8000", token: str = ""):
        self._behind = AsyncConclave(server, token)
        self._opened: tuple[ExitStack, BlockingPortal] | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._behind))
            self._opened = stack.pop_all(), portal
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._opened is not None:
            (stack, _), self._opened = self._opened, None
            stack.close()

    @property
    def _portal(self) -> BlockingPortal:
        if self._opened is None:
            raise RuntimeError("use it as a context manager: with Conclave(…) as conclave")
        return self._opened[1]

    sign_in = _waiting(AsyncConclave.sign_in)
    ask = _waiting(AsyncConclave.ask)
    stream = _iterating(AsyncConclave.stream)
    attach = _waiting(AsyncConclave.attach)
    follow = _iterating(AsyncConclave.follow)
    task = _waiting(AsyncConclave.task)
    cancel = _waiting(AsyncConclave.cancel)
    retry = _waiting(AsyncConclave.retry)
    approve = _waiting(AsyncConclave.approve)
    refuse = _waiting(AsyncConclave.refuse)
    feedback = _waiting(AsyncConclave.feedback)
    search = _waiting(AsyncConclave.search)
    titles = _waiting(AsyncConclave.titles)
    ingest = _waiting(AsyncConclave.ingest)
    sessions = _iterating(AsyncConclave.sessions)
    session = _waiting(AsyncConclave.session)
    erase_session = _waiting(AsyncConclave.erase_session)
