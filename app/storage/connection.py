"""A connection on which what begins a transaction travels with its first statement, in one message to the server.

The server answers both at once, and asyncpg takes the answers for those of the statement: the opening returns no rows.
"""

from collections.abc import Collection
from functools import lru_cache
from struct import pack
from typing import TYPE_CHECKING, Any, cast

import asyncpg

from app.domain.principal import Principal

if TYPE_CHECKING:
    _Base = asyncpg.Connection[asyncpg.Record]
else:
    _Base = asyncpg.Connection

_WHOSE = """
select where set_config('app.tenant_id', $1, true) || set_config('app.user_id', $2, true)
    || set_config('app.scopes', $3::text[]::text, true) || set_config('app.departments', $4::text[]::text, true)
    || set_config('app.roles', $5::text[]::text, true) || set_config('synchronous_commit', $6, true)
    || set_config('plan_cache_mode', 'force_custom_plan', true) is null
"""
_PREPARED = {"conclave_begin": "begin", "conclave_whose": _WHOSE}
"""By the names they have on every connection."""
_TEXT = 25
"""The server's number of the type."""


class Connection(_Base):
    """Knows what goes before its next statement; it never waits for that alone."""

    _opening = b""
    _is_each = False
    _prepared: tuple[object, ...] = ()

    async def prepare_openings(self) -> None:
        """Make this connection able to `open`; does I/O."""
        self._prepared = tuple([await self.prepare(text, name=name) for name, text in _PREPARED.items()])

    def open(self, opening: bytes, *, is_each: bool = False) -> None:
        """Send `opening` before the next statement, or before each of them; empty = nothing any more."""
        self._opening, self._is_each = opening, is_each

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        """See asyncpg; text without values, which may be several statements, cannot carry what is to begin."""
        if not args and self._opening:
            await self.fetch("select")
        if not args and self._is_each:
            raise asyncpg.InterfaceError("text without values would be nobody's here")
        return await super().execute(query, *args, timeout=timeout)

    async def _do_execute(
        self, query: str, executor: Any, timeout: float | None, retry: bool = True, **how: Any
    ) -> Any:
        """Every statement with values goes through here."""
        driver, opening = cast(Any, self), self._opening
        if not opening:
            return await cast(Any, super())._do_execute(query, executor, timeout, retry, **how)
        self._opening = b""  # what asyncpg asks to know the statement is nothing of the transaction
        try:
            statement = await driver._get_statement(query, timeout, **how)
            driver._transport.write(opening)
            opening = opening if self._is_each else b""
            return await executor(statement, timeout), statement
        except asyncpg.InvalidCachedStatementError:
            await self.reload_schema_state()
            raise
        except (asyncpg.InterfaceError, asyncpg.DataError):  # a value that could not be sent: nor may what went before
            if self._is_each and not self.is_closed():
                await super().execute("rollback")
            raise
        finally:
            self._opening = opening


@lru_cache(maxsize=4_096)
def opening_of(principal: Principal | None, durable: bool = True, is_each: bool = False) -> bytes:
    """Write what begins a transaction of somebody, or of nobody; where `is_each`, what goes before a statement that is
    one by itself. Values travel apart from the statement, as they are."""
    begin = b"" if is_each else _run("conclave_begin", [], [])
    if principal is None:
        return begin
    texts = str(principal.tenant_id).encode(), str(principal.user_id).encode()
    lists = map(_array, (principal.scopes, principal.departments, principal.roles))
    return begin + _run("conclave_whose", [*texts, *lists, b"on" if durable else b"off"], [0, 0, 1, 1, 1, 0])


def _run(name: str, values: list[bytes], formats: list[int]) -> bytes:
    """The messages Bind and Execute for a prepared statement; what is behind them goes on in the same transaction."""
    body = b"\0" + name.encode() + b"\0" + pack(f"!{len(formats) + 1}h", len(formats), *formats)
    body += pack("!h", len(values)) + b"".join(pack("!i", len(value)) + value for value in values) + pack("!h", 0)
    return b"B" + pack("!i", len(body) + 4) + body + b"E" + pack("!i", 9) + b"\0" + pack("!i", 0)


def _array(texts: Collection[str]) -> bytes:
    items = b"".join(pack("!i", len(item)) + item for item in map(str.encode, sorted(texts)))
    shape = pack("!5i", 1, 0, _TEXT, len(texts), 1) if texts else pack("!3i", 0, 0, _TEXT)
    return shape + items
