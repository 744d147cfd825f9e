"""Tokens: what gets in, and everything that must not."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from app.api.auth import MAX_TOKEN_CHARS, Authenticator, Claims, SharedSecret, narrowed_by_context
from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.errors import AppError
from tests.factories import principal

SECRET = "a-test-secret-of-more-than-sixty-four-bytes-so-that-HS512-takes-it-too"
ISSUER, AUDIENCE = "conclave", "conclave-test"
LAN = Claims(sub="lan", tenant_id="acme", department="hr", permissions=("public", "internal", "private"), name="Lan")
NOW = datetime.now(UTC)


def payload(**changes: Any) -> dict[str, Any]:
    claims: dict[str, Any] = {
        **LAN.model_dump(mode="json", exclude_defaults=True),
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": NOW,
        "exp": NOW + timedelta(hours=1),
    }
    return {name: value for name, value in {**claims, **changes}.items() if value is not ...}


def token(key: str = SECRET, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **changes: Any) -> str:
    return jwt.encode(payload(**changes), key, algorithm=algorithm, headers=headers)


def hand_made(header: Any, body: bytes, key: bytes = SECRET.encode()) -> str:
    """A token signed by hand, so that a library's own caution does not stand in the way."""
    parts = [json.dumps(header).encode() if not isinstance(header, bytes) else header, body]
    signed = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    seal = hmac.new(key, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(seal).rstrip(b'=').decode()}"


def timestamps(claims: dict[str, Any]) -> bytes:
    plain = {key: int(value.timestamp()) if isinstance(value, datetime) else value for key, value in claims.items()}
    return json.dumps(plain).encode()


def unsigned() -> str:
    header, body, _ = hand_made({"alg": "none", "typ": "JWT"}, timestamps(payload())).split(".")
    return f"{header}.{body}."


FORGED: dict[str, str | None] = {
    "nothing": None,
    "empty": "",
    "no scheme": token(),
    "other scheme": f"Basic {token()}",
    "scheme alone": "Bearer ",
    "garbage": "Bearer garbage",
    "three dots": "Bearer a.b.c",
    "not ascii": "Bearer ấ.ị.ọ",
    "none algorithm": f"Bearer {unsigned()}",
    "none algorithm with a signature": f"Bearer {hand_made({'alg': 'none'}, timestamps(payload()))}",
    "None in capitals": f"Bearer {hand_made({'alg': 'NONE'}, timestamps(payload()))}",
    "wrong key": f"Bearer {token(key='another-secret-of-more-than-32-bytes')}",
    "empty key": f"Bearer {hand_made({'alg': 'HS256'}, timestamps(payload()), key=b'')}",
    "other algorithm, right key": f"Bearer {token(algorithm='HS512')}",
    "RS256 header sealed with the secret": f"Bearer {hand_made({'alg': 'RS256'}, timestamps(payload()))}",
    "key in the token": "Bearer "
    + hand_made({"alg": "HS256", "jwk": {"kty": "oct", "k": "AAAA"}}, timestamps(payload()), key=b"\0\0\0"),
    "no algorithm": f"Bearer {hand_made({'typ': 'JWT'}, timestamps(payload()))}",
    "critical extension": f"Bearer {hand_made({'alg': 'HS256', 'crit': ['x'], 'x': 1}, timestamps(payload()))}",
    "wrong issuer": f"Bearer {token(iss='https://evil.example')}",
    "no issuer": f"Bearer {token(iss=...)}",
    "wrong audience": f"Bearer {token(aud='another-service')}",
    "no audience": f"Bearer {token(aud=...)}",
    "empty audience": f"Bearer {token(aud=[])}",
    "expired": f"Bearer {token(exp=NOW - timedelta(minutes=1))}",
    "no expiry": f"Bearer {token(exp=...)}",
    "lives too long": f"Bearer {token(exp=NOW + timedelta(hours=25))}",
    "lived too long": f"Bearer {token(iat=NOW - timedelta(days=30))}",
    "lives too long, issued at no time": f"Bearer {token(iat=..., exp=NOW + timedelta(days=36_500))}",
    "never ends": "Bearer "
    + hand_made({"alg": "HS256"}, timestamps(payload()).replace(b'"exp": ', b'"exp": 1e999, "x": ')),
    "expiry is text": "Bearer " + hand_made({"alg": "HS256"}, timestamps(payload(exp="soon"))),
    "not yet valid": f"Bearer {token(nbf=NOW + timedelta(minutes=50))}",
    "issued in the future": f"Bearer {token(iat=NOW + timedelta(minutes=50))}",
    "no subject": f"Bearer {token(sub=...)}",
    "empty subject": f"Bearer {token(sub='')}",
    "no tenant": f"Bearer {token(tenant_id=...)}",
    "blank tenant": f"Bearer {token(tenant_id='  ')}",
    "no department": f"Bearer {token(department=...)}",
    "department that is no name": f"Bearer {token(department=chr(39) + ' OR 1=1')}",
    "permissions are text": "Bearer " + hand_made({"alg": "HS256"}, timestamps(payload(permissions="private"))),
    "oversized": f"Bearer {token(name='x' * MAX_TOKEN_CHARS)}",
    "payload is a list": "Bearer " + hand_made({"alg": "HS256"}, b"[1, 2]"),
    "payload is no JSON": "Bearer " + hand_made({"alg": "HS256"}, b"\xff\xfe"),
    "payload is deep": "Bearer " + hand_made({"alg": "HS256"}, b"[" * 4_000),
    "header is deep": "Bearer " + hand_made(b"[" * 4_000, timestamps(payload())),
    "header is a list": "Bearer " + hand_made([], timestamps(payload())),
    "changed after signing": "Bearer " + token()[:-4] + ("AAAA" if not token().endswith("AAAA") else "BBBB"),
}


