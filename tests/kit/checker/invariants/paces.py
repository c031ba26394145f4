"""Debounced starts and rates of starts, rebuilt from the logs: I31."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.kit.checker.invariants.judgement import Whole
from tests.kit.checker.moments import duration_ms, moment_ms
from tests.kit.checker.record import Fields, Instance, row_of
from tests.kit.checker.violation import Violation


def no_rate_is_exceeded(whole: Whole) -> Iterator[Violation]:
    """I31: of a rate, never more than its limit begin within its time."""
    begun: dict[str, list[tuple[int, str]]] = defaultdict(list)
    rates: dict[str, tuple[int, int]] = {}
    for instance in whole.ledgers.run.instances:
        rate = _option(instance.document, "rate")
        if rate is None:
            continue
        key = _key(rate, instance)
        rates[key] = (int(rate["limit"]), span_ms(rate["per"]))
        moments = [_granted_at(row.payload) for row in map(row_of, instance.history)]
        found = {at for at in moments if at is not None}
        if len(found) > 1:
            yield Violation("I31", instance.id, 0, f"it begins {len(found)} times")
        if not found and _begun_at(instance) is not None:
            yield Violation("I31", instance.id, 0, "it begins and is not counted")
        begun[key] += [(at, instance.id) for at in found]
    for key, moments_of_key in begun.items():
        limit, per = rates[key]
        ordered = sorted(moments_of_key)
        for place in range(limit, len(ordered)):
            at, id = ordered[place]
            if at - ordered[place - limit][0] < per:
                yield Violation("I31", id, 0, f"more than {limit} of {key} begin within {per} ms")


def debounced_starts_become_one(whole: Whole) -> Iterator[Violation]:
    """I31: a debounced start begins after its time, or another took its place within it."""
    groups: dict[str, list[tuple[int, Instance]]] = defaultdict(list)
    for instance in whole.ledgers.run.instances:
        debounce = _option(instance.document, "debounce")
        if debounce is not None:
            groups[_key(debounce, instance)].append((_asked_at(instance), instance))
    for group in groups.values():
        debounce = _option(group[0][1].document, "debounce")
        assert debounce is not None
        period = span_ms(debounce["period"])
        most = debounce.get("max")
        for asked_at, instance in group:
            begun_at = _begun_at(instance)
            others = [at for at, other in group if other.id != instance.id]
            if begun_at is not None:
                early = begun_at < asked_at + period
                by_max = most is not None and any(
                    begun_at >= at + span_ms(most) for at in [*others, asked_at]
                )
                if early and not by_max:
                    yield Violation("I31", instance.id, 0, "it begins before its time")
            if _is_collapsed(instance) and not any(
                asked_at <= at < asked_at + period for at in others
            ):
                yield Violation("I31", instance.id, 0, "no newer start took its place")
        if most is None:
            begun = sorted(at for at, each in group if _begun_at(each) is not None)
            for earlier, later in pairwise(begun):
                if later - earlier < period:
                    message = f"two starts begin, {later - earlier} ms apart"
                    yield Violation("I31", group[0][1].id, 0, message)


def span_ms(text: object) -> int:
    """The milliseconds of a duration that there is."""
    found = duration_ms(text)
    assert found is not None
    return found


def _option(document: Fields, name: str) -> Fields | None:
    options = document.get("options") or document.get("workflowOptions") or {}
    found = options.get(name)
    return None if found is None else dict(found)


def _key(option: Fields, instance: Instance) -> str:
    """The keys that the workload draws are all `ctx.input.k`."""
    value = "" if option.get("key") is None else instance.history[0]["payload"]["input"]["k"]
    return f"{instance.document['id']}/{value}"


def _granted_at(payload: Fields) -> int | None:
    slot = (payload.get("values") or {}).get("slot") or {}
    return moment_ms(slot.get("granted_at"))


def _asked_at(instance: Instance) -> int:
    return row_of(instance.history[0]).at


def _begun_at(instance: Instance) -> int | None:
    for row in map(row_of, instance.history):
        if row.type == "STATUS_CHANGED" and row.payload["from"] == "CREATED":
            return row.at if row.payload["to"] == "RUNNING" and not _ends(instance) else None
    return None


def _ends(instance: Instance) -> bool:
    """Whether it was cancelled before it began: it goes through RUNNING to its end."""
    for row in map(row_of, instance.history):
        if row.type == "CANCEL_REQUESTED":
            return True
        if row.type == "SYSTEM_SET" and _state(row.payload) == "held":
            return False
    return False


def _state(payload: Fields) -> object:
    slot = (payload.get("values") or {}).get("slot") or {}
    return slot.get("state")


def _is_collapsed(instance: Instance) -> bool:
    return any(
        row.type == "CANCEL_REQUESTED" and row.payload.get("source") == "COLLAPSED"
        for row in map(row_of, instance.history)
    )
