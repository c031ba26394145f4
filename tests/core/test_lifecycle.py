"""Which entries of a log are told, as what, and with what."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenuto.core.lifecycle import MOST_OUTPUT, Told, events_of
from tenuto.model.lifecycle import OF_INSTANCES, OF_NODES, level_of
from tenuto.model.log import LogRow, UnknownEntry

TOLD = Told(instance_id="i1", workflow_id="order", version=2, correlation_id="c1")

DUE = "2026-01-01T01:00:00Z"


def row(seq: int, event_type: str, node: str | None = None, **payload: Any) -> LogRow:  # noqa: ANN401
    status = payload.pop("node_status", None)
    body = msgspec.json.encode(payload) if payload else None
    return LogRow(seq, event_type, node, "", 1, status, None, body, None, 1_000)


def names(status: str, *rows: LogRow) -> list[str]:
    return [event.pattern.removeprefix("workflow.") for event in events_of(TOLD, status, rows)]


@pytest.mark.parametrize(
    ("before", "now", "name"),
    [
        ("CREATED", "RUNNING", ["started"]),
        ("RUNNING", "WAITING_FOR_EVENT", ["waiting"]),
        ("WAITING_FOR_EVENT", "RUNNING", []),
        ("RUNNING", "PAUSED", ["paused"]),
        ("PAUSED", "RUNNING", ["resumed"]),
        ("PAUSED", "WAITING_FOR_EVENT", ["resumed"]),
        ("FAILED", "RUNNING", ["resumed"]),
        ("PAUSED", "CANCELLED", ["cancelled"]),
        ("CREATED", "CANCELLED", ["cancelled"]),
        ("RUNNING", "COMPLETED", ["completed"]),
        ("RUNNING", "FAILED", ["failed"]),
    ],
)
def test_changes_of_status_are_told(before: str, now: str, name: list[str]) -> None:
    assert names(before, row(1, "STATUS_CHANGED", to=now)) == name


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (row(1, "NODE_DISPATCHED", "a"), ["node.started"]),
        (row(1, "NODE_COMPLETED", "a", node_status="success"), ["node.completed"]),
        (row(1, "NODE_COMPLETED", "a", node_status="error"), []),
        (row(1, "NODE_FAILED", "a", then="retry", error={}), ["node.retrying"]),
        (row(1, "NODE_FAILED", "a", then="fail", error={}), ["node.failed"]),
        (row(1, "NODE_FAILED", "a", then="cancel", error={}), []),
        (row(1, "NODE_SKIPPED", "a", reason="when"), ["node.skipped"]),
        (row(1, "NODE_CANCELLED", "a"), ["node.cancelled"]),
        (row(1, "WAIT_OPENED", "a", pattern="x"), ["node.waiting"]),
        (row(1, "TIMER_FIRED", "a"), []),
        (row(1, "TIMER_FIRED", "a", kind="reminder"), ["node.reminder"]),
        (row(1, "TIMER_FIRED", "a", kind="escalation"), ["node.escalated"]),
        (row(1, "TIMER_FIRED", "a", kind="sla-warning", due=DUE), ["sla.warning"]),
        (row(1, "TIMER_FIRED", kind="sla-breached", due=DUE), ["sla.breached"]),
        (row(1, "COMPENSATION_ENDED"), ["compensation.completed"]),
        (row(1, "INPUT_SET", input=1), []),
    ],
)
def test_entries_are_told(entry: LogRow, name: list[str]) -> None:
    assert names("RUNNING", entry) == name


@pytest.mark.parametrize(
    "entry", [row(1, "SOMETHING_NEW"), row(1, "NODE_FAILED", "a", **{"$shape": 99})]
)
def test_what_a_newer_program_wrote_is_left_to_it(entry: LogRow) -> None:
    with pytest.raises(UnknownEntry):
        names("RUNNING", entry)


def test_every_name_that_is_told_is_listed() -> None:
    told = {
        f"workflow.{name}"
        for name in (
            *("started", "completed", "failed", "cancelled", "paused", "resumed", "waiting"),
            *("compensation.completed", "sla.warning", "sla.breached"),
        )
    }
    assert told == set(OF_INSTANCES)
    assert all(name.startswith("workflow.node.") for name in OF_NODES)


@pytest.mark.parametrize("status", ["COMPLETED", "COMPLETED_WITH_ERRORS"])
def test_the_end_of_an_undo_says_how_it_went(status: str) -> None:
    """`workflow.compensation.completed` carries `compensationStatus: COMPLETED |
    COMPLETED_WITH_ERRORS`.
    """
    [event] = events_of(TOLD, "RUNNING", [row(1, "COMPENSATION_ENDED", status=status)])
    payload: Any = event.payload
    assert payload["compensationStatus"] == status


def test_the_status_is_that_at_the_entry() -> None:
    rows = [
        row(4, "NODE_DISPATCHED", "a"),
        row(5, "STATUS_CHANGED", to="FAILED", error={"code": "X"}),
        row(6, "NODE_CANCELLED", "b"),
    ]
    events = list(events_of(TOLD, "RUNNING", rows))
    payloads: list[Any] = [event.payload for event in events]
    assert [each["status"] for each in payloads] == ["RUNNING", "FAILED", "FAILED"]
    assert [event.id for event in events] == ["i1:4", "i1:5", "i1:6"]
    assert payloads[1]["error"] == {"code": "X"}
    assert all(event.correlation_id == "c1" for event in events)


@pytest.mark.parametrize(("size", "is_told"), [(MOST_OUTPUT, True), (MOST_OUTPUT + 1, False)])
def test_an_output_that_is_too_large_is_left_out(size: int, is_told: bool) -> None:
    told = msgspec.structs.replace(TOLD, output=msgspec.json.encode("x" * (size - 2)), chain=3)
    [event] = events_of(told, "RUNNING", [row(7, "STATUS_CHANGED", to="COMPLETED")])
    assert isinstance(event.payload, dict)
    assert ("output" in event.payload) == is_told
    assert event.chain == 3


def test_writes_of_nodes_alone_are_of_the_second_level() -> None:
    assert level_of([row(1, "NODE_DISPATCHED", "a"), row(2, "STATUS_CHANGED", to="RUNNING")]) == 1
    assert level_of([row(1, "COMPENSATION_ENDED")]) == 1
    assert level_of([row(1, "TIMER_FIRED", "a", kind="sla-warning")]) == 1
    assert level_of([row(1, "TIMER_FIRED", "a", kind="reminder")]) == 2
    assert level_of([row(1, "NODE_DISPATCHED", "a"), row(2, "TIMER_SET", "b")]) == 2
