"""Events with their deliveries and near misses, in JSON with the names of the specification."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.core.view import waits_of
from tenuto.engine.events.inspector import EventReport, NearEvents
from tenuto.engine.events.near_misses import NearEvent, NearWait
from tenuto.engine.events.recipients import Targets, key_of
from tenuto.engine.turns.held import Held
from tenuto.expr import Miss, Value
from tenuto.model.durations import iso
from tenuto.model.json import JSON, Object
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.waits import WaitKey, WaitRow

MOST_SHOWN = 1_000
"""The most bytes of one side of a comparison that are shown."""


def waits_view(held: Held, near: NearEvents) -> list[JSON]:
    """The open waits of an instance with the events that they nearly took; approvals took none."""
    views = waits_of(held.plan, held.state, in_full=True)
    for view in views:
        assert isinstance(view, dict)
        place = str(view["stepId"]), str(view["iteration"]), str(view.get("armId", ""))
        events = near.get(WaitKey(held.state.id, *place), [])
        view["nearMisses"] = near_events_view(events)
    return views


def near_events_view(events: Sequence[NearEvent]) -> list[JSON]:
    """Events that a wait did not take, and the false parts of its condition."""
    return [_near_event(each) for each in events]


def event_view(report: EventReport) -> Object:
    """An event of the inbox with its deliveries and near misses."""
    found, event = report.found, report.found.event
    return {
        "eventId": event.id,
        "pattern": event.pattern,
        "payload": event.payload,
        "correlationId": event.correlation_id,
        "timestamp": iso(event.timestamp) if event.timestamp else None,
        "receivedAt": iso(event.received_at),
        "matched": found.matched,
        "resumed": found.resumed,
        "cancelled": found.cancelled,
        "started": found.started,
        "deliveries": [
            _delivery(each, is_start=each in report.starts) for each in report.deliveries
        ],
        "nearMisses": list(near_view(report.near)),
    }


def targets_view(targets: Targets | None) -> list[Object]:
    """The recipients that publishing an event would have."""
    if targets is None:
        return []
    waits = [_place(wait) | {"what": "resumed"} for wait in (*targets.waits, *targets.later)]
    cancelled = [_place(wait) | {"what": "cancelled"} for wait in targets.cancelling]
    return [*waits, *cancelled, *map(_start, targets.starts.deliveries)]


def near_view(near: list[NearWait]) -> list[Object]:
    """The waits and triggers that an event nearly reached."""
    return [_near_wait(each) for each in near]


def _start(delivery: Delivery) -> Object:
    view: Object = {"workflowId": delivery.node, "trigger": int(delivery.arm), "what": "started"}
    if delivery.outcome == "refused":
        view |= {"what": "refused", "reason": delivery.reason}
    return view


def _place(wait: WaitRow) -> Object:
    """Where a wait or trigger is."""
    if wait.is_trigger:
        return {"workflowId": wait.node, "trigger": wait.position}
    return _instance_place(key_of(wait))


def _instance_place(key: WaitKey) -> Object:
    if not key.node:
        return {"instanceId": key.instance_id, "trigger": int(key.arm)}
    arm: Object = {"armId": key.arm} if key.arm else {}
    return {"instanceId": key.instance_id, "stepId": key.node, "iteration": key.iteration, **arm}


def _delivery(delivery: Delivery, *, is_start: bool) -> Object:
    if is_start:
        place: Object = {"workflowId": delivery.node, "trigger": int(delivery.arm)}
        if delivery.outcome != "refused":
            place["instanceId"] = delivery.instance_id
    else:
        key = WaitKey(delivery.instance_id, delivery.node, delivery.iteration, delivery.arm)
        place = _instance_place(key)
    reason: Object = {} if delivery.reason is None else {"reason": delivery.reason}
    return {**place, "what": delivery.outcome, **reason}


def _near_event(near: NearEvent) -> Object:
    return {
        "eventId": near.event.id,
        "at": iso(near.event.received_at),
        "failed": [_miss(each) for each in near.failed],
    }


def _near_wait(near: NearWait) -> Object:
    what = "resumed"
    if near.wait.is_trigger:
        what = "started"
    elif near.wait.is_cancellation:
        what = "cancelled"
    return {**_place(near.wait), "what": what, "failed": [_miss(each) for each in near.failed]}


def _miss(miss: Miss) -> Object:
    view: Object = {
        "expression": miss.expression,
        "left": _shown(miss.left),
        "right": _shown(miss.right),
    }
    return view if miss.error is None else view | {"error": miss.error}


def _shown(value: Value) -> JSON:
    """A value, cut where it is long: a hundred events may each have compared a whole payload."""
    encoded = msgspec.json.encode(value)
    if len(encoded) <= MOST_SHOWN:
        return value
    text = value if isinstance(value, str) else encoded.decode()
    return f"{text[: MOST_SHOWN - 1]}…"
