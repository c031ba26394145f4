"""Events that cancel and start instances, and events that instances publish, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec.structs import replace

from tenuto import Settings, Tenuto, WorkflowCancelled
from tenuto.engine.turns.requests import Request
from tenuto.model.errors import InvalidInput
from tenuto.model.events import Event
from tenuto.model.family import triggered_id
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.turns import Turn
from tests.core.drawing import arms, box, draw, emit, end, wait
from tests.engine.situations import at_rest, until
from tests.engine.work import counted_work
from tests.kit.postgres_database import fresh_database
from tests.kit.waits import every_wait_has_looked_back
from tests.store.situations import NOON

pytestmark = pytest.mark.asyncio

ORDER = draw("w>d", w=wait("never"), d=end()) | {
    "id": "order",
    "cancellationTriggers": [
        {
            "eventPattern": "order.cancelled",
            "eventCondition": "event.payload.id === workflow.input.id",
            "reason": "changed their mind",
        },
        {"eventPattern": "shop.*", "eventCondition": "event.payload.stage === ctx.stage"},
    ],
}
RECEIPT: Object = draw("d", d=end("{{ctx.input}}")) | {
    "id": "receipt",
    "inputSchema": {"type": "object", "required": ["id"]},
    "triggers": [
        {"eventPattern": "order.paid", "eventCondition": "event.payload.big === true"},
        {"eventPattern": "order.*", "inputMapping": {"id": "id", "name": "{{event.pattern}}"}},
    ],
}
TELLING = draw("e>d", e=emit("order.paid", payload="{{ctx.input}}"), d=end()) | {"id": "telling"}


class Shop:
    """One store, and one program on it after the other."""

    def __init__(self, kind: str, url: str) -> None:
        self._kind = kind
        self._url = url
        self._disk = MemoryDisk()
        self.app = Tenuto()

    async def open(self, **settings: float) -> Tenuto:
        store = MemoryStore(self._disk) if self._kind == "memory" else self._url
        self.app = Tenuto(store, settings=Settings(**settings))  # type: ignore[arg-type]
        await self.app.open()
        return self.app


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shop]:
    is_postgres = request.param == "postgres"
    url = await fresh_database() if is_postgres else f"sqlite:///{tmp_path}/shop.db"
    made = Shop(request.param, url)
    await made.open()
    yield made
    await made.app.close()


async def outcomes(app: Tenuto, event_id: str) -> list[tuple[str, str]]:
    found = await app.engine.store.inbox.deliveries_of("default", event_id)
    return [(each.arm, each.outcome) for each in found]


async def test_an_event_cancels_the_instances_that_it_fits(shop: Shop) -> None:
    app = shop.app
    await app.deploy(ORDER)
    mine, other = [await app.start("order", {"id": id}) for id in (1, 2)]
    published = await app.publish("order.cancelled", {"id": 1}, id="e")
    assert (published.resumed, published.cancelled, published.started) == (0, 1, 0)
    with pytest.raises(WorkflowCancelled, match="changed their mind"):
        await mine.result(10)
    assert await other.status() is Status.WAITING_FOR_EVENT
    assert await outcomes(app, "e") == [("0", "cancelled")]
    again = await app.publish("order.cancelled", {"id": 1}, id="e")
    assert (again.duplicate, again.cancelled) == (True, 1)
    assert await app.engine.store.waits.of(mine.id) == []
    assert [each.arm for each in await app.engine.store.waits.of(other.id)] == ["0", "1", ""]


async def test_an_event_that_is_older_than_the_instance_cancels_nothing(shop: Shop) -> None:
    app = shop.app
    await app.deploy(ORDER)
    old = Event(
        id="old",
        pattern="order.cancelled",
        payload={"id": 1},
        received_at=app.engine.clock.now(),
    )
    # It is in the inbox, and nobody has looked yet whom it is for.
    process_id = app.engine.process_id
    turn = Turn(id="t", process_id=process_id, at=old.received_at, events=(old,))
    stored = await app.engine.store.turns.commit(turn)
    instance = await app.start("order", {"id": 1})
    match = await app.engine.events.router.match(stored.events["old"].number, old)
    assert (match.cancelled, match.mail) == (0, ())
    assert await instance.status() is Status.WAITING_FOR_EVENT


async def test_a_condition_over_the_context_is_read_when_the_event_comes(shop: Shop) -> None:
    app = shop.app
    await app.deploy(ORDER)
    instance = await app.start("order", {"id": 1})
    assert (await app.publish("shop.closed", {"stage": "packed"})).cancelled == 0
    assert (await app.publish("shop.closed", {})).cancelled == 1
    with pytest.raises(WorkflowCancelled):
        await instance.result(10)


async def test_an_event_that_comes_second_is_recorded_as_discarded(shop: Shop) -> None:
    app = shop.app
    both: list[JSON] = [{"eventPattern": "order.cancelled"}, {"eventPattern": "order.*"}]
    await app.deploy(ORDER | {"cancellationTriggers": both})
    instance = await app.start("order", {"id": 1})
    assert (await app.publish("order.cancelled", {}, id="e")).cancelled == 1
    with pytest.raises(WorkflowCancelled):
        await instance.result(10)
    await at_rest(app)
    assert await outcomes(app, "e") == [("0", "cancelled"), ("1", "discarded")]


async def test_an_event_cancels_an_instance_that_is_paused(shop: Shop) -> None:
    app = shop.app
    await app.deploy(ORDER)
    instance = await app.start("order", {"id": 1})
    await instance.pause()
    assert (await app.publish("order.cancelled", {"id": 1})).cancelled == 1
    with pytest.raises(WorkflowCancelled):
        await instance.result(10)


async def test_an_event_starts_one_instance_of_a_definition(shop: Shop) -> None:
    """Paths in `eventPayloadMapping` and `inputMapping` are rooted at the payload (`a.b[0]`); a
    value with `{{…}}` is a template that also sees `event`; missing gives null.
    """
    app = shop.app
    await app.deploy(RECEIPT)
    sent: JSON = {"id": 7, "big": True}
    published = await app.publish("order.paid", sent, id="big", correlation_id="c")
    assert (published.started, published.resumed) == (1, 0)
    await until(app, lambda: ended(app, 1))
    assert (await app.publish("order.paid", sent, id="big", correlation_id="c")).started == 1
    [only] = await app.instances()
    assert only.correlation_id == "c"
    assert await (await app.instance(only.id)).result(10) == sent, (
        "by the first trigger, which has none"
    )
    assert (await app.publish("order.sent", {"id": 8}, id="small")).started == 1
    await until(app, lambda: ended(app, 2))
    [newest, _] = await app.instances()
    receipt = await app.instance(newest.id)
    assert await receipt.result(10) == {"id": 8, "name": "order.sent"}
    assert await outcomes(app, "small") == [("1", "started")]
    history = await receipt.history()
    assert history[0]["payload"]["eventId"] == "small"  # type: ignore[index,call-overload]


async def test_an_event_that_is_sent_again_before_it_is_matched_starts_no_second_instance(
    shop: Shop,
) -> None:
    app = shop.app
    await app.deploy(RECEIPT)
    sent: JSON = {"id": 7, "big": True}
    engine = app.engine
    earlier = engine.clock.now() - timedelta(seconds=1)
    first = Event(id="big", pattern="order.paid", payload=sent, received_at=earlier)
    turn = Turn(id="t", process_id=engine.process_id, at=earlier, events=(first,))
    number = (await engine.store.turns.commit(turn)).events["big"].number
    again = await app.publish("order.paid", sent, id="big")
    assert (again.duplicate, again.started) == (True, 1)
    await engine.events.router.match(number, first)
    await until(app, lambda: ended(app, 1))
    await at_rest(app)
    [only] = await app.instances()
    assert only.id == triggered_id(earlier, "default", "big", "receipt")


async def ended(app: Tenuto, count: int) -> bool:
    return len(await app.instances(status="COMPLETED")) == count


async def test_only_the_newest_versions_triggers_start_instances(shop: Shop) -> None:
    """PUT of unchanged content makes no version; PUT takes `If-Match`; only the newest version's
    triggers start instances.
    """
    app = shop.app
    await app.deploy(RECEIPT)
    await app.deploy(RECEIPT | {"triggers": [{"eventPattern": "shop.opened"}]})
    assert (await app.publish("order.paid", {"id": 1})).started == 0
    assert (await app.publish("shop.opened", {"id": 1})).started == 1
    await app.deploy(RECEIPT | {"triggers": []})
    assert (await app.publish("shop.opened", {"id": 2})).started == 0


async def test_an_input_that_does_not_fit_is_a_recorded_refusal(shop: Shop) -> None:
    """Input that fails `inputSchema`: 422, by trigger or schedule a recorded refusal."""
    app = shop.app
    await app.deploy(RECEIPT)
    published = await app.publish("order.paid", {"big": True}, id="bad")
    assert published.started == 0
    [delivery] = await app.engine.store.inbox.deliveries_of("default", "bad")
    assert (delivery.outcome, delivery.node, delivery.arm) == ("refused", "receipt", "0")
    assert delivery.reason is not None
    assert "INVALID_INPUT" in delivery.reason
    assert await app.instances() == []


async def test_a_start_that_is_refused_when_it_is_decided_is_recorded_too(shop: Shop) -> None:
    app = shop.app
    await app.deploy(RECEIPT | {"workflowOptions": {"deadline": "{{ctx.input.id}}"}})
    assert (await app.publish("order.sent", {"id": "no moment"}, id="e")).started == 1
    await at_rest(app)
    [delivery] = await app.engine.store.inbox.deliveries_of("default", "e")
    assert (delivery.outcome, await app.instances()) == ("refused", [])
    assert "deadline" in str(delivery.reason)
    assert await app.engine.store.mailbox.claim(10) == []


async def test_a_start_by_an_event_that_comes_after_a_removal_is_a_recorded_refusal(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message was read before the definition was removed, and is dropped."""
    app = shop.app
    await app.deploy(RECEIPT)
    starts, held = app.engine.effects.mailbox.starts, asyncio.Queue[Request]()
    report = starts._report
    monkeypatch.setattr(starts, "_report", held.put_nowait)
    await app.publish("order.paid", {"id": 7}, id="e")
    request = await held.get()
    await app.remove_definition("receipt")
    monkeypatch.setattr(starts, "_report", report)
    report(request)
    await at_rest(app)
    [delivery] = await app.engine.store.inbox.deliveries_of("default", "e")
    assert (delivery.outcome, await app.instances()) == ("refused", [])
    assert "there is no workflow receipt" in str(delivery.reason)
    assert await app.engine.store.mailbox.claim(10) == []


