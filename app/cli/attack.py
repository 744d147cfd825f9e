"""`conclave doctor --attack`: known attacks, replayed against the installation of this machine.

Some hundred requests that only read, and a look at files and settings. Refused sign-ins are written to the audit.
"""

import asyncio
import hmac
import json
import re
import time
from base64 import urlsafe_b64encode
from contextlib import AsyncExitStack, suppress
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit
from uuid import uuid4

import typer
from aiohttp import ClientError, ClientSession, ClientTimeout
from rich.console import Console

from app.cli.output import FAILED, OK, print_json, print_table, text
from app.client.local import ADDRESS_FILE, DEMO_KEY_FILE, DEMO_KEY_HEADER, demo_key, local_server
from app.confinement.kernel import can_confine
from app.errors import AppError, ErrorCode
from app.main import heads
from app.main.identity import shared_secret
from app.main.storage import Storage
from app.settings import Settings
from app.storage import tenants

_HOSTILE = ("-1", "1" + "0" * 40, "NaN", "\0", "'; select 1 --", "x" * 5_000)
_ABROAD = (
    {"X-Forwarded-For": "203.0.113.9"}, {"Forwarded": "for=203.0.113.9"}, {"Via": "1.1 proxy"},
    {"Host": "conclave.example"}, {"Origin": "https://elsewhere.example"},
)  # fmt: skip
_KEPT = ("jwt-secret", DEMO_KEY_FILE, ADDRESS_FILE, "server.sock", "spool/*")
_FOREIGN = """
select (select document_id from documents where tenant_id = $1 limit 1) as document_id,
    (select task_id from tasks where tenant_id = $1 limit 1) as task_id,
    (select session_id from tasks where tenant_id = $1 and kind = 'chat' limit 1) as session_id
"""


class Tried(NamedTuple):
    """What came of an attack; `ok` None = it could not be tried."""

    attack: str
    expected: str
    seen: str
    ok: bool | None


async def attack(settings: Settings, server: str, is_own: bool, as_json: bool) -> int:
    """Replay the attacks and print a table; the exit code, 1 when one succeeds. `server`: empty = the one running on
    the data directory; one on another machine only where somebody says that it is theirs (`is_own`)."""
    local = None if server else local_server(settings.data_dir)
    url = (server or (local.address if local else "")).rstrip("/")
    if not url:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "No server runs here: start it, or name --server.", status=422)
    if server and not is_own and not re.fullmatch(r"localhost|127(\.\d{1,3}){3}|::1", urlsplit(url).hostname or ""):
        raise typer.BadParameter("it is on another machine: say --i-own-this if it is yours", param_hint="--server")
    out, found = Console(), await replayed(settings, url)
    words = {True: text("ok", "green"), False: text("SUCCEEDED", "red"), None: text("not tried", "yellow")}
    if as_json:
        print_json(out, {"attacks": [one._asdict() for one in found]})
    else:
        print_table(out, ("attack", "expected", "seen", ""), [(*one[:3], words[one.ok]) for one in found])
    return FAILED if any(one.ok is False for one in found) else OK


async def replayed(settings: Settings, url: str) -> list[Tried]:
    """Try every attack on a server of this installation. Raises `AppError` (503) when nobody answers there."""
    try:
        async with ClientSession(timeout=ClientTimeout(total=30)) as http:
            one = _Attacker(settings, url, http)
            found = [*_of_this_machine(settings), await one.reach_around()]
            _, body, _ = await one.ask("/openapi.json")
            routes = {path: methods["get"] for path, methods in json.loads(body)["paths"].items() if "get" in methods}
            found += [await one.forge(), await one.come_from_elsewhere(), await one.tell_ids(routes)]
            found += [await one.break_it(routes), await one.name_another(), await one.run_scripts()]
            return [*found, *await asyncio.gather(*(_head(url, *case) for case in _HEADS))]
    except ClientError as error:
        raise AppError(ErrorCode.DATABASE_UNAVAILABLE, f"{url} does not answer.", status=503) from error


