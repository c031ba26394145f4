"""Instances that one instance leads to are bounded, however they are started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto import Settings, Status, Tenuto, WorkflowFailed
from tenuto.engine.bounded_counts import BoundedCounts
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.requests import Request
from tenuto.model.failure import TOO_MANY_DESCENDANTS
from tenuto.model.json import Object
from tenuto.model.policy import Limits
from tenuto.store.memory import MemoryStore
from tenuto.testing.wrapped_store import Call
from tests.access.hand_clock import HandClock
from tests.core.drawing import child, draw, emit, end, wait
from tests.engine.situations import at_rest, until
from tests.kit.postgres_database import fresh_database
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

MOST = 30
SETTINGS = Settings(limits=Limits(max_descendants=MOST), instance_retention=None)
TENFOLD = draw(" ".join(f"c{n}" for n in range(10)), **{f"c{n}": child("ten") for n in range(10)})
TENFOLD |= {"id": "ten"}
DOUBLING: Object = draw("a>b b>w", a=emit("told"), b=emit("told"), w=wait("never")) | {
    "id": "twice",
    "triggers": [{"eventPattern": "told", "inputMapping": {}}],
}
SLEEPER = draw("w>d", w=wait("never"), d=end()) | {"id": "sleeper"}


class Alive:
    """Descendants that have not ended, by origin, as the log says; and the most there ever were."""

    def __init__(self, app: Tenuto) -> None:
        self.now: dict[str, set[str]] = {}
        self.most = 0
        app.engine.listen(self._saw)

    def _saw(self, draft: Draft) -> None:
        state = draft.state
        if not state.version or state.led_to_by == state.id:
            return
        alive = self.now.setdefault(state.led_to_by, set())
        if state.status.is_final:
            alive.discard(state.id)
        else:
            alive.add(state.id)
            self.most = max(self.most, len(alive))


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    if request.param == "postgres":
        store: str | MemoryStore = await fresh_database()
    else:
        store = MemoryStore() if request.param == "memory" else f"sqlite:///{tmp_path}/store.db"
    async with Tenuto(store, settings=SETTINGS) as made:
        yield made


async def test_a_workflow_that_calls_itself_tenfold_is_cut(app: Tenuto) -> None:
    alive = Alive(app)
    await app.deploy(TENFOLD)
    root = await app.start("ten")
    with pytest.raises(WorkflowFailed) as failed:
        await root.result(30)
    assert failed.value.error.code in {TOO_MANY_DESCENDANTS, "CHILD_FAILED"}
    assert TOO_MANY_DESCENDANTS in str(failed.value.error)
    # The first that is cut may cancel others that were admitted before.
    assert 1 < alive.most <= MOST

    async def all_ended() -> bool:
        return not alive.now[root.id]

    await until(app, all_ended)
    assert await app.engine.store.instances.open_of_origin(root.id, 99) == 0


async def test_a_cut_start_fails_its_step_which_may_handle_it(app: Tenuto) -> None:
    names = [f"c{number}" for number in range(MOST + 2)]
    nodes = {name: child("sleeper") for name in names} | {f"{name}_cut": end() for name in names}
    await app.deploy(SLEEPER)
    edges = " ".join(f"{name}:error>{name}_cut" for name in names)
    await app.deploy(draw(edges, **nodes) | {"id": "wide"})
    root = await app.start("wide")

    async def codes() -> list[str]:
        nodes = (await app.engine.state_of(root.id)).state.nodes.values()
        return [node.error.code for node in nodes if node.error is not None]

    async def both_are_cut() -> bool:
        return len(await codes()) == 2

    await until(app, both_are_cut)
    assert await codes() == [TOO_MANY_DESCENDANTS] * 2
    assert not (await root.status()).is_final


async def test_a_workflow_that_is_started_by_what_it_emits_twice_is_cut(app: Tenuto) -> None:
    alive = Alive(app)
    await app.deploy(DOUBLING)
    root = await app.start("twice")

    async def refused() -> list[str]:
        found: list[str] = []
        for id in [root.id, *alive.now.get(root.id, ())]:
            for node in "ab":
                deliveries = await app.engine.store.inbox.deliveries_of("default", f"{id}:{node}")
                found += [str(each.reason) for each in deliveries if each.outcome == "refused"]
        return found

    async def is_cut() -> bool:
        # Each of them, and the root, has told twice.
        return len(alive.now.get(root.id, ())) == MOST and len(await refused()) == MOST + 2

    await until(app, is_cut)
    assert alive.most == MOST
    assert set(await refused()) == {
        f"instance {root.id} has led to {MOST} instances that have not ended"
    }


async def test_what_ends_makes_room(app: Tenuto) -> None:
    await app.deploy(draw("d", d=end()) | {"id": "short"})
    names = [f"c{number}" for number in range(2 * MOST)]
    chained = " ".join(f"{first}>{second}" for first, second in pairwise(names))
    await app.deploy(draw(chained, **{each: child("short") for each in names}) | {"id": "long"})
    await (await app.start("long")).result(30)


async def test_a_child_that_is_cancelled_before_it_has_begun_is_never_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its start waits in the queue while its parent is cancelled."""
    async with Tenuto(settings=SETTINGS) as app:
        await app.deploy(SLEEPER)
        await app.deploy(draw("c", c=child("sleeper")) | {"id": "parent"})
        starts, held = app.engine.effects.mailbox.starts, asyncio.Queue[Request]()
        report = starts._report
        monkeypatch.setattr(starts, "_report", held.put_nowait)
        parent = await app.start("parent")
        start = await held.get()
        await parent.cancel()
        monkeypatch.setattr(starts, "_report", report)
        report(start)
        report(await held.get())
        await at_rest(app)
        assert [each.id for each in await app.instances()] == [parent.id]
        assert await app.engine.store.mailbox.claim(10) == []
        assert await parent.status() is Status.CANCELLED


