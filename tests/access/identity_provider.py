"""An identity provider on this machine: a discovery document, its keys, and tokens by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
"""Made once: it takes a while."""
AUDIENCE = "tenuto"


class IdentityProvider:
    """Publishes keys, and signs whatever a test wants signed."""

    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {"first": RSA_KEY}
        self.more: list[dict[str, Any]] = []
        """Other keys that it publishes, as they stand there."""
        self.fetches = 0
        self.status = 200
        self.issuer = ""
        self.names_itself: str | None = None
        self.token_endpoint: str | None = None
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/realm/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/realm/keys", self._keys)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.issuer = f"http://{host}:{port}/realm"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def signed(self, now: datetime, other: Mapping[str, object]) -> str:
        """A token by the first key, with other claims."""
        return jwt.encode(self.claims(now, **other), RSA_KEY, "RS256", headers={"kid": "first"})

    def claims(self, now: datetime, **other: object) -> dict[str, Any]:
        """Claims that are all right, but for what a test says; None leaves one out."""
        standard = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "ada",
            "exp": int((now + timedelta(minutes=5)).timestamp()),
            "nbf": int((now - timedelta(minutes=1)).timestamp()),
            "tenant": "acme",
            "role": "editor",
        }
        return {name: value for name, value in {**standard, **other}.items() if value is not None}

    def token(
        self, now: datetime, kid: str | None = "first", algorithm: str = "RS256", **other: object
    ) -> str:
        key = self.keys[kid or "first"]
        return jwt.encode(
            self.claims(now, **other),
            key,
            algorithm=algorithm,
            headers=None if kid is None else {"kid": kid},
        )

    async def _discovery(self, _request: web.Request) -> web.Response:
        self.fetches += 1
        issuer = self.names_itself or self.issuer
        document = {"issuer": issuer, "jwks_uri": f"{self.issuer}/keys"}
        if self.token_endpoint is not None:
            document["token_endpoint"] = self.token_endpoint
        return web.json_response(document, status=self.status)

    async def _keys(self, _request: web.Request) -> web.Response:
        published = [{**_jwk(key), "kid": kid} for kid, key in self.keys.items()]
        return web.json_response({"keys": [*self.more, *published]})


def _jwk(key: PrivateKey) -> dict[str, Any]:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        text = RSAAlgorithm.to_jwk(public)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        text = ECAlgorithm.to_jwk(public)
    else:
        text = OKPAlgorithm.to_jwk(public)
    found: dict[str, Any] = json.loads(text)
    return found
