"""An emit step: what it publishes, under which id, and what it may not publish."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.definition import compile_definition
from tenuto.model.events import Event
from tenuto.model.inputs import Started
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.model.status import Status
from tests.core.drawing import draw, emit, end, loop
from tests.core.play import ID, play

TELLING = draw(
    "e>d",
    e=emit(
        "order.{{ctx.input.kind}}",
        payload={"id": "{{ctx.input.id}}"},
        correlationId="{{ctx.input.id}}",
        outputVariable="told",
    ),
    d=end("{{ctx.told}}"),
)


def test_an_event_is_published_under_an_id_that_stays_the_same() -> None:
    run = play(TELLING).start({"kind": "sold", "id": 7})
    [event] = run.ledger.published
    assert event == Event(
        id=f"{ID}:e",
        pattern="order.sold",
        payload={"id": 7},
        received_at=run.now,
        correlation_id="7",
        origin=run.state.id,
    )
    assert (run.status, run.output) == (
        Status.COMPLETED,
        {"eventId": f"{ID}:e", "pattern": "order.sold"},
    )
    assert "NODE_COMPLETED e#1" in run.log


def test_each_iteration_publishes_an_event_of_its_own() -> None:
    document = draw("l:loop>e l:done>d", l=loop([1, 2]), e=emit(payload="{{item}}"), d=end())
    run = play(document).start()
    ids = {event.id: event.payload for event in run.ledger.published}
    assert ids == {f"{ID}:e:0": 1, f"{ID}:e:1": 2}


@pytest.mark.parametrize(
    "kind", ["workflow.completed", "workflow", "a..b", "", "a.*", "x" * 256, {"a": 1}, None]
)
def test_a_name_that_nobody_may_publish_fails_the_step(kind: JSON) -> None:
    run = play(draw("e", e=emit("{{ctx.input}}"))).start(kind)
    assert (run.code, run.ledger.published) == ("INVALID_EVENT", [])


def test_a_correlation_id_that_is_too_long_fails_the_step() -> None:
    run = play(draw("e", e=emit("a", correlationId="{{ctx.input}}"))).start("x" * 256)
    assert run.code == "INVALID_EVENT"


def test_a_payload_over_the_limit_fails_the_step() -> None:
    run = play(draw("e:error>a", e=emit("a", payload="{{ctx.input}}")))
    definition = compile_definition(run.document)
    run.plan = Plan(definition, limits=replace(Limits(), event_bytes=10))
    run.start("x" * 20)
    assert (run.running, run.ledger.published) == (["a"], [])
    assert run.step("e") == "FAILED"


def test_an_expression_that_fails_fails_the_step_and_publishes_nothing() -> None:
    run = play(draw("e", e=emit("a", payload="{{ctx.input.x.y()}}"))).start({"x": 1})
    assert (run.code, run.ledger.published) == ("EXPRESSION_ERROR", [])


def test_an_event_carries_how_often_lifecycle_events_have_led_to_it() -> None:
    run = play(TELLING)
    run.tell(
        Started(
            definition_id="w",
            definition_version=1,
            input={"kind": "sold", "id": 7},
            chain=3,
        )
    )
    assert [event.chain for event in run.ledger.published] == [3]
