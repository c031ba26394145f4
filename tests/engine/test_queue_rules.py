"""A rule of the queue reaches every start, also those that came before processes know it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tenuto import Tenuto
from tenuto.core import Plan, queue_rules, slots
from tenuto.core.queue_rules import Judged, matching
from tenuto.expr import CountedScope, Steps
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import Object
from tenuto.model.slots import QueueRule
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.slot_rows import QueueRuleRow
from tenuto.store.postgres import PostgresStore
from tenuto.workspace.values import Start
from tests.kit.postgres_database import fresh_database
from tests.store.postgres_place import let_time_pass

pytestmark = pytest.mark.asyncio

WORK: Object = {"id": "work", "steps": [{"stepId": "a", "type": "TASK", "taskId": "nothing"}]}
NONE: Object = {"globalMaxConcurrent": 0, "queue": {"order": "priority"}}
LONG = timedelta(days=3)
GOLD = "ctx.input.tier === 'gold'"


async def opened(stack: AsyncExitStack, store: str | PostgresStore | MemoryStore) -> Tenuto:
    app = Tenuto(store)
    app.task(name="nothing")(lambda: None)
    return await stack.enter_async_context(app)


async def priorities(app: Tenuto) -> dict[str, int]:
    return {each.instance_id: each.priority for each in (await app.limits.queue()).items}


class Meanwhile:
    """The verb that saves a rule, with something that happens right after it."""

    def __init__(self, app: Tenuto, by: Sequence[Tenuto], *, is_deadly: bool = False) -> None:
        self._put = app.engine.store.slots.put_queue_rule
        self._by = by
        self._is_deadly = is_deadly
        self.started: list[str] = []

    async def __call__(self, row: QueueRuleRow, *, most: int) -> bool:
        for each in self._by:
            self.started.append((await each.start("work", {"tier": "gold"})).id)
        is_saved = await self._put(row, most=most)
        for each in self._by:
            self.started.append((await each.start("work", {"tier": "gold"})).id)
        if self._is_deadly:
            raise StoreUnavailable("the process dies here")
        return is_saved


async def test_a_start_of_any_process_around_the_saving_of_a_rule_is_found_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "`POST /queue/rules {when (expression over the instance), priority?, hold?}`".

    Once a rule of the queue is answered, it was applied to every instance that waits, and every
    later start is decided by it, in all processes; `isComplete: false` says that a process has
    not answered yet, and the rule is applied again once it has.
    """
    url = await fresh_database()
    async with AsyncExitStack() as stack:
        mine, other = [await opened(stack, url) for _ in range(2)]
        await mine.deploy(WORK)
        await mine.limits.set(NONE)
        await other.engine.limits.look()
        meanwhile = Meanwhile(mine, [mine, other])
        monkeypatch.setattr(mine.engine.store.slots, "put_queue_rule", meanwhile)
        rule = await mine.limits.add_rule(GOLD, priority=7)
        # The other process has heard of it, and says so, before the rule is answered.
        later = await other.start("work", {"tier": "gold"})
        found = await priorities(mine)
        assert found == dict.fromkeys([*meanwhile.started, later.id], 7)
        assert rule.is_complete
        assert rule.matched == 4
        assert await mine.engine.store.rule_progress.unapplied() == []


async def test_a_rule_whose_process_died_before_it_was_applied_is_applied_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = await fresh_database()
    async with AsyncExitStack() as stack:
        other = await opened(stack, url)
        await other.deploy(WORK)
        dying = Tenuto(PostgresStore(url, beat_every=timedelta(days=1), dead_after=LONG))
        dying.task(name="nothing")(lambda: None)
        await dying.open()
        await dying.limits.set(NONE)
        await other.engine.limits.look()
        meanwhile = Meanwhile(dying, [dying, other], is_deadly=True)
        monkeypatch.setattr(dying.engine.store.slots, "put_queue_rule", meanwhile)
        with pytest.raises(StoreUnavailable):
            await dying.limits.add_rule(GOLD, priority=7)
        before = await priorities(other)
        assert [before[id] for id in meanwhile.started[:2]] == [0, 0]
        await dying.engine.shared.loops.stop()
        dying.engine.store.abandon()
        rules = other.engine.queue_rules
        await other.engine.limits.look()
        await rules.run_once()
        await rules.run_once()
        assert await priorities(other) == dict.fromkeys(meanwhile.started, 7)
        # Once the process counts as dead, no turn of it can be decided without the rule.
        await let_time_pass(url, dying.engine.process_id)
        await other.engine.store.members.claim_orphans(100)
        assert await rules.run_once() is None
        assert await other.engine.store.rule_progress.unapplied() == []


async def test_a_rule_that_a_file_has_and_no_process_applied_is_applied_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    async with AsyncExitStack() as stack:
        app = await opened(stack, url)
        await app.deploy(WORK)
        await app.limits.set(NONE)
        meanwhile = Meanwhile(app, [app], is_deadly=True)
        monkeypatch.setattr(app.engine.store.slots, "put_queue_rule", meanwhile)
        with pytest.raises(StoreUnavailable):
            await app.limits.add_rule(GOLD, hold=True, confirm=True)
        items = (await app.limits.queue()).items
        assert {each.instance_id: each.held for each in items}[meanwhile.started[0]] is False
    async with AsyncExitStack() as stack:
        app = await opened(stack, url)
        while await app.engine.store.rule_progress.unapplied():
            await app.engine.queue_rules.run_once()
        assert [each.held for each in (await app.limits.queue()).items] == [True, True]


async def test_starts_of_a_batch_evaluate_each_rule_once_and_in_a_round_of_the_loop_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = 0
    holds = queue_rules._holds

    def counted(rule: QueueRule, scope: CountedScope, plan: Plan) -> bool:
        nonlocal judged
        judged += 1
        return holds(rule, scope, plan)

    monkeypatch.setattr(queue_rules, "_holds", counted)
    async with AsyncExitStack() as stack:
        app = await opened(stack, MemoryStore())
        await app.deploy(WORK)
        await app.limits.set(
            {"globalMaxConcurrent": 1, "queue": {"order": "priority", "bound": 1_000}}
        )
        for number in range(3):
            when = f"ctx.input.list.map(x => x + {number}).includes(-1)"
            await app.limits.add_rule(when, priority=number, confirm=True)
        batch = [Start(workflow="work", input={"list": [1] * 3_000}) for _ in range(20)]
        starting = asyncio.ensure_future(app.start_many(batch))
        most = 0
        while not starting.done():
            before = judged
            await asyncio.sleep(0)
            most = max(most, judged - before)
        assert len(await starting) == 20
        assert (judged, most) == (20 * 3, 1)


@pytest.mark.parametrize("limit", [1, 50])
async def test_the_turn_of_a_start_evaluates_rules_once(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """All of them may take forty thousand steps; whether there is room changes nothing."""
    evaluated = 0

    def counted(
        rules: Iterable[QueueRule], judged: Judged, plan: Plan, steps: Steps
    ) -> Generator[None, None, list[QueueRule]]:
        nonlocal evaluated
        evaluated += 1
        return matching(rules, judged, plan, steps)

    monkeypatch.setattr(slots, "matching", counted)
    async with AsyncExitStack() as stack:
        app = await opened(stack, MemoryStore())
        await app.deploy(WORK)
        await app.limits.set({"globalMaxConcurrent": limit, "queue": {"order": "priority"}})
        await app.limits.add_rule("ctx.input.x > 0", priority=7, confirm=True)
        for number in range(1, 4):
            await app.start("work", {"x": number})
        assert evaluated == 3
