"""Talk to an identity provider: OpenID Connect, code flow with PKCE.

What has to be known when a person comes back (state, nonce, verifier) is derived from one random value in a cookie of
that browser, together with provider, time and way back: nothing is kept here, and none of them can be swapped.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.identity.providers import Provider

ALGORITHMS = ["RS256", "PS256", "ES256"]
LEEWAY_SECONDS = 60
"""How far the clocks of the provider and of this machine may be apart."""
START_SECONDS = 600
"""From setting out to coming back."""
_WAIT_SECONDS, _KEEP_SECONDS, _PAUSE_SECONDS = 5.0, 600.0, 5.0
_MOST_CODE_CHARS, _SEED_CHARS = 4_096, 43


class ProviderAway(Exception):
    """The provider cannot be reached, or says nothing of use."""


class Refused(Exception):
    """What came back is no sign-in that was begun here; says why to the log alone."""


class Start(NamedTuple):
    """A sign-in that was begun in a browser; its text is the cookie."""

    provider: str
    issued: int
    """Seconds since 1970."""
    back: str
    seed: str

    @classmethod
    def of(cls, provider: str, back: str, now: float) -> "Start":
        """A new one, of now."""
        return cls(provider, int(now), back, secrets.token_urlsafe(32))

    @classmethod
    def read(cls, text: str) -> "Start | None":
        """The one a cookie tells; None for what is none."""
        try:
            provider, issued, back, seed = base64.urlsafe_b64decode(text).decode("ascii").split("|")
            return cls(provider, int(issued), back, seed) if len(seed) == _SEED_CHARS else None
        except ValueError:
            return None

    def text(self) -> str:
        """For the cookie."""
        return base64.urlsafe_b64encode(f"{self.provider}|{self.issued}|{self.back}|{self.seed}".encode()).decode()

    def derived(self, purpose: str) -> str:
        """``state``, ``nonce`` or ``verifier``: 256 bits that tell nothing of the seed, nor of one another."""
        told = f"{purpose}|{self.provider}|{self.issued}|{self.back}".encode()
        return base64.urlsafe_b64encode(hmac.digest(self.seed.encode(), told, hashlib.sha256)).decode().rstrip("=")

    def check(self, provider: str, state: str, now: float) -> None:
        """Raise `Refused` unless this browser set out to this provider, with this state, not long ago."""
        is_same = hmac.compare_digest(self.derived("state").encode(), state.encode())
        if self.provider != provider or not is_same or not 0 <= now - self.issued <= START_SECONDS:
            raise Refused("state")


class OpenId:
    """One provider. What it publishes about itself is believed for ten minutes; keys are asked for at each sign-in."""

    def __init__(
        self, provider: Provider, secret: str, redirect_uri: str, clock: Callable[[], float] = time.time
    ):  # fmt: skip
        """`redirect_uri`: where it sends people back. `clock`: seconds since 1970."""
        self.provider, self._secret, self._redirect_uri, self.clock = provider, secret, redirect_uri, clock
        self._told: Mapping[str, Any] = {}
        self._asked_at = self._failed_at = float("-inf")
        self._asking = asyncio.Lock()

    async def start_address(self, start: Start) -> str:
        """Where to send the browser. Raises `ProviderAway`."""
        told = await self._metadata()
        async with self._client(told) as client:
            address, _ = client.create_authorization_url(
                told["authorization_endpoint"], state=start.derived("state"), nonce=start.derived("nonce"),
                code_verifier=start.derived("verifier"),
            )  # fmt: skip
        return str(address)

    async def claims(self, start: Start, code: str) -> dict[str, Any]:
        """What the ID token says that the provider gives for `code`: signed by its keys, issued by it for this service
        and this start, and not over. Raises `Refused` and `ProviderAway`."""
        if not 0 < len(code) <= _MOST_CODE_CHARS:
            raise Refused("code")
        told = await self._metadata()
        try:
            async with self._client(told) as client:
                answer = await client.fetch_token(
                    told["token_endpoint"], code=code, grant_type="authorization_code",
                    redirect_uri=self._redirect_uri, code_verifier=start.derived("verifier"),
                )  # fmt: skip
                published = await _json(client, told["jwks_uri"])
            return self._verified(answer, published, start.derived("nonce"))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderAway(type(error).__name__) from error
        except (AuthlibBaseError, JoseError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise Refused(f"{type(error).__name__} {getattr(error, 'error', '')}") from error

    async def end_address(self, back: str) -> str:
        """Where the person is signed out at the provider, too, and sent `back` from; empty where it has no such page.
        Raises `ProviderAway`."""
        address = (await self._metadata()).get("end_session_endpoint")
        if not isinstance(address, str) or not self._is_safe(address):
            return ""
        asked = urlencode({"client_id": self.provider.client_id, "post_logout_redirect_uri": back})
        return f"{address}{'&' if '?' in address else '?'}{asked}"

    def _verified(self, answer: Mapping[str, Any], published: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        # Keys that can do nothing here (for encrypting, of unknown kinds) are not looked at.
        usable = [
            one for one in published["keys"] if one.get("use", "sig") == "sig" and one.get("kty") in ("RSA", "EC")
        ]
        token = jwt.decode(answer["id_token"], KeySet.import_key_set({"keys": usable}), algorithms=ALGORITHMS)
        own = {"iss": self.provider.issuer, "aud": self.provider.client_id}
        claims = CodeIDToken(
            token.claims, token.header, {name: {"essential": True, "value": value} for name, value in own.items()},
            {"nonce": nonce, "client_id": self.provider.client_id, "access_token": answer.get("access_token")},
        )  # fmt: skip
        claims.validate(now=self.clock(), leeway=LEEWAY_SECONDS)
        return dict(token.claims)

    def _client(self, told: Mapping[str, Any]) -> Any:
        methods = told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        known = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
        return AsyncOAuth2Client(
            self.provider.client_id, self._secret or None, known if self._secret else "none",
            scope=" ".join(self.provider.scopes), redirect_uri=self._redirect_uri, code_challenge_method="S256",
            timeout=_WAIT_SECONDS, follow_redirects=False,
        )  # fmt: skip

    async def _metadata(self) -> Mapping[str, Any]:
        async with self._asking:
            now = time.monotonic()
            if now - self._asked_at > _KEEP_SECONDS:
                if now - self._failed_at < _PAUSE_SECONDS:
                    raise ProviderAway("a moment ago")
                try:
                    self._told = await self._asked()
                except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError) as error:
                    self._failed_at = time.monotonic()
                    raise ProviderAway(type(error).__name__) from error
                self._asked_at = now
            return self._told

    async def _asked(self) -> Mapping[str, Any]:
        async with self._client({}) as client:
            told = await _json(client, f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        endpoints = (told["authorization_endpoint"], told["token_endpoint"], told["jwks_uri"])
        if told["issuer"] != self.provider.issuer or not all(self._is_safe(str(one)) for one in endpoints):
            raise ValueError("the provider calls itself otherwise, or is not reached by https")
        return told

    def _is_safe(self, address: str) -> bool:
        return address.startswith(("https://", f"{self.provider.issuer.rstrip('/')}/"))


async def _json(client: Any, address: str) -> dict[str, Any]:
    answer = await client.request("GET", address, withhold_token=True)
    answer.raise_for_status()
    told = answer.json()
    if not isinstance(told, dict):
        raise TypeError("no object")
    return told
