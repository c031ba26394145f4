"""What is declared of a task holds for every step that runs it, whoever does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto import InstanceRef
from tenuto.engine.engine import Engine
from tenuto.executions.broker import TaskBroker
from tenuto.model.errors import NotFound
from tenuto.model.executions import ClaimedTask
from tenuto.model.json import JSON, Object
from tenuto.model.policy import NO_POLICY
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.tasks.registry import Registry
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.executions.stage import LEASE, Stage, done, failed, report
from tests.kit.workload.drawing import document, edge, node

NUMBER: Object = {"type": "object", "required": ["number"]}


def flow(**settings: JSON) -> Object:
    return document("w", [node("a", "task", taskId="ship", **settings)], [])


async def declare(engine: Engine, tenant: str = "default", **fields: Any) -> None:  # noqa: ANN401 - as a task has them
    ship = TaskDefinition(id="ship", kind="pull", **fields)
    await TaskDefinitions(engine, tenant).put(ship)


async def claimed(broker: TaskBroker) -> ClaimedTask:
    [found] = await broker.claim("default", "w1", lease=LEASE)
    return found


async def end_of(engine: Engine, id: str) -> tuple[str, str | None, JSON]:
    state = (await engine.final_state(id)).state
    error = state.last_error
    if error is None:
        return state.status, None, None
    return state.status, error.code, error.details


@pytest.mark.parametrize(
    ("settings", "attempts"),
    [({}, 1), ({"retry": {"maxAttempts": 2, "initialDelay": "PT0S"}}, 2)],
)
def test_a_declared_retry_holds_where_the_step_says_nothing(
    settings: Object, attempts: int
) -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, retry={"maxAttempts": 1})
        id = await stage.started(engine, flow(**settings))
        for _ in range(attempts):
            assert await report(broker, failed(await claimed(broker), "BUSY")) == [None]
            await stage.clock.sleep(1)
        assert (await end_of(engine, id))[:2] == ("FAILED", "BUSY")
        await engine.close()

    Stage().play(story)


def test_declared_time_outs_hold_where_the_step_says_nothing() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, timeout="PT5S", heartbeat_timeout="PT2S")
        await stage.started(engine, flow())
        task = await claimed(broker)
        assert (task.timeout, task.heartbeat_timeout) == (5.0, 2.0)
        await stage.started(engine, flow(timeout="PT7S", heartbeatTimeout="PT3S"))
        task = await claimed(broker)
        assert (task.timeout, task.heartbeat_timeout) == (7.0, 3.0)
        await engine.close()

    Stage().play(story)


def test_a_declaration_counts_for_its_tenant_until_it_is_forgotten() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, "other", timeout="PT5S")
        await stage.started(engine, flow())
        assert (await claimed(broker)).timeout == 600
        await declare(engine, timeout="PT6S")
        await stage.started(engine, flow())
        assert (await claimed(broker)).timeout == 6
        await TaskDefinitions(engine, "default").remove("ship")
        with pytest.raises(NotFound):
            await TaskDefinitions(engine, "default").remove("ship")
        await stage.started(engine, flow())
        assert (await claimed(broker)).timeout == 600
        await engine.close()

    Stage().play(story)


def test_a_dispatch_records_the_declaration_that_it_was_ordered_under() -> None:
    async def story(stage: Stage) -> None:
        engine, desk = await stage.opened()
        tasks = TaskDefinitions(engine, "default")
        tags: list[str | None] = [None]
        id = await stage.started(engine, flow(retry={"maxAttempts": 3, "initialDelay": "PT0S"}))
        for seconds in (5, 6):
            await declare(engine, timeout=f"PT{seconds}S")
            tags.append((await tasks.get("ship")).tag)
            assert await report(desk, failed(await claimed(desk), "BUSY")) == [None]
            await stage.clock.sleep(1)
        log: Any = await InstanceRef(engine, id, is_known=True).history()
        payloads = [each["payload"] for each in log if each["eventType"] == "NODE_DISPATCHED"]
        assert [each.get("policy") for each in payloads] == tags
        assert payloads[0] == {}, "what is not declared takes no room"
        await engine.close()

    Stage().play(story)


def test_policies_are_values_that_are_swapped_as_a_whole() -> None:
    async def story(stage: Stage) -> None:
        engine, _ = await stage.opened()
        none = engine.declared_tasks.of("default")
        assert (none.version, none.policy("ship")) == ("", NO_POLICY)
        await declare(engine, timeout="PT5S", input_schema=NUMBER)
        first = engine.declared_tasks.of("default")
        await declare(engine, timeout="PT6S", input_schema=NUMBER)
        second = engine.declared_tasks.of("default")
        assert none.policy("ship") is NO_POLICY
        timeouts = [each.policy("ship").timeout for each in (first, second)]
        assert timeouts == [timedelta(seconds=5), timedelta(seconds=6)]
        assert len({none.version, first.version, second.version}) == 3
        assert first.policy("ship").check_input == second.policy("ship").check_input
        assert engine.declared_tasks.of("default") is second
        assert engine.declared_tasks.of("other") is none

        @engine.registry.task(timeout="PT7S")
        def pack() -> None: ...

        added = engine.declared_tasks.of("default")
        assert (added.version, added.policy("ship")) == (second.version, second.policy("ship"))
        assert added.policy("pack").timeout == timedelta(seconds=7)
        assert second.policy("pack") is NO_POLICY
        await TaskDefinitions(engine, "default").remove("ship")
        assert engine.declared_tasks.of("default") == engine.declared_tasks.of("other")
        await engine.close()

    Stage().play(story)


def test_what_another_process_has_declared_counts_with_the_next_beat() -> None:
    async def story(stage: Stage) -> None:
        here, broker = await stage.opened(shared=True)
        elsewhere, _ = await stage.opened(shared=True)
        await stage.started(here, flow())
        await claimed(broker)
        await declare(elsewhere, timeout="PT5S")
        await stage.clock.sleep(2 * BEAT_EVERY.total_seconds())
        await stage.started(here, flow())
        assert (await claimed(broker)).timeout == 5
        later, broker = await stage.opened(shared=True)
        await stage.started(later, flow())
        assert (await claimed(broker)).timeout == 5
        for engine in (here, elsewhere, later):
            await engine.close()

    Stage().play(story)


def test_an_output_that_does_not_fit_fails_the_attempt() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, output_schema=NUMBER)
        id = await stage.started(engine, flow())
        unfit = done(await claimed(broker), {"word": "three"})
        assert await report(broker, unfit) == [None]
        assert await report(broker, unfit) == [None], "a repeat of what was accepted"
        status, code, details = await end_of(engine, id)
        assert (status, code) == ("FAILED", "INVALID_OUTPUT")
        assert details == {
            "problems": [
                {
                    "code": "TEN-2113",
                    "path": "$",
                    "message": '"number" is a required property',
                    "advice": "Add the property to the output.",
                }
            ]
        }
        assert "NODE_COMPLETED" not in await stage.lines_of(engine, id, "a")
        id = await stage.started(engine, flow())
        assert await report(broker, done(await claimed(broker), {"number": 3})) == [None]
        assert (await end_of(engine, id))[0] == "COMPLETED"
        await engine.close()

    Stage().play(story)


def test_an_input_that_does_not_fit_is_given_to_nobody() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, input_schema=NUMBER)
        id = await stage.started(engine, flow(), {"word": "three"})
        assert (await end_of(engine, id))[:2] == ("FAILED", "INVALID_INPUT")
        assert await broker.claim("default", "w1") == []
        assert "NODE_DISPATCHED" not in await stage.lines_of(engine, id, "a")
        await stage.started(engine, flow(), {"number": 3})
        assert (await claimed(broker)).input == {"number": 3}
        await engine.close()

    Stage().play(story)


def test_functions_of_the_process_are_held_to_what_is_declared_of_them() -> None:
    calls: list[object] = []
    registry = Registry()

    @registry.task(name="ship", timeout="PT9S")
    async def ship(given: Object) -> JSON:
        calls.append(given)
        return given or "nothing"

    async def story(stage: Stage) -> None:
        engine, _ = await stage.opened(registry=registry)
        await declare(engine, output_schema=NUMBER)
        id = await stage.started(engine, flow())
        assert (await end_of(engine, id))[:2] == ("FAILED", "INVALID_OUTPUT")
        id = await stage.started(engine, flow(), {"number": 3})
        assert (await end_of(engine, id))[0] == "COMPLETED"
        assert calls == [{}, {"number": 3}]
        await engine.close()

    Stage().play(story)


def test_what_undoes_a_step_is_held_to_what_is_declared_of_it() -> None:
    undoing = document(
        "u",
        [
            node("a", "task", taskId="book"),
            node("b", "task", taskId="book", retry={"maxAttempts": 1}),
        ],
        [edge("a", "b")],
    ) | {
        "compensationSteps": [
            {"stepId": "undo", "compensationFor": "a", "taskId": "ship", "input": {"number": 1}}
        ]
    }

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await declare(engine, output_schema=NUMBER, timeout="PT5S")
        id = await stage.started(engine, undoing)
        assert await report(broker, done(await claimed(broker), 1)) == [None]
        refused = failed(await claimed(broker), "NO", retryable=False)
        assert await report(broker, refused) == [None]
        undo = await claimed(broker)
        assert undo.timeout == 5
        assert await report(broker, done(undo, "nothing")) == [None]
        state = (await engine.final_state(id)).state
        assert state.compensation is not None
        assert state.compensation.failed
        await engine.close()

    Stage().play(story)
