"""Nothing that was told is lost, whatever breaks off when; and it comes in order, under one id."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from datetime import timedelta
from random import Random

import pytest
from msgspec.structs import replace

from tenuto import Settings, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event
from tenuto.store.parts.outbox import OutboxRow
from tenuto.testing.fault_plan import Fault
from tenuto.testing.virtual_loop import Crashed
from tests.engine.notification_world import DAY, QUIET, Planned, World, in_order, quiet
from tests.engine.situations import ONE_WAIT, steps
from tests.kit.hooks import Received
from tests.kit.simulator.thinning import some_of


async def tell(app: Tenuto) -> None:
    await app.webhooks.add("https://example.com", "workflow.**")
    await app.deploy(steps("a", "b"))
    await asyncio.gather(*(app.start("flow", {"n": n}, key=f"k{n}") for n in range(2)))
    await quiet(app)


def whole_story(world: World) -> dict[str, list[int]]:
    """What a receiver must have heard of each instance: of these workflows every entry but one."""
    return {id: list(range(2, end + 1)) for id, end in world.disk.log_ends.items()}


@pytest.mark.slow
def test_a_crash_at_any_write_loses_nothing_and_repeats_only_the_same() -> None:
    calm = World()
    calm.life(tell)
    assert in_order(calm.hook.received) == whole_story(calm)
    writes = calm.fault_plan.told
    assert writes > 8
    faults = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST, Fault.UNAVAILABLE)
    for fault in faults:
        for number in some_of(writes, fault, faults):
            world = World()
            world.fault_plan = Planned(number, fault)
            with contextlib.suppress(Crashed, StoreUnavailable):
                world.life(tell)
            world.fault_plan = Planned()
            world.life(_go_on)
            assert in_order(world.hook.received) == whole_story(world), (fault, number)
            bodies: dict[str, bytes] = {}
            for each in world.hook.received:
                assert bodies.setdefault(each.id, each.body) == each.body
            assert world.disk.outbox == {}
            assert world.disk.postings == {}


async def _go_on(app: Tenuto) -> None:
    """As a client does that got no answer: ask again under the same keys."""
    if not await app.webhooks.list():
        await app.webhooks.add("https://example.com", "workflow.**")
    await app.deploy(steps("a", "b"))
    await asyncio.gather(*(app.start("flow", {"n": n}, key=f"k{n}") for n in range(2)))
    await quiet(app)


def test_an_answer_of_500_for_long_loses_nothing_and_keeps_the_order() -> None:
    world = World()
    begin: list[float] = []

    async def work(app: Tenuto) -> None:
        clock = app.engine.clock
        begin.append(clock.ticks())
        world.hook.answer = lambda _: 500 if clock.ticks() - begin[0] < 2 * DAY else 200
        await tell(app)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.last_error) == ("failing", "answered 500")
        await quiet(app, 3 * DAY)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending, shown.gaps) == ("active", 0, ())

    world.life(work)
    assert in_order(world.hook.received) == whole_story(world)
    tries = [each.id for each in world.hook.received].count(world.hook.received[0].id)
    assert 5 < tries < 40


def test_a_failure_holds_back_its_instance_and_no_other() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "workflow.**")
        await app.deploy(steps("a", "b"))
        bad = await app.start("flow", {})
        world.hook.answer = lambda each: 500 if each.id.startswith(bad.id) else 200
        good = await app.start("flow", {})
        await quiet(app, 2)
        heard = in_order(world.hook.received)
        assert heard[good.id] == [2, 3, 4, 5, 6, 7]
        assert heard[bad.id] == [2]
        world.hook.answer = lambda _: 200
        await quiet(app, 3600)

    world.life(work)
    assert in_order(world.hook.received) == whole_story(world)


@pytest.mark.parametrize("seed", range(5))
def test_order_holds_whatever_fails(seed: int) -> None:
    world = World(seed)
    random = Random(seed)
    accepted: list[Received] = []

    def answer(each: Received) -> int | None:
        status = random.choice([200, 200, 500, 429, None, 404])
        if status == 200:
            accepted.append(each)
        return status

    async def work(app: Tenuto) -> None:
        world.hook.answer = answer
        await app.webhooks.add("https://example.com", "workflow.**")
        await app.deploy(steps("a", "b"))
        await asyncio.gather(*(app.start("flow", {"n": n}) for n in range(8)))
        await quiet(app, 10 * DAY)

    world.life(work, _settings(disable_webhooks_after=100 * DAY))
    told = in_order(accepted)
    assert told == whole_story(world)
    assert len(accepted) == sum(map(len, told.values()))
    assert world.hook.most_at_once <= 10


def _settings(**fields: float) -> Settings:
    known = {name: getattr(QUIET, name) for name in QUIET.__struct_fields__}
    return Settings(**(known | fields))


def test_after_long_failure_it_is_disabled_with_the_gap_and_enabled_by_hand() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda _: 503
        added = await app.webhooks.add("https://example.com", "workflow.completed")
        await app.deploy(steps("a"))
        began = app.engine.clock.now()
        await app.start("flow")
        await quiet(app, 4 * DAY)
        await app.start("flow")
        await quiet(app, 60)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending) == ("failing", 2)
        await quiet(app, 3 * DAY)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending, shown.last_error) == ("disabled", 0, "answered 503")
        [gap] = shown.gaps
        assert gap.since - began < timedelta(seconds=5)
        assert (gap.until, gap.lost, gap.reason) == (None, 2, "answered 503")
        tried = len(world.hook.received)
        await app.start("flow")
        await quiet(app, DAY)
        assert len(world.hook.received) == tried
        world.hook.answer = lambda _: 200
        enabled = await app.webhooks.enable(added.id)
        assert (enabled.state, enabled.failing_since, enabled.last_error) == ("active", None, None)
        assert enabled.gaps[0].until is not None
        again = await app.webhooks.enable(added.id)
        assert again == enabled
        told = await app.start("flow")
        await quiet(app)
        assert [each.id.rpartition(":")[0] for each in world.hook.received[tried:]] == [told.id]

    world.life(work)


def test_what_one_address_never_takes_goes_after_days_so_that_the_rest_can_come() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "workflow.**")
        await app.deploy(steps("a"))
        bad = await app.start("flow")
        poison = f"{bad.id}:3"
        world.hook.answer = lambda each: 422 if each.id == poison else 200
        for _ in range(7):
            await quiet(app, DAY)
            await app.start("flow")
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending) == ("active", 0)
        [gap] = shown.gaps
        assert (gap.lost, gap.reason) == (1, "answered 422")
        assert gap.until is not None
        assert in_order(world.hook.received)[bad.id] == [2, 3, 4, 5]

    world.life(work)


def test_what_got_old_while_nothing_ran_is_tried_before_it_is_given_up() -> None:
    world = World()

    async def begin(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "workflow.completed")
        await app.deploy(steps("a"))
        world.hook.answer = lambda _: 503
        await app.start("flow")
        await quiet(app)

    async def go_on(app: Tenuto) -> None:
        await quiet(app, 600)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending, shown.gaps) == ("failing", 1, ())
        world.hook.answer = lambda _: 200
        await quiet(app, DAY)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending, shown.gaps) == ("active", 0, ())

    world.life(begin)
    world.passed += 20 * DAY
    world.life(go_on)


def test_an_old_event_that_fails_beside_others_is_tried_before_it_is_given_up() -> None:
    world = World()

    async def begin(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "order.**")
        await app.publish("order.placed", {}, id="old")
        world.hook.answer = lambda _: None
        await quiet(app, 1)

    async def go_on(app: Tenuto) -> None:
        world.hook.answer = lambda each: 503 if each.id == "old" else 200
        await app.publish("order.placed", {}, id="new")
        await quiet(app, 600)
        [shown] = await app.webhooks.list()
        assert (shown.pending, shown.gaps) == (1, ())

    world.life(begin)
    world.passed += 20 * DAY
    world.life(go_on)


def test_an_address_that_takes_nothing_is_not_asked_for_each_instance() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda _: 500
        await app.webhooks.add("https://example.com", "workflow.completed")
        await app.deploy(steps("a"))
        await asyncio.gather(*(app.start("flow", {"n": n}) for n in range(200)))
        await quiet(app, 600)
        assert len(world.hook.received) <= 10 * 16
        world.hook.answer = lambda _: 200
        await quiet(app, DAY)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending) == ("active", 0)

    world.life(work)


def test_what_an_address_refuses_holds_up_nothing_else_for_it() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        accepted: list[str] = []

        def answer(each: Received) -> int:
            if each.id.startswith("bad"):
                return 400
            accepted.append(each.id)
            return 200

        world.hook.answer = answer
        await app.webhooks.add("https://example.com", "order.**")
        for n in range(200):
            await app.publish("order.placed", {}, id=f"bad{n}")
        await app.publish("order.placed", {}, id="fine")
        await quiet(app, 5)
        assert accepted == ["fine"]
        # Not asked without end either: each has its own pause.
        await quiet(app, 595)
        assert len(world.hook.received) <= 200 * 6

    world.life(work)


def test_what_has_arrived_is_recorded_once_the_store_is_back() -> None:
    class Away(Planned):
        """The store is away whenever it is to record what has arrived, three times."""

        def on_write(self, verb: str) -> Fault | None:
            if verb != "outbox.settle":
                return None
            self.told += 1
            return Fault.UNAVAILABLE if self.told <= 3 else None

    world = World()
    world.fault_plan = Away()

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "order.**")
        await app.publish("order.placed", {}, id="once")
        await quiet(app, DAY)
        [shown] = await app.webhooks.list()
        assert (shown.state, shown.pending) == ("active", 0)

    world.life(work)
    assert world.hook.ids == ["once"]
    assert world.fault_plan.told == 4


def test_a_listener_that_cannot_be_read_holds_up_no_other() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        added = await app.webhooks.add("https://example.com/strange", "order.**")
        await app.webhooks.add("https://example.com/plain", "order.**")
        listeners = await app.engine.store.listeners.of("default")
        [strange] = [each for each in listeners if each.id == added.id]
        await app.engine.store.listeners.put(replace(strange, health=b'{"failingSince":7}'))

    async def go_on(app: Tenuto) -> None:
        await app.publish("order.placed", {}, id="e")
        await quiet(app, 60)

    world.life(work)
    world.life(go_on)
    assert [each.path for each in world.hook.received] == ["https://example.com/plain"]


def test_an_end_is_told_once_however_it_is_raced_for() -> None:
    world = World()
    ends = {"workflow.completed", "workflow.failed", "workflow.cancelled"}

    async def work(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", sorted(ends))
        await app.deploy(ONE_WAIT)
        instances = [await app.start("waiting", {"orderId": n}) for n in range(20)]
        await quiet(app, 1)
        asked = [
            each
            for n, instance in enumerate(instances)
            for each in (
                app.publish("payment.received", {"orderId": n}, id=f"e{n}"),
                instance.cancel("late"),
                instance.cancel("later"),
            )
        ]
        await asyncio.gather(*asked, return_exceptions=True)
        await quiet(app)

    world.life(work)
    told = [each.id.rpartition(":")[0] for each in world.hook.received]
    assert sorted(told) == sorted(world.disk.instances)


def test_a_subscription_ends_when_it_expires() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        until = app.engine.clock.now() + timedelta(hours=1)
        await app.subscriptions.add(
            "https://example.com", "paid", subscriber_id="s", expiration_time=until
        )
        [shown] = await app.subscriptions.list()
        assert not shown.expired
        await app.publish("paid", 1, id="in time")
        await quiet(app, 3600)
        await app.publish("paid", 2, id="late")
        await quiet(app, 60)
        [shown] = await app.subscriptions.list()
        assert (shown.expired, shown.pending) == (True, 0)
        await quiet(app, DAY)
        assert await app.subscriptions.list() == []

    world.life(work)
    assert world.hook.ids == ["in time"]


def test_what_happened_before_a_subscription_expired_is_still_delivered() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda _: 503
        until = app.engine.clock.now() + timedelta(hours=1)
        await app.subscriptions.add(
            "https://example.com", "paid", subscriber_id="s", expiration_time=until
        )
        await app.publish("paid", 1, id="in time")
        await quiet(app, 2 * DAY)
        [shown] = await app.subscriptions.list()
        assert (shown.expired, shown.pending, shown.state) == (True, 1, "failing")
        world.hook.answer = lambda _: 200
        await quiet(app, 2 * DAY)
        assert world.hook.received[-1].id == "in time"
        assert await app.subscriptions.list() == []

    world.life(work)


def test_a_filter_that_fails_about_one_event_does_not_stop_others() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.subscriptions.add(
            "https://example.com",
            "paid",
            subscriber_id="s",
            filter="event.payload.name.toUpperCase() === 'A'",
        )
        await app.publish("paid", {"name": 7}, id="wrong")
        await app.publish("paid", {"name": "a"}, id="right")
        await quiet(app)

    world.life(work)
    assert world.hook.ids == ["right"]


def test_events_are_kept_for_a_week() -> None:
    """ "Inbox retention 7 days; near misses look at the last 100 events of the pattern within
    24 h."
    """
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        await quiet(app, 1)
        await app.publish("payment.received", {"orderId": 1}, id="old")
        await quiet(app, 6 * DAY)
        await app.publish("other", id="young")
        assert len(world.disk.events) == 2
        assert (await app.publish("payment.received", {"orderId": 1}, id="old")).duplicate
        await quiet(app, 2 * DAY)
        assert len(world.disk.events) == 1
        assert world.disk.deliveries == {}
        assert (await waiting.status()) == "COMPLETED"

    world.life(work)


def test_nothing_is_written_where_nobody_listens() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(steps("a"))
        await app.start("flow")
        await app.publish("paid")
        await quiet(app, 1)
        assert world.disk.outbox == {}

    world.life(work)
    assert world.hook.received == []


def test_whoever_comes_while_the_outbox_is_read_misses_nothing() -> None:
    """A row that is there because of somebody is never told to nobody."""
    world = World()

    async def work(app: Tenuto) -> None:
        store = app.engine.store
        await app.deploy(steps("a"))
        # While nobody listens at all the outbox is not looked into.
        await app.webhooks.add("https://example.org", "something.else")
        await quiet(app, 1)
        look = store.outbox.claim

        async def late_look(
            limit: int, *, passing_over: Collection[str] = (), after: str = ""
        ) -> list[OutboxRow]:
            await app.webhooks.add("https://example.com", "paid")
            await app.engine.events.router.publish(
                Event(id="e1", pattern="paid", payload=1, received_at=app.engine.clock.now())
            )
            store.outbox.claim = look  # type: ignore[method-assign]
            return await look(limit, passing_over=passing_over, after=after)

        store.outbox.claim = late_look  # type: ignore[method-assign]
        app.engine.outbox.hint()
        await quiet(app)

    world.life(work)
    assert world.hook.ids == ["e1"]


def test_more_than_is_told_together_is_told_in_order() -> None:
    world = World()
    world.life(tell, replace(QUIET, bounds=Bounds(outbox_events=2)))
    assert in_order(world.hook.received) == whole_story(world)
    assert world.disk.outbox == {}


def test_a_guest_leaves_telling_to_those_who_work() -> None:
    world = World()

    async def listen(app: Tenuto) -> None:
        await app.webhooks.add("https://example.com", "paid")

    async def publish(app: Tenuto) -> None:
        await app.publish("paid", id="e1")

    world.life(listen)
    world.life(publish, _settings(is_guest=True))
    assert world.hook.received == []
    world.life(quiet)
    assert world.hook.ids == ["e1"]
