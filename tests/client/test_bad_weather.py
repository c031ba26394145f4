"""What a client does when the way to the server is bad: it goes on, and does nothing twice."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from tenuto import Client, InvalidInput, NotFound, Overloaded, StoreUnavailable
from tenuto.client import connection
from tenuto.client.connection import Answered, Ask, Connection
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace.values import Start
from tests.api.conftest import DOUBLE, served
from tests.client.strangers import (
    AWAY,
    NOT_KNOWN,
    NOT_RECORDED,
    ONCE,
    REFUSED,
    STARTED,
    STORED,
    answering,
    reply,
)


@pytest.mark.asyncio
async def test_a_server_that_has_too_much_to_do_is_asked_again() -> None:
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes:
        seen.append(next(each for each in head.splitlines() if "dempotency" in each))
        return reply(429, REFUSED, "retry-after: 0") if len(seen) < 3 else reply(201, STARTED)

    async with answering(answer) as url, Client(url) as client:
        assert (await client.start("double")).id == "i-1"
    assert len(seen) == 3
    assert len(set(seen)) == 1, "a repeat has the key of the first"


@pytest.mark.asyncio
async def test_retry_after_is_waited_for_and_patience_ends() -> None:
    def answer(head: str, body: bytes) -> bytes:
        return reply(429, REFUSED, "retry-after: 60")

    async with answering(answer) as url, Client(url, patience=30) as client:
        with pytest.raises(Overloaded) as refused:
            await client.start("double")
    assert (refused.value.code, refused.value.advice) == ("TEN-4290", "later")
    assert refused.value.retry_after == 60


@pytest.mark.asyncio
async def test_a_start_whose_answer_was_lost_is_sent_again_and_a_rerun_is_not() -> None:
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes | None:
        seen.append(head.split(" ")[1])
        return None if len(seen) == 1 else reply(201, STARTED)

    async with answering(answer) as url, Client(url) as client:
        assert (await client.start("double")).id == "i-1"
        assert len(seen) == 2
        seen.clear()
        with pytest.raises(StoreUnavailable) as unknown:
            await client.at("i-1").rerun()
    assert unknown.value.code == "TEN-4032"
    assert len(seen) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (503, NOT_RECORDED, "TEN-5030"),
        (503, NOT_KNOWN, "TEN-4019"),
        (503, STORED, "TEN-4015"),
        (502, "bad gateway", "TEN-4032"),
        (503, "no healthy upstream", "TEN-4032"),
        (504, "gateway time-out", "TEN-4032"),
    ],
)
async def test_what_may_have_been_done_is_sent_again_only_where_twice_is_once(
    status: int, body: object, code: str
) -> None:
    seen: list[str] = []

    def answer(head: str, _: bytes) -> bytes:
        seen.append(head.split(" ")[1])
        return reply(status, body) if len(seen) == 1 else reply(201, STARTED)

    async with answering(answer) as url, Client(url) as client:
        assert (await client.start("double")).id == "i-1"
        assert len(seen) == 2, "it has a key, so that a repeat starts nothing"
        for ask in (
            client.at("i-1").retry(),
            client.keys.create("build", role="viewer"),
            client.webhooks.add("http://127.0.0.1:1", ["a.*"]),
            client.dead_letters.retry("i-1:1"),
        ):
            seen.clear()
            with pytest.raises(StoreUnavailable) as unknown:
                await ask
            assert (unknown.value.code, len(seen)) == (code, 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("first", [None, reply(503, NOT_KNOWN), reply(504, "gateway time-out")])
async def test_what_a_removal_removed_before_its_answer_was_lost_is_removed(
    first: bytes | None,
) -> None:
    gone = reply(404, {"status": 404, "code": "TEN-2002", "detail": "there is no workflow w"})
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes | None:
        seen.append(head)
        return first if len(seen) == 1 else gone

    async with answering(answer) as url, Client(url) as client:
        await client.remove_definition("w")
        assert len(seen) == 2
        with pytest.raises(NotFound):
            await client.remove_definition("w")


@pytest.mark.asyncio
async def test_a_removal_that_gives_something_is_not_done_where_nothing_is_found() -> None:
    missing = {"status": 404, "code": "TEN-3072", "detail": "there is no bulk operation b"}
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes | None:
        seen.append(head)
        return None if len(seen) == 1 else reply(404, missing)

    async with answering(answer) as url, Client(url) as client:
        with pytest.raises(NotFound):
            await client.bulk.cancel("b")
    assert len(seen) == 2


@pytest.mark.asyncio
async def test_operations_that_could_act_twice_are_sent_once() -> None:
    """Items may lack keys and ids, and a version that is named is not the newest afterwards."""
    seen: list[str] = []

    def answer(head: str, body: bytes) -> None:
        seen.append(head)

    async with answering(answer) as url, Client(url, patience=0.5) as client:
        operations, task = client.operations, TaskDefinition(id="t", kind="pull")
        for ask in (
            operations.start_batch(items=[{"workflowId": "w"}]),
            operations.publish_events({"pattern": "order.made"}),
            operations.put_workflow("w", {}, if_match="1"),
            operations.put_task("t", task, if_match="1"),
        ):
            seen.clear()
            with pytest.raises(StoreUnavailable) as unknown:
                await ask
            assert (unknown.value.code, len(seen)) == ("TEN-4032", 1)
        for again in (
            operations.start_batch(items=[{"workflowId": "w"}], is_repeatable=True),
            operations.put_workflow("w", {}),
            operations.put_task("t", task),
            client.start_many([Start(workflow="w")]),
            client.publish_all([{"pattern": "order.made"}]),
        ):
            seen.clear()
            with pytest.raises(StoreUnavailable):
                await again
            assert len(seen) > 1


@pytest.mark.asyncio
async def test_what_was_not_there_is_not_called_removed() -> None:
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes:
        seen.append(head)
        missing = {"status": 404, "code": "TEN-2002", "detail": "there is no workflow w"}
        return reply(503, AWAY) if len(seen) == 1 else reply(404, missing)

    async with answering(answer) as url, Client(url) as client:
        with pytest.raises(NotFound):
            await client.remove_definition("w")
    assert len(seen) == 2


@pytest.mark.asyncio
async def test_what_a_server_says_it_has_not_accepted_is_sent_again() -> None:
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes:
        seen.append(head)
        return reply(503, AWAY) if len(seen) == 1 else reply(201, STARTED)

    async with answering(answer) as url, Client(url) as client:
        assert (await client.connection.send(ONCE)).status == 201
    assert len(seen) == 2


@pytest.mark.asyncio
async def test_an_event_that_is_sent_again_has_the_same_id() -> None:
    seen: list[str] = []

    def answer(head: str, body: bytes) -> bytes | None:
        seen.append(json.loads(body)["id"])
        return None if len(seen) == 1 else reply(200, {"eventId": seen[0], "duplicate": True})

    async with answering(answer) as url, Client(url) as client:
        await client.publish("order.made")
    assert len(seen) == 2
    assert len(set(seen)) == 1


@pytest.mark.asyncio
async def test_where_one_address_does_not_answer_the_next_is_asked() -> None:
    async with served() as caller:
        await caller.app.deploy(DOUBLE)
        nobody = "http://127.0.0.1:1"
        async with Client([nobody, caller.url], patience=0) as client:
            instance = await client.start("double", {"number": 2})
            assert await instance.result(timeout=30) == 4
            assert client.connection.url == caller.url


@pytest.mark.asyncio
async def test_requests_that_fail_together_move_on_once() -> None:
    """Of two addresses one is dead: who comes second must not send everybody back to it."""
    asked = 0
    all_there = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        if asked == 4:
            all_there.set()
        await all_there.wait()
        writer.close()

    dead = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with dead, answering(lambda head, body: reply(200, {"items": []})) as alive:
        first = f"http://127.0.0.1:{dead.sockets[0].getsockname()[1]}"
        async with Client([first, alive], patience=0) as client:
            asks = [client.connection.send(Ask("POST", "/health")) for _ in range(4)]
            answers = await asyncio.gather(*asks)
            assert {each.server for each in answers} == {alive}
            assert client.connection.url == alive
    assert asked == 4


@pytest.mark.asyncio
async def test_an_address_that_nobody_has_does_not_keep_others_waiting() -> None:
    """What was never sent goes to the next, even where it must not be done twice."""
    full = socket.socket()
    with full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        # Its queue is full: who comes next is not answered at all.
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        async with answering(lambda head, body: reply(201, STARTED)) as alive:
            frozen = f"http://127.0.0.1:{address[1]}"
            async with Client([frozen, alive], patience=0) as client:
                client.connection.connect_within = 0.1
                assert (await client.connection.send(ONCE)).server == alive
        for each in waiting:
            each.close()


@pytest.mark.asyncio
async def test_who_accepts_and_says_nothing_is_not_waited_for_where_others_may_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_over = asyncio.Event()
    asked: list[str] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await is_over.wait()
        writer.close()

    def answer(head: str, body: bytes) -> bytes:
        asked.append(head)
        return reply(200, STARTED)

    mute = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with mute, answering(answer) as alive, asyncio.timeout(20):
        first = f"http://127.0.0.1:{mute.sockets[0].getsockname()[1]}"
        async with Client([first, alive], patience=0, next_after=0.05) as client:
            assert (await client.connection.send(Ask("GET", "/health"))).server == alive
        async with Client([first, alive], patience=0, next_after=0.05) as client:
            await client.start("double", {"number": 1})
        asked.clear()
        monkeypatch.setattr(connection, "_ANSWER_WITHIN", 0.2)
        async with Client([first, alive], patience=0, next_after=0.05) as client:
            with pytest.raises(StoreUnavailable) as unknown:
                await client.connection.send(ONCE)
        assert (unknown.value.code, asked) == ("TEN-4032", [])
        is_over.set()


@pytest.mark.asyncio
async def test_what_one_server_is_slow_to_do_is_not_asked_of_another_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other would refuse it, for that it is done already."""
    silences: dict[str, float | None] = {}

    async def once(_: Connection, ask: Ask, server: str, silence: float | None) -> Answered:
        silences[ask.path.rpartition("/")[2]] = silence
        return Answered(200, {}, json.dumps(STARTED).encode(), server)

    monkeypatch.setattr(Connection, "_once", once)
    async with Client(["http://a.example", "http://b.example"], next_after=7) as client:
        instance = client.at("i-1")
        await instance.resume()
        await instance.pause()
        await instance.cancel()
        await instance.rerun()
        await client.remove_definition("removed")
        assert set(silences.values()) == {None}, silences
        silences.clear()
        await instance.explain()
        await instance.rerun(key="k")
        await instance.widget("number", {"path": "a"})
        await client.start("double")
        await client.connection.send(Ask("GET", "/health"))
        assert set(silences.values()) == {7}, silences


