"""What a wait nearly took, whom an event nearly reached, and what an event would do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Conflict, InvalidInput, NotFound, Published, Tenuto
from tenuto.engine.events.near_misses import MOST_EVENTS, MOST_NEAR, MOST_READ
from tenuto.model.events import Event
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.turns import Turn
from tenuto.testing.wrapped_store import Call
from tests.core.drawing import box, draw, end, loop, wait
from tests.engine.situations import ONE_WAIT, at_rest, until, until_waiting
from tests.kit.postgres_database import fresh_database
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

ORDER = "event.payload.orderId === workflow.input.orderId"


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    store: str | MemoryStore = MemoryStore()
    if request.param == "sqlite":
        store = f"sqlite:///{tmp_path}/near.db"
    elif request.param == "postgres":
        store = await fresh_database()
    async with Tenuto(store) as made:
        yield made


@pytest_asyncio.fixture
async def quick() -> AsyncIterator[Tenuto]:
    async with Tenuto(MemoryStore()) as made:
        yield made


def failed(expression: str, left: JSON, right: JSON) -> list[Object]:
    return [{"expression": expression, "left": left, "right": right}]


async def near_of(app: Tenuto, id: str) -> list[Any]:
    waits: list[Any] = await (await app.instance(id)).waits()
    return [each["nearMisses"] for each in waits]


async def test_an_open_wait_shows_the_events_it_did_not_take_and_why(app: Tenuto) -> None:
    """`/instances/{id}/waits` items: `{stepId, iteration, armId?, eventPattern,
    eventCondition, since, timeoutAt, nearMisses: [{eventId, at, failed: [{expression, left,
    right}]}]}`.
    """
    await app.deploy(ONE_WAIT)
    instance = await app.start("waiting", {"orderId": 7})
    await until_waiting(app, 1)
    await app.publish("payment.received", {"orderId": 8}, id="p-1")
    await app.publish("payment.refused", {"orderId": 7}, id="p-2")
    await app.publish("payment.received", {}, id="p-3")
    [item] = await instance.waits()
    assert isinstance(item, dict)
    near: Any = item["nearMisses"]
    assert list(item) == [
        "stepId",
        "iteration",
        "eventPattern",
        "eventCondition",
        "since",
        "timeoutAt",
        "nearMisses",
    ]
    assert [(each["eventId"], each["failed"]) for each in near] == [
        ("p-3", failed(ORDER, None, 7)),
        ("p-1", failed(ORDER, 8, 7)),
    ]
    assert all(datetime.fromisoformat(each["at"]).tzinfo for each in near)
    state: Any = await instance.state()
    assert list(state["waits"][0]) == ["stepId", "eventPattern", "eventCondition", "since"]


async def test_a_condition_that_fails_on_this_payload_is_a_near_miss_and_stops_nobody(
    app: Tenuto,
) -> None:
    """An error in a condition is "not matched" and shows as a near miss; truthiness decides."""
    fragile = wait("paid", eventCondition="event.payload.name.trim() === 'x'")
    await app.deploy(draw("wait>d", wait=fragile, d=end()) | {"id": "fragile"})
    await app.deploy(draw("wait>d", wait=wait("paid"), d=end()) | {"id": "sturdy"})
    first = await app.start("fragile")
    second = await app.start("sturdy")
    await until_waiting(app, 2)
    assert (await app.publish("paid", {"name": 5}, id="e")).resumed == 1
    await second.result(10)
    assert await first.status() is Status.WAITING_FOR_EVENT
    [[near]] = await near_of(app, first.id)
    [part] = near["failed"]
    assert part["expression"] == "event.payload.name.trim() === 'x'"
    assert (part["left"], part["right"]) == (None, None)
    assert "trim" in part["error"]
    told: Any = await app.event("e")
    assert [each["what"] for each in told["deliveries"]] == ["resumed"]
    assert [each["instanceId"] for each in told["nearMisses"]] == [first.id]
    assert (await app.publish("paid", {"name": " x "})).resumed == 1
    await first.result(10)


async def test_a_correlation_id_that_differs_is_a_part_that_failed(quick: Tenuto) -> None:
    config = wait("paid", correlationId="{{workflow.input.id}}", eventCondition="event.payload.ok")
    await quick.deploy(draw("wait>d", wait=config, d=end()) | {"id": "flow"})
    instance = await quick.start("flow", {"id": "c1"})
    await until_waiting(quick, 1)
    await quick.publish("paid", {"ok": False}, correlation_id="c2", id="e")
    [[near]] = await near_of(quick, instance.id)
    assert near["failed"] == [
        {"expression": "event.correlationId === correlationId", "left": "c2", "right": "c1"},
        {"expression": "event.payload.ok", "left": None, "right": None},
    ]


async def test_an_event_that_came_before_a_wait_looks_back_says_so(quick: Tenuto) -> None:
    await quick.deploy(draw("wait>d", wait=wait("paid", lookback="PT0S"), d=end()) | {"id": "flow"})
    event = Event(
        id="old",
        pattern="paid",
        payload=1,
        received_at=quick.engine.clock.now() - timedelta(hours=1),
    )
    turn = Turn(id="t", process_id=quick.engine.process_id, at=event.received_at, events=(event,))
    await quick.engine.store.turns.commit(turn)
    instance = await quick.start("flow")
    await until_waiting(quick, 1)
    [[near]] = await near_of(quick, instance.id)
    assert [part["expression"] for part in near["failed"]] == ["event.receivedAt >= since"]


async def test_near_misses_look_at_the_last_hundred_events_within_a_day(quick: Tenuto) -> None:
    """Inbox retention 7 days; near misses look at the last 100 events of the pattern within 24
    h.
    """
    both = wait("payment.received", eventCondition=f"{ORDER} && event.payload.ok")
    await quick.deploy(draw("wait>d", wait=both, d=end()) | {"id": "waiting"})
    instance = await quick.start("waiting", {"orderId": 7})
    await until_waiting(quick, 1)
    now = quick.engine.clock.now()
    events = tuple(
        Event(
            id=f"e{n}",
            pattern="payment.received",
            # The last hundred begin with e9900: this one and the one before are nearer than others.
            payload={"orderId": -n, "ok": n in (9_899, 9_900)},
            received_at=now + timedelta(seconds=n),
        )
        for n in range(10_000)
    )
    turn = Turn(id="t", process_id=quick.engine.process_id, at=now, events=events)
    await quick.engine.store.turns.commit(turn)
    [near] = await near_of(quick, instance.id)
    assert len(near) == MOST_NEAR < MOST_EVENTS
    assert [each["eventId"] for each in near[:3]] == ["e9900", "e9999", "e9998"]
    await quick.publish("payment.received", {"orderId": 7, "ok": True})
    await instance.result(10)


async def test_an_event_is_no_near_miss_if_it_is_older_or_was_for_another_instance(
    quick: Tenuto,
) -> None:
    both = wait("paid", eventCondition=f"{ORDER} && event.payload.amount >= 10")
    await quick.deploy(draw("wait>d", wait=both, d=end()) | {"id": "flow"})
    await quick.deploy(
        draw("wait>d", wait=wait("paid", eventCondition=ORDER), d=end()) | {"id": "any"}
    )
    await quick.publish("paid", {"orderId": 7, "amount": 1}, id="older")
    others = [await quick.start("any", {"orderId": id}) for id in (7, 8)]
    for each in others[:1]:
        await each.cancel("it would take the older one")
    instance = await quick.start("flow", {"orderId": 7})
    also = await quick.start("any", {"orderId": 7})
    await until_waiting(quick, 3)
    await quick.publish("paid", {"orderId": 8, "amount": 20}, id="of-8")
    await quick.publish("paid", {"orderId": 9, "amount": 20}, id="of-nobody")
    await quick.publish("paid", {"orderId": 7, "amount": 5}, id="too-little")
    for each in (others[1], also):
        await each.result(10)
    [near] = await near_of(quick, instance.id)
    assert [each["eventId"] for each in near] == ["too-little", "of-nobody"]


async def test_events_of_more_than_a_day_ago_are_no_near_misses(quick: Tenuto) -> None:
    """Inbox retention 7 days; near misses look at the last 100 events of the pattern within 24
    h.
    """
    await quick.deploy(ONE_WAIT)
    instance = await quick.start("waiting", {"orderId": 7})
    await until_waiting(quick, 1)
    moment = quick.engine.clock.now() - timedelta(hours=25)
    old = Event(id="old", pattern="payment.received", payload={}, received_at=moment)
    turn = Turn(id="t", process_id=quick.engine.process_id, at=moment, events=(old,))
    await quick.engine.store.turns.commit(turn)
    assert await near_of(quick, instance.id) == [[]]


async def test_a_wildcard_finds_its_near_misses_among_recent_events_of_any_name(
    quick: Tenuto,
) -> None:
    config = wait("order.*", eventCondition="event.payload === 1")
    await quick.deploy(draw("wait>d", wait=config, d=end()) | {"id": "flow"})
    instance = await quick.start("flow")
    await until_waiting(quick, 1)
    now = quick.engine.clock.now()
    names = ["order.a", *["noise"] * (MOST_READ - 2), "order.b", "order.a"]
    events = tuple(
        Event(id=f"e{n}", pattern=name, payload=0, received_at=now + timedelta(seconds=n))
        for n, name in enumerate(names)
    )
    turn = Turn(id="t", process_id=quick.engine.process_id, at=now, events=events)
    await quick.engine.store.turns.commit(turn)
    [near] = await near_of(quick, instance.id)
    assert [each["eventId"] for each in near] == [f"e{MOST_READ}", f"e{MOST_READ - 1}"]


async def test_each_arm_has_its_own_near_misses_and_none_is_left_once_one_is_taken(
    app: Tenuto,
) -> None:
    listed: list[JSON] = [
        {"id": name, "eventPattern": "answer", "eventCondition": f"event.payload === '{name}'"}
        for name in ("yes", "no")
    ]
    document = draw("wait:yes>d wait:no>d", wait=box("eventWait", arms=listed), d=end())
    await app.deploy(document | {"id": "flow"})
    instance = await app.start("flow")
    await until_waiting(app, 1)
    await app.publish("answer", "perhaps", id="e1")
    waits: Any = await instance.waits()
    assert [(each["armId"], each["nearMisses"][0]["failed"][0]["right"]) for each in waits] == [
        ("yes", "yes"),
        ("no", "no"),
    ]
    dry = await app.publish("answer", "no", dry_run=True)
    assert [(each["armId"], each["what"]) for each in dry.targets] == [("no", "resumed")]
    assert dry.near_misses == (), "the other arm of the wait that takes it is no near miss"
    await app.publish("answer", "no", id="e2")
    await instance.result(10)
    assert await instance.waits() == []
    assert (await app.event("e2"))["nearMisses"] == []


async def test_a_wait_in_a_loop_says_in_which_iteration_and_until_when(quick: Tenuto) -> None:
    config = wait(
        "paid", eventCondition="event.payload === item", eventTimeout={"duration": "PT1H"}
    )
    looping = loop("{{[1, 2]}}", mode="parallel", concurrency=2)
    document = draw("l:loop>wait l:done>d", l=looping, wait=config, d=end()) | {"id": "flow"}
    await quick.deploy(document)
    instance = await quick.start("flow")

    async def both() -> bool:
        return len(await instance.waits()) == 2

    await until(quick, both)
    await quick.publish("paid", 3, id="e")
    waits: Any = await instance.waits()
    assert [each["iteration"] for each in waits] == ["0", "1"]
    assert [each["nearMisses"][0]["failed"][0]["right"] for each in waits] == [1, 2]
    for each in waits:
        span = datetime.fromisoformat(each["timeoutAt"]) - datetime.fromisoformat(each["since"])
        assert span == timedelta(hours=1)


async def test_an_event_tells_whom_it_reached_and_whom_nearly(app: Tenuto) -> None:
    await app.deploy(ONE_WAIT)
    cancelled = draw("wait>d", wait=wait("never"), d=end()) | {
        "id": "cancelled",
        "cancellationTriggers": [
            {
                "eventPattern": "payment.*",
                "eventCondition": "event.payload.stage === ctx.stage && event.payload.stop",
            },
        ],
    }
    big: Object = {"eventPattern": "payment.received", "eventCondition": "event.payload.big"}
    any_id: Object = {"eventPattern": "payment.received", "inputMapping": {"id": "id"}}
    schema: Object = {"type": "object", "properties": {"id": {"type": "integer"}}}
    started: Object = draw("d", d=end()) | {
        "id": "started",
        "inputSchema": schema,
        "triggers": [big, any_id],
    }
    nearly: Object = started | {"id": "nearly", "triggers": [big]}
    for document in (cancelled, started, nearly):
        await app.deploy(document)
    mine, other = [await app.start("waiting", {"orderId": id}) for id in (7, 8)]
    stopping = await app.start("cancelled")
    await until_waiting(app, 3)
    payload: JSON = {"orderId": 7, "stage": "packed"}
    dry = await app.publish("payment.received", payload, dry_run=True)
    assert (dry.resumed, dry.cancelled, dry.started) == (1, 0, 0)
    place = {"instanceId": mine.id, "stepId": "wait", "iteration": ""}
    assert dry.targets[0] == {**place, "what": "resumed"}
    assert dry.targets[1]["what"] == "refused"
    assert "id" in str(dry.targets[1]["reason"])
    await app.publish("payment.received", payload, id="e")
    await mine.result(10)
    await at_rest(app)
    told: Any = await app.event("e")
    assert (told["eventId"], told["pattern"], told["payload"]) == ("e", "payment.received", payload)
    assert (told["matched"], told["resumed"], told["started"]) == (True, 1, 0)
    by_what = {each["what"]: each for each in told["deliveries"]}
    assert by_what["resumed"] == {**place, "what": "resumed"}
    assert (by_what["refused"]["workflowId"], by_what["refused"]["trigger"]) == ("started", 1)
    assert [
        (each["what"], each.get("instanceId"), each.get("workflowId"), len(each["failed"]))
        for each in told["nearMisses"]
    ] == [
        ("started", None, "nearly", 1),
        ("resumed", other.id, None, 1),
        ("cancelled", stopping.id, None, 2),
    ]
    # What a cancellation trigger compares is read in the instance as it is now.
    assert told["nearMisses"][2]["failed"][0] == {
        "expression": "event.payload.stage === ctx.stage",
        "left": "packed",
        "right": None,
    }
    assert list(dry.near_misses) == told["nearMisses"]


async def test_an_event_that_nobody_knows_is_not_found(app: Tenuto) -> None:
    with pytest.raises(NotFound, match="there is no event e"):
        await app.event("e")


class Counting(ScriptedStore):
    """Counts the waits that are read."""

    read = 0

    async def on_waits_near(self, call: Call) -> object:
        found = await call()
        self.read += len(found)
        return found


async def test_an_event_looks_at_some_waits_of_its_pattern_and_tells_the_nearest() -> None:
    store = Counting()
    condition = f"{ORDER} && event.payload.amount >= 10 && event.payload.ok"
    document = draw("wait>d", wait=wait("payment", eventCondition=condition), d=end())
    async with Tenuto(store) as app:
        await app.deploy(document | {"id": "flow"})
        refs = [await app.start("flow", {"orderId": n}) for n in range(300)]
        await until_waiting(app, 300)
        dry = await app.publish("payment", {"orderId": 299, "amount": 5}, dry_run=True)
        assert len(dry.near_misses) == MOST_NEAR
        assert dry.near_misses[0]["instanceId"] == refs[299].id, "the nearest comes first"
        counts = [len(each["failed"]) for each in dry.near_misses]  # type: ignore[arg-type]
        assert counts == [2, *[3] * (MOST_NEAR - 1)]
        assert store.read <= 100


async def test_a_dry_run_stores_nothing_and_answers_what_publishing_would(app: Tenuto) -> None:
    """`POST /events` answers `{eventId, duplicate, resumed, cancelled, started}` (counts); with
    `dryRun` also `targets` and `nearMisses`."""
    await app.deploy(ONE_WAIT)
    instance = await app.start("waiting", {"orderId": 7})
    await until_waiting(app, 1)
    dry = await app.publish("payment.received", {"orderId": 7}, id="e", dry_run=True)
    assert (dry.event_id, dry.duplicate, dry.resumed) == ("e", False, 1)
    assert await instance.status() is Status.WAITING_FOR_EVENT
    with pytest.raises(NotFound):
        await app.event("e")
    published = await app.publish("payment.received", {"orderId": 7}, id="e")
    assert (published.resumed, published.targets, published.near_misses) == (1, (), ())
    again = await app.publish("payment.received", {"orderId": 7}, id="e", dry_run=True)
    assert (again.duplicate, again.resumed, again.targets) == (True, 1, ())
    with pytest.raises(Conflict, match="other content"):
        await app.publish("payment.received", {"orderId": 8}, id="e", dry_run=True)
    with pytest.raises(InvalidInput):
        await app.publish("payment.*", {}, dry_run=True)


async def test_a_dry_run_of_an_event_that_is_not_matched_yet_says_whom_it_will_reach(
    quick: Tenuto,
) -> None:
    await quick.deploy(ONE_WAIT)
    now = quick.engine.clock.now()
    event = Event(id="e", pattern="payment.received", payload={"orderId": 7}, received_at=now)
    instance = await quick.start("waiting", {"orderId": 7})
    await until_waiting(quick, 1)
    turn = Turn(id="t", process_id=quick.engine.process_id, at=now, events=(event,))
    await quick.engine.store.turns.commit(turn)
    dry = await quick.publish("payment.received", {"orderId": 7}, id="e", dry_run=True)
    assert (dry.duplicate, dry.resumed) == (True, 1)
    assert dry.targets[0]["instanceId"] == instance.id


async def test_a_value_that_is_long_is_cut_where_it_is_shown(quick: Tenuto) -> None:
    config = wait("paid", eventCondition="event.payload === 'short'")
    await quick.deploy(draw("wait>d", wait=config, d=end()) | {"id": "flow"})
    instance = await quick.start("flow")
    await until_waiting(quick, 1)
    await quick.publish("paid", "x" * 100_000)
    await quick.publish("paid", ["y"] * 10_000)
    [near] = await near_of(quick, instance.id)
    shown = [each["failed"][0]["left"] for each in near]
    assert [len(each) for each in shown] == [1000, 1000]
    assert shown[0].startswith('["y",')


async def test_a_document_of_events_gives_a_result_each(app: Tenuto) -> None:
    """`POST /events` (one, or an array of at most 1,000 with a result each) answers when the event
    is stored and its targets are recorded. The same id with other content: 409."""
    await app.deploy(ONE_WAIT)
    instance = await app.start("waiting", {"orderId": 7})
    await until_waiting(app, 1)
    await app.publish("payment.received", {"orderId": 1}, id="known")
    results = await app.publish_all(
        [
            {"pattern": "payment.received", "payload": {"orderId": 7}, "id": "a"},
            {"pattern": "payment.*"},
            {"pattern": "payment.received", "id": "known"},
            {
                "specversion": "1.0",
                "type": "payment.received",
                "source": "/shop",
                "id": "1",
                "data": {"orderId": 8},
            },
            {"pattern": "payment.received", "payload": "x" * 2_000_000},
        ]
    )
    first, wrong, conflict, cloud, large = results
    assert isinstance(first, Published)
    assert (first.event_id, first.resumed) == ("a", 1)
    assert isinstance(wrong, InvalidInput)
    assert [problem.path for problem in wrong.problems] == ["$[1].pattern"]
    assert isinstance(conflict, Conflict)
    assert isinstance(cloud, Published)
    assert isinstance(large, InvalidInput)
    assert [problem.path for problem in large.problems] == ["$[4].payload"]
    await instance.result(10)
    assert (await app.event(cloud.event_id))["payload"] == {"orderId": 8}


async def test_one_event_is_a_document_too(quick: Tenuto) -> None:
    [sent] = await quick.publish_all({"pattern": "a.b"})
    assert isinstance(sent, Published)
    [dry] = await quick.publish_all({"pattern": "a.b"}, dry_run=True)
    assert isinstance(dry, Published)
    with pytest.raises(NotFound):
        await quick.event(dry.event_id)
    [wrong] = await quick.publish_all("a.b")
    assert isinstance(wrong, InvalidInput)
    with pytest.raises(InvalidInput, match="are not valid"):
        await quick.publish_all([])


async def test_a_thousand_events_are_taken_at_once(quick: Tenuto) -> None:
    results = await quick.publish_all([{"pattern": "a.b", "id": str(n)} for n in range(1_000)])
    assert all(isinstance(each, Published) for each in results)
    assert (
        len(await quick.engine.store.inbox.latest("default", "a.b", _LONG_AGO, limit=9_999))
        == 1_000
    )
    with pytest.raises(InvalidInput, match="are not valid"):
        await quick.publish_all([{"pattern": "a.b"}] * 1_001)


async def test_looking_at_near_misses_lets_others_go_on(quick: Tenuto) -> None:
    await quick.deploy(ONE_WAIT)
    instance = await quick.start("waiting", {"orderId": 7})
    await until_waiting(quick, 1)
    looked = asyncio.gather(*(instance.waits() for _ in range(5)))
    assert (await quick.publish("payment.received", {"orderId": 7})).resumed == 1
    await looked
    await instance.result(10)


_LONG_AGO = datetime.fromisoformat("2020-01-01T00:00:00Z")


DOUBLED = "event.payload.list.reduce((a, b) => [a, a], 1) == workflow.input.z"


async def test_what_would_take_too_many_steps_is_not_compared_and_others_go_on(
    quick: Tenuto,
) -> None:
    await quick.deploy(draw("w", w=wait(eventCondition=DOUBLED)))
    run = await quick.start("w", {"z": 5})
    await until_waiting(quick, 1, "w")
    for _ in range(MOST_EVENTS):
        await quick.publish("paid", {"list": list(range(60))})
    looking, turns = asyncio.ensure_future(near_of(quick, run.id)), 0
    while not looking.done():
        await asyncio.sleep(0)
        turns += 1
    (near,) = await looking
    errors = [each["failed"][0]["error"] for each in near]
    assert "needs more than 10,000 steps" in errors[0]
    assert errors[-1].startswith("not compared, nor what follows")
    assert turns > len(near)
