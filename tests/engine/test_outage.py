"""An outage is said once, and so is that it is over."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tenuto import Tenuto
from tenuto.engine.outage import Outage
from tenuto.engine.settings import Settings
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import SystemClock
from tenuto.testing.wrapped_store import Call
from tests.kit.postgres_database import connected, fresh_database
from tests.kit.scripted_store import ScriptedStore
from tests.kit.tcp_proxy import proxy_to
from tests.kit.turns import turns

AWAY = StoreUnavailable("gone")
REFUSED = StoreUnavailable("cannot be reached", code="TEN-4008")
FULL = StoreUnavailable("full", code="TEN-4003")


class Said:
    """What the log says from now on."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.WARNING)
        self._caplog = caplog
        self.ticks = 100.0
        self.outage = Outage(SystemClock(ticks=lambda: self.ticks))

    @property
    def lines(self) -> list[str]:
        found = [each.message.partition("\n")[0] for each in self._caplog.records]
        self._caplog.clear()
        return found


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    return Said(caplog)


def test_who_notices_first_says_it_and_the_last_one_says_that_it_is_over(said: Said) -> None:
    outage = said.outage
    outage.noticed("heartbeat", AWAY)
    for _ in range(3):
        outage.noticed("jobs", REFUSED)
        outage.noticed("heartbeat", REFUSED)
        outage.met("matching event e1", AWAY)
    assert said.lines == ["the store is unavailable, trying again (heartbeat): TEN-4001  gone"]
    said.ticks += 12.5
    outage.worked("heartbeat")
    outage.worked("mailbox")
    assert said.lines == []
    outage.worked("jobs")
    outage.worked("jobs")
    assert said.lines == ["the store is back after 12.5 s"]


def test_what_is_met_before_a_loop_notices_it_is_said_once(said: Said) -> None:
    outage = said.outage
    for _ in range(3):
        outage.met("matching 2 events", AWAY)
    outage.noticed("jobs", REFUSED)
    assert said.lines == [
        "the store is unavailable, trying again (matching 2 events): TEN-4001  gone"
    ]
    outage.worked("jobs")
    assert said.lines == ["the store is back after 0.0 s"]


class Undrained(ScriptedStore):
    """Cannot be asked for notifications a few times."""

    left = 3

    async def on_outbox_claim(self, call: Call) -> object:
        if self.left:
            self.left -= 1
            raise AWAY
        return await call()


@pytest.mark.asyncio
async def test_an_outage_that_the_outbox_alone_meets_is_said_once(said: Said) -> None:
    store = Undrained()
    async with Tenuto(store) as app:
        while store.left or is_away(app):
            app.engine.outbox.hint()
            await turns(1)
    assert [each.partition(":")[0].partition(" after")[0] for each in said.lines] == [
        "the store is unavailable, trying again (outbox)",
        "the store is back",
    ]


def test_the_next_outage_is_said_again(said: Said) -> None:
    for _ in range(2):
        said.outage.noticed("heartbeat", AWAY)
        said.outage.worked("heartbeat")
        assert len(said.lines) == 2


def test_another_reason_is_said_too(said: Said) -> None:
    for _ in range(2):
        said.outage.noticed("lane 0", FULL)
        said.outage.noticed("heartbeat", AWAY)
    assert said.lines == [
        "the store is unavailable, trying again (lane 0): TEN-4003  full",
        "the store is unavailable, trying again (heartbeat): TEN-4001  gone",
    ]


def test_who_has_nothing_to_ask_leaves_it_to_others_to_find_out(said: Said) -> None:
    outage = said.outage
    outage.noticed("lane 0", AWAY)
    outage.rests("lane 0")
    outage.worked("projector")
    assert len(said.lines) == 1
    outage.worked("heartbeat")
    assert said.lines == ["the store is back after 0.0 s"]


@pytest.mark.parametrize("asks", ["heartbeat", "mailbox"])
def test_what_only_one_had_met_is_over_when_that_one_rests_and_others_work(
    said: Said, asks: str
) -> None:
    """Whatever it was, the next outage is said too, and so is its end."""
    outage = said.outage
    for error in (FULL, FULL, AWAY):
        outage.noticed("lane 0", error)
        outage.noticed("lane 1", error)
        outage.rests("lane 0")
        outage.worked(asks)
        assert len(said.lines) == 1, "the other one still waits"
        outage.rests("lane 1")
        outage.worked("lane 0")
        assert said.lines == []
        outage.worked(asks)
        assert said.lines == ["the store is back after 0.0 s"]
    outage.noticed(asks, AWAY)
    outage.worked(asks)
    assert len(said.lines) == 2


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_server_that_was_away_is_two_lines_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ "Outage floods the log": every loop of an engine tries again and again, in silence."""
    caplog.set_level(logging.WARNING)
    url = await fresh_database()
    settings = Settings(
        mail_every=0.02, jobs_every=0.02, watch_every=0.02, project_every=0.02, timers_every=0.02
    )
    async with proxy_to(url) as proxy:
        app = Tenuto(proxy.url(url), settings=settings)
        async with app:
            await app.deploy({"id": "q", "steps": [{"stepId": "end", "type": "TERMINATE"}]})
            proxy.refuse()
            proxy.cut()
            tries = [asyncio.create_task(_refused(app)) for _ in range(3)]
            await asyncio.gather(*tries)
            while not is_away(app):
                app.engine.membership.heartbeat_hint.set()
                async with connected(url) as connection:
                    await connection.fetch("SELECT pg_sleep(0.05)")
            proxy.mend()
            while is_away(app):
                app.engine.membership.heartbeat_hint.set()
                async with connected(url) as connection:
                    await connection.fetch("SELECT pg_sleep(0.05)")
            await app.start("q")
    # The driver's own futures are reported by asyncio, whenever they are collected.
    ours = [each for each in caplog.records if each.name.startswith("tenuto")]
    lines = [each.message.partition("\n")[0] for each in ours]
    assert len(lines) == 2, lines
    assert lines[0].startswith("the store is unavailable, trying again (")
    assert lines[1].startswith("the store is back after ")


def is_away(app: Tenuto) -> bool:
    return app.engine.shared.outage._since is not None


async def _refused(app: Tenuto) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await app.start("q")
