"""What clients were told, against what happened: I7 to I9 and I28."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Rest, Summary, Whole
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields
from tests.kit.checker.violation import Violation

_ASKED = {
    "cancel": "CANCEL_REQUESTED",
    "pause": "PAUSE_REQUESTED",
    "resume": "RESUME_REQUESTED",
    "retry": "RETRY_REQUESTED",
}


def acknowledged_starts_exist(whole: Whole) -> Iterator[Violation]:
    """I7: Each acknowledged start has exactly one instance per (tenant, key)."""
    instances = {summary.id: summary for summary in whole.summaries}
    for request in _requests(whole, "start"):
        if request["outcome"] != "ok":
            continue
        id = str(request["instance"])
        if (summary := instances.get(id)) is None:
            yield Violation("I7", id, 0, "its start was acknowledged and it does not exist")
        elif "input" in request and request["input"] != summary.input:
            yield Violation(
                "I7", id, 0, f"started with {request['input']!r}, has {summary.input!r}"
            )


def one_instance_per_key(whole: Whole) -> Iterator[Violation]:
    """I7: exactly one instance per (tenant, key); same key + other body was refused."""
    by_key: dict[object, Fields] = {}
    for request in _requests(whole, "start"):
        key = request.get("key")
        if key is None or request["outcome"] != "ok":
            continue
        first = by_key.setdefault(key, request)
        if first.get("input") != request.get("input"):
            message = f"the key {key} was accepted with two inputs"
            yield Violation("I7", str(request["instance"]), 0, message)
        elif first["instance"] != request["instance"]:
            message = f"the key {key} was answered with {first['instance']} before"
            yield Violation("I7", str(request["instance"]), 0, message)
    owners: dict[object, Summary] = {}
    for summary in whole.summaries:
        if summary.key is not None and owners.setdefault(summary.key, summary) is not summary:
            yield Violation("I7", summary.id, 0, f"a second instance with the key {summary.key}")


def unknown_requests_had_one_effect(whole: Whole) -> Iterator[Violation]:
    """I9: A request with unknown result has 0 or 1 effect; its retry returned the same id."""
    if whole.ledgers.run.client is None:
        return
    asked = {
        str(request["instance"]) for request in _requests(whole, "start") if "instance" in request
    }
    open_ended = sum(
        "instance" not in request and request["outcome"] == "unknown"
        for request in _requests(whole, "start")
    )
    strangers = [
        summary for summary in whole.summaries if summary.id not in asked and summary.parent is None
    ]
    if len(strangers) > open_ended:
        message = f"{len(strangers)} instances for {open_ended} starts with unknown result"
        yield Violation("I9", strangers[-1].id, 0, message)


def accepted_requests_are_kept(whole: Whole) -> Iterator[Violation]:
    """I8: Conservation of inputs: what was accepted is in the inbox or in the log, by id."""
    events = whole.ledgers.events
    for request in _requests(whole, "publish") if events is not None else ():
        stored = (events or {}).get(str(request["event"]))
        if stored is None:
            if request["outcome"] == "ok":
                yield Violation("I8", "", 0, f"event {request['event']} was accepted and is gone")
        elif request["outcome"] == "ok" and stored.get("payload") != request.get("payload"):
            yield Violation(
                "I8", "", 0, f"event {request['event']} was accepted with another payload"
            )
    instances = {summary.id: summary for summary in whole.summaries}
    for op, type in _ASKED.items():
        for request in _requests(whole, op):
            summary = instances.get(str(request["instance"]))
            if (
                request["outcome"] == "ok"
                and summary is not None
                and type not in summary.counts
                and (op != "cancel" or summary.status not in FINAL)
            ):
                yield Violation("I8", summary.id, 0, f"{op} was acknowledged and left no trace")


def cancelled_instances_end(rest: Rest) -> Iterator[str]:
    """I28: Cancel acknowledged → CANCELLED within bound, whatever the worker does."""
    causes = rest.picture.ending
    if not causes:
        return
    status, cause = causes[0]
    if not rest.picture.is_final:
        if rest.run.at_rest and rest.picture.status != "PAUSED":
            yield f"row {cause.seq} decided for {status}, and it is {rest.picture.status} at rest"
        return
    if status == "CANCELLED":
        # From then on it is being undone, which takes as long as it takes.
        planned = (row.at for row in rest.rows if row.type == "COMPENSATION_PLANNED")
        taken = next(planned, rest.picture.finals[-1].at) - cause.at
        bound = rest.picture.graph.grace_ms + rest.run.bound_ms
        if taken > bound and not rest.run.faults:
            yield f"cancelled after {taken} ms, bound {bound} ms"


def _requests(whole: Whole, op: str) -> Iterator[Fields]:
    for request in whole.ledgers.run.client or ():
        if request["op"] == op:
            yield request
