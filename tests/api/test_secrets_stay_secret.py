"""Secrets that are planted everywhere are found nowhere but where their owners were shown them."""

from __future__ import annotations

import base64
import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from tenuto import Tenuto
from tenuto.access.oidc import OidcSettings
from tenuto.compose import build_authenticator, without_password
from tenuto.engine.settings import Settings
from tests.access.identity_provider import AUDIENCE, IdentityProvider
from tests.api.conftest import WAIT, Caller, Reply, served, tasks

ADMIN = "canary-admin-key-9f3b1c77d2a84e50b6c1"
WEBHOOK = "whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAwMDE="
SUBSCRIPTION = "whsec_Y2FuYXJ5LXN1YnNjcmlwdGlvbi0wMDAy"
PASSWORD = "canary-password-5b1e"
WRONG_KEY = f"tnt_{'c4' * 8}_{'ab' * 32}"
GUESSES = tuple(f"canary-guess-{at}-of-a-credential" for at in range(8))
BASIC = base64.b64encode(b"ann:canary-basic-password").decode()
COOKIE = "session=canary-cookie-77aa"
URL_USER = "canary-user-in-a-url"


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """All that any logger says, down to the smallest."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setLevel(logging.DEBUG)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def spellings(secret: str) -> set[str]:
    """A secret as it may turn up: as it is, in JSON, in a URL, in base64."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe=""), encoded}


async def misuse(call: Caller, ours: dict[str, str], replies: list[Reply]) -> None:
    """Requests with secrets in all the wrong places."""
    for guess in (WRONG_KEY, *GUESSES):
        for path in ("/instances", "/keys", "/nothing", "/health"):
            headers = {"authorization": f"Bearer {guess}", "cookie": COOKIE}
            replies.append(await call("GET", path, headers=headers))
    replies.append(await call("GET", "/keys", headers={"authorization": f"Basic {BASIC}"}))
    replies.append(await call("POST", "/keys", {"name": 1}, headers=ours))
    for patterns in (["never.told"], []):
        body = {
            "url": f"https://{URL_USER}:x@hooks.example.com/a",
            "patterns": patterns,
            "secret": WEBHOOK if patterns else f"bad {WEBHOOK}",
        }
        replies.append(await call("POST", "/webhooks", body, headers=ours))


@pytest.mark.asyncio
async def test_a_secret_is_in_no_log_error_audit_history_document_or_list() -> None:
    provider = IdentityProvider()
    await provider.start()
    app = Tenuto(tasks=tasks(), settings=Settings(unknown_tasks="wait"))
    clock = app.engine.clock
    authenticator = build_authenticator(
        app.engine.store,
        clock,
        admin_key=ADMIN,
        oidc=OidcSettings(issuer=provider.issuer, audience=AUDIENCE),
        may_be_private=True,
    )
    token = provider.signed(clock.now(), {"tenant": "default", "role": "admin"})
    stale = provider.signed(clock.now(), {"tenant": "default", "role": "admin", "exp": 1})
    replies: list[Reply] = []
    shown: list[str] = []
    with everything_logged() as logged:
        async with served(app=app, authentication=authenticator) as call:
            ours = {"authorization": f"Bearer {ADMIN}"}
            key = await call("POST", "/keys", {"name": "k", "role": "admin"}, headers=ours)
            gone = await call("POST", "/keys", {"name": "g", "role": "viewer"}, headers=ours)
            hook = {"url": "https://hooks.example.com/a?token=canary-query", "patterns": ["a.b"]}
            made = await call("POST", "/webhooks", {**hook, "secret": WEBHOOK}, headers=ours)
            own = await call("POST", "/webhooks", hook, headers=ours)
            asked = {"subscriberId": "s", "callbackUrl": hook["url"], "patterns": ["a.b"]}
            listening = await call(
                "POST", "/subscriptions", {**asked, "secret": SUBSCRIPTION}, headers=ours
            )
            # Whoever makes something is shown its secret, this once.
            shown += [key.json["key"], gone.json["key"], made.json["secret"]]
            shown += [own.json["secret"], listening.json["secret"]]
            assert all(shown)
            await call("DELETE", f"/keys/{gone.json['id']}", headers=ours)
            for credential in (key.json["key"], token, stale, gone.json["key"]):
                headers = {"authorization": f"Bearer {credential}"}
                replies.append(await call("PUT", "/workflows/wait", WAIT, headers=headers))
                replies.append(await call("GET", "/keys", headers=headers))
            taken = [each.status for each in replies]
            assert taken == [201, 200, 200, 200, 401, 401, 401, 401]
            started = await call("POST", "/workflows/wait/start", {}, headers=ours)
            where = f"/instances/{started.json['instanceId']}"
            replies.append(
                await call("POST", f"{where}/cancel", {"requestedBy": "x"}, headers=ours)
            )
            await misuse(call, ours, replies)
            replies += [
                await call("GET", path, headers=ours)
                for path in (
                    *("/webhooks", "/subscriptions", "/keys", "/audit?limit=1000"),
                    *("/audit/export", "/audit/verify", where, f"{where}/history"),
                    *(f"{where}/context", "/events", "/instances", "/workflows/wait"),
                    *("/openapi.json", "/docs", "/metrics"),
                )
            ]
    await provider.stop()
    secrets = [ADMIN, WEBHOOK, SUBSCRIPTION, WRONG_KEY, *GUESSES, BASIC, COOKIE, token, stale]
    secrets += [each.rpartition("_")[2] for each in shown]
    secrets += ["canary-basic-password", f"{URL_USER}:x"]
    assert len(set(secrets)) >= 20
    seen = logged.getvalue() + "".join(f"{each.text}{dict(each.headers)}" for each in replies)
    found = {secret for secret in secrets for text in spellings(secret) if text in seen}
    assert found == set()


def test_a_store_is_named_without_its_password() -> None:
    for url in (
        f"postgresql://tenuto:{PASSWORD}@db.example.com/tenuto",
        f"postgresql://db.example.com/tenuto?user=a&password={PASSWORD}",
    ):
        assert PASSWORD not in without_password(url)
