"""Recording a run's statements and replaying them on a bare asyncpg connection: the floor of the same work.

Every statement the service sends on its own connections is kept with its arguments. A replay sends the same
transactions, each as a whole and with the settings of its principal, in the order in which they ended, with the run's
ids replaced by fresh ones, so that inserts insert and updates update.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from app.storage import database

Connection = "asyncpg.Connection[asyncpg.Record]"
Statement = tuple[str, tuple[Any, ...]]


@dataclass
class Recorder:
    """Keeps what is sent while it is recording."""

    is_recording: bool = False
    sent: list[tuple[int, Statement]] = field(default_factory=list)
    """By connection, in the order of their answers."""

    def watch(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Listen to one connection for good."""
        connection.add_query_logger(partial(self._keep, id(connection)))

    def _keep(self, connection: int, logged: Any) -> None:
        if self.is_recording and logged.exception is None:
            self.sent.append((connection, (logged.query, tuple(logged.args or ()))))

    def start(self) -> None:
        """Forget what was kept and begin."""
        self.sent, self.is_recording = [], True

    def stop(self) -> None:
        """Keep nothing more."""
        self.is_recording = False

    @property
    def statements(self) -> list[Statement]:
        """What one connection can send again: transactions that were committed, as they ended; the others alone."""
        return [statement for ended in self._ended() if ended[-1][0] != "rollback" for statement in ended]

    def trips_of(self, user_id: UUID) -> int:
        """How often the transactions of one person waited for the server."""
        whose = str(user_id).encode().hex()
        return sum(len(ended) for ended in self._ended() if whose in ended[0][0])

    def _ended(self) -> Iterator[list[Statement]]:
        open_ones: dict[int, list[Statement]] = defaultdict(list)
        for connection, statement in self.sent:
            open_ones[connection].append(statement)
            if statement[0] in ("commit", "rollback") or not open_ones[connection][0][0].startswith("begin"):
                yield open_ones.pop(connection)


def record_connections(recorder: Recorder) -> None:
    """Make every connection of the pools that the service opens from now on tell `recorder`."""
    prepare = vars(database)["_prepare"]

    async def watched(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        await prepare(connection)
        recorder.watch(connection)

    vars(database)["_prepare"] = watched


async def replay(
    connection: "asyncpg.Connection[asyncpg.Record]", statements: Sequence[Statement], ids: set[UUID]
) -> float:
    """Send the statements again, one after the other, with fresh ids; seconds taken."""
    fresh = {known: uuid4() for known in ids}
    renewed = [(query, tuple(_renewed(argument, fresh) for argument in arguments)) for query, arguments in statements]
    clock = time.perf_counter()
    for query, arguments in renewed:
        if arguments:
            await connection.fetch(query, *arguments)
        else:
            await connection.execute(query)
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
