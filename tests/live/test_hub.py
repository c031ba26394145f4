"""Whoever watches an instance is told everything once, in order, whoever runs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from random import Random

import pytest

from tenuto import Tenuto
from tenuto.core import Plan, blank
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.live import Dropped, Feed, HubBounds, LiveHub, Message, messages
from tenuto.live.tenant_share import TenantShare
from tenuto.live.watched_instance import WatchedInstance
from tenuto.live.window import Window
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import Started
from tenuto.model.json import Object
from tenuto.model.tracebacks import text_without_tracebacks
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call
from tests.kit.simulator.places import InMemory
from tests.kit.turns import turns
from tests.kit.workload.drawing import document, node
from tests.live.situations import FLOW, WAIT, Counting, all_told, app_on, some_told, whole


@pytest.mark.asyncio
async def test_everything_is_told_once_in_order_and_ends_with_the_instance() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(FLOW)
        instance = await app.start("flow", {"n": 1})
        live = await whole(hub, instance.id)
        assert [each.get("nodeID") for each in live if each["status"] == "COMPLETED"] == [
            "a",
            "b",
            "c",
            None,
        ]
        assert live == await whole(hub, instance.id), "what was missed is told the same"
        for since in range(12):
            rest = [each for each in live if int(str(each["seq"])) > since]
            assert await whole(hub, instance.id, since) == rest
        await hub.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("is_replayed", [False, True])
async def test_large_values_lose_their_tracebacks_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, *, is_replayed: bool
) -> None:
    threads: list[str] = []

    def hidden(text: bytes) -> bytes:
        if len(text) > LARGE:
            threads.append(threading.current_thread().name)
        return text_without_tracebacks(text)

    monkeypatch.setattr(messages, "text_without_tracebacks", hidden)
    failure = {"code": "X", "message": "no", "details": {"traceback": "secret"}}
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting", {"failures": [failure] * 1_000})
        async with hub.follow("default", instance.id, until_end=True) as feed:
            if not is_replayed:
                await some_told(feed, 3)
                threads.clear()
            await app.publish("go")
            live = await all_told(feed)
        await hub.close()
    contexts = [each["contextData"] for each in live if "contextData" in each]
    assert contexts
    assert "secret" not in repr(contexts)
    assert set(threads) == {"large document"}


@pytest.mark.asyncio
async def test_a_feed_stays_open_for_what_follows_an_end() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        fails = [True]

        @app.task
        async def moody() -> None:
            if fails.pop():
                raise TenutoError("no")

        retry: Object = {"maxAttempts": 1}
        step: Object = {"stepId": "a", "type": "TASK", "taskId": "moody", "retry": retry}
        await app.deploy({"id": "moody", "steps": [step]})
        instance = await app.start("moody")
        async with hub.follow("default", instance.id) as feed:
            first = await some_told(feed, 4)
            assert first[-1]["status"] == "FAILED"
            fails.append(False)
            await instance.retry()
            rest = await some_told(feed, 4)
            assert [each["status"] for each in rest] == [
                "RUNNING",
                "RUNNING",
                "COMPLETED",
                "COMPLETED",
            ]


@pytest.mark.asyncio
async def test_an_instance_of_another_tenant_is_as_one_that_is_not_there() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(FLOW)
        instance = await app.start("flow")
        nobody = "00000000-0000-7000-8000-000000000009"
        refusals = []
        for tenant, id in (("other", instance.id), ("default", nobody)):
            with pytest.raises(NotFound) as refused:
                async with hub.follow(tenant, id):
                    pass
            refusals.append(str(refused.value).replace(id, "ID"))
        assert refusals[0] == refusals[1]
        async with hub.follow("default", instance.id, until_end=True) as feed:
            with pytest.raises(NotFound):
                async with hub.follow("other", instance.id):
                    pass
            assert await all_told(feed)


@pytest.mark.asyncio
async def test_a_change_made_here_costs_no_read_however_many_watch() -> None:
    store = Counting()
    async with app_on(store) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        while not await store.waits.of(instance.id):
            await turns(1)
        begun: list[asyncio.Event] = [asyncio.Event() for _ in range(200)]

        async def watch(number: int) -> list[Message | Dropped]:
            async with hub.follow("default", instance.id, until_end=True) as feed:
                told = []
                async for each in feed:
                    told.append(each)
                    if len(told) == 3:
                        begun[number].set()
                return told

        watching = [asyncio.create_task(watch(number)) for number in range(200)]
        await asyncio.gather(*(each.wait() for each in begun))
        assert store.reads == 1, "what was missed is read once"
        store.reads = 0
        await app.publish("go")
        everybody = await asyncio.gather(*watching)
        assert store.reads == 0, "what was written here is at hand"
        assert all(
            each is same
            for told in everybody
            for each, same in zip(told, everybody[0], strict=True)
        )


def _watched(app: Tenuto, store: Store, plan: Plan, id: str) -> WatchedInstance:
    engine = app.engine
    share = TenantShare(engine.clock, engine.shared.sharing, "default")
    return WatchedInstance(store, engine.clock, plan, blank(id), share)


@pytest.mark.asyncio
async def test_what_is_at_hand_is_told_as_the_log_tells_it() -> None:
    """Also where some of it is known already, or something in between is another's."""
    store = Counting()
    async with app_on(store) as app:
        hub = LiveHub(app.engine)
        await app.deploy(FLOW)
        instance = await app.start("flow", {"n": 1})
        log_told = await whole(hub, instance.id)
        held = await app.engine.state_of(instance.id)
        rows = await store.instances.entries(instance.id)
        for given in (rows, rows[:4] + rows[2:], rows[:4] + rows[6:], rows[3:], []):
            room = _watched(app, store, held.plan, instance.id)
            feed = Feed(room, 0, until_end=True)
            store.reads = 0
            room.hint(len(rows), given)
            assert await all_told(feed) == log_told
            assert (store.reads > 0) == (len(given) < len(rows))
            room.close()