class Counted(ScriptedStore):
    """A store that counts as many as it is told, and how often it was asked."""

    def __init__(self, found: int = 0, *, shared: bool = False) -> None:
        super().__init__(shared=shared)
        self.found = found

    @property
    def asked(self) -> int:
        return len(self.made("instances.open_of_origin"))

    async def on_instances_open_of_origin(self, call: Call) -> int:
        return min(self.found, int(call.args[1]))


def families_over(
    store: Counted, clock: HandClock | None = None, *, most: int, kept: int = 100_000
) -> BoundedCounts:
    return BoundedCounts(
        store.instances.open_of_origin,
        clock or HandClock(),
        asyncio.ensure_future,
        is_shared=store.is_shared,
        most=most,
        kept=kept,
    )


async def test_small_families_are_never_counted() -> None:
    store = Counted()
    families = families_over(store, most=10_000)
    for number in range(1_000):
        for _ in range(5):
            assert families.admits(f"origin-{number}")
    assert store.asked == 0


async def test_a_family_filled_elsewhere_is_found_after_a_tenth_of_the_bound() -> None:
    store = Counted(found=10_000)
    families = families_over(store, most=10_000)
    admitted = 0
    while await families.admit("origin"):
        admitted += 1
    assert (admitted, store.asked) == (1_000, 1)


async def test_an_origin_that_has_its_most_is_counted_once_a_second() -> None:
    clock, store = HandClock(), Counted(found=40)
    families = families_over(store, clock, most=40)
    assert [await families.admit("origin") for _ in range(6)] == [True] * 4 + [False] * 2
    assert store.asked == 1
    store.found = 0
    clock.move(1.0)
    for _ in range(4):
        families.settled("origin", added=True)
    assert await families.admit("origin")
    assert store.asked == 2


async def test_a_shared_store_is_asked_with_every_so_many_starts_which_do_not_wait() -> None:
    store = Counted(shared=True)
    families = families_over(store, most=400)
    for rounds in range(1, 4):
        for _ in range(11):
            assert families.admits("origin")
        for _ in range(9):
            await asyncio.sleep(0)
        assert store.asked == rounds


async def test_a_start_that_is_refused_for_another_reason_makes_room_again() -> None:
    families = families_over(Counted(), most=1)
    assert await families.admit("origin")
    assert not await families.admit("origin")
    families.settled("origin", added=False)
    assert await families.admit("origin")


async def test_the_oldest_origins_are_forgotten() -> None:
    families = families_over(Counted(), most=10, kept=3)
    for number in range(9):
        assert families.admits(f"origin-{number}") is not False
    assert len(families._counts) == 3