class Directory:
    """Counts how often the database would have been asked."""

    def __init__(self, today: Principal | None = None):
        self.asked, self.today = 0, today

    async def rights_today(self, _principal: Principal) -> Principal | None:
        self.asked += 1
        return self.today


def authenticator(directory: Directory) -> Authenticator:
    return Authenticator(
        SharedSecret(SECRET), issuer=ISSUER, audience=AUDIENCE, rights_today=directory.rights_today, max_seconds=86_400
    )


class TestAuthenticate:
    async def test_refuses_forged_tokens_before_the_database_is_asked(self, subtests: pytest.Subtests) -> None:
        for header in FORGED.values():
            with subtests.test(ascii(header)[:80]):
                directory = Directory()
                with pytest.raises(AppError) as refused:
                    await authenticator(directory).authenticate(header)
                assert (refused.value.code, refused.value.status) == ("UNAUTHENTICATED", 401)
                assert directory.asked == 0

    async def test_gives_the_principal_of_a_good_token(self) -> None:
        signed = SharedSecret(SECRET).sign(LAN, issuer=ISSUER, audience=AUDIENCE, ttl_seconds=60)
        found = await authenticator(Directory()).authenticate(f"bearer {signed}")
        assert found.tenant_id == tenant_id_of("acme")
        assert found.user_id == user_id_of(found.tenant_id, "lan")
        assert found.departments == {"hr"} and found.scopes == {"public", "internal", "private"}
        assert not found.is_admin and found.name == "Lan"

    async def test_gives_nothing_for_scopes_nobody_knows(self) -> None:
        header = f"Bearer {token(permissions=['public', 'documents:write', '*'])}"
        assert (await authenticator(Directory()).authenticate(header)).scopes == {"public"}

    async def test_takes_a_token_for_several_audiences(self) -> None:
        header = f"Bearer {token(aud=['another-service', AUDIENCE])}"
        assert (await authenticator(Directory()).authenticate(header)).name == "Lan"

    @pytest.mark.parametrize("issued", [timedelta(0), timedelta(days=-1, hours=1)])
    async def test_takes_a_token_that_lives_a_day(self, issued: timedelta) -> None:
        header = f"Bearer {token(iat=NOW + issued, exp=NOW + issued + timedelta(days=1))}"
        assert (await authenticator(Directory()).authenticate(header)).name == "Lan"

    async def test_gives_those_rights_of_the_token_that_are_still_held(self) -> None:
        said: dict[str, Any] = {
            "departments": ["it", "legal"],
            "roles": ["admin", "auditor"],
            "permissions": ["internal", "private"],
        }
        today = principal(department="it", scopes=("public", "internal"), roles=("auditor", "boss"))
        found = await authenticator(Directory(today)).authenticate(f"Bearer {token(**said)}")
        assert found.department == "it" and found.departments == {"it"}
        assert found.scopes == {"internal"} and found.roles == {"auditor"}

    async def test_leaves_whoever_lost_every_department_what_everybody_has(self) -> None:
        found = await authenticator(Directory(principal(department="it"))).authenticate(f"Bearer {token()}")
        assert found.department == "general" and found.departments == {"general"}
        assert not found.may_read("private", "hr") and not found.may_read("private", "it")

    async def test_refuses_a_good_token_for_its_length_alone(self) -> None:
        by_length = {len(one): one for one in (token(jti="x" * chars) for chars in range(5_600, 6_100))}
        door = authenticator(Directory())
        assert (await door.authenticate(f"Bearer {by_length[MAX_TOKEN_CHARS]}")).name == "Lan"
        with pytest.raises(AppError) as refused:
            await door.authenticate(f"Bearer {by_length[MAX_TOKEN_CHARS + 1]}")
        assert refused.value.status == 401

    def test_needs_a_long_secret(self) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            SharedSecret("short")


class TestNarrowedByContext:
    def test_takes_away_what_was_not_asked_for(self) -> None:
        found = narrowed_by_context(principal(), {"permissions": ["public"], "department": "hr"})
        assert found.scopes == {"public"} and found.departments == {"hr"}

    @pytest.mark.parametrize("by_name", [True, False])
    def test_takes_names_and_ids_of_the_caller(self, by_name: bool) -> None:
        lan = principal()
        context = {
            "tenant_id": "acme" if by_name else str(lan.tenant_id),
            "user_id": "lan" if by_name else str(lan.user_id),
        }
        assert narrowed_by_context(lan, context) == lan

    def test_refuses_anything_wider_or_anybody_else(self, subtests: pytest.Subtests) -> None:
        cases: list[Any] = [
            {"tenant_id": "globex"},
            {"user_id": "minh"},
            {"user_id": str(tenant_id_of("acme"))},
            {"permissions": ["public", "private"]},
            {"permissions": ["*"]},
            {"department": "it"},
            {"department": ""},
            {"department": "hr", "permissions": ["private"]},
        ]
        for wider in cases:
            with subtests.test(ascii(wider)[:80]):
                with pytest.raises(AppError) as refused:
                    narrowed_by_context(principal(scopes=("public", "internal")), wider)
                assert (refused.value.code, refused.value.status) == ("PERMISSION_DENIED", 403)
