"""Recording a run's statements and replaying them on a bare asyncpg connection: the floor of the same work.

Every statement the service sends on its own connections is kept with its arguments, and what goes before it. A replay
sends the same transactions, each as a whole and as its principal, in the order in which they ended, with the run's ids
replaced by fresh ones, so that inserts insert and updates update.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from app.storage import database
from app.storage.connection import Connection

Statement = tuple[str, tuple[Any, ...]]


@dataclass
class Sent:
    """What was sent between two openings of a connection."""

    opening: bytes
    """Whose it is."""
    is_each: bool
    """Every statement is a transaction by itself."""
    statements: list[Statement] = field(default_factory=list)


@dataclass
class Recorder:
    """Keeps what is sent while it is recording."""

    is_recording: bool = False
    ended: list[Sent] = field(default_factory=list)
    open_ones: dict[int, Sent] = field(default_factory=dict)

    def watch(self, connection: Connection) -> None:
        """Listen to one connection for good."""
        opened = connection.open

        def watched(opening: bytes, *, is_each: bool = False) -> None:
            opened(opening, is_each=is_each)
            self._open(id(connection), Sent(opening, is_each))

        vars(connection)["open"] = watched
        connection.add_query_logger(partial(self._keep, id(connection)))

    def _open(self, connection: int, sent: Sent) -> None:
        if sent.opening:
            self.open_ones[connection] = sent
        elif (ended := self.open_ones.get(connection)) is not None and self.is_recording:
            self.ended.append(ended)

    def _keep(self, connection: int, logged: Any) -> None:
        """Called a little later than `open`: the last statement comes behind the end."""
        if self.is_recording and logged.exception is None and connection in self.open_ones:
            self.open_ones[connection].statements.append((logged.query, tuple(logged.args or ())))

    def start(self) -> None:
        """Forget what was kept and begin."""
        self.ended, self.open_ones, self.is_recording = [], {}, True

    def stop(self) -> None:
        """Keep nothing more."""
        self.is_recording = False

    @property
    def transactions(self) -> list[Sent]:
        """What one connection can send again: what was not undone, as it ended."""
        return [sent for sent in self.ended if sent.statements and sent.statements[-1][0] != "rollback"]

    def trips_of(self, user_id: UUID) -> int:
        """How often the transactions of one person waited for the server."""
        whose = str(user_id).encode()
        return sum(len(sent.statements) for sent in self.ended if whose in sent.opening)


def record_connections(recorder: Recorder) -> None:
    """Make every connection of the pools that the service opens from now on tell `recorder`."""
    prepare = vars(database)["_prepare"]

    async def watched(connection: Connection) -> None:
        await prepare(connection)
        recorder.watch(connection)

    vars(database)["_prepare"] = watched


async def replay(connection: Connection, transactions: Sequence[Sent], ids: set[UUID]) -> float:
    """Send the transactions again, on a connection that can `open` and with fresh ids; seconds taken."""
    fresh = {known: uuid4() for known in ids}
    renewed = [
        (sent, [(query, tuple(_renewed(argument, fresh) for argument in given)) for query, given in sent.statements])
        for sent in transactions
    ]
    clock = time.perf_counter()
    for sent, statements in renewed:
        connection.open(sent.opening, is_each=sent.is_each)
        for query, arguments in statements:
            await connection.fetch(query, *arguments)
        connection.open(b"")
    return time.perf_counter() - clock


def _renewed(argument: Any, fresh: Mapping[UUID, UUID]) -> Any:
    if isinstance(argument, UUID):
        return fresh.get(argument, argument)
    if isinstance(argument, str):
        for known, new in fresh.items():
            argument = argument.replace(str(known), str(new))
        return argument
    if isinstance(argument, list | tuple):
        return type(argument)(_renewed(item, fresh) for item in argument)
    return argument
