"""The first administrator of a company: whoever has the link that the server printed at its start.

It counts by itself, behind a proxy too: 384 random bits that go nowhere but into the body of a request, once, for an
hour, and only as long as no administrator of an own company has an account.
"""

from hmac import compare_digest
from pathlib import Path

from app.client.local import FIRST_FILE, FIRST_SECONDS, kept_key
from app.domain.principal import GENERAL, SCOPES, Principal
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.identity.accounts import Accounts
from app.identity.passwords import check_password
from app.storage import tenants

_ONE_AT_A_TIME = "select pg_advisory_xact_lock(hashtextextended('first administrator', 0))"


class Founder(Record):
    """Who the first administrator is to be."""

    company: str
    """One there is already, but for the demo's, or a new one where there is none."""
    user: str
    name: str
    language: str
    password: str


class First:
    """The link for the first administrator."""

    def __init__(self, accounts: Accounts, data_dir: Path):
        """`data_dir`: where the server left what the link carries."""
        self._accounts, self._file = accounts, data_dir / FIRST_FILE

    def fits(self, link: str) -> bool:
        """Whether this is what the printed link carries, and it is not too old. Reads a small file."""
        kept = kept_key(self._file, FIRST_SECONDS)
        return bool(kept) and compare_digest(link.encode(), kept.encode())

    async def companies(self) -> list[str]:
        """The companies that wait for an administrator; none = a new one is made."""
        await self._check_open()
        return await self._accounts.house.own_companies()

    async def enter(self, wanted: Founder) -> tuple[Principal, str]:
        """Make the company, where there is none, and its administrator; gives that person and the cookie of a sign-in.
        The link counts no more. Raises `AppError`: 404 when somebody else was first, 422 for a name or password that
        will not do."""
        check_password(wanted.password, (wanted.company, wanted.user, wanted.name))
        house = self._accounts.house
        async with house.as_operator() as tx:
            await tx.driver.execute(_ONE_AT_A_TIME)
            await self._check_open()
            own = await house.own_companies()
            known = {one.name: one for one in await tenants.tenants(tx)}
            if (own and wanted.company not in own) or (not own and wanted.company in known):
                told = f"is one of {', '.join(own)}" if own else "must not be a company of the demo"
                raise AppError(ErrorCode.PAYLOAD_INVALID, f"company: {told}.", status=422)
            tenant = known.get(wanted.company) or await tenants.add_tenant(tx, wanted.company, language=wanted.language)
            made = await tenants.add_user(
                tx, tenant.tenant_id, wanted.user, display_name=wanted.name, department=GENERAL,
                scopes=frozenset(SCOPES), roles=frozenset({"admin"}),
            )  # fmt: skip
            self._use_up()
        link, _ = await self._accounts.invite(made.principal(), made.user_id)
        return await self._accounts.redeem(link, wanted.password)

    async def _check_open(self) -> None:
        if not await self._accounts.is_unruled():
            self._file.unlink(missing_ok=True)
            raise _gone()

    def _use_up(self) -> None:
        """Of several that came this far at once, in whatever processes, one goes on."""
        try:
            self._file.unlink()
        except FileNotFoundError:
            raise _gone() from None


def _gone() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is an administrator already: sign in, or ask for a link.", status=404)
