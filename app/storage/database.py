"""The door to PostgreSQL: a pool, and one transaction at a time that is bound to one principal.

Row policies read who asks from settings that live exactly as long as the transaction. Nothing else sets them, so a
connection between two transactions belongs to nobody and sees no row.

Values for jsonb go in through `dump`: it refuses NUL, lone surrogates and NaN, which Python writes without a word.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import asyncpg
from pgvector.asyncpg import register_vector

from app.domain.principal import Principal, Scope
from app.errors import AppError, ErrorCode
from app.storage.connection import Connection, opening_of

_CONNECT_SECONDS = 10
_POOL_WAIT_SECONDS = 15
_FAREWELL_SECONDS = 1
_SETTINGS = {"application_name": "conclave"}
_WALK = "set hnsw.ef_search = 200; set hnsw.iterative_scan = 'relaxed_order'; set hnsw.max_scan_tuples = 6000"
"""More neighbours than that find no more (docs/decisions/0013); beyond so many rows reading all of them is cheaper."""
_ROLE_PROBLEM = """
with may_be as (select * from pg_roles where pg_has_role(session_user, oid, 'MEMBER'))
select case
    when exists (select from may_be where rolsuper) then 'is a superuser or may become one'
    when exists (select from may_be where rolbypassrls) then 'may bypass row-level security'
    when exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = current_schema() and c.relkind in ('r', 'p')
                   and c.relowner in (select oid from may_be)) then 'owns tables'
    when exists (select from may_be where rolname = 'conclave_maintenance') then 'may act as conclave_maintenance'
    when to_regclass('tasks') is null then 'finds no tables; the migrations have not run'
    when exists (select from pg_attribute a join pg_class c on c.oid = a.attrelid
                 join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = current_schema() and c.relkind in ('r', 'p') and a.attname = 'tenant_id'
                   and not a.attisdropped and not (c.relrowsecurity and c.relforcerowsecurity))
        then 'finds tables without forced row-level security'
end
"""
"""Asks for every role the session may become, not only for those whose rights it has now: members may be granted what
they do not inherit, and a session may drop the role it began as."""
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""An escaped NUL; an even number of backslashes before it are characters of their own."""
_LOSSES = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What a connection raises when it breaks, or cannot be made."""
_PASSING = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby that has not taken over yet
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.PostgresSystemError,  # the server's own disk fails
)
"""What a server says that may do the same transaction a little later. Nothing was changed; whoever knows that the whole
of it may be repeated does so."""


@dataclass(frozen=True)
class OperatorTransaction:
    """A transaction of the maintenance role, bound to no principal: makes tenants and users, reads no documents."""

    driver: "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True)
class Transaction:
    """One transaction of one principal; every row it reads or writes is checked against that principal.

    On the driver, jsonb is written as JSON text and read as values; a vector is a numpy array or `pgvector.Vector`
    going in (inside a list only the latter: asyncpg takes a list of arrays for a matrix) and a `pgvector.Vector` coming
    out. COPY FROM does not work on tables with row policies: insert from ``unnest``.
    """

    driver: "asyncpg.Connection[asyncpg.Record]"
    principal: Principal

    @property
    def tenant_id(self) -> UUID:
        """Whose company this is."""
        return self.principal.tenant_id

    @property
    def whose(self) -> tuple[UUID, UUID]:
        """Tenant and user: the first two parameters of a statement over a person's own rows."""
        return self.principal.tenant_id, self.principal.user_id

    @property
    def rights(self) -> tuple[list[Scope], list[str]]:
        """The caller's scopes and departments, sorted."""
        return sorted(self.principal.scopes), sorted(self.principal.departments)

    @property
    def reader(self) -> tuple[UUID, list[Scope], list[str]]:
        """Tenant, scopes and departments: the first three parameters of a statement that names the permission rule."""
        return self.principal.tenant_id, *self.rights


