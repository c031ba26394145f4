"""What addresses outside were told, against what happened: I38, and I42 for what goes out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.kit.checker.expression import evaluate
from tests.kit.checker.invariants.judgement import Telling, Whole, truth
from tests.kit.checker.moments import moment_ms
from tests.kit.checker.patterns import fits
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields, Row
from tests.kit.checker.violation import Violation

_OF_STATUS = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "PAUSED": "paused",
    "WAITING_FOR_EVENT": "waiting",
}
_OF_ROW = {
    "NODE_DISPATCHED": "node.started",
    "NODE_COMPLETED": "node.completed",
    "NODE_FAILED": "node.failed",
    "NODE_SKIPPED": "node.skipped",
    "NODE_CANCELLED": "node.cancelled",
    "WAIT_OPENED": "node.waiting",
    "COMPENSATION_ENDED": "compensation.completed",
}
_OF_TIMER = {"reminder": "node.reminder", "escalation": "node.escalated"}
_TENANT = "default"


def told_of(instance: str, rows: Iterable[Row]) -> tuple[Telling, ...]:
    """The events that follow from a history, in its order."""
    found: list[Telling] = []
    status = "CREATED"
    for row in rows:
        word = _word(row)
        if row.type == "STATUS_CHANGED":
            status = str(row.payload.get("to"))
        if word is not None:
            pattern = f"workflow.{word}"
            found.append(Telling(f"{instance}:{row.seq}", pattern, row.at, instance, status))
    return tuple(found)


def _word(row: Row) -> str | None:
    then = row.payload.get("then")
    match row.type:
        case "STATUS_CHANGED":
            return _word_of_status(str(row.payload.get("from")), str(row.payload.get("to")))
        case "NODE_FAILED" if then in ("retry", "cancel"):
            return "node.retrying" if then == "retry" else None
        case "NODE_COMPLETED" if row.status == "error":
            return None
        case "SLA_FIRED":
            return str(row.payload.get("kind")).replace("sla-", "sla.")
        case "TIMER_FIRED":
            return _OF_TIMER.get(str(row.payload.get("kind")))
        case other:
            return _OF_ROW.get(other)


def _word_of_status(before: str, after: str) -> str | None:
    if (before, after) == ("CREATED", "RUNNING"):
        return "started"
    if before in ("PAUSED", "FAILED") and after not in FINAL:
        return "resumed"
    return _OF_STATUS.get(after)


def everything_is_told_in_order(whole: Whole) -> Iterator[Violation]:
    """I38: Each lifecycle event is published at least once, in order per instance, and the deduped
    stream equals the log, without gaps. So is each event of the inbox, at least once.
    """
    for listener in _listeners(whole):
        accepted = list(dict.fromkeys(_accepted(whole, listener)))
        owed = _owed(whole, listener)
        is_gone = not listener["isThere"] or bool(listener["health"].get("gaps"))
        for stream, ids in _by_stream(owed).items():
            heard = [id for id in accepted if id in set(ids)]
            if is_gone:
                right = [id for id in ids if id in set(heard)]
            else:
                right = ids if _all_is_told(whole) else ids[: len(heard)]
            if heard != right:
                message = f"{listener['id']} was told {_short(heard)}, owed is {_short(right)}"
                yield Violation("I38", stream, 0, message)


def each_is_told_under_one_id(whole: Whole) -> Iterator[Violation]:
    """I38: what comes again says the same; it comes again only because something went wrong."""
    for listener in _listeners(whole):
        bodies: dict[str, str] = {}
        for request in _requests(whole, listener):
            id, body = str(request["id"]), str(request["body"])
            if bodies.setdefault(id, body) != body:
                yield Violation("I38", "", 0, f"{id} says {body}, and said {bodies[id]}")
        counts = Counter(_accepted(whole, listener))
        for id, number in counts.items():
            if number > 1 and not whole.ledgers.run.faults:
                message = f"{listener['id']} was told {id} {number} times, without faults"
                yield Violation("I38", "", 0, message)


def only_what_was_asked_for_is_told(whole: Whole) -> Iterator[Violation]:
    """I42: No listener hears of another tenant; none hears what it did not ask for."""
    for listener in whole.ledgers.run.listeners or ():
        owed = {} if listener["tenant"] != _TENANT else _owed(whole, listener)
        for request in _requests(whole, listener):
            telling = owed.get(str(request["id"]))
            if telling is None:
                message = f"{listener['id']} was told {request['id']}, which is not for it"
                yield Violation("I42", "", 0, message)
            else:
                yield from _is_said(listener, request, telling)


def _is_said(listener: Fields, request: Fields, telling: Telling) -> Iterator[Violation]:
    said = json.loads(request["body"])
    name, body = ("pattern", "payload") if listener["kind"] == "subscription" else ("type", "data")
    if said.get(name) != telling.pattern:
        message = f"{request['id']} is called {said.get(name)}, it is {telling.pattern}"
        yield Violation("I38", telling.instance, 0, message)
    if telling.instance:
        about = (said[body].get("instanceId"), said[body].get("status"))
        if about != (telling.instance, telling.status):
            message = f"{request['id']} is about {about}, not {telling.instance} {telling.status}"
            yield Violation("I38", telling.instance, 0, message)


def _owed(whole: Whole, listener: Fields) -> dict[str, Telling]:
    """What a listener has to be told, by its id."""
    told = [each for summary in whole.summaries for each in summary.tells]
    told += [
        Telling(id, str(event["pattern"]), moment_ms(event["receivedAt"]) or 0, "", "")
        for id, event in (whole.ledgers.events or {}).items()
        if not str(event["pattern"]).startswith("workflow.")
    ]
    until = moment_ms(listener.get("expiresAt"))
    return {
        each.id: each
        for each in told
        if any(fits(pattern, each.pattern) for pattern in listener["patterns"])
        and (until is None or each.at < until)
        and _passes(listener.get("filter"), each)
    }


def _passes(condition: str | None, telling: Telling) -> bool:
    if condition is None:
        return True
    event = {"id": telling.id, "pattern": telling.pattern}
    return truth(evaluate, condition, {"event": event}) is True


def _by_stream(owed: dict[str, Telling]) -> dict[str, list[str]]:
    """Those of one instance in their order; others are each for themselves."""
    found: dict[str, list[str]] = {}
    for each in owed.values():
        found.setdefault(each.instance or each.id, []).append(each.id)
    return found


def _all_is_told(whole: Whole) -> bool:
    to_do = {table for table, _ in whole.ledgers.run.owed or ()}
    return not to_do & {"outbox", "webhook_deliveries"}


def _listeners(whole: Whole) -> Iterator[Fields]:
    return (each for each in whole.ledgers.run.listeners or () if each["tenant"] == _TENANT)


def _requests(whole: Whole, listener: Fields) -> list[Fields]:
    heard = whole.ledgers.run.heard or ()
    return [each for each in heard if each["listener"] == listener["id"]]


def _accepted(whole: Whole, listener: Fields) -> list[str]:
    return [str(each["id"]) for each in _requests(whole, listener) if each["isAccepted"]]


def _short(ids: Sequence[str]) -> list[str]:
    return [id.rpartition(":")[2] for id in ids]
