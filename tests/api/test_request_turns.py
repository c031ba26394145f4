"""Reads, and changes, of one tenant take turns, and do not wait for those of another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto.api.call import Call
from tenuto.api.incoming import IncomingRequest
from tenuto.api.operation import Operation
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.registry import OPERATIONS
from tenuto.api.request_turns import CHANGES_AT_ONCE, CHANGES_BESIDE_OTHERS, RequestTurns
from tenuto.api.shedding import SAVES, UNDELAYED, changes_in_turn
from tenuto.model.errors import Overloaded, ProcessStops
from tests.api.conftest import Serve, until

pytestmark = pytest.mark.asyncio


async def test_lists_of_a_tenant_wait_for_their_turn_in_order() -> None:
    turns, entered = RequestTurns(at_once=1), list[int]()

    async def one(number: int) -> None:
        await turns.enter("a")
        entered.append(number)

    await one(0)
    waiting = [asyncio.ensure_future(one(number)) for number in (1, 2)]
    await turns.enter("b")
    assert entered == [0]
    for each in waiting:
        turns.leave("a")
        await each
    assert entered == [0, 1, 2]
    for tenant in "ab":
        turns.leave(tenant)
    assert len(turns) == 0


async def test_a_list_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    turns = RequestTurns(at_once=1)
    await turns.enter("a")
    first, second, third = (asyncio.ensure_future(turns.enter("a")) for _ in range(3))
    begun = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(begun.set_result, None)
    await begun
    first.cancel()
    turns.leave("a")
    second.cancel()  # in the moment in which it was given the turn
    await third
    turns.leave("a")
    assert len(turns) == 0
    assert first.cancelled()
    assert second.cancelled()


async def test_lists_that_wait_are_refused_when_the_service_stops() -> None:
    turns = RequestTurns(at_once=1)
    await turns.enter("a")
    waiting = [asyncio.ensure_future(turns.enter("a")) for _ in range(2)]
    begun = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(begun.set_result, None)
    await begun
    turns.end()
    waiting[1].cancel()  # in the moment in which it was refused
    found = await asyncio.gather(*waiting, turns.enter("a"), return_exceptions=True)
    assert [type(each) for each in found] == [
        ProcessStops,
        asyncio.CancelledError,
        ProcessStops,
    ]
    turns.leave("a")
    assert len(turns) == 0


@pytest.mark.parametrize(
    "path",
    ["/stats", "/stats/series", "/attention", "/approvals", "/task-queues", "/dead-letters/groups"]
    + [f"/instances/none/{part}" for part in ("", "waits", "explain", "graph", "context")],
)
async def test_what_a_tenant_can_make_large_is_read_in_turn(serve: Serve, path: str) -> None:
    async with serve() as call, asyncio.timeout(60):
        turns = call.pipeline.service.read_turns = RequestTurns(at_once=1)
        await turns.enter("default")
        asked = asyncio.ensure_future(call.get(path.rstrip("/")))
        while not turns.has_waiting:
            assert (await call.get("/me")).status == 200
        assert not asked.done()
        turns.leave("default")
        assert (await asked).status in {200, 404}
        assert len(turns) == 0


async def test_a_turn_rests_while_others_are_at_work_and_its_answer_does_not(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call, asyncio.timeout(60):
        service = call.pipeline.service
        sharing = service.app.engine.shared.sharing
        monkeypatch.setattr(sharing, "rest_after", lambda *_, **__: 3_600.0)
        assert (await call.get("/stats")).status == 200
        assert len(service.read_turns) == 1


async def test_a_request_that_waits_for_the_end_of_an_instance_keeps_no_turn(serve: Serve) -> None:
    async with serve() as call, asyncio.timeout(60):
        turns = call.pipeline.service.read_turns = RequestTurns(at_once=1)
        await turns.enter("default")
        assert (await call.get("/instances/none?wait=1")).status == 404
        turns.leave("default")


async def test_while_lists_of_a_tenant_wait_its_other_requests_are_answered(serve: Serve) -> None:
    async with serve() as call, asyncio.timeout(60):
        turns = call.pipeline.service.read_turns = RequestTurns(at_once=1)
        await turns.enter("default")
        listed = asyncio.ensure_future(call.get("/workflows"))
        while not turns.has_waiting:
            assert (await call.get("/me")).status == 200
        assert not listed.done()
        turns.leave("default")
        assert (await listed).status == 200
        assert len(turns) == 0


async def test_a_list_whose_client_is_gone_waits_no_longer_and_is_not_made(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that give up and ask again would have lists made that no client reads."""
    made = list[str]()
    perform = RequestPipeline._perform

    async def noted(
        self: RequestPipeline, incoming: IncomingRequest, operation: Operation, call: Call[Any]
    ) -> object:
        made.append(operation.name)
        return await perform(self, incoming, operation, call)

    async with serve() as call, asyncio.timeout(30):
        turns = call.pipeline.service.read_turns = RequestTurns(at_once=1)
        await turns.enter("default")
        monkeypatch.setattr(RequestPipeline, "_perform", noted)
        listed = asyncio.ensure_future(call.get("/workflows"))
        while not turns.has_waiting:
            assert (await call.get("/me")).status == 200
        listed.cancel()  # its connection is closed

        async def is_given_up() -> bool:
            assert (await call.get("/me")).status == 200
            return not turns.has_waiting

        await until(is_given_up)
        turns.leave("default")
        assert len(turns) == 0
        assert (await call.get("/workflows")).status == 200
        assert made.count("list_workflows") == 1


