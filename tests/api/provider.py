"""An identity provider on a loopback address: real keys, real codes, and told what to get wrong."""

import secrets
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.responses import JSONResponse, RedirectResponse, Response

KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
FOREIGN_KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
CLIENT, SECRET = "conclave", "the secret of the client"


class LoopbackProvider:
    """Lets everybody in as the person it is told. What it says wrongly is in `claims`, `key`, `at_hash` and `state`."""

    def __init__(self) -> None:
        self.issuer = ""
        self.person: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.key = KEY
        self.is_away = False
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.app = FastAPI()
        self.app.add_api_route("/.well-known/openid-configuration", self.metadata)
        self.app.add_api_route("/keys", self.keys)
        self.app.add_api_route("/authorize", self.authorize)
        self.app.add_api_route("/token", self.token, methods=["POST"])

    def metadata(self) -> Response:
        if self.is_away:
            return Response("down", 503)
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "end_session_endpoint": f"{self.issuer}/end",
            }
        )

    def keys(self) -> Response:
        return JSONResponse(KeySet([KEY]).as_dict(private=False))

    def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["code_challenge_method"] == "S256" and asked["response_type"] == "code"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 303)

    async def token(self, request: Request) -> Response:
        if self.is_away:
            return Response("down", 503)
        form = await request.form()
        asked = self.codes.pop(str(form["code"]), None)
        challenge = urlsafe_b64encode(sha256(str(form["code_verifier"]).encode()).digest()).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or "authorization" not in request.headers:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now, access_token = int(time.time()), secrets.token_urlsafe(16)
        half = urlsafe_b64encode(sha256(access_token.encode()).digest()[:16]).decode().rstrip("=")
        said = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "at_hash": half,
        }
        said = {**said, **self.person, **self.claims}
        said = {name: value for name, value in said.items() if value is not None}
        token = jwt.encode({"alg": "RS256", "kid": "first"}, said, self.key)
        return JSONResponse({"access_token": access_token, "token_type": "Bearer", "id_token": token})
