"""Tasks are handed out to workers outside: each once, in order, and with all that they need."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from tenuto.engine.engine import Engine
from tenuto.executions.broker import TaskBroker
from tenuto.executions.claim_queue import ClaimQueue
from tenuto.executions.tokens import Tokens
from tenuto.model.errors import Overloaded
from tenuto.model.executions import ClaimedTask
from tenuto.model.json import Object
from tenuto.store.parts.jobs import JobKey, Lease, WorkerClaim
from tenuto.testing.wrapped_store import Call
from tests.executions.stage import A_WHILE, FLOW, LEASE, Stage, cancel, done, failed, report
from tests.kit.scripted_store import ScriptedStore
from tests.kit.workload.drawing import document, node


def test_a_workflow_is_done_by_a_worker_outside() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, input={"x": 1})
        [first] = await broker.claim("default", "w1", ["ship"], most=50)
        now = stage.clock.now()
        assert (first.task_id, first.instance_id, first.step_id, first.attempt) == (
            "ship",
            id,
            "a",
            1,
        )
        assert (first.input, first.iteration, first.idempotency_key) == ({"x": 1}, "", f"{id}:a")
        assert first.context.workflow_definition_id == "w"
        assert (first.context.correlation_id, first.context.retry_count) == ("c1", 0)
        assert first.lease_until == now + LEASE
        assert await report(broker, done(first, {"by": "w1"}, None)) == [None]
        [second] = await broker.claim("default", "w1", most=50)
        assert second.step_id == "b"
        assert await report(broker, done(second, 7)) == [None]
        held = await engine.final_state(id)
        assert held.state.status == "COMPLETED"
        assert stage.disk.jobs == {}
        await engine.close()

    Stage().play(story)


def test_a_claim_waits_for_a_task_and_has_it_at_once() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        before = stage.clock.ticks()
        waiting = asyncio.create_task(broker.claim("default", "w1", most=5, wait=A_WHILE))
        await stage.clock.sleep(5)
        await stage.started(engine)
        [task] = await waiting
        assert task.step_id == "a"
        assert stage.clock.ticks() - before < 6
        assert await broker.claim("default", "w1", wait=A_WHILE) == []
        assert stage.clock.ticks() - before >= 25

    Stage().play(story)


def test_a_claim_finds_what_another_process_offered() -> None:
    async def story(stage: Stage) -> None:
        one, _ = await stage.opened(shared=True)
        _, broker = await stage.opened(shared=True)
        waiting = asyncio.create_task(broker.claim("default", "w1", wait=A_WHILE))
        await stage.clock.sleep(1)
        id = await stage.started(one)
        [task] = await waiting
        assert task.instance_id == id
        assert await report(broker, done(task)) == [None]
        await stage.clock.sleep(1)
        assert "NODE_COMPLETED" in await stage.lines_of(one, id, "a")

    Stage().play(story)


def test_who_came_first_is_served_first_and_takes_no_more_than_it_asked_for() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        served: list[tuple[str, int]] = []

        async def worker(name: str, most: int) -> None:
            tasks = await broker.claim("default", name, ["ship"], most=most, wait=A_WHILE)
            served.append((name, len(tasks)))

        workers = []
        for name, most in (("w1", 2), ("w2", 1), ("w3", 5)):
            workers.append(asyncio.create_task(worker(name, most)))
            await stage.clock.sleep(0.1)
        other = asyncio.create_task(broker.claim("default", "w4", ["sail"], wait=A_WHILE))
        await asyncio.gather(*[stage.started(engine) for _ in range(4)])
        await asyncio.gather(*workers)
        assert served[0][0] == "w1"
        assert [name for name, count in served if count] == ["w1", "w2", "w3"]
        assert sum(count for _, count in served) <= 4
        assert await other == []

    Stage().play(story)


def test_tenants_are_handed_their_own_tasks_only() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, tenant="other")
        assert await broker.claim("default", "w1") == []
        [task] = await broker.claim("other", "w1")
        assert task.instance_id == id
        [answer] = await report(broker, done(task))
        assert answer is not None
        assert answer.code == "TEN-3001"
        assert (await broker.report("other", [done(task)]))[0].error is None

    Stage().play(story)


def test_what_a_worker_that_left_was_granted_goes_to_the_next_and_is_no_loss() -> None:
    async def story(stage: Stage) -> None:
        store = ScriptedStore(stage.disk)
        engine, broker = await stage.opened(store=store)
        id = await stage.started(engine)

        async def grant_to_one_that_leaves(call: Call) -> object:
            granted = await call()
            leaving.cancel()
            return granted

        store.on("jobs.claim_for_worker", grant_to_one_that_leaves)
        leaving = asyncio.create_task(broker.claim("default", "w1"))
        await stage.clock.sleep(0.1)
        assert leaving.cancelled()
        [task] = await broker.claim("default", "w2")
        assert (task.instance_id, task.attempt) == (id, 1)
        assert await report(broker, done(task)) == [None]

    Stage().play(story)


def test_those_who_wait_are_sent_away_when_the_desk_closes() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        waiting = asyncio.create_task(broker.claim("default", "w1", wait=A_WHILE))
        await stage.clock.sleep(1)
        before = stage.clock.ticks()
        broker.close()
        assert await waiting == []
        await engine.close()
        assert stage.clock.ticks() - before < 1

    Stage().play(story)


def test_only_so_many_wait() -> None:
    queue = ClaimQueue(most=1)
    wanted = WorkerClaim("default", "w1", None, 1, LEASE)
    queue.join(wanted)
    with pytest.raises(Overloaded):
        queue.join(wanted)


def test_a_compensation_is_claimed_by_its_own_name() -> None:
    flow: Object = {
        **document(
            "u",
            [node("a", "task", taskId="ship"), node("end", "terminate", status="FAILED")],
            [{"id": "e", "source": "a", "target": "end"}],
        ),
        "compensationSteps": [{"stepId": "x", "compensationFor": "a", "taskId": "unship"}],
    }

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, flow)
        [task] = await broker.claim("default", "w1")
        assert await report(broker, done(task, {"ref": 5})) == [None]
        [undo] = await broker.claim("default", "w1")
        assert (undo.step_id, undo.idempotency_key, undo.task_id) == ("x", f"{id}:x", "unship")
        assert undo.undo is not None
        assert (undo.undo.step_id, undo.undo.has_input) == ("a", False)
        assert isinstance(undo.input, dict)
        assert undo.input["originalOutput"] == {"ref": 5}
        assert await report(broker, done(undo)) == [None]
        assert await report(broker, done(undo), failed(undo, "X")) != [None, None]
        assert (await engine.final_state(id)).state.status == "FAILED"

    Stage().play(story)


async def _all(broker: TaskBroker, engine: Engine) -> list[ClaimedTask]:
    return await broker.claim("default", "w1", most=100)


def test_what_was_called_off_before_anybody_claimed_it_ends_at_once_and_is_never_handed_out() -> (
    None
):
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine)
        await stage.clock.sleep(1)
        before = stage.clock.ticks()
        await cancel(engine, id)
        assert await broker.claim("default", "w1") == []
        assert (await engine.final_state(id)).state.status == "CANCELLED"
        assert stage.clock.ticks() - before < 1
        assert stage.disk.jobs == {}

    Stage().play(story)


def test_a_batch_is_one_claim_and_one_read() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await asyncio.gather(*[stage.started(engine, FLOW) for _ in range(60)])
        await stage.clock.sleep(1)
        tasks = await broker.claim("default", "w1", most=50, lease=timedelta(minutes=5))
        assert len({task.execution_id for task in tasks}) == 50
        answers = await report(broker, *[done(task, number) for number, task in enumerate(tasks)])
        assert answers == [None] * 50
        assert len(await _all(broker, engine)) == 60

    Stage().play(story)


def test_what_is_handed_out_is_signed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim costs the service little: nobody checks a signature that was just made."""
    checked: list[str] = []
    lease = Tokens.lease

    def noted(self: Tokens, tenant: str, key: JobKey, token: str) -> Lease | None:
        checked.append(token)
        return lease(self, tenant, key, token)

    monkeypatch.setattr(Tokens, "lease", noted)

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, FLOW)
        [task] = await broker.claim("default", "w1", lease=LEASE, request_id="r1")
        assert not checked
        assert await report(broker, done(task)) == [None]
        assert checked == [task.lease_token]
        await engine.close()

    Stage().play(story)