async def test_a_chain_of_starts_by_lifecycle_events_is_cut(shop: Shop) -> None:
    """`workflow.*` cannot be published from outside; a chain of lifecycle-triggered starts is
    cut at 16.
    """
    app = shop.app
    await app.deploy(RECEIPT | {"triggers": [{"eventPattern": "workflow.completed"}]})
    for chain, started in ((15, 1), (16, 0)):
        event = Event(
            id=f"e{chain}",
            pattern="workflow.completed",
            payload={"id": 1},
            received_at=app.engine.clock.now(),
            chain=chain,
        )
        assert (await app.engine.publish(event)).started == started
    await until(app, lambda: ended(app, 1))
    [only] = await app.instances()
    assert (await app.engine.state_of(only.id)).state.chain == 16
    assert [
        each.outcome for each in await app.engine.store.inbox.deliveries_of("default", "e16")
    ] == ["refused"]


async def test_a_workflow_that_starts_itself_by_what_it_emits_comes_to_an_end() -> None:
    """The hundredth start is the last; the refusal of the next is recorded."""
    echo = draw("e>d", e=emit("ping"), d=end()) | {"id": "echo"}
    async with Tenuto() as app:
        await app.deploy(echo | {"triggers": [{"eventPattern": "ping", "inputMapping": {}}]})
        await app.publish("ping", id="first")
        await app.engine._settle()
        while len(await app.instances(status="COMPLETED", limit=1_000)) <= 100:
            await app.engine._settle()
        await app.engine._settle()
        found = await app.instances(limit=1_000)
        assert len(found) == 101
        deliveries = [
            delivery
            for each in found
            for delivery in await app.engine.store.inbox.deliveries_of("default", f"{each.id}:e")
        ]
        [refused] = [each for each in deliveries if each.outcome == "refused"]
        assert refused.reason == "it is the end of a chain of 100 starts by emitted events"