@pytest.mark.asyncio
async def test_what_is_written_while_nothing_is_found_is_told() -> None:
    """A read that saw less than the one that hinted at it must not undo a newer hint."""
    store = _Late()
    async with app_on(store) as app:
        hub = LiveHub(app.engine)
        await app.deploy(FLOW)
        instance = await app.start("flow", {"n": 1})
        log_told = await whole(hub, instance.id)
        held = await app.engine.state_of(instance.id)
        rows = await store.instances.entries(instance.id)
        room = _watched(app, store, held.plan, instance.id)
        feed = Feed(room, 0, until_end=True)
        store.meanwhile = lambda: room.hint(len(rows))
        room.hint(1)
        assert await asyncio.wait_for(all_told(feed), 20) == log_told
        room.close()


class _Late(Counting):
    """Finds nothing once, while something happens."""

    meanwhile: Callable[[], None] | None = None

    async def on_instances_entries(self, call: Call) -> object:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is None:
            return await call()
        meanwhile()
        return []


@pytest.mark.asyncio
async def test_one_who_falls_behind_is_told_the_rest_from_the_log() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        async with hub.follow("default", instance.id, until_end=True) as slow:
            begun = await some_told(slow, 3)
            assert begun[-1]["status"] == "WAITING_FOR_EVENT"
            room = hub._watched[instance.id].opening.result()[0]
            room.window = Window(room.window.end, most_messages=1)
            await app.publish("go")
            async with hub.follow("default", instance.id, until_end=True) as quick:
                everything = await all_told(quick)
            assert slow.cursor < room.window.start
            assert begun + await all_told(slow) == everything


@pytest.mark.asyncio
async def test_a_message_counts_as_told_once_the_next_is_asked_for() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        async with hub.follow("default", instance.id) as feed:
            first, second = await some_told(feed, 2)
            assert feed.cursor == first["seq"]
            await some_told(feed, 1)
            assert feed.cursor == second["seq"]


@pytest.mark.asyncio
async def test_what_was_missed_and_cannot_be_read_breaks_off_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        rows = await app.engine.store.instances.entries(instance.id)

        async def entries(*_of: object, **_page: object) -> object:
            return [row._replace(event_type="FROM_LATER") for row in rows]

        async with hub.follow("default", instance.id) as feed:
            monkeypatch.setattr(app.engine.store.instances, "entries", entries)
            with pytest.raises(TenutoError, match="newer program") as refused:
                await some_told(feed, 1)
        assert refused.value.code == "TEN-4005"


def test_a_window_keeps_the_newest_messages_within_its_bounds() -> None:
    window = Window(3, most_messages=4, most_bytes=30)
    for seq in range(4, 10):
        window.push([Message(seq, "workflow_node_update", b"12345")], seq)
    assert (window.start, window.end) == (5, 9)
    window.push([Message(11, "workflow_node_update", b"1" * 20)], 12)
    assert (window.start, window.end) == (7, 12)
    message = window.after(8)
    assert message is not None
    assert message.seq == 9
    assert window.after(11) is None


@pytest.mark.asyncio
async def test_nothing_is_asked_while_nobody_watches() -> None:
    store = Counting(MemoryDisk(), shared=True)
    async with app_on(store, watch_every=0.001) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instances = [await app.start("waiting") for _ in range(3)]
        assert store.looks == []
        async with (
            hub.follow("default", instances[0].id) as feed,
            hub.follow("default", instances[1].id) as other,
        ):
            await some_told(feed, 3)
            await some_told(other, 3)
            store.looks.clear()
            while not store.looks:
                await app.engine.clock.sleep(0.001)
            assert set(store.looks) == {2}, "one statement for all"
        store.looks.clear()
        await app.publish("go")
        for instance in instances:
            await instance.result(20)
        assert store.looks == []
        assert not hub._watched


