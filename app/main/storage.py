"""The database of an installation and who is known in it: all that a command needs which asks no model anything."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace

import structlog

from app.api.auth import Authenticator, Claims, KeySource, unauthenticated
from app.domain.principal import GENERAL, SCOPES, Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.identity.keys import ApiKeys
from app.ingestion.seed import read_demo
from app.settings import Settings
from app.storage import migrate, tenants
from app.storage.database import Database, OperatorTransaction
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.tenants import User

_READY_SECONDS = 2
"""How long the answer of `/ready` is kept: it opens a connection, and anybody may ask."""
_WATCH_SECONDS, _MOST_WATCH_SECONDS = 1.0, 30.0
"""Between two looks at the embedded server's process."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Addresses:
    """Where the database is, by role."""

    app: str
    owner: str
    """Migrates; empty = somebody else does."""
    operator: str
    """Makes tenants and users; empty = not possible from here."""


@dataclass(frozen=True)
class Storage:
    """An open database with the tenants and users in it; closed with the stack it was opened on."""

    settings: Settings
    addresses: Addresses
    database: Database
    stack: AsyncExitStack

    @classmethod
    async def open(cls, settings: Settings, stack: AsyncExitStack) -> "Storage":
        """Start or join the database, and migrate it where its owner's address is known.

        Raises `AppError` when it is away, or its role would not be bound by row security.
        """
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        if settings.is_embedded:
            server = await asyncio.to_thread(start_embedded, settings.data_dir)
            stack.push_async_callback(asyncio.to_thread, server.stop)
            stack.callback(asyncio.create_task(_keep_up(server)).cancel)
            addresses = Addresses(server.app_url, server.owner_url, server.maintenance_url)
        else:
            owner = settings.database_owner_url.get_secret_value()
            operator = settings.database_operator_url.get_secret_value() or owner
            addresses = Addresses(settings.database_url.get_secret_value(), owner, operator)
        if addresses.owner and not await migrate.is_current(addresses.owner):
            await asyncio.to_thread(migrate.upgrade, addresses.owner)
        database = await Database.connect(addresses.app, pool_size=settings.database_pool_size)
        stack.push_async_callback(database.dispose)
        await database.check_row_security()
        return cls(settings, addresses, database, stack)

    async def open_operator(self) -> Database:
        """A small pool of the operator's role, closed with the rest. Raises `AppError` when its address is not
        known."""
        if not self.addresses.operator:
            detail = "Set CONCLAVE_DATABASE_OPERATOR_URL to change tenants and users of an external database."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        operator = await Database.connect(self.addresses.operator, pool_size=2)
        self.stack.push_async_callback(operator.dispose)
        return operator

    def authenticator(self, keys: KeySource) -> Authenticator:
        """Checks tokens by these keys, the settings, and what `users` says; and keys of programs."""
        own = self.settings
        api_keys = ApiKeys(self.database, own.auth_key_max_days)
        longest = own.auth_token_max_seconds
        return Authenticator(keys, own.auth_issuer, own.auth_audience, self.rights_today, longest, api_keys=api_keys)

    async def rights_today(self, principal: Principal) -> Principal | None:
        """What `users` gives the caller now; None = whatever the token says.

        Raises `AppError`: 401 for an unknown tenant, 403 for a person who is unknown or shut out, 503 when the database
        is away.
        """
        whose = principal.tenant_id, principal.user_id
        async with self.database.statements_scope(Principal.without_rights(*whose), durable=False) as tx:
            if not await tenants.tenants(tx):
                raise unauthenticated()
            found = await tenants.user(tx, *whose)
        if found is None and not self.settings.auth_provider_makes_users:
            raise _refused("This account is not known here: an administrator has to add it.")
        return None if found is None else _let_in(found).principal()

    async def claims_of(self, user: str) -> Claims:
        """What the database says about ``tenant/user``, for the operator's own tokens and questions.

        Raises `AppError`: NOT_FOUND when there is no such user, PERMISSION_DENIED for one who is shut out.
        """
        tenant, _, name = user.partition("/")
        tenant_id = tenant_id_of(tenant)
        nobody = Principal.without_rights(tenant_id, user_id_of(tenant_id, name))
        async with self.database.statements_scope(nobody, durable=False) as tx:
            found = await tenants.user(tx, tenant_id, nobody.user_id)
        if found is None:
            raise AppError(ErrorCode.NOT_FOUND, f"There is no user {user[:100]!r}; write tenant/user.", status=404)
        found = _let_in(found)
        return Claims(
            sub=found.name, tenant_id=tenant, name=found.display_name or found.name, department=found.department,
            departments=tuple(sorted(found.departments)), permissions=tuple(sorted(found.scopes)),
            roles=tuple(sorted(found.roles)),
        )  # fmt: skip

    async def operator_of(self, tenant: str, departments: frozenset[str] = frozenset()) -> Claims:
        """Whoever sits at the machine, as an administrator of `tenant` who belongs to these departments.

        Raises `AppError` NOT_FOUND when there is no such tenant.
        """
        claims = operator_claims(tenant, departments)
        async with self.database.statements_scope(claims.principal(), durable=False) as tx:
            is_known = bool(await tenants.tenants(tx))
        if not is_known:
            raise AppError(ErrorCode.NOT_FOUND, f"There is no tenant {tenant[:100]!r}.", status=404)
        return claims

    async def user_named(self, named: str) -> str:
        """`named`, else the default user: of the settings, of the demo, or the only one there is. Raises `AppError`
        (usage) when that is nobody."""
        if default := named or self.settings.default_user or await self._demo_asker():
            return default
        if len(everybody := [f"{tenant}/{user}" for tenant, users in await self._people() for user in users]) == 1:
            return everybody[0]
        detail = "Say who asks: --as TENANT/USER, or CONCLAVE_DEFAULT_USER. `conclave user list TENANT` lists them."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)

    async def tenant_named(self, named: str) -> str:
        """`named`, else the default tenant, the default user's, or the only one there is. Raises `AppError` (usage)
        where there is none."""
        user = self.settings.default_user or await self._demo_asker()
        if default := named or self.settings.default_tenant or user.partition("/")[0]:
            return default
        if len(known := await self._people()) == 1:
            return known[0][0]
        detail = "Say which company: --tenant NAME, or CONCLAVE_DEFAULT_TENANT. `conclave tenant list` shows them."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)

    async def _people(self) -> list[tuple[str, list[str]]]:
        """The names of every tenant and its users, as far as this machine may list them."""
        if not self.addresses.operator:
            return []
        async with (await self.open_operator()).operator_scope() as tx:
            return [
                (tenant.name, [user.name for user in await tenants.users(tx, tenant.tenant_id)])
                for tenant in await tenants.tenants(tx)
            ]

    @asynccontextmanager
    async def as_operator(self) -> AsyncIterator[OperatorTransaction]:
        """A transaction of the operator's role, on connections that are closed behind it. Raises `AppError` when its
        address is not known (403), or the database is away (503)."""
        async with AsyncExitStack() as stack, (await replace(self, stack=stack).open_operator()).operator_scope() as tx:
            yield tx

    def demo_companies(self) -> frozenset[str]:
        """The names of the seed folder's tenants. Reads it."""
        folder = self.settings.seed_dir
        return frozenset({*read_demo(folder).companies, *(path.name for path in folder.glob("*/"))})

    async def own_companies(self) -> list[str]:
        """The tenants beside those of the seed folder. Raises `AppError` as `as_operator`."""
        of_demo = self.demo_companies()
        async with self.as_operator() as tx:
            return [tenant.name for tenant in await tenants.tenants(tx) if tenant.name not in of_demo]

    async def home(self) -> str:
        """The tenant of who names none at the sign-in: the default one, or the only own one; else empty."""
        own = [] if self.settings.default_tenant else await self.own_companies()
        return self.settings.default_tenant or (own[0] if len(own) == 1 else "")

    async def _demo_asker(self) -> str:
        """``tenant/user`` of the demo companies, where anybody may be one of their people; else empty."""
        if not self.settings.dev_login:
            return ""
        return (await asyncio.to_thread(read_demo, self.settings.seed_dir)).default_asker