async def test_chains_of_emitted_and_of_lifecycle_events_are_counted_apart() -> None:
    of_instance = "0190a5b0-0000-7000-8000-000000000000:e"
    told = Event(id=of_instance, pattern="workflow.completed", payload=None, received_at=NOON)
    emitted, given = replace(told, pattern="ping"), replace(told, pattern="ping", id="mine")
    assert (told.chain_of_starts, emitted.chain_of_starts, given.chain_of_starts) == (1, 1_000, 0)
    assert replace(told, chain=50_015).chain_problem is None
    assert replace(told, chain=16).chain_problem is not None
    assert replace(emitted, chain=99_016).chain_problem is None
    assert replace(emitted, chain=100_000).chain_problem is not None
    assert replace(given, chain=100_016).chain_problem is None


async def test_what_a_step_publishes_reaches_whoever_it_is_for(shop: Shop) -> None:
    app = shop.app
    for document in (TELLING, RECEIPT, draw("w", w=wait("order.paid")) | {"id": "waiting"}):
        await app.deploy(document)
    waiting = await app.start("waiting")
    telling = await app.start("telling", {"id": 7})
    output = await waiting.result(10)
    assert isinstance(output, dict)
    assert (output["eventId"], output["payload"]) == (f"{telling.id}:e", {"id": 7})
    await until(app, lambda: ended(app, 3))