def test_a_repeated_claim_gives_back_what_the_worker_still_has() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, FLOW)
        await stage.started(engine, FLOW)
        claim = partial(broker.claim, "default", lease=LEASE)
        [first] = await claim("w1", request_id="r1")
        await stage.clock.sleep(20)
        [again] = await claim("w1", request_id="r1")
        assert (again.execution_id, again.lease_token) == (first.execution_id, first.lease_token)
        assert again.lease_until - first.lease_until == timedelta(seconds=20)
        [other] = await claim("w2", request_id="r1")
        assert other.execution_id != first.execution_id
        assert await report(broker, done(first)) == [None]
        [following] = await claim("w1", request_id="r1")
        assert following.step_id == "b", "what is reported is the worker's no more"
        await stage.clock.sleep(LEASE.total_seconds() + 1)
        [lost] = await claim("w1", ["bill"], request_id="r1")
        assert lost.attempt == 2, "what has lapsed is the worker's no more"
        await engine.close()

    Stage().play(story)


def test_outputs_of_earlier_steps_are_handed_to_who_asks_for_them() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, FLOW)
        [task] = await broker.claim("default", "w1", with_outputs=True)
        assert task.previous_outputs == {}
        await report(broker, done(task, {"n": 1}))
        [task] = await broker.claim("default", "w1", request_id="r1")
        assert task.previous_outputs is None
        [task] = await broker.claim("default", "w1", request_id="r1", with_outputs=True)
        assert task.previous_outputs == {"a": {"n": 1}}
        await engine.close()

    Stage().play(story)