async def test_fewer_of_a_tenant_are_under_way_once_others_are_at_work() -> None:
    most = 3
    turns = RequestTurns(most_of=lambda _: most)
    for _ in range(most):
        await turns.enter("a")
    waiting = [asyncio.ensure_future(turns.enter("a")) for _ in range(5)]
    most = 1
    counts = []
    for bound in (1, 1, 1, 3):
        most = bound
        turns.leave("a")
        await asyncio.sleep(0)
        counts.append(sum(each.done() for each in waiting))
    assert counts == [0, 0, 1, 4]


@pytest.mark.parametrize(
    ("is_shared", "at_once"), [(True, CHANGES_BESIDE_OTHERS), (False, CHANGES_AT_ONCE)]
)
async def test_a_tenant_changes_few_records_at_once_while_others_are_at_work(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, is_shared: bool, at_once: int
) -> None:
    task = {"id": "one", "kind": "pull"}
    async with serve() as call, asyncio.timeout(60):
        service = call.pipeline.service
        sharing = service.app.engine.shared.sharing
        monkeypatch.setattr(sharing, "is_beside_others", lambda _: is_shared)
        turns = service.change_turns
        for _ in range(at_once):
            await turns.enter("default")
        put = asyncio.ensure_future(call("PUT", "/tasks/one", task))
        while not turns.has_waiting:
            assert (await call.get("/me")).status == 200
        assert not put.done()
        turns.leave("default")
        assert (await put).status in {200, 201}
        assert len(turns) == 1


async def test_what_comes_later_does_not_overtake_those_that_wait() -> None:
    """Others fall silent, so that there is room for more: what waits has it first."""
    most = 1
    turns, entered = RequestTurns(most_of=lambda _: most), list[int]()

    async def one(number: int) -> None:
        await turns.enter("a")
        entered.append(number)

    await one(0)
    first, second = (turns.ask("a") for _ in range(2))
    most = 2
    third = turns.ask("a")
    assert [first.done(), second.done(), third.done()] == [True, False, False]
    turns.leave("a")
    assert [second.done(), third.done()] == [True, False]
    most = 5
    await one(4)
    assert third.done()
    assert entered == [0, 4]
    for _ in range(4):
        turns.leave("a")
    assert len(turns) == 0


async def test_requests_that_wait_are_bounded_in_number_for_each_tenant() -> None:
    turns = RequestTurns(at_once=1, most_waiting=2)
    for tenant in "ab":
        await turns.enter(tenant)
    waiting = [turns.ask("a") for _ in range(2)]
    with pytest.raises(Overloaded):
        await turns.enter("a")
    assert not turns.ask("b").done()
    waiting[0].cancel()
    await asyncio.sleep(0)
    assert not turns.ask("a").done()
    with pytest.raises(Overloaded):
        await turns.enter("a")


async def test_bodies_of_requests_that_wait_are_bounded_in_bytes() -> None:
    turns = RequestTurns(at_once=1, most_bytes=100)
    await turns.enter("a")
    large = turns.ask("a", 150)  # alone it waits at any size
    assert not turns.ask("a").done()  # so does one without a body
    with pytest.raises(Overloaded):
        await turns.enter("a", 1)
    large.cancel()
    await asyncio.sleep(0)
    assert not any(turns.ask("a", size).done() for size in (60, 40))
    with pytest.raises(Overloaded):
        await turns.enter("a", 1)
    for _ in range(2):  # the one without a body is next, then that of 60 bytes
        turns.leave("a")
    assert not turns.ask("a", 60).done()


async def test_changes_beyond_those_that_may_wait_are_refused_as_too_many(serve: Serve) -> None:
    task = {"id": "one", "kind": "pull"}
    async with serve() as call, asyncio.timeout(60):
        turns = RequestTurns(at_once=1, most_bytes=10)
        call.pipeline.service.change_turns = turns
        await turns.enter("default")
        put = asyncio.ensure_future(call("PUT", "/tasks/one", task))
        while not turns.has_waiting:
            assert (await call.get("/me")).status == 200
        refused = await call("POST", "/tasks", task)
        assert (refused.status, refused.json["code"]) == (429, "TEN-4290")
        assert int(refused.headers["retry-after"]) > 0
        assert not put.done()
        turns.leave("default")
        assert (await put).status in {200, 201}
        assert len(turns) == 0


async def test_what_is_removed_does_not_wait_behind_changes(serve: Serve) -> None:
    async with serve() as call, asyncio.timeout(60):
        turns = call.pipeline.service.change_turns = RequestTurns(at_once=1)
        assert (await call("POST", "/tasks", {"id": "one", "kind": "pull"})).status == 201
        await turns.enter("default")
        assert (await call("DELETE", "/tasks/one")).status == 204
        turns.leave("default")


async def test_every_change_either_takes_turns_or_is_said_to_be_undelayed() -> None:
    audited = {each.name for each in OPERATIONS if each.is_audited}
    removing = {each.name for each in OPERATIONS if each.method == "DELETE"}
    groups = (SAVES, UNDELAYED, removing)
    assert audited == frozenset().union(*groups)
    assert sum(map(len, groups)) == len(audited)
    assert {each.name for each in OPERATIONS if changes_in_turn(each)} == SAVES
