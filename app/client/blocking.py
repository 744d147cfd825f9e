"""`Conclave`: the same for code without an event loop; a thread of its own holds one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial, wraps
from inspect import isasyncgenfunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.client.asynchronous import AsyncConclave


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

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A method of `AsyncConclave`, waited for."""


def _blocking(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method of `Conclave`: waited for, or its items one by one."""

    def wait(self: Conclave, /, *args: Any, **kwargs: Any) -> Any:
        return self._portal.call(partial(method, self._behind, *args, **kwargs))

    def iterate(self: Conclave, /, *args: Any, **kwargs: Any) -> Iterator[Any]:
        items = method(self._behind, *args, **kwargs)
        try:
            while True:
                try:
                    yield self._portal.call(items.__anext__)
                except StopAsyncIteration:
                    return
        finally:
            if self._opened is not None:
                self._portal.call(items.aclose)

    return wraps(method)(iterate if isasyncgenfunction(method) else wait)


for _name, _method in vars(AsyncConclave).items():
    if not _name.startswith("_"):
        setattr(Conclave, _name, _blocking(_method))