def _of_this_machine(settings: Settings) -> list[Tried]:
    files = [one for pattern in _KEPT for one in settings.data_dir.glob(pattern)]
    bad = ", ".join(one.name for one in files if one.lstat().st_mode & 0o077)
    secret = "" if settings.auth_jwks_url else settings.auth_jwt_secret.get_secret_value()
    is_weak = 0 < len({*secret}) < 12 or (bool(secret) and (secret + secret).find(secret, 1) < len(secret))
    state = "confined" if can_confine() else "read all the same" if settings.allow_unconfined else "nothing is read"
    return [
        Tried("read secrets in the data directory", "closed to others", bad or f"{len(files)} closed", not bad),
        Tried("guess the signing secret", "random", "weak" if is_weak else "strong", not is_weak),
        Tried("break out of what reads files", "confined", state, state != "read all the same"),
    ]  # fmt: skip


class _Attacker:
    """Asks a server as one of its people, as far as their token can be signed here."""

    def __init__(self, settings: Settings, url: str, http: ClientSession):
        self._settings, self._url, self._http, self._secret = settings, url, http, ""
        self._claims, self._foreign, self._person = dict[str, Any](), dict[str, str](), dict[str, str]()

    async def ask(self, path: str, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, str, Any]:
        """Status, body and headers of an answer; to a POST where there is a `body`."""
        how = {"method": "POST", "json": body} if body else {"method": "GET"}
        async with self._http.request(
            url=self._url + path, headers=self._person if headers is None else headers, **how
        ) as answer:
            return answer.status, await answer.text(errors="replace"), answer.headers

    def _tried(self, attack: str, expected: str, bad: list[str], good: str) -> Tried:
        return Tried(attack, expected, ", ".join(bad[:5]) or good, not bad if self._person else None)

    async def reach_around(self) -> Tried:
        """Look at the database's role, and take a person and foreign ids from there."""
        name, expected = "reach around row security", "a role bound by it"
        async with AsyncExitStack() as stack:
            try:
                storage = await Storage.open(self._settings, stack)
            except AppError as error:
                return Tried(name, expected, error.detail, None if error.code != ErrorCode.DATABASE_UNSAFE else False)
            with suppress(AppError, ValueError):  # what is not found here cannot be tried, and is told so
                await self._take_people(storage)
            return Tried(name, expected, "bound", True)

    async def _take_people(self, storage: Storage) -> None:
        async with (await storage.open_operator()).operator_scope() as tx:
            names = await tenants.tenants(tx)
            people = [(one, user) for one in names for user in await tenants.users(tx, one.tenant_id)]
        tenant, user = min((one for one in people if one[1].disabled_at is None), key=lambda pair: len(pair[1].roles))
        for other in {one.name for one in names} - {tenant.name}:
            principal = (await storage.operator_of(other)).principal()
            async with storage.database.principal_scope(principal) as tx:
                row = await tx.driver.fetchrow(_FOREIGN, principal.tenant_id)
            self._foreign |= {name: str(value) for name, value in (row or {}).items() if value is not None}
        if not self._settings.auth_jwks_url:
            self._secret = str(await shared_secret(self._settings).key(None))
            own, now = (await storage.claims_of(f"{tenant.name}/{user.name}")).model_dump(mode="json"), int(time.time())
            told = {"iss": self._settings.auth_issuer, "aud": self._settings.auth_audience}
            self._claims = {**own, **told, "iat": now, "exp": now + 600}
            self._person = {"Authorization": f"Bearer {self._token()}"}

    def _token(self, key: str = "", alg: str = "HS256", digest: str = "sha256", **changes: Any) -> str:
        """Made by hand: a library would refuse to make some of them. A claim that is None is left out."""
        claims = {name: value for name, value in {**self._claims, **changes}.items() if value is not None}
        body = f"{_written(json.dumps({'alg': alg}).encode())}.{_written(json.dumps(claims).encode())}"
        return f"{body}.{_written(hmac.digest((key or self._secret).encode(), body.encode(), digest))}"

    async def forge(self) -> Tried:
        """Sign in with what is no good token; a good one must be let in, or the refusals mean nothing."""
        if not self._person:
            return Tried("sign in with forged tokens", "401", "no token can be signed here", None)
        forged = {
            "nothing": "", "unsigned": self._token(alg="none").rpartition(".")[0] + ".",
            "other key": self._token(key="x" * 48), "RS256 signed as HS256": self._token(alg="RS256"),
            "other algorithm": self._token(alg="HS512", digest="sha512"),
            "other issuer": self._token(iss="elsewhere"), "other audience": self._token(aud="elsewhere"),
            "no audience": self._token(aud=None), "no end": self._token(exp=None), "oversized": "a." + "x" * 9_000,
            "expired": self._token(exp=int(time.time()) - 60), "unknown company": self._token(tenant_id=str(uuid4())),
        }  # fmt: skip
        sent = {name: {"Authorization": f"Bearer {one}"} for name, one in forged.items()}
        bad = [name for name, one in sent.items() if (await self.ask("/api/v1/agents", one))[0] != 401]
        bad += [f"a good token: {good}"] if (good := (await self.ask("/api/v1/agents"))[0]) != 200 else []
        return self._tried("sign in with forged tokens", "401", bad, f"{len(forged)} refused, a good one let in")

    async def come_from_elsewhere(self) -> Tried:
        """Sign in as a demo user with the key of the links through a proxy or from another page, or without the key."""
        key = {DEMO_KEY_HEADER: demo_key(self._settings.data_dir)}
        tries = [{}, {DEMO_KEY_HEADER: "x"}, *({**key, **one} for one in _ABROAD)]
        bad = ["/".join(one) or "no key" for one in tries if (await self.ask("/api/v1/auth/dev", one))[0] == 200]
        return Tried("sign in as a demo user from elsewhere", "404", ", ".join(bad) or "refused", not bad)

    async def tell_ids(self, routes: dict[str, Any]) -> Tried:
        """Ask every route for an id of another company and for one nobody has."""
        bad, asked = [], [(path, match[1]) for path in routes if (match := re.search(r"{(\w+)}", path))]
        for path, parameter in asked:
            ids = (str(uuid4()), self._foreign.get(parameter) or str(uuid4()))
            (status, body, _), (other, text_, _) = [await self.ask(re.sub(r"{\w+}", one, path)) for one in ids]
            if status == 200 or (status, body.replace(ids[0], "")) != (other, text_.replace(ids[1], "")):
                bad.append(path)
        good = f"{len(asked)} routes; foreign: {', '.join(self._foreign) or 'none known'}"
        return self._tried("tell foreign ids from unknown ones", "the same answer", bad, good)

    async def break_it(self, routes: dict[str, Any]) -> Tried:
        """Send hostile numbers and texts in every parameter of what only reads."""
        asked = [
            f"{path}?{one['name']}={quote(value)}" for path, route in routes.items() if "{" not in path
            for one in route.get("parameters", ()) if one["in"] == "query" for value in _HOSTILE
        ]  # fmt: skip
        bad = [one[:60] for one in asked if (await self.ask(one))[0] >= 500]
        return self._tried("break it with hostile values", "no 5xx", bad, f"{len(asked)} requests, no 5xx")

    async def name_another(self) -> Tried:
        """Name another company in the body of a search."""
        status, _, _ = await self.ask("/api/v1/search", query="x", tenant_id=str(uuid4()), roles=["admin"])
        return self._tried("name another company in a body", "422", [str(status)] * (status != 422), "422")

    async def run_scripts(self) -> Tried:
        """Look whether pages let foreign scripts run, or be framed."""
        told = {page: (await self.ask(page, {}))[2] for page in ("/", "/docs", "/admin")}
        strict = re.compile("(?=.*default-src 'none')(?=.*frame-ancestors 'none')(?!.*'unsafe)")
        bad = [page for page, one in told.items() if not strict.match(one.get("Content-Security-Policy", ""))]
        bad += [page for page, one in told.items() if one.get("X-Content-Type-Options") != "nosniff"]
        return Tried("run foreign scripts on pages", "a strict policy", ", ".join(bad) or "strict, nosniff", not bad)


def _written(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")


_HEADS = (
    ("send an endless head", b"X-A: " + b"a" * 4 * heads.HEAD_BYTES + b"\r\n\r\n", "431"),
    ("hold a line with half a head", b"X-A: ", "408"),
)


async def _head(url: str, name: str, sent: bytes, expected: str) -> Tried:
    """Begin a request whose line must be refused and closed in time."""
    parts, seen = urlsplit(url), "closed"
    ssl = {"https": True}.get(parts.scheme)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if ssl else 80), ssl=ssl)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + sent)
        first = await asyncio.wait_for(reader.read(), 1.5 * heads.HEAD_SECONDS + 1)
        seen = first.partition(b"\r\n")[0].decode(errors="replace") or seen
    except (TimeoutError, ConnectionError) as error:
        seen = "still open" if isinstance(error, TimeoutError) else seen
    finally:
        writer.close()
    return Tried(name, f"{expected}, closed", seen, seen == "closed" or expected in seen)
