"""Answers that clients do not take: bounded in bytes and time, and no stop waits for them."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Scope

from tenuto import Tenuto
from tenuto.api import pipeline
from tenuto.api.call import Call
from tenuto.api.config import ServiceConfig
from tenuto.api.http_protocol import BEFORE_CANCEL
from tenuto.api.incoming import IncomingRequest
from tenuto.api.operation import Operation
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.problems import Refusal
from tenuto.api.registry import OPERATIONS
from tenuto.api.request_turns import READS_AT_ONCE
from tenuto.api.responses import PIECE, ResponseSender, answer_body
from tenuto.api.service import Service
from tenuto.api.untaken_answers import MOST_KNOWN, UntakenAnswers
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tests.api.conftest import WAIT, Caller, Serve, until
from tests.api.test_slow_requests import DRAIN_SECONDS, TAKING_SECONDS, UPGRADE, WHOLE, Line
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

LARGE: Object = {
    "id": "large",
    "steps": [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "double",
            # More than the kernel takes from a client that reads nothing.
            "input": {"number": ["x" * 900_000] * 12},
        }
    ],
}


async def test_a_large_body_goes_out_in_pieces_and_a_small_one_as_it_is() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    small: Message = {"type": "http.response.body", "body": b"x" * PIECE}
    await ResponseSender(send, SystemClock())(small)
    assert sent.pop() is small
    body = bytes(range(256)) * (PIECE // 64) + b"end"
    await ResponseSender(send, SystemClock())({"type": "http.response.body", "body": body})
    assert b"".join(each["body"] for each in sent) == body
    assert all(len(each["body"]) <= PIECE for each in sent)
    assert [each["more_body"] for each in sent] == [True] * (len(sent) - 1) + [False]


async def test_the_loop_goes_on_between_the_pieces_of_an_answer_that_is_taken_at_once() -> None:
    turn, sent_in = 0, list[int]()

    async def send(_: Message) -> None:
        sent_in.append(turn)

    body: Message = {"type": "http.response.body", "body": b"x" * 5 * PIECE}
    sending = asyncio.ensure_future(ResponseSender(send, SystemClock())(body))
    while not sending.done():
        await asyncio.sleep(0)
        turn += 1
    assert len(set(sent_in)) == 5


async def test_a_client_that_takes_nothing_is_closed_after_a_while_and_one_that_takes_is_not() -> (
    None
):
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE)
    await line.answered()
    wire.untaken = 100_000
    protocol.pause_writing()
    for _ in range(5):
        line.clock.move(TAKING_SECONDS - 1)
        wire.untaken -= 1_000
        line.clock.move(1)
        assert not wire.is_closed
    line.clock.move(TAKING_SECONDS)
    assert wire.is_aborted


async def test_a_client_that_has_taken_its_answer_is_not_hurried() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE)
    await line.answered()
    wire.untaken = 100_000
    protocol.pause_writing()
    wire.untaken = 0
    protocol.resume_writing()
    line.clock.move(TAKING_SECONDS * 2)
    assert not wire.is_closed


async def test_a_connection_that_is_closed_waits_no_longer_for_its_last_bytes() -> None:
    line = Line()
    protocol, wire = line.connect()
    wire.untaken = 10_000
    protocol.data_received(b"no request\r\n\r\n")
    assert (wire.status, wire.is_closed, wire.is_aborted) == (400, True, False)
    line.clock.move(TAKING_SECONDS)
    assert wire.is_aborted


@pytest.mark.parametrize("is_taking", [False, True])
async def test_a_stop_closes_who_has_not_taken_its_answer_before_the_drain_time_ends(
    *, is_taking: bool
) -> None:
    """One that takes nothing after half of it."""
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE)
    wire.untaken = 100_000
    protocol.pause_writing()
    protocol.shutdown()
    if is_taking:
        wire.untaken -= 1
        line.clock.move(DRAIN_SECONDS / 2)
        assert not wire.is_aborted
        wire.untaken -= 1
        line.clock.move(DRAIN_SECONDS / 2 - BEFORE_CANCEL)
    else:
        line.clock.move(DRAIN_SECONDS / 2)
    assert wire.is_aborted
    protocol.connection_lost(None)
    await line.answered()


async def test_answers_beyond_the_bound_are_refused_for_that_tenant_alone() -> None:
    untaken = UntakenAnswers(100, 10_000)
    with untaken.holding("tenant a", 1_000, is_change=False):
        with pytest.raises(Refusal) as refused, untaken.holding("tenant a", 1, is_change=False):
            pass
        assert (refused.value.status, refused.value.code) == (429, "TEN-4295")
        assert int(refused.value.headers["retry-after"]) > 0
        with untaken.holding("tenant b", 1, is_change=False):
            assert len(untaken) == 2
    assert len(untaken) == 0
    with untaken.holding("tenant a", 60, is_change=False):
        with untaken.holding("tenant a", 40, is_change=False):
            assert len(untaken) == 1
        assert len(untaken) == 1


async def test_over_all_tenants_those_with_their_share_are_refused_and_then_everybody() -> None:
    untaken = UntakenAnswers(100, 300)

    def is_refused(who: str, size: int) -> bool:
        try:
            with untaken.holding(who, size, is_change=False):
                return False
        except Refusal as refused:
            return (refused.status, refused.code) == (429, "TEN-4295")

    with ExitStack() as held:
        for number in range(3):
            held.enter_context(untaken.holding(f"tenant {number}", 100, is_change=False))
        # Four would have 75 each.
        assert is_refused("tenant 3", 76)
        assert not is_refused("tenant 3", 75)
        assert is_refused("tenant 0", 1)
        for number in range(1_000):
            if is_refused(f"small {number}", 5):
                break
            held.enter_context(untaken.holding(f"small {number}", 5, is_change=False))
        else:
            pytest.fail("there is no bound over all")
        assert number * 5 + 300 <= 600
        held.pop_all().close()
    assert not is_refused("tenant 0", 1_000)


async def test_the_answer_to_a_change_has_more_room_and_does_not_say_that_nothing_changed() -> None:
    untaken = UntakenAnswers(100, 10_000)
    with (
        untaken.holding("tenant a", 100, is_change=False),
        untaken.holding("tenant a", 100, is_change=True),
        pytest.raises(StoreUnavailable) as refused,
        untaken.holding("tenant a", 1, is_change=True),
    ):
        pass
    assert refused.value.code == "TEN-4019"


@asynccontextmanager
async def unread(call: Caller, path: str) -> AsyncIterator[socket.socket]:
    """A client that asks, and reads nothing of the answer; entered once that is under way."""
    host, _, port = call.url.removeprefix("http://").partition(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    with client:
        await asyncio.to_thread(client.connect, (host, int(port)))
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        await until(is_under_way(call))
        yield client


def is_under_way(call: Caller) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        await call.get("/health")
        return len(call.pipeline.service.untaken) > 0

    return answer


async def test_while_an_answer_is_not_taken_other_large_ones_are_refused_and_small_ones_are_not(
    serve: Serve,
) -> None:
    config = ServiceConfig(port=0, untaken_bytes=12_000_000, drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(120):
        await call.app.deploy(LARGE)
        assert (await call.get("/workflows/large")).status == 200
        async with unread(call, "/api/v1/workflows/large"):
            refused = await call.get("/workflows/large")
            assert (refused.status, refused.json["code"]) == (429, "TEN-4295")
            assert int(refused.headers["retry-after"]) > 0
            assert (await call("PUT", "/workflows/wait", WAIT)).status == 201
            assert (await call.get("/workflows/wait")).status == 200

        async def is_answered() -> bool:
            return (await call.get("/workflows/large")).status == 200

        await until(is_answered)
        assert len(call.pipeline.service.untaken) == 0


async def test_a_read_whose_answer_has_no_room_is_refused_before_that_is_made_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred connections that read nothing took a tenth of a second each of all others."""
    made = 0

    def counted(answer: object) -> bytes:
        nonlocal made
        made += 1
        return answer_body(answer)

    config = ServiceConfig(port=0, untaken_bytes=12_000_000, drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(120):
        await call.app.deploy(LARGE)
        assert (await call.get("/workflows/large")).status == 200
        async with unread(call, "/api/v1/workflows/large"):
            monkeypatch.setattr(pipeline, "answer_body", counted)
            for header in ({}, {"if-none-match": '"other"'}):
                for _ in range(5):
                    assert (await call.get("/workflows/large", **header)).status == 429
            assert made == 0
            known = await call.get("/workflows/large", **{"if-none-match": '"1"'})
            assert known.status == 304


async def test_reads_whose_answers_were_large_take_turns_and_are_made_where_they_have_room(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = most = 0
    perform = RequestPipeline._perform

    async def counted(
        self: RequestPipeline, incoming: IncomingRequest, operation: Operation, call: Call[Any]
    ) -> object:
        nonlocal making, most
        making += 1
        most = max(most, making)
        await turns(5)
        try:
            return await perform(self, incoming, operation, call)
        finally:
            making -= 1

    async with serve() as call, asyncio.timeout(120):
        await call.app.deploy(LARGE)
        assert (await call.get("/workflows/large")).status == 200
        monkeypatch.setattr(RequestPipeline, "_perform", counted)
        replies = await asyncio.gather(*(call.get("/workflows/large") for _ in range(12)))
        assert most <= READS_AT_ONCE
        assert {each.status for each in replies} <= {200, 429}
        assert len(call.pipeline.service.untaken) == 0


async def test_the_sizes_of_the_newest_large_answers_are_remembered() -> None:
    untaken = UntakenAnswers(100, 10_000)
    for read in range(1, MOST_KNOWN + 2):
        untaken.know(read, 60)
    assert [untaken.was_large(read) for read in (0, 1, 2)] == [False, False, True]
    with untaken.holding("tenant a", 60, is_change=False):
        untaken.refuse_again("tenant a", 1)
        untaken.refuse_again("tenant b", 2)
        with pytest.raises(Refusal):
            untaken.refuse_again("tenant a", 2)
        untaken.know(2, 0)
        untaken.refuse_again("tenant a", 2)


async def test_who_takes_nothing_is_closed_by_the_service(serve: Serve) -> None:
    config = ServiceConfig(port=0, taking_seconds=0.05, drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(120):
        await call.app.deploy(LARGE)
        async with unread(call, "/api/v1/workflows/large"):
            is_there = is_under_way(call)
            while await is_there():
                pass


async def test_an_answer_is_forgotten_with_its_connection_also_where_that_asks_for_a_socket(
    serve: Serve,
) -> None:
    """It counted for good, so that its tenant was refused every large answer in the end."""
    async with serve() as call, asyncio.timeout(120):
        await call.app.deploy(LARGE)
        async with unread(call, "/api/v1/workflows/large") as client:
            client.sendall(UPGRADE)
        is_there = is_under_way(call)
        while await is_there():
            pass


async def test_a_stop_waits_for_nobody_who_reads_nothing_and_logs_no_error(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(120):
        async with serve() as call:
            await call.app.deploy(LARGE)
            reading = unread(call, "/api/v1/workflows/large")
            await reading.__aenter__()
        assert len(call.pipeline.service.untaken) == 0
        await reading.__aexit__(None, None, None)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_what_a_stop_cuts_off_ends_with_its_answer() -> None:
    """The server logs a traceback for each request that ends otherwise."""
    app = Tenuto()
    service = Service(app, ServiceConfig(), OPERATIONS)
    sent: list[Message] = []

    async def receive() -> Message:
        service.stopping.set()
        answering.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/workflows",
        "query_string": b"",
        "scheme": "http",
        "headers": [(b"host", b"localhost"), (b"content-length", b"10")],
        "client": ("127.0.0.1", 1),
    }
    async with app:
        answering = asyncio.ensure_future(RequestPipeline(service)(scope, receive, send))
        await answering
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["code"] == "TEN-4019"


async def test_the_bounds_are_those_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    config = ServiceConfig()
    assert f"{config.untaken_bytes // 1_000_000} MB of answers that are not taken" in page
    assert f"more than {config.all_untaken_bytes // 1_000_000} MB" in page
    assert f"takes nothing of its answer for {config.taking_seconds:g} seconds" in page
