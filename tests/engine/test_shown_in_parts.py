"""What is shown of large instances is made in parts, or in a thread: others go on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial

import pytest

from tenuto import Tenuto
from tenuto.core import InstanceState, snapshot
from tenuto.core.explain import Facts, explain
from tenuto.core.view import waits_of
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.events.explainer import _opened
from tenuto.engine.turns import loader
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.long_folds import LongFolds
from tenuto.model.entries import Entry
from tenuto.model.json import Object
from tenuto.model.pauses import PACE
from tenuto.store.parts.stats import Completed
from tenuto.workspace import stats, stored_instance
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.series import read_series
from tests.engine.situations import at_rest
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

COUNT = 200


def waits(count: int, id: str = "waits") -> Object:
    """So many steps that are open at once, in a loop."""
    return {
        "id": id,
        "steps": [
            {
                "stepId": "l",
                "type": "LOOP",
                "source": "{{ctx.input.list}}",
                "mode": "parallel",
                "concurrency": count,
                "transitions": {"loop": "w"},
            },
            {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"},
        ],
    }


async def waiting(app: Tenuto, count: int = COUNT) -> Held:
    await app.deploy(waits(count))
    handle = await app.start("waits", {"list": [0] * count})
    await at_rest(app)
    return await app.engine.loader.look_at(handle.id)


def pauses_of(work: Callable[[], object]) -> int:
    count = 0

    def pace() -> None:
        nonlocal count
        count += 1

    before = PACE.set(pace)
    try:
        work()
    finally:
        PACE.reset(before)
    return count


async def test_what_is_made_of_all_open_steps_may_pause_at_each_of_them() -> None:
    async with Tenuto() as app:
        held = await waiting(app)
        facts = Facts(now=datetime(2026, 1, 1, tzinfo=UTC))
        stored = snapshot.encode(held.state)
        seqs = snapshot.references(stored)
        assert seqs == []
        assert pauses_of(lambda: waits_of(held.plan, held.state)) >= 2 * COUNT
        assert pauses_of(lambda: explain(held.plan, held.state, facts)) >= 2 * COUNT
        assert pauses_of(lambda: _opened(held.state)) >= COUNT
        assert pauses_of(lambda: snapshot.decode(stored, {})) >= COUNT


async def test_large_snapshots_are_read_in_a_thread_for_looks_and_at_once_for_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []

    def decode(stored: bytes, entries: Mapping[int, Entry]) -> InstanceState:
        threads.append(threading.current_thread().name)
        return snapshot.decode(stored, entries)

    async with Tenuto() as app:
        held = await waiting(app)
        monkeypatch.setattr(loader, "decode", decode)
        assert held.snapshot_bytes > 20_000
        look: dict[str, Callable[[], Awaitable[object]]] = {
            "look": lambda: app.engine.loader.look_at(held.state.id),
            "page": lambda: app.engine.loader.load([held.state.id], is_shown=True),
            "turn": lambda: app.engine.loader.load([held.state.id]),
        }
        for each in look.values():
            await each()
    assert threads == ["large document", "large document", threading.main_thread().name]


async def shown_beside_a_kept_thread(
    app: Tenuto, documents: LargeDocuments, large: str, small: str
) -> tuple[str, bool]:
    """A look at the small one, for which one at the large one was asked before; is that made?"""
    kept = threading.Event()
    holding = asyncio.ensure_future(documents.read(LARGE, partial(kept.wait, 60)))
    looks = [asyncio.ensure_future(app.engine.loader.look_at(each)) for each in (large, small)]
    try:
        await turns(100)
        assert looks[1].done(), "it waits for the thread"
        return looks[1].result().state.id, looks[0].done()
    finally:
        kept.set()
        await holding
        assert [each.state.id for each in await asyncio.gather(*looks)] == [large, small]


async def started_by(workspace: EngineWorkspace, definition: Object, count: int) -> str:
    await workspace.definitions.save(definition)
    return (await workspace.start("waits", {"list": [0] * count})).id


async def test_a_look_at_a_small_instance_does_not_wait_for_the_thread_of_large_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that none is given away for its entries.
    monkeypatch.setattr(loader, "_PART_ROWS", 10_000)
    async with Tenuto() as app:
        held = await waiting(app)
        small = await started_by(app.workspace("small", "someone"), waits(1), 1)
        await at_rest(app)
        assert 20_000 < held.snapshot_bytes < 60_000
        found = await shown_beside_a_kept_thread(app, app.engine.plans.values, held.state.id, small)
        assert found == (small, False)


async def test_a_look_at_a_small_instance_does_not_wait_for_definitions_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loader, "_PART_ROWS", 10_000)
    async with Tenuto() as app:
        definition = waits(1)
        definition["description"] = "x" * 3_000
        large = await started_by(app.workspace("large", "someone"), definition, 1)
        small = await started_by(app.workspace("small", "someone"), waits(1), 1)
        await at_rest(app)
        plans = app.engine.plans
        plans.forget("large", "waits")
        found = await shown_beside_a_kept_thread(app, plans._large, large, small)
        assert found == (small, False)


async def test_others_go_on_between_the_instances_of_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[str | None] = []
    pause = LongFolds.pause

    async def noted(self: LongFolds[object], began: float, tenant: str | None) -> float:
        paused.append(tenant)
        return await pause(self, began, tenant)

    async with Tenuto() as app:
        held = await waiting(app, 5)
        ids = [held.state.id]
        ids += [(await app.start("waits", {"list": [0] * 5})).id for _ in range(4)]
        await at_rest(app)
        monkeypatch.setattr(LongFolds, "pause", noted)
        monkeypatch.setattr(loader, "_PART_ROWS", held.tail_entries + 1)
        await app.engine.loader.load(ids, is_shown=True)
        assert paused == ["default"] * 4
        paused.clear()
        await app.engine.loader.load(ids)
        assert paused == []


@pytest.fixture
def asides(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(stored_instance, "_MANY_CAUSES", 3)
    monkeypatch.setattr(stats, "_MANY", 3)
    return []


def note(app: Tenuto, asides: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    values = app.engine.plans.values
    aside = values.aside

    async def noted(work: Callable[[], object], *, tenant: str = "") -> object:
        asides.append(tenant)
        return await aside(work, tenant=tenant)

    monkeypatch.setattr(values, "aside", noted)


@pytest.mark.parametrize(("count", "tenants"), [(1, []), (5, ["default"])])
async def test_an_explanation_with_many_causes_is_spelled_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, asides: list[str], count: int, tenants: list[str]
) -> None:
    async with Tenuto() as app:
        held = await waiting(app, count)
        note(app, asides, monkeypatch)
        assert await app.at(held.state.id).explain()
    assert asides == tenants


@pytest.mark.parametrize(("count", "tenants"), [(1, []), (5, ["default"])])
async def test_statistics_of_many_rows_are_summed_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, asides: list[str], count: int, tenants: list[str]
) -> None:
    async with Tenuto() as app:

        async def durations(*_: object) -> list[Completed]:
            return [Completed(0, 1)] * count

        monkeypatch.setattr(type(app.engine.store.stats), "durations", durations)
        note(app, asides, monkeypatch)
        found = await read_series(app.engine, "default", 1, 1, {})
    assert asides == tenants
    assert found.latency.p50 is None
