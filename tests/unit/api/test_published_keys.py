"""Tokens of an identity provider, checked with the keys it publishes on loopback."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from app.api.auth import Authenticator, PublishedKeys
from app.domain.principal import Principal
from app.errors import AppError

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NEXT_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def published(kid: str, key: Any, algorithm: Any) -> dict[str, Any]:
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"}


class Provider:
    """A key server on loopback that counts its visits and may be switched off."""

    def __init__(self) -> None:
        self.keys = [published("rsa", RSA_KEY, RSAAlgorithm), published("ec", EC_KEY, ECAlgorithm)]
        self.keys.append(
            {"kty": "oct", "kid": "oct", "k": base64.urlsafe_b64encode(b"x" * 32).decode(), "alg": "HS256"}
        )
        self.visits, self.is_up = 0, True
        self.answers = threading.Event()
        self.answers.set()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.visits += 1
                provider.answers.wait(10)
                self.send_response(200 if provider.is_up else 500)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": provider.keys}).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def provider() -> Iterator[Provider]:
    serving = Provider()
    yield serving
    serving.server.shutdown()
    serving.server.server_close()


def signed(key: Any, algorithm: str, kid: str | None, **headers: Any) -> str:
    now = datetime.now(UTC)
    claims = {"sub": "lan", "tenant_id": "acme", "department": "hr", "iss": "idp", "aud": "conclave"}
    names = headers if kid is None else {"kid": kid, **headers}
    return jwt.encode({**claims, "exp": now + timedelta(minutes=5)}, key, algorithm=algorithm, headers=names)


def sealed_with_public_key(kid: str) -> str:
    """HS256 with the published RSA key as the secret: the classic confusion."""
    pem = RSA_KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _, body, _ = signed(RSA_KEY, "RS256", kid).split(".")
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": kid}).encode()).rstrip(b"=").decode()
    seal = hmac.new(pem, f"{header}.{body}".encode(), hashlib.sha256).digest()
    return f"{header}.{body}.{base64.urlsafe_b64encode(seal).rstrip(b'=').decode()}"


async def all_it_says(_principal: Principal) -> None:
    """Rights are not what these tests are about."""


class Clock:
    """Tells the seconds it was set to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def door(provider: Provider, **timing: Any) -> Authenticator:
    keys = PublishedKeys(provider.url, **timing)
    return Authenticator(keys, issuer="idp", audience="conclave", rights_today=all_it_says, max_seconds=3_600)


async def is_let_in(authenticator: Authenticator, token: str) -> bool:
    try:
        await authenticator.authenticate(f"Bearer {token}")
    except AppError as error:
        assert error.status == 401
        return False
    return True


class TestPublishedKeys:
    @pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA_KEY, "RS256", "rsa"), (EC_KEY, "ES256", "ec")])
    async def test_let_in_what_their_owner_signed(self, provider: Provider, key: Any, algorithm: str, kid: str) -> None:
        assert await is_let_in(door(provider), signed(key, algorithm, kid))

    async def test_refuse_confused_foreign_and_unnamed_keys(self, provider: Provider) -> None:
        authenticator = door(provider)
        refused = {
            "confusion": sealed_with_public_key("rsa"),
            "symmetric key in the set": signed("x" * 32, "HS256", "oct"),
            "other private key": signed(NEXT_KEY, "RS256", "rsa"),
            "no kid": signed(RSA_KEY, "RS256", None),
            "another key's kid": signed(RSA_KEY, "RS256", "ec"),
            "another algorithm": signed(RSA_KEY, "RS512", "rsa"),
            "unknown kid": signed(RSA_KEY, "RS256", "../../etc/passwd"),
        }
        assert [name for name, token in refused.items() if await is_let_in(authenticator, token)] == []

    async def test_never_fetch_where_a_token_says(self, provider: Provider) -> None:
        evil = Provider()
        evil.keys = [published("evil", NEXT_KEY, RSAAlgorithm)]
        token = signed(NEXT_KEY, "RS256", "evil", jku=evil.url, x5u=evil.url)
        assert not await is_let_in(door(provider), token)
        assert evil.visits == 0
        evil.server.shutdown()
        evil.server.server_close()

    async def test_are_fetched_once_for_many_tokens_and_unknown_kids(self, provider: Provider) -> None:
        authenticator = door(provider)
        for number in range(20):
            await is_let_in(authenticator, signed(RSA_KEY, "RS256", "rsa"))
            await is_let_in(authenticator, signed(RSA_KEY, "RS256", f"unknown-{number}"))
        assert provider.visits == 1

    async def test_follow_a_rotation(self, provider: Provider) -> None:
        authenticator = door(provider, retry_seconds=0)
        assert await is_let_in(authenticator, signed(RSA_KEY, "RS256", "rsa"))
        provider.keys = [published("next", NEXT_KEY, RSAAlgorithm)]
        assert await is_let_in(authenticator, signed(NEXT_KEY, "RS256", "next"))
        assert not await is_let_in(authenticator, signed(RSA_KEY, "RS256", "rsa"))

    async def test_that_are_no_longer_published_are_not_believed_after_a_minute(self, provider: Provider) -> None:
        clock = Clock()
        authenticator, token = door(provider, clock=clock), signed(RSA_KEY, "RS256", "rsa")
        assert await is_let_in(authenticator, token)
        provider.keys = [published("next", NEXT_KEY, RSAAlgorithm)]
        clock.seconds += 59
        assert await is_let_in(authenticator, token)
        clock.seconds += 2
        assert not await is_let_in(authenticator, token)
        assert await is_let_in(authenticator, signed(NEXT_KEY, "RS256", "next"))
        assert provider.visits == 2

    async def test_outlive_an_outage_for_a_quarter_of_an_hour(self, provider: Provider) -> None:
        clock = Clock()
        authenticator, token = door(provider, clock=clock), signed(RSA_KEY, "RS256", "rsa")
        assert await is_let_in(authenticator, token)
        provider.is_up = False
        clock.seconds += 899
        assert await is_let_in(authenticator, token)
        clock.seconds += 2
        assert not await is_let_in(authenticator, token)
        provider.is_up = True
        clock.seconds += 11
        assert await is_let_in(authenticator, token)

    async def test_wait_for_a_provider_that_is_away_only_once(self, provider: Provider) -> None:
        clock = Clock()
        authenticator, token = door(provider, clock=clock), signed(RSA_KEY, "RS256", "rsa")
        assert await is_let_in(authenticator, token)
        provider.is_up = False
        clock.seconds += 61
        assert await is_let_in(authenticator, token)
        clock.seconds += 11
        provider.answers.clear()
        try:
            async with asyncio.timeout(2):
                assert await is_let_in(authenticator, token)  # while the provider has not answered
        finally:
            provider.answers.set()