class Database:
    """A pool of connections of one role."""

    def __init__(self, url: str, pool: "asyncpg.Pool[asyncpg.Record]"):
        self._url = url
        self._pool = pool
        self._closing: asyncio.Future[None] | None = None
        self._acquires, self._wait_seconds = 0, 0.0

    @classmethod
    async def connect(cls, url: str, *, pool_size: int = 10) -> "Database":
        """Open a pool for a ``postgresql://`` URL; does I/O. Raises `AppError` (503) when nobody answers."""
        try:
            pool = await asyncpg.create_pool(
                url, min_size=1, max_size=pool_size, timeout=_CONNECT_SECONDS, server_settings=_SETTINGS,
                max_inactive_connection_lifetime=0, init=_prepare, reset=_keep_as_it_is, connection_class=Connection,
            )  # fmt: skip
        except _LOSSES as error:
            raise _away(error) from error
        return cls(url, pool)

    @asynccontextmanager
    async def principal_scope(self, principal: Principal, *, durable: bool = True) -> AsyncIterator[Transaction]:
        """One transaction as `principal`: committed at the end, rolled back on any exception or cancellation.

        With ``durable=False`` the commit does not wait for the disk: a crash of PostgreSQL may lose it (never half of
        it), a crash of this process does not. Call no model and yield to no caller inside. Raises `AppError` (503)
        when the database is away, the pool stays empty, or the server cannot do it now (`_PASSING`); when the
        connection broke while the commit was on its way, nobody knows whether it was done.
        """
        async with self._begun(opening_of(principal, durable)) as driver:
            yield Transaction(driver, principal)

    @asynccontextmanager
    async def statements_scope(self, principal: Principal, *, durable: bool = True) -> AsyncIterator[Transaction]:
        """Statements as `principal`, each a transaction by itself in one message to the server: what one has done stays
        done, and no lock outlives it. Else see `principal_scope`."""
        async with self._begun(opening_of(principal, durable, True), is_each=True) as driver:
            yield Transaction(driver, principal)

    @asynccontextmanager
    async def operator_scope(self) -> AsyncIterator[OperatorTransaction]:
        """One transaction as nobody. Only the maintenance role can see or change anything in it."""
        async with self._begun(opening_of(None)) as driver:
            yield OperatorTransaction(driver)

    async def check_row_security(self) -> None:
        """Raise `AppError` (503) when this pool's role would not be bound by the row policies."""
        async with self._begun(opening_of(None)) as driver:
            problem = await driver.fetchval(_ROLE_PROBLEM)
            role = await driver.fetchval("select session_user")
        if problem is not None:
            detail = f"The database role {role} {problem}: row-level security would not hold. Use the app role."
            raise AppError(ErrorCode.DATABASE_UNSAFE, detail, status=503)

    @property
    def pool_use(self) -> tuple[int, int, int, float]:
        """Connections open and idle now; how often one was taken, and the seconds that took in all."""
        return self._pool.get_size(), self._pool.get_idle_size(), self._acquires, self._wait_seconds

    async def open_driver_pool(self, size: int) -> "asyncpg.Pool[asyncpg.Record]":
        """A pool of bare asyncpg connections of the same role, for the job queue; close it before `dispose`."""
        try:
            return await asyncpg.create_pool(
                self._url, min_size=1, max_size=size, timeout=_CONNECT_SECONDS, reset=_keep_as_it_is
            )
        except (OSError, asyncpg.PostgresError) as error:
            raise _away(error) from error

    async def dispose(self) -> None:
        """Close the pool's connections; one that is lent out is closed when it comes back."""
        self._closing = asyncio.ensure_future(self._pool.close())
        done, _ = await asyncio.wait([self._closing], timeout=_FAREWELL_SECONDS)
        for closing in done:
            closing.exception()  # of a server that is gone: then they are closed all the same

    @asynccontextmanager
    async def _begun(self, opening: bytes, *, is_each: bool = False) -> AsyncIterator[Connection]:
        started = time.perf_counter()
        try:
            driver: Any = await self._pool.acquire(timeout=_POOL_WAIT_SECONDS)
        except _LOSSES as error:
            raise _away(error) from error
        finally:
            self._acquires, self._wait_seconds = self._acquires + 1, self._wait_seconds + time.perf_counter() - started
        try:
            driver.open(opening, is_each=is_each)
            yield driver
            # An aborted transaction answers COMMIT with ROLLBACK instead of an error.
            if not is_each and await driver.execute("commit") != "COMMIT":
                raise RuntimeError("a failed statement was ignored; the transaction was rolled back")
            driver.open(b"")
        except BaseException as error:
            await _abandon(driver)
            if isinstance(error, _PASSING) or (_is_lost(driver) and isinstance(error, _LOSSES)):
                raise _away(error) from error
            raise
        finally:
            await self._pool.release(driver)


async def open_driver(url: str) -> Connection:
    """One bare asyncpg connection that understands vectors (once the extension is there)."""
    driver = await asyncpg.connect(
        url, timeout=_CONNECT_SECONDS, server_settings=_SETTINGS, connection_class=Connection
    )
    try:
        await _understand_vectors(driver)
    except BaseException:  # the server went away between the two, or the caller did
        driver.terminate()
        raise
    return driver


async def _understand_vectors(driver: "asyncpg.Connection[asyncpg.Record]") -> None:
    with suppress(ValueError):  # before the first migration
        await register_vector(driver)


async def _prepare(driver: "asyncpg.Connection[asyncpg.Record]") -> None:
    await _understand_vectors(driver)
    await driver.execute(f"{_WALK}; set jit = off")
    await cast(Connection, driver).prepare_openings()
    await driver.set_type_codec("jsonb", schema="pg_catalog", encoder=lambda text: text, decoder=json.loads)


async def _keep_as_it_is(_: object) -> None:
    """What the pool does between two transactions: nothing, as what one sets ends with it."""


def _is_lost(driver: "asyncpg.Connection[asyncpg.Record]") -> bool:
    try:
        return driver.is_closed()
    except asyncpg.InterfaceError:  # the pool has taken it back
        return True


async def _abandon(driver: Connection) -> None:
    """Roll back, or close the connection when even that is not possible: it must never go back with its settings."""
    if _is_lost(driver):
        return
    try:
        driver.open(b"")
        await driver.execute("rollback")
    except Exception:
        driver.terminate()
    except BaseException:
        driver.terminate()
        raise


def _away(error: BaseException) -> AppError:
    detail = f"The database cannot be reached ({type(error).__name__}). Try again shortly."
    return AppError(ErrorCode.DATABASE_UNAVAILABLE, detail, status=503, retry_after_seconds=2)


def dump(value: object) -> str:
    """`value` as JSON text for a jsonb column; what is no JSON becomes its text, NaN and infinities become null."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if "NaN" in text or "Infinity" in text:
        text = json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)
    return storable(text)


def storable(text: str) -> str:
    """JSON text without what jsonb refuses: NUL is dropped, a lone surrogate becomes a question mark."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return _NUL.sub(r"\1", text) if "\\u0000" in text else text
