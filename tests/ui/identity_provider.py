"""An identity provider on this machine, whose tokens come from another origin than its pages."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519
from jwt.algorithms import OKPAlgorithm

AUDIENCE = "tenuto"
CLIENT = "tenuto-pages"


class _Pages(BaseHTTPRequestHandler):
    """Answers both origins; `provider` has what they share."""

    provider: IdentityProvider

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        provider = self.provider
        if url.path == "/.well-known/openid-configuration":
            self._send(
                {
                    "issuer": provider.issuer,
                    "jwks_uri": f"{provider.issuer}/keys",
                    "authorization_endpoint": f"{provider.issuer}/authorize",
                    "token_endpoint": f"{provider.tokens}/token",
                }
            )
        elif url.path == "/keys":
            self._send({"keys": [provider.published]})
        else:
            # A user who is signed in there is sent back at once.
            provider.challenge = asked["code_challenge"]
            back = {"code": "the-code", "state": asked["state"]}
            self.send_response(302)
            self.send_header("location", f"{asked['redirect_uri']}?{urlencode(back)}")
            self.end_headers()

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(text).items()}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert (form["code"], form["client_id"]) == ("the-code", CLIENT)
        assert proof == self.provider.challenge
        self._send({"access_token": self.provider.token(), "token_type": "Bearer"})

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _send(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("access-control-allow-origin", "*")
        self.end_headers()
        self.wfile.write(body)


class IdentityProvider:
    """Signs a user in as ada, an operator."""

    def __init__(self) -> None:
        self._key = ed25519.Ed25519PrivateKey.generate()
        public = json.loads(OKPAlgorithm.to_jwk(self._key.public_key()))
        self.published = {**public, "kid": "first", "use": "sig", "alg": "EdDSA"}
        self.challenge = ""
        self.issuer = ""
        self.tokens = ""

    def token(self) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "ada",
            "iat": now,
            "exp": now + 600,
            "tenant": "default",
            "role": "operator",
        }
        return jwt.encode(claims, self._key, algorithm="EdDSA", headers={"kid": "first"})


@contextmanager
def provided() -> Iterator[IdentityProvider]:
    """A provider that answers at two ports."""
    provider = IdentityProvider()
    handler = type("Pages", (_Pages,), {"provider": provider})
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
    provider.issuer, provider.tokens = (f"http://127.0.0.1:{each.server_port}" for each in servers)
    threads = [threading.Thread(target=each.serve_forever, daemon=True) for each in servers]
    for thread in threads:
        thread.start()
    try:
        yield provider
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()