@pytest.mark.asyncio
async def test_who_watches_where_a_process_stops_is_told_where_to_go_on() -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        async with hub.follow("default", instance.id) as feed:
            last = (await some_told(feed, 3))[-1]
            await hub.close()
            assert [each async for each in feed] == [Dropped(int(str(last["seq"])))]
        with pytest.raises(StoreUnavailable):
            async with hub.follow("default", instance.id):
                pass


@pytest.mark.asyncio
async def test_a_store_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    store = Counting(disk, shared=True)
    async with app_on(MemoryStore(disk, shared=True)) as app, app_on(store) as beside:
        hub = LiveHub(beside.engine, HubBounds(retry=0.0))
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        async with hub.follow("default", instance.id, until_end=True) as feed:
            await some_told(feed, 3)
            plain, refusals = store.instances.entries, [2]

            async def away(*of: object, **page: object) -> object:
                if refusals[0]:
                    refusals[0] -= 1
                    raise StoreUnavailable("it is away")
                return await plain(*of, **page)  # type: ignore[arg-type]

            monkeypatch.setattr(store.instances, "entries", away)
            await app.publish("go")
            assert (await all_told(feed))[-1]["status"] == "COMPLETED"
            assert refusals == [0]


@pytest.mark.asyncio
async def test_a_log_that_this_program_cannot_read_breaks_off_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(WAIT)
        instance = await app.start("waiting")
        async with hub.follow("default", instance.id) as feed:
            await some_told(feed, 3)
            store = app.engine.store
            rows = await store.instances.entries(instance.id)
            newer = [rows[-1]._replace(seq=len(rows) + 1, event_type="FROM_LATER")]

            async def entries(*_of: object, **_page: object) -> object:
                return newer

            monkeypatch.setattr(store.instances, "entries", entries)
            room = hub._watched[instance.id].opening.result()[0]
            assert isinstance(room, WatchedInstance)
            room.hint(len(rows) + 1)
            with pytest.raises(TenutoError, match="newer program") as refused:
                await anext(feed)
            assert refused.value.code == "TEN-4005"


@pytest.mark.asyncio
@pytest.mark.parametrize("shared", [False, True])
async def test_who_watches_what_is_erased_is_told_so(
    shared: bool,
) -> None:
    store = MemoryStore(MemoryDisk(), shared=shared)
    async with app_on(store, watch_every=0.001) as app:
        hub = LiveHub(app.engine, HubBounds(erased_poll=0.001))
        await app.deploy(FLOW)
        instance = await app.start("flow")
        await instance.result(20)
        async with hub.follow("default", instance.id) as feed:
            await some_told(feed, 5)
            while not await store.instances.erase("default", [instance.id]):
                await turns(1)
            with pytest.raises(NotFound, match="not there any more"):
                await all_told(feed)


@pytest.mark.asyncio
async def test_what_is_another_tenants_is_not_even_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    async with app_on(MemoryStore()) as app:
        hub = LiveHub(app.engine)
        await app.deploy(FLOW)
        instance = await app.start("flow")
        await instance.result(20)
        loaded: list[str] = []
        monkeypatch.setattr(app.engine, "state_of", loaded.append)
        with pytest.raises(NotFound, match="there is no instance"):
            async with hub.follow("somebody-else", instance.id):
                pass
        assert loaded == []


@pytest.mark.parametrize("seed", range(5))
def test_what_another_engine_runs_is_told_also_after_it_was_killed(seed: int) -> None:
    """On a virtual clock: one runs it and is killed, the other takes over; a third one only
    watches, from the beginning on.
    """
    loop, place = VirtualLoop(Random(seed)), InMemory(shared=True)
    clock, ids = VirtualClock(loop, Wall()), SeededIds(Random(seed))
    flow = document("naps", [node(f"n{n}", "delay", duration=f"PT{n + 1}S") for n in range(5)], [])

    async def main() -> None:
        stores = [place.store() for _ in range(3)]
        engines = [
            Engine(
                store,
                registry=Registry(),
                clock=clock,
                ids=ids,
                settings=Settings(watch_every=1.0),
            )
            for store in stores
        ]
        for engine in engines:
            await engine.open()
        deployed = await engines[0].plans.save("default", flow)
        started = Started(definition_id="naps", definition_version=1, input={})
        id = (await engines[0].start(deployed.plan, started)).instance_id
        hub = LiveHub(engines[2])
        async with hub.follow("default", id, until_end=True) as feed:
            told = [await anext(feed) for _ in range(3)]
            stores[0].abandon()
            for task in engines[0].shared.loops._tasks:
                task.cancel()
            told += [each async for each in feed]
        seqs = [each.seq for each in told if isinstance(each, Message)]
        assert len(seqs) == len(told)
        assert seqs == sorted(set(seqs))
        async with hub.follow("default", id, until_end=True) as feed:
            assert told == [each async for each in feed]
        for engine in engines[1:]:
            await engine.close()

    try:
        loop.run_until_complete(main())
    finally:
        loop.discard_tasks()