@pytest.mark.asyncio
async def test_an_error_names_the_server_that_answered() -> None:
    """Another request has moved on to the next address meanwhile."""
    has_moved = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/broken" not in await reader.readuntil(b"\r\n\r\n"):
            await has_moved.wait()
            writer.write(reply(404, "no such page"))
            await writer.drain()
        writer.close()

    def answer(head: str, body: bytes) -> bytes:
        has_moved.set()
        return reply(200, {})

    strange = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with strange, answering(answer) as other:
        url = f"http://127.0.0.1:{strange.sockets[0].getsockname()[1]}"
        async with Client([url, other], patience=0) as client:
            asks = (client.event("e"), client.connection.send(Ask("POST", "/broken")))
            refused, answered = await asyncio.gather(*asks, return_exceptions=True)
    assert isinstance(answered, Answered)
    assert answered.server == other
    assert isinstance(refused, NotFound)
    assert url in refused.message


@pytest.mark.asyncio
async def test_a_service_that_begins_again_elsewhere_is_not_noticed() -> None:
    """One process of two stops while its client waits: the other one answers."""
    async with served() as second:
        await second.app.deploy(DOUBLE)
        async with served(app=None) as first:
            client = Client([first.url, second.url], patience=10)
            assert client.connection.url == first.url
            await client.connection.send(Ask("GET", "/health"))
        async with client:
            instance = await client.start("double", {"number": 5})
            assert await instance.result(timeout=30) == 10


@pytest.mark.asyncio
async def test_that_nobody_is_there_is_said() -> None:
    async with Client("http://127.0.0.1:1", patience=0) as client:
        with pytest.raises(StoreUnavailable, match=r"cannot reach http://127\.0\.0\.1:1") as away:
            await client.start("double")
    assert away.value.code == "TEN-4030"


@pytest.mark.asyncio
async def test_what_is_no_tenuto_server_is_told_from_one() -> None:
    def answer(head: str, body: bytes) -> bytes:
        return reply(200, ["hello"]) if "/start" in head else reply(404, "no such page")

    async with answering(answer) as url, Client(url, patience=0) as client:
        for ask in (client.start("double"), client.event("e")):
            with pytest.raises(Exception, match=url) as strange:
                await ask
            assert strange.value.code == "TEN-4031"  # type: ignore[attr-defined]


@pytest.mark.parametrize("url", ["", "127.0.0.1:8484", "ftp://x", "sqlite:///x.db", []])
def test_an_address_that_is_none_is_refused(url: str | list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        Client(url)
    assert refused.value.code == "TEN-2620"