async def test_nobody_outside_takes_the_id_of_what_an_instance_will_publish(shop: Shop) -> None:
    app = shop.app
    for document in (TELLING, draw("w", w=wait("order.paid")) | {"id": "waiting"}):
        await app.deploy(document)
    waiting = await app.start("waiting")
    id = str(UUID(int=7))
    for taken in (f"{id}:e", f"{id}:1", f"{id.upper()}:e"):
        with pytest.raises(InvalidInput) as refused:
            await app.publish("order.sent", "something else", id=taken)
        assert [(each.code, each.path) for each in refused.value.problems] == [("TEN-2013", "$.id")]
        [refusal] = await app.publish_all({"pattern": "order.sent", "id": taken})
        assert isinstance(refusal, InvalidInput)
    telling = await app.start("telling", {"id": 7}, instance_id=id)
    await telling.result(10)
    assert (await waiting.result(10))["eventId"] == f"{id}:e"  # type: ignore[index,call-overload]
    await app.publish("order.sent", {}, id=id)
    await app.publish("order.sent", {}, id="order:7")


async def test_what_a_step_published_before_a_crash_is_matched_after_it(shop: Shop) -> None:
    app = shop.app
    await app.deploy(TELLING)
    await app.deploy(RECEIPT)
    app.engine.effects.dispatcher._match = lambda _number, _event: None
    telling = await app.start("telling", {"id": 7})
    await telling.result(10)
    assert len(await app.engine.store.inbox.unmatched(10)) == 1
    await app.close()
    app = await shop.open()
    await until(app, lambda: ended(app, 2))
    assert await app.engine.store.inbox.unmatched(10) == []
    [delivery] = await app.engine.store.inbox.deliveries_of("default", f"{telling.id}:e")
    assert delivery.outcome == "started"


async def test_a_look_back_takes_the_oldest_event_over_all_arms(shop: Shop) -> None:
    app = shop.app
    gated = draw("w>v", w=wait("go"), v=arms("x.late", "x.early")) | {"id": "gated"}
    await app.deploy(gated)
    instance = await app.start("gated")
    for pattern in ("x.other", "x.early", "x.late"):
        await app.publish(pattern, pattern)
    await app.publish("go")
    output = await instance.result(10)
    assert isinstance(output, dict)
    assert output["pattern"] == "x.early"
    steps = [row for row in await instance.history() if row["eventType"] == "WAIT_RESOLVED"]
    assert steps[-1]["payload"]["arm"] == "early"  # type: ignore[index,call-overload]


async def test_of_two_open_arms_that_an_event_fits_the_first_listed_takes_it(shop: Shop) -> None:
    app = shop.app
    listed: list[JSON] = [
        {"id": "z", "eventPattern": "x.a"},
        {"id": "a", "eventPattern": "x.*"},
    ]
    await app.deploy(draw("w", w=box("eventWait", arms=listed)) | {"id": "listed"})
    instance = await app.start("listed")
    # Otherwise it may find the event by itself, before whoever publishes it finds it.
    await every_wait_has_looked_back(app)
    await at_rest(app)
    assert (await app.publish("x.a", id="e")).resumed == 1
    await instance.result(10)
    assert await outcomes(app, "e") == [("z", "resumed")]
    assert await app.engine.store.waits.of(instance.id) == []


async def test_the_id_of_an_instance_follows_from_the_event_and_the_definition() -> None:
    now = Tenuto().engine.clock.now()
    ids = {
        triggered_id(now, tenant, event, definition)
        for tenant in ("default", "other")
        for event in ("e1", "e2")
        for definition in ("a", "b")
    }
    assert len(ids) == 8
    assert triggered_id(now, "default", "e1", "a") in ids


@pytest.mark.slow
async def test_an_event_costs_whom_it_cancels_and_not_who_could_be(tmp_path: Path) -> None:
    """One among many is one index look-up, whether it waits or only listens."""
    quiet = Settings(mail_every=3600, project_every=3600)
    costs: list[tuple[int, int]] = []
    for count in (10, 400):
        with counted_work() as work:
            async with Tenuto(f"sqlite:///{tmp_path}/{count}.db", settings=quiet) as app:
                await app.deploy(ORDER)
                started = [app.start("order", {"id": number}) for number in range(count)]
                await asyncio.gather(*started)
                await every_wait_has_looked_back(app)
                await at_rest(app)
                work.take()
                assert (await app.publish("order.cancelled", {"id": 5})).cancelled == 1
                await at_rest(app)
                costs.append(work.take())
    (few, scanned_few), (many, scanned_many) = costs
    assert scanned_few == scanned_many == 0
    assert many < 2 * few
