"""Guesses of credentials are slowed, and nobody else is."""

from __future__ import annotations

import secrets

import pytest

from tenuto import Tenuto
from tenuto.access.guesses import Guesses
from tenuto.access.keys import KeyWish, over
from tenuto.access.oidc import OidcSettings
from tenuto.access.principal import Principal
from tenuto.access.rates import RateLimiter
from tenuto.access.roles import Role
from tenuto.api.config import ServiceConfig
from tenuto.compose import build_authenticator
from tenuto.model.errors import Unauthenticated
from tests.access.hand_clock import HandClock
from tests.access.identity_provider import AUDIENCE, IdentityProvider
from tests.api.conftest import Reply, served

WRONG = Unauthenticated("wrong", code="TEN-5011")
ADMIN = "k" * 40


def guesses(clock: HandClock, most: int = 100) -> Guesses:
    looks = RateLimiter(clock, rate=50, burst=50)
    return Guesses(RateLimiter(clock, rate=0.2, burst=20, most=most), looks, most)


def guess(door: Guesses, source: str = "192.0.2.1") -> float:
    seconds = door.begin(source)
    if seconds == 0:
        door.end(source, secrets.token_hex(8), WRONG)
    return seconds


def test_one_address_has_so_many_guesses_and_then_few(clock: HandClock) -> None:
    door = guesses(clock)
    waits = [guess(door) for _ in range(300)]
    assert waits[:20] == [0.0] * 20
    assert all(0 < seconds <= 5 for seconds in waits[20:])
    clock.move(5)
    assert guess(door) == 0
    assert guess(door) > 0
    # The addresses of one customer are one; others are not concerned.
    assert guess(door, "192.0.2.2") == 0
    door = guesses(clock)
    for at in range(20):
        assert guess(door, f"2001:db8::{at:x}") == 0
    assert guess(door, "2001:db8::ffff") > 0
    assert guess(door, "2001:db8:0:1::1") == 0


def test_what_is_no_guess_does_not_count(clock: HandClock) -> None:
    door = guesses(clock)
    for at in range(100):
        assert door.begin("192.0.2.1") == 0
        door.end("192.0.2.1", f"key-{at}", over() if at % 2 else None)
    assert [door.is_known(f"key-{at}") for at in range(4)] == [True, False, True, False]
    assert not door.is_known("key")


def test_the_same_wrong_credential_again_is_no_guess(clock: HandClock) -> None:
    door = guesses(clock)
    door.begin("192.0.2.1")
    door.end("192.0.2.1", "misspelt", WRONG)
    assert door.is_known("misspelt")
    assert [guess(door) for _ in range(19)] == [0.0] * 19
    assert guess(door) > 0


def test_what_is_known_is_bounded(clock: HandClock) -> None:
    door = guesses(clock, most=10)
    for at in range(1_000):
        door.begin(f"192.0.2.{at % 256}")
        door.end(f"192.0.2.{at % 256}", f"key-{at}", None)
        guess(door, f"192.0.2.{at % 256}")
    assert [at for at in range(1_000) if door.is_known(f"key-{at}")] == [*range(990, 1_000)]


def test_of_an_address_that_waits_so_many_keys_are_looked_at_in_a_second(clock: HandClock) -> None:
    door = guesses(clock)
    assert sum(door.may_look("192.0.2.1") for _ in range(300)) == 50
    assert door.may_look("192.0.2.2")
    clock.move(1)
    assert sum(door.may_look("192.0.2.1") for _ in range(300)) == 50


@pytest.mark.asyncio
async def test_a_valid_key_or_token_that_is_new_is_let_in_beside_a_guesser() -> None:
    provider = IdentityProvider()
    await provider.start()
    app = Tenuto()
    clock = app.engine.clock
    authenticator = build_authenticator(
        app.engine.store,
        clock,
        admin_key=ADMIN,
        oidc=OidcSettings(issuer=provider.issuer, audience=AUDIENCE),
        may_be_private=True,
    )
    # An address that has guessed has to wait for as long as the test takes.
    config = ServiceConfig(port=0, drain_seconds=2, guess_rate=1e-6)
    async with served(config=config, app=app, authentication=authenticator) as call:

        async def ask(credential: str) -> Reply:
            bearing = {"authorization": f"Bearer {credential}"}
            return await call("GET", "/instances", headers=bearing)

        maker = Principal(tenant="default", name="m", role=Role.ADMIN, kind="local")
        keys = call.pipeline.service.keys
        made = [(await keys.create(maker, KeyWish(name="k", role="viewer"))) for _ in range(3)]
        used, new, gone = made
        await keys.revoke("default", gone.row.id)
        assert (await ask(used.text)).status == 200
        while (await ask(f"tnt_{secrets.token_hex(8)}_{secrets.token_hex(32)}")).status == 401:
            pass
        assert (await ask(new.text)).status == 200
        assert (await ask(provider.signed(clock.now(), {"role": "viewer"}))).status == 200
        assert (await ask(gone.text)).json["code"] == "TEN-5012"
        # Nothing tells a key that exists from one that does not, and the admin key is not guessed.
        forged = provider.signed(clock.now(), {})[:-8] + "AAAAAAAA"
        nobody = f"tnt_{secrets.token_hex(8)}_{secrets.token_hex(32)}"
        somebody = f"tnt_{used.row.id}_{secrets.token_hex(32)}"
        replies = [await ask(each) for each in (nobody, somebody, forged, ADMIN, "x" * 40)]
        assert [reply.status for reply in replies] == [429] * 5
        told = [{**reply.json, "requestId": ""} for reply in replies]
        assert all(each == told[0] for each in told)
    await provider.stop()


@pytest.mark.asyncio
async def test_three_hundred_guesses_are_slowed_and_whoever_was_let_in_goes_on() -> None:
    async with served(admin_key=ADMIN) as call:

        async def ask(key: str | None) -> Reply:
            headers = {} if key is None else {"authorization": f"Bearer {key}"}
            return await call("GET", "/instances", headers=headers)

        assert (await ask(ADMIN)).status == 200
        replies = [
            await ask(f"tnt_{secrets.token_hex(8)}_{secrets.token_hex(32)}") for _ in range(300)
        ]
        found = [reply.status for reply in replies]
        assert found[:20] == [401] * 20
        assert found.count(429) >= 250
        slowed = next(reply for reply in replies if reply.status == 429)
        assert slowed.json["code"] == "TEN-5017"
        assert 1 <= int(slowed.headers["retry-after"]) <= 5
        # Who was valid is let in; who shows nothing is told so; both are no guesses.
        assert (await ask(ADMIN)).status == 200
        assert (await ask(None)).status == 401
