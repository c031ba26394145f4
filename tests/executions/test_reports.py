"""Reports of workers count once, under the lease that holds; heartbeats keep it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto.engine.settings import Settings
from tenuto.executions.tokens import execution_id, key_of
from tenuto.model.errors import Conflict, InvalidInput, NotFound
from tenuto.model.executions import TaskReport
from tenuto.model.json import Object
from tenuto.model.log import LogRow
from tenuto.model.policy import Limits
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.jobs import JobKey
from tenuto.store.parts.turns import StoredInstance
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.executions.stage import FLOW, LEASE, Stage, cancel, done, failed, report
from tests.kit.scripted_store import ScriptedStore
from tests.kit.workload.drawing import document, node

ONE = document("one", [node("a", "task", taskId="ship", handles=["left"])], [])


def patient(**settings: object) -> Object:
    return document("one", [node("a", "task", taskId="ship", **settings)], [])


def codes(answers: list[object]) -> list[str | None]:
    return [getattr(answer, "code", None) for answer in answers]


def test_the_accepted_report_may_come_again_and_another_may_not() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine)
        [task] = await broker.claim("default", "w1")
        good, other = done(task, {"n": 1}), done(task, {"n": 2})
        assert await report(broker, good, good) == [None, None]
        assert codes([*await report(broker, other, good, failed(task, "X"))]) == [
            "TEN-3012",
            None,
            "TEN-3012",
        ]
        [second] = await broker.claim("default", "w1")
        assert await report(broker, done(second)) == [None]
        await engine.final_state(id)
        before = await stage.log(engine, id)
        assert codes([*await report(broker, good, other)]) == [None, "TEN-3012"]
        await engine.close()
        engine, broker = await stage.opened()
        assert codes([*await report(broker, good, other)]) == [None, "TEN-3012"]
        assert await stage.log(engine, id) == before

    Stage().play(story)


def test_a_failure_that_was_recorded_may_come_again_after_the_next_attempt_began() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine)
        [task] = await broker.claim("default", "w1")
        assert await report(broker, failed(task, "BUSY")) == [None]
        [again] = await broker.claim("default", "w1", wait=timedelta(minutes=1))
        assert (again.attempt, again.context.retry_count) == (2, 1)
        assert again.execution_id != task.execution_id
        assert again.idempotency_key == task.idempotency_key
        assert codes([*await report(broker, failed(task, "BUSY"), failed(task, "X"))]) == [
            None,
            "TEN-3012",
        ]
        assert await report(broker, done(again)) == [None]
        assert (await stage.lines_of(engine, id, "a")).count("NODE_FAILED") == 1

    Stage().play(story)


def test_a_lease_that_lapsed_is_a_loss_and_the_zombie_changes_nothing() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine)
        [task] = await broker.claim("default", "w1")
        [again] = await broker.claim("default", "w2", wait=timedelta(minutes=1))
        assert again.attempt == 2
        before = await stage.log(engine, id)
        with pytest.raises(Conflict):
            await broker.heartbeat("default", task.execution_id, task.lease_token)
        assert codes([*await report(broker, done(task))]) == ["TEN-3012"]
        assert await stage.log(engine, id) == before
        assert await report(broker, done(again)) == [None]
        [lost] = [
            row
            for row in await engine.store.instances.entries(id)
            if row.event_type == "NODE_FAILED"
        ]
        assert lost.payload is not None
        assert b"LOST" in lost.payload

    Stage().play(story)


def test_heartbeats_keep_a_lease_and_a_restart_does_not_end_it() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine)
        [task] = await broker.claim("default", "w1")
        for number in range(8):
            await stage.clock.sleep(20)
            beat = await broker.heartbeat("default", task.execution_id, task.lease_token, number)
            assert (beat.cancelled, beat.lease_until) == (False, stage.clock.now() + LEASE)
            if number in {2, 5}:
                await engine.close()
                engine, broker = await stage.opened()
        assert await report(broker, done(task)) == [None]

    Stage().play(story)


def test_a_lease_that_lapses_after_a_restart_is_noticed_in_time() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine)
        [_] = await broker.claim("default", "w1")
        await engine.close()
        engine, broker = await stage.opened()
        before = stage.clock.ticks()
        [again] = await broker.claim("default", "w1", wait=timedelta(minutes=2))
        assert again.attempt == 2
        assert stage.clock.ticks() - before < LEASE.total_seconds() + 1

    Stage().play(story)


def test_the_time_of_an_attempt_counts_from_its_claim_whatever_its_heartbeats() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, patient(timeout=45000, retry={"maxAttempts": 1}))
        await stage.clock.sleep(3600)
        [task] = await broker.claim("default", "w1")
        assert task.timeout == 45
        claimed = stage.clock.ticks()
        await stage.clock.sleep(20)
        beat = await broker.heartbeat("default", task.execution_id, task.lease_token)
        assert (beat.lease_until - stage.clock.now()).total_seconds() == 25
        held = await engine.final_state(id)
        assert held.state.last_error is not None
        assert (held.state.last_error.code, held.state.last_error.message) == (
            "TIMEOUT",
            "the task did not end within 45 s",
        )
        assert 45 <= stage.clock.ticks() - claimed < 46
        assert codes([*await report(broker, done(task))]) == ["TEN-3012"]

    Stage().play(story)


def test_a_task_that_is_silent_for_too_long_fails_with_what_it_said_last() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        flow = patient(heartbeatTimeout=10000, retry={"maxAttempts": 1})
        id = await stage.started(engine, flow)
        [task] = await broker.claim("default", "w1")
        await stage.clock.sleep(8)
        await broker.heartbeat("default", task.execution_id, task.lease_token, {"page": 3})
        await stage.clock.sleep(8)
        await broker.heartbeat("default", task.execution_id, task.lease_token)
        held = await engine.final_state(id)
        assert held.state.last_error is not None
        assert held.state.last_error.code == "HEARTBEAT_TIMEOUT"
        assert held.state.last_error.details == {"lastHeartbeat": {"page": 3}}

    Stage().play(story)


def test_a_running_task_hears_that_it_is_called_off_and_its_result_is_recorded() -> None:
    """running ones are told and have the grace period"""

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine)
        [task] = await broker.claim("default", "w1")
        await cancel(engine, id)
        beat = await broker.heartbeat("default", task.execution_id, task.lease_token)
        assert beat.cancelled
        assert await report(broker, done(task, 1)) == [None]
        assert (await engine.final_state(id)).state.status == "CANCELLED"
        assert "NODE_COMPLETED" in await stage.lines_of(engine, id, "a")

    Stage().play(story)


def test_a_worker_that_obeys_ends_the_grace() -> None:
    """A worker obeys by reporting a failure with code `CANCELLED`: that ends the grace and is
    never retried. After the grace its heartbeat and report get 409."""

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        for obeys in (True, False):
            id = await stage.started(engine)
            [task] = await broker.claim("default", "w1")
            await cancel(engine, id)
            before = stage.clock.ticks()
            if obeys:
                assert await report(broker, failed(task, "CANCELLED")) == [None]
            assert (await engine.final_state(id)).state.status == "CANCELLED"
            assert (stage.clock.ticks() - before < 1) is obeys
            assert "NODE_CANCELLED" in await stage.lines_of(engine, id, "a")
            with pytest.raises(Conflict):
                await broker.heartbeat("default", task.execution_id, task.lease_token)
            assert codes([*await report(broker, done(task, 9))]) == ["TEN-3012"]
            letters = [each.kind for each in await engine.store.dead_letters.page("default")]
            assert letters == ["late-result"] * (1 if obeys else 2)

    Stage().play(story)


def test_what_cannot_be_recorded_leaves_the_lease_and_what_is_too_large_fails() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        flow = document("one", [node("a", "task", taskId="ship", retry={"maxAttempts": 1})], [])
        id = await stage.started(engine, flow)
        [task] = await broker.claim("default", "w1")
        bad = [
            done(task, {"x": ["a\0b"]}),
            done(task, "\ud800"),
            done(task, 1, "a\0"),
            failed(task, ""),
            failed(task, "a\0"),
            TaskReport(execution_id=task.execution_id, lease_token=task.lease_token),
        ]
        for answer in await report(broker, *bad):
            assert isinstance(answer, InvalidInput)
            assert answer.problems[0].path.startswith("$")
        with pytest.raises(InvalidInput):
            await broker.heartbeat("default", task.execution_id, task.lease_token, "\0")
        large = done(task, "x" * (Settings().limits.output_bytes + 1))
        assert await report(broker, large, large) == [None, None]
        held = await engine.final_state(id)
        assert held.state.last_error is not None
        assert held.state.last_error.code == "TOO_LARGE"

    Stage().play(story)


def test_a_handle_stands_beside_the_output() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, ONE)
        [task] = await broker.claim("default", "w1")
        assert task.handles == ("left",)
        assert await report(broker, done(task, 5, "left"), done(task, 5, "left")) == [None, None]
        [row] = [
            row
            for row in await engine.store.instances.entries(id)
            if row.event_type == "NODE_COMPLETED"
        ]
        assert row.payload is not None
        assert b'"left"' in row.payload

    Stage().play(story)


def test_tokens_cannot_be_guessed_and_are_for_one_attempt_and_tenant() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine)
        await stage.started(engine)
        one, two = await broker.claim("default", "w1", most=2)
        number, _, signature = one.lease_token.partition(".")
        wrong = [
            two.lease_token,
            "",
            "1",
            f"{int(number) + 1}.{signature}",
            f"{number}.{'0' * len(signature)}",
            f"٣.{signature}",
            "\ud800",
        ]
        for token in wrong:
            answers = await report(broker, replace(done(one), lease_token=token))
            assert codes([*answers]) == ["TEN-3012"]
            with pytest.raises(Conflict):
                await broker.heartbeat("default", one.execution_id, token)
        for id in ("", "x", "é", execution_id(JobKey("gone", "a", "", 1)), "W10"):
            with pytest.raises(NotFound):
                await broker.heartbeat("default", id, one.lease_token)
        with pytest.raises(NotFound):
            await broker.heartbeat("other", one.execution_id, one.lease_token)
        assert await report(broker, done(one), done(two)) == [None, None]

    Stage().play(story)


def test_an_execution_id_names_the_attempt() -> None:
    for key in (JobKey("i", "a", "", 1), JobKey("é/ü", "x y", "2/0", 12)):
        assert key_of(execution_id(key)) == key


def test_heartbeats_that_come_together_are_written_together() -> None:
    class Counting(ScriptedStore):
        writes = 0

        async def on_jobs_extend_for_workers(self, call: Call) -> object:
            Counting.writes += 1
            return await call()

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened(store=Counting(stage.disk))
        for _ in range(20):
            await stage.started(engine)
        tasks = await broker.claim("default", "w1", most=20)
        beats = [broker.heartbeat("default", task.execution_id, task.lease_token) for task in tasks]
        assert len(await asyncio.gather(*beats)) == 20
        assert Counting.writes <= 10

    Stage().play(story)


def test_a_report_that_does_not_count_has_little_read_however_long_the_log_is() -> None:
    drawn = document("long", [node(f"n{n}", "task", taskId="ship") for n in range(300)], [])

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, drawn)
        *rest, last = await broker.claim("default", "w1", ["ship"], most=300)
        assert set(await report(broker, *map(done, rest))) == {None}
        assert await report(broker, done(last, 1)) == [None]
        read = 0
        entries = engine.store.instances.entries

        async def counted(id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
            nonlocal read
            rows = await entries(id, after=after, limit=limit)
            read += len(rows)
            return rows

        async def loaded(*_: object) -> dict[str, StoredInstance]:
            raise AssertionError("nothing so large is read for it")

        engine.store.instances.entries = counted  # type: ignore[method-assign, assignment]
        assert await report(broker, done(last, 1)) == [None]
        assert 0 < read <= 200
        [differs] = await report(broker, done(last, 2))
        assert isinstance(differs, Conflict)
        engine.store.turns.load = loaded  # type: ignore[method-assign, assignment]
        [guessed] = await report(broker, replace(done(last, 1), lease_token="1.0"))
        assert isinstance(guessed, Conflict)
        assert guessed.code == "TEN-3012"

    Stage().play(story)


RESULTS = {
    "a handle that the step does not have": ({}, {"next_handle": "nowhere"}, "UNKNOWN_HANDLE"),
    "an output that does not fit": ({"type": "string"}, {}, "INVALID_OUTPUT"),
    "an output that is too large": ({}, {"output": "x" * 2_000}, "TOO_LARGE"),
}


@pytest.mark.parametrize(("schema", "wrong", "code"), RESULTS.values(), ids=RESULTS)
def test_after_a_result_that_failed_its_attempt_another_one_is_refused(
    schema: Object, wrong: dict[str, Any], code: str
) -> None:
    """The first answer says what became of the attempt; its repeat says the same."""

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened(limits=Limits(output_bytes=1_000))
        if schema:
            await TaskDefinitions(engine, "default").add(
                TaskDefinition(id="ship", kind="pull", output_schema=schema)
            )
        id = await stage.started(engine, FLOW)
        [task] = await broker.claim("default", "w1", ["ship"])
        refused = replace(done(task, {"n": 1}), **wrong)
        for _ in range(2):
            [first] = await broker.report("default", [refused])
            assert first.error is None
            assert first.failure is not None
            assert first.failure.code == code
        [other] = await broker.report("default", [done(task, "all right")])
        assert other.error is not None
        assert other.error.code == "TEN-3012"
        assert (await engine.final_state(id)).state.status == "FAILED"
        await engine.close()

    Stage().play(story)
