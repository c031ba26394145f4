"""What commands say when the database goes away while they are at work, and what is true then."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.cli import exits, local_run
from tenuto.cli.backends import mailbox, opened, store_workspace
from tenuto.cli.backends.reader import Reader
from tenuto.cli.lookup import find_instance
from tenuto.engine import engine
from tenuto.engine.events.event_router import EventRouter, StoredEvent
from tenuto.model.errors import StoreUnavailable
from tenuto.model.status import Status
from tenuto.store.parts.mailbox import Mail
from tenuto.workspace.events import Events
from tests.cli.beside import told
from tests.cli.conftest import PATIENCE, WAIT, Terminal, one_of_each
from tests.kit.tcp_proxy import TcpProxy, proxy_to

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]


@pytest_asyncio.fixture
async def line(on_postgres: Terminal) -> AsyncIterator[TcpProxy]:
    """The way to the database, which may be cut."""
    async with proxy_to(on_postgres.store) as proxy:
        yield proxy


def cut(line: TcpProxy) -> None:
    line.refuse()
    line.cut()


async def cancelled(url: str) -> None:
    async with opened(url) as backend:
        newest = await find_instance(backend.space, "@last")
        await backend.space.at(newest.id).cancel()


async def test_who_stops_watching_is_told_how_to_go_on_also_when_the_database_is_away(
    on_postgres: Terminal,
    line: TcpProxy,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await asyncio.to_thread(on_postgres.past, one_of_each)

    @contextmanager
    def at_once() -> Iterator[asyncio.Event]:
        cut(line)
        stopped = asyncio.Event()
        stopped.set()
        yield stopped

    monkeypatch.setattr(local_run, "interruptible", at_once)
    monkeypatch.setattr(engine, "_LAST_WRITES", 0.1)
    url = line.url(on_postgres.store)
    assert await local_run.run(url, local_run.RunOptions(instance="@last")) == 130
    err = capsys.readouterr().err
    assert "stopped without the store" in err
    assert f"--store {url}" in err.partition("To continue it:")[2].splitlines()[1]


async def test_ctrl_c_twice_ends_at_once_also_when_the_database_is_away(
    on_postgres: Terminal, line: TcpProxy
) -> None:
    on_postgres.write("wait.json", WAIT)
    on_postgres.environment["TENUTO_STORE"] = line.url(on_postgres.store)
    with on_postgres.start("run", "wait.json", "-i", '{"id": 7}') as process:
        await asyncio.to_thread(told, process, "waiting for paid")
        cut(line)
        process.send_signal(signal.SIGINT)
        await asyncio.to_thread(told, process, "tenuto run wait.json --instance")
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "Traceback" not in err


async def test_a_command_that_is_stored_when_the_database_goes_away_says_so_and_is_done_later(
    on_postgres: Terminal, line: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(on_postgres.past, one_of_each)
    taken = mailbox._taken

    async def cut_before(reader: Reader, look: Callable[[], Awaitable[Status | None]]) -> object:
        cut(line)
        return await taken(reader, look)

    monkeypatch.setattr(mailbox, "_taken", cut_before)
    url = line.url(on_postgres.store)
    with pytest.raises(StoreUnavailable) as refusal:
        await cancelled(url)
    assert exits.exit_code(refusal.value) == 7
    assert refusal.value.code == "TEN-4015"
    assert "the command is stored" in refusal.value.message
    assert "tenuto show " in refusal.value.advice
    assert url in refusal.value.advice, "the line that is to be typed names the store"
    async with Tenuto(on_postgres.store) as app:
        newest = (await app.instances(workflow="wait"))[0]
        await app.engine.final_state(newest.id)
        assert (await app.instances(workflow="wait"))[0].status is Status.CANCELLED


async def test_a_command_of_which_the_database_says_nothing_is_not_called_stored(
    on_postgres: Terminal, line: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(on_postgres.past, one_of_each)
    send = mailbox._send

    async def cut_before(reader: Reader, mail: Mail) -> None:
        cut(line)
        await send(reader, mail)

    monkeypatch.setattr(mailbox, "_send", cut_before)
    with pytest.raises(StoreUnavailable, match="whether the command was stored") as refusal:
        await cancelled(line.url(on_postgres.store))
    assert exits.exit_code(refusal.value) == 5
    assert "Before asking again" in refusal.value.advice


async def test_an_event_that_is_stored_when_the_database_goes_away_is_said_to_be(
    on_postgres: Terminal, line: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(on_postgres.past, one_of_each)
    match = EventRouter.match_together

    async def cut_before(self: EventRouter, events: Sequence[StoredEvent]) -> None:
        cut(line)
        await match(self, events)

    monkeypatch.setattr(EventRouter, "match_together", cut_before)
    monkeypatch.setattr(store_workspace, "PATIENCE", 0.5)
    monkeypatch.setattr(engine, "_LAST_WRITES", 0.1)
    url = line.url(on_postgres.store)
    with pytest.raises(StoreUnavailable) as refusal:
        async with opened(url) as backend:
            await backend.space.publish("paid", {"id": 7}, id="e-1")
    assert exits.exit_code(refusal.value) == 7
    assert "the event e-1 is stored" in refusal.value.message
    monkeypatch.undo()
    sent = await asyncio.to_thread(
        on_postgres.run, "events", "send", "paid", '{"id": 7}', "--id", "e-1", "-o", "json"
    )
    assert sent.json["duplicate"] is True


async def test_an_event_that_was_refused_may_be_sent_again_under_its_id(
    on_postgres: Terminal, line: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(on_postgres.past, one_of_each)
    publish = Events.publish

    async def cut_before(self: Events, *values: object, **named: object) -> object:
        cut(line)
        return await publish(self, *values, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Events, "publish", cut_before)
    monkeypatch.setattr(store_workspace, "PATIENCE", 0.5)
    monkeypatch.setattr(engine, "_LAST_WRITES", 0.1)
    with pytest.raises(StoreUnavailable) as refusal:
        async with opened(line.url(on_postgres.store)) as backend:
            await backend.space.publish("paid")
    assert exits.exit_code(refusal.value) == 5
    assert "again with --id " in refusal.value.advice
