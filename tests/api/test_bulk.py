"""Actions over many instances and dead letters."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import replace

from tenuto.access.roles import Role
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.store.parts.bulk import BulkRow
from tenuto.workspace.bulk import BulkAsked, BulkRunner, Progress, Which, runner
from tenuto.workspace.bulk.selection import Selection
from tests.api.conftest import REFUSE, WAIT, Caller, Serve, until
from tests.api.test_pipeline import KEYS, Keys, bearing, somebody


async def over(call: Caller, id: str, **headers: str) -> Any:  # noqa: ANN401 - a view
    view: Any = None

    async def is_over() -> bool:
        nonlocal view
        view = (await call.get(f"/instances/bulk/{id}", **headers)).json
        return bool(view["status"] != "running")

    await until(is_over)
    return view


async def waiting(call: Caller, count: int) -> list[str]:
    await call.app.deploy(WAIT)
    return [(await call.app.start("wait", {"orderId": number})).id for number in range(count)]


@pytest.mark.asyncio
async def test_an_action_reaches_all_that_a_filter_finds(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PAGE", 2)
    async with serve() as call:
        ids = await waiting(call, 5)
        await call.app.deploy({**WAIT, "id": "other"})
        other = (await call.app.start("other", {"orderId": 1})).id
        pause = {"action": "pause", "filter": {"workflowId": "wait"}, "reason": "a fire"}
        counted = await call.post("/instances/bulk", pause | {"dryRun": True})
        assert (counted.status, counted.json["matched"]) == (200, 5)
        assert "id" not in counted.json
        asked = await call.post("/instances/bulk", pause)
        assert asked.status == 202
        view = await over(call, asked.json["id"])
        assert (view["status"], view["matched"], view["done"], view["failed"]) == ("done", 5, 5, 0)
        paused = (await call.get("/instances?status=PAUSED")).json["items"]
        assert {each["id"] for each in paused} == set(ids)
        assert (await (await call.app.instance(other)).status()) != "PAUSED"
        assert view["requestedBy"] == "local"
        lines = (await call.get("/audit?action=start_bulk")).json["items"]
        [line] = [each for each in lines if each["after"] and "filter" in each["after"]]
        assert line["after"]["filter"] == {"workflowId": "wait"}
        [end] = [each for each in lines if each["target"] == view["id"]]
        assert (end["outcome"], end["actor"]) == ("done", "local")
        counts = {name: end["after"][name] for name in ("status", "matched", "done", "failed")}
        assert counts == {"status": "done", "matched": 5, "done": 5, "failed": 0}
        assert (line["after"]["action"], line["after"]["reason"]) == ("pause", "a fire")
        listed = (await call.get("/instances/bulk?limit=1")).json
        assert listed["items"] == [view]


@pytest.mark.asyncio
async def test_what_could_not_be_done_is_said(serve: Serve) -> None:
    async with serve() as call:
        ids = await waiting(call, 2)
        await (await call.app.instance(ids[0])).pause()
        body = {
            "action": "resume",
            "filter": {"ids": ids, "status": ["PAUSED", "RUNNING", "WAITING_FOR_EVENT"]},
        }
        view = await over(call, (await call.post("/instances/bulk", body)).json["id"])
        assert (view["matched"], view["done"], view["failed"]) == (2, 1, 1)
        [failure] = view["failures"]
        assert (failure["id"], failure["code"].startswith("TEN-3")) == (ids[1], True)
        assert failure["message"]


@pytest.mark.asyncio
async def test_the_same_key_is_one_action_and_another_content_a_conflict(serve: Serve) -> None:
    async with serve() as call:
        await waiting(call, 1)
        body = {"action": "cancel", "filter": {"workflowId": "wait"}}
        first = await call.post("/instances/bulk", body, Idempotency_Key="a/b")
        again = await call.post("/instances/bulk", body, Idempotency_Key="a/b")
        assert first.json["id"] == again.json["id"]
        other = body | {"action": "pause"}
        reply = await call.post("/instances/bulk", other, Idempotency_Key="a/b")
        assert (reply.status, reply.json["code"]) == (409, "TEN-3073")
        assert (await over(call, first.json["id"]))["done"] == 1


@pytest.mark.asyncio
async def test_a_filter_that_says_nothing_is_refused(serve: Serve) -> None:
    async with serve() as call:
        reply = await call.post("/instances/bulk", {"action": "cancel", "filter": {}})
        assert (reply.status, reply.codes) == (422, {"TEN-2614"})
        reply = await call.post("/instances/bulk", {"action": "explode", "filter": {"ids": ["x"]}})
        assert reply.status == 422


@pytest.mark.asyncio
async def test_an_action_stays_within_its_tenant(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        [id] = await waiting(call, 1)
        body = {"action": "cancel", "filter": {"ids": [id]}}
        theirs = bearing("bob")
        asked = await call("POST", "/instances/bulk", body, headers=theirs)
        view = await over(call, asked.json["id"], **theirs)
        assert (view["matched"], view["status"]) == (0, "done")
        where = f"/instances/bulk/{asked.json['id']}"
        for method in ("GET", "DELETE"):
            reply = await call(method, where, headers=bearing("ann"))
            assert (reply.status, reply.json["code"]) == (404, "TEN-3072")
        assert (await call("POST", "/instances/bulk", body, headers=bearing("vic"))).status == 403
        status = (await call("GET", f"/instances/{id}", headers=bearing("ann"))).json["status"]
        assert status != "CANCELLED"


@pytest.mark.asyncio
async def test_dead_letters_are_retried_and_discarded_together(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(REFUSE)
        for _ in range(3):
            await call.start("refuse", {}, "?wait=30")
        retry = {"action": "retry", "filter": {"taskId": "refuse"}}
        view = await over(call, (await call.post("/dead-letters/bulk", retry)).json["id"])
        assert (view["target"], view["done"], view["failed"]) == ("dead-letters", 3, 0)

        async def have_come_again() -> bool:
            return len((await call.get("/dead-letters")).json["items"]) == 3

        await until(have_come_again)
        discard = {"action": "discard", "filter": {"kind": "task-failed"}}
        view = await over(call, (await call.post("/dead-letters/bulk", discard)).json["id"])
        assert (view["done"], (await call.get("/dead-letters")).json["items"]) == (3, [])


PAUSE = BulkAsked(target="instances", action="pause", which=Which(), by="ann")


def a_row(
    call: Caller,
    progress: Progress,
    *ids: str,
    asked: BulkAsked = PAUSE,
    id: str = "b",
    tenant: str = "default",
) -> BulkRow:
    asked = replace(asked, which=Which(ids=ids))
    return BulkRow(
        tenant=tenant,
        id=id,
        content=msgspec.json.encode(asked),
        progress=msgspec.json.encode(progress),
        created_at=call.app.engine.clock.now(),
    )


@pytest.mark.asyncio
async def test_what_a_process_left_is_gone_on_with_and_counted_once(serve: Serve) -> None:
    """It was killed after it had paused one of a page, and before it could say so."""
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 2)
        await (await call.app.instance(ids[0])).pause()
        progress = Progress(done=7, pending=tuple(ids), is_found=True)
        await call.app.engine.store.bulk.put(a_row(call, progress, *ids))
        assert await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["failed"]) == ("done", 9, 0)
        lines = (await call.get("/audit?action=start_bulk")).json["items"]
        assert [(each["target"], each["after"]["done"]) for each in lines] == [("b", 9)]
        assert len((await call.get("/instances?status=PAUSED")).json["items"]) == 2
        assert not await BulkRunner(call.app.engine).run_once()


@pytest.mark.asyncio
async def test_an_action_that_is_cancelled_goes_no_further(serve: Serve) -> None:
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 1)
        await call.app.engine.store.bulk.put(a_row(call, Progress(), *ids))
        assert (await call("DELETE", "/instances/bulk/b")).status == 200
        await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["matched"]) == ("cancelled", 0, 1)
        assert view["stoppedBy"] == "local"
        assert view["endedAt"]
        assert (await call.get("/instances?status=PAUSED")).json["items"] == []


@pytest.mark.asyncio
async def test_who_lost_its_hold_on_an_action_writes_nothing_more(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 1)
        store = call.app.engine.store
        await store.bulk.put(a_row(call, Progress(), *ids))

        async def taken_over(*_: object, **__: object) -> None:
            later = call.app.engine.clock.now() + runner.HELD_FOR * 2
            await store.bulk.claim(later, later + runner.HELD_FOR, 1)

        monkeypatch.setattr(runner, "act", taken_over)
        assert await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["matched"]) == ("running", 0, 1)


@pytest.mark.asyncio
async def test_a_repeat_counts_as_done_only_what_shows_that_it_was_done(serve: Serve) -> None:
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        paused, ended = await waiting(call, 2)
        await (await call.app.instance(paused)).pause()
        await (await call.app.instance(ended)).cancel()
        progress = Progress(pending=(paused, ended), is_found=True)
        await call.app.engine.store.bulk.put(a_row(call, progress, paused, ended))
        assert await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["failed"]) == ("done", 1, 1)
        assert [each["id"] for each in view["failures"]] == [ended]


@pytest.mark.asyncio
async def test_a_letter_that_went_with_its_retry_is_not_tried_twice(serve: Serve) -> None:
    """It was killed after it had retried the first, and before it could say so."""
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        await call.app.deploy(REFUSE)
        await call.start("refuse", {}, "?wait=30")
        [letter] = (await call.get("/dead-letters")).json["items"]
        await (await call.app.instance(letter["instanceId"])).retry()
        await call.get(f"/instances/{letter['instanceId']}?wait=30")
        asked = BulkAsked(target="dead-letters", action="retry", which=Which(), by="ann")
        progress = Progress(pending=(letter["id"],), is_found=True)
        row = a_row(call, progress, letter["id"], asked=asked)
        await call.app.engine.store.bulk.put(row)
        assert await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["failed"]) == ("done", 1, 0)
        [again] = (await call.get("/dead-letters")).json["items"]
        assert (again["attempts"], again["id"] != letter["id"]) == (2, True)


@pytest.mark.asyncio
async def test_letters_that_are_named_are_looked_up_and_no_others_read(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PAGE", 1)
    async with serve() as call:
        await call.app.deploy(REFUSE)
        for _ in range(3):
            await call.start("refuse", {}, "?wait=30")
        ids = [each["id"] for each in (await call.get("/dead-letters")).json["items"]]

        async def not_asked(*_: object, **__: object) -> list[object]:
            raise AssertionError("all letters are read")

        with monkeypatch.context() as patched:
            patched.setattr(call.app.engine.store.dead_letters, "page", not_asked)
            named = [ids[0], "nobody:x", ids[2], ids[0]]
            discard = {"action": "discard", "filter": {"ids": named}}
            counted = await call.post("/dead-letters/bulk", discard | {"dryRun": True})
            assert counted.json["matched"] == 2
            view = await over(call, (await call.post("/dead-letters/bulk", discard)).json["id"])
            assert (view["done"], view["failed"]) == (2, 0)
        left = (await call.get("/dead-letters")).json["items"]
        assert [each["id"] for each in left] == [ids[1]]


@pytest.mark.asyncio
async def test_letters_of_other_times_are_not_read_and_others_are_passed_over_together(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.app.deploy(REFUSE)
        for _ in range(4):
            await call.start("refuse", {}, "?wait=30")
        store, read = call.app.engine.store, 0
        oldest, *_, newest = sorted(each.at for each in await store.dead_letters.page("default"))
        real = store.dead_letters.page

        async def counted(*of: Any, **page: Any) -> Any:  # noqa: ANN401
            nonlocal read
            rows = await real(*of, **page)
            read += len(rows)
            return rows

        monkeypatch.setattr(store.dead_letters, "page", counted)
        late = newest + timedelta(days=1)
        for which, expected in (
            (Which(created_before=oldest), 0),
            (Which(created_from=late), 1),
            (Which(kind="late-result"), 4),
        ):
            read = 0
            asked = BulkAsked(target="dead-letters", action="discard", which=which, by="ada")
            page = await Selection(call.app.engine, "default", asked, late).page(None, 1)
            assert (page.ids, page.cursor, read) == ((), None, expected)


@pytest.mark.asyncio
async def test_a_long_action_takes_turns_with_those_of_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PAGE", 1)
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 4)
        store = call.app.engine.store
        await store.bulk.put(a_row(call, Progress(), *ids, id="long"))
        await store.bulk.put(a_row(call, Progress(), ids[0], id="short", tenant="other"))
        one = BulkRunner(call.app.engine)
        for _ in range(2):
            assert await one.run_once()
        long, short = (
            await store.bulk.get("default", "long"),
            await store.bulk.get("other", "short"),
        )
        assert long is not None
        assert short is not None
        assert (long.is_open, short.is_open) == (True, False)
        for _ in range(3):
            assert await one.run_once()
        assert (await call.get("/instances/bulk/long")).json["done"] == 4


@pytest.mark.asyncio
async def test_what_a_process_had_in_hand_when_it_stopped_is_free_at_once(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 1)
        store, begun = call.app.engine.store, asyncio.Event()
        await store.bulk.put(a_row(call, Progress(), *ids))

        async def takes_long(*_: object, **__: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        with monkeypatch.context() as patched:
            patched.setattr(runner, "act", takes_long)
            one = BulkRunner(call.app.engine)
            one.start()
            await begun.wait()
            await one.stop()
        assert await BulkRunner(call.app.engine).run_once()
        assert (await call.get("/instances/bulk/b")).json["done"] == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("weather", [Overloaded("too much waits"), StoreUnavailable("away")])
async def test_what_meets_bad_weather_is_free_at_once(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, weather: TenutoError
) -> None:
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 2)
        await call.app.engine.store.bulk.put(a_row(call, Progress(), *ids))

        async def stumbles(*_: object, **__: object) -> None:
            raise weather

        one = BulkRunner(call.app.engine)
        with monkeypatch.context() as patched:
            patched.setattr(runner, "act", stumbles)
            with pytest.raises(type(weather)):
                await one.run_once()
        assert await one.run_once()
        assert (await call.get("/instances/bulk/b")).json["done"] == 2


@pytest.mark.asyncio
async def test_an_action_that_is_cancelled_stops_within_its_page(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "AT_ONCE", 1)
    async with serve() as call:
        await call.pipeline.service.bulk.stop()
        ids = await waiting(call, 3)
        await call.app.engine.store.bulk.put(a_row(call, Progress(), *ids))

        async def cancelled_meanwhile(*_: object, **__: object) -> None:
            await call("DELETE", "/instances/bulk/b")

        monkeypatch.setattr(runner, "act", cancelled_meanwhile)
        await BulkRunner(call.app.engine).run_once()
        view = (await call.get("/instances/bulk/b")).json
        assert (view["status"], view["done"], view["matched"]) == ("cancelled", 1, 3), (
            "those that it did not reach too"
        )


@pytest.mark.asyncio
async def test_a_key_finds_the_first_whoever_repeats_it(serve: Serve) -> None:
    both = Keys(**{name: somebody(name, Role.OPERATOR) for name in ("ann", "otto")})
    async with serve(authentication=both) as call:
        body = {"action": "cancel", "filter": {"workflowId": "wait"}}
        found = set()
        for name in ("ann", "otto"):
            headers = bearing(name) | {"idempotency-key": "k"}
            reply = await call("POST", "/instances/bulk", body, headers=headers)
            found.add((reply.status, reply.json["id"], reply.json["requestedBy"]))
        assert len(found) == 1


class _OlderAsked(msgspec.Struct):
    """A request as programs read it that do not compare families."""

    target: Literal["instances", "dead-letters", "dead-letters-by-cause"]


@pytest.mark.parametrize(
    "said", [{"waitingFor": "order.paid"}, {"roots": True, "workflowId": "wait"}, {"parentId": "p"}]
)
@pytest.mark.asyncio
async def test_older_programs_cannot_read_a_filter_that_they_would_not_compare(
    serve: Serve, said: dict[str, Any]
) -> None:
    async with serve() as call:
        asked = await call.post("/instances/bulk", {"action": "pause", "filter": said})
        assert (asked.status, asked.json["target"]) == (202, "instances")
        [row] = await call.app.engine.store.bulk.page("default", limit=1)
        with pytest.raises(msgspec.ValidationError, match="instances-by-family"):
            msgspec.json.decode(row.content, type=_OlderAsked)