def _let_in(found: User) -> User:
    if found.disabled_at is not None:
        raise _refused("This account is disabled.")
    return found


def _refused(detail: str) -> AppError:
    return AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)


async def _keep_up(server: EmbeddedServer) -> None:
    """Have the server started again whenever its process is gone, and look less often while it cannot be."""
    pause = _WATCH_SECONDS
    while True:
        await asyncio.sleep(pause)
        try:
            if await asyncio.to_thread(server.revive):
                _log.warning("database_started_again")
            pause = _WATCH_SECONDS
        except (AppError, OSError) as error:
            pause = min(2 * pause, _MOST_WATCH_SECONDS)
            _log.error("database_not_started", error_class=type(error).__name__, delay_seconds=pause)


def operator_claims(tenant: str, departments: frozenset[str] = frozenset()) -> Claims:
    """Whoever sits at the machine as an administrator, without asking whether there is such a tenant."""
    return Claims(
        sub="operator", tenant_id=tenant, name="operator", department=GENERAL,
        departments=tuple(sorted(departments | {GENERAL})), permissions=tuple(SCOPES), roles=("admin",),
    )  # fmt: skip


def _has_room(settings: Settings) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(settings.data_dir).free >= settings.min_free_bytes
    return False


class Readiness:
    """The checks behind `/ready`."""

    def __init__(
        self, storage: Storage, is_model_loaded: Callable[[], bool], is_worker_well: Callable[[], bool | None]
    ):
        """`is_worker_well`: None = this process has no worker, so that is not asked."""
        self._is_worker_well = is_worker_well
        self._storage, self._is_model_loaded = storage, is_model_loaded
        self._found: Mapping[str, bool] = {}
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()

    async def __call__(self) -> Mapping[str, bool]:
        """Named checks; asked at most every two seconds, however many ask."""
        async with self._asking:
            if time.monotonic() - self._asked_at > _READY_SECONDS:
                self._found, self._asked_at = await self._ask(), time.monotonic()
            return self._found

    async def _ask(self) -> Mapping[str, bool]:
        try:
            migrated = await migrate.is_current(self._storage.addresses.app)
            await self._storage.database.check_row_security()
            bound = reachable = True
        except Exception as error:  # whatever goes wrong here, the service is not ready
            _log.warning("not_ready", error_class=type(error).__name__)
            migrated = bound = reachable = False
        loaded = self._is_model_loaded()
        worker = self._is_worker_well()
        return {
            "database": reachable, "migrations": migrated, "row_security": bound, "embedder": loaded,
            "disk_space": await asyncio.to_thread(_has_room, self._storage.settings),
            **({} if worker is None else {"worker": worker}),
        }  # fmt: skip
