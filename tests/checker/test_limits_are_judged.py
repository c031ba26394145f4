"""Limits, mutexes and the tables of slots: each falsehood is caught, and what is right passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.checker import Instance, Run
from tests.kit.checker.invariants import limits
from tests.kit.checker.invariants.judgement import Ledgers, Summary, Whole
from tests.kit.checker.record import Fields

AT = "2026-01-01T00:00:00.000Z"
SERVICE: Fields = {"": {"globalMaxConcurrent": 1, "tenantLimits": {"*": 1}}}
OWN: Fields = {"t": {"workflowTypeLimits": {"d": 1}, "userLimits": {"*": 1}}}
CHECKS = (
    limits.no_limit_is_exceeded,
    limits.nothing_runs_without_a_slot,
    limits.one_step_has_a_mutex,
    limits.mutexes_come_in_order,
    limits.slots_come_in_order,
    limits.slots_are_counted,
    limits.what_waits_waits_for_a_full_limit,
)


class Log:
    """Rows of several instances, in the order in which they were committed."""

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - as a run has them
        self._histories: dict[str, list[Fields]] = {}
        self._commits: list[Fields] = []
        self._more = more

    def row(self, id: str, type: str, payload: Fields, *, turn: str = "", node: str = "") -> None:
        history = self._histories.setdefault(id, [])
        seq = len(history) + 1
        at = f"2026-01-01T00:00:{len(self._commits):02}.000Z"
        history.append(
            {"seq": seq, "eventType": type, "nodeId": node, "at": at, "payload": payload}
        )
        number = len(self._commits) + 1
        self._commits.append(
            {
                "gseq": number,
                "turn": turn or str(number),
                "instance": id,
                "first": seq,
                "last": seq,
            }
        )

    def slot(self, id: str, state: str, *, turn: str = "", **more: Any) -> None:  # noqa: ANN401
        self.row(id, "SYSTEM_SET", {"values": {"slot": {"state": state, **more}}}, turn=turn)

    def ended(self, id: str, status: str = "COMPLETED") -> None:
        self.row(id, "STATUS_CHANGED", {"from": "RUNNING", "to": status})

    def mutex(self, id: str, type: str, mutex: str = "m") -> None:
        self.row(id, type, {"mutex": mutex}, node="n")

    def broken(self) -> set[str]:
        """The invariants that do not hold."""
        instances = [
            Instance(id=id, document={"id": "d"}, history=history, tenant="t")
            for id, history in self._histories.items()
        ]
        run = Run(instances=instances, commits=self._commits, **self._more)
        whole = Whole(Ledgers(run))
        whole.summaries = [
            Summary(
                id=each.id,
                input=None,
                definition="d",
                key=None,
                status=str(each.history[-1]["payload"].get("to", "RUNNING")),
                counts={},
                last_seq=len(each.history),
            )
            for each in instances
        ]
        return {found.invariant for check in CHECKS for found in check(whole)}


def _set(document: Fields, asked: int = 0, done: int = 0) -> Fields:
    return {"asked": asked, "done": done, "limits": document}


@pytest.mark.parametrize(
    ("document", "slot"),
    [
        (SERVICE, {}),
        ({"": {"globalMaxConcurrent": 1}}, {}),
        ({"": {"tenantLimits": {"t": 1, "*": 9}}}, {}),
        ({"t": {"workflowTypeLimits": {"*": 1}}}, {}),
        ({"t": {"userLimits": {"ann": 1}}}, {"user": "ann"}),
        ({}, {"key": "k", "limit": 1}),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_one_more_than_a_limit_of_any_kind_is_seen(
    document: Fields, slot: Fields, *, again: bool
) -> None:
    """The second one has its slot before the first one has ended, or given it back."""
    right, wrong = (Log(limits=[_set(document)]) for _ in range(2))
    for log in (right, wrong):
        log.slot("a", "asked", **slot)
        log.slot("b", "asked", **slot)
        log.slot("a", "held", **slot)
    for log, order in ((right, "ab"), (wrong, "ba")):
        for id in order:
            if id == "b":
                log.slot("b", "held", **slot)
            elif again:
                log.slot("a", "released", **slot)
            else:
                log.ended("a")
    assert right.broken() == set()
    assert wrong.broken() == {"I31"}


def test_a_grant_in_the_turn_of_the_release_that_it_needed_is_seen() -> None:
    log = Log(limits=[_set({"": {"globalMaxConcurrent": 1}})])
    log.slot("a", "held")
    log.slot("a", "released", turn="x")
    log.slot("b", "held", turn="x")
    assert log.broken() == {"I31"}


def test_limits_of_the_time_of_a_grant_count() -> None:
    """One that was granted before a limit was lowered goes on; none is granted after that."""
    changes = [_set({"": {"globalMaxConcurrent": 2}}), _set({"": {"globalMaxConcurrent": 1}}, 2, 3)]
    log = Log(limits=changes)
    log.slot("a", "held")
    log.slot("b", "held")
    log.slot("c", "asked")
    log.slot("d", "asked")
    assert log.broken() == set()
    log.ended("a")
    log.slot("d", "held")
    assert log.broken() == {"I31"}


def test_children_count_for_their_workflow_and_not_for_tenants() -> None:
    log = Log(limits=[_set(SERVICE | OWN)])
    log.slot("a", "held", user="ann")
    log.row("child", "INPUT_SET", {"parent": {"instanceId": "a"}})
    log.slot("child", "held", user="bob")
    assert log.broken() == {"I31"}, "one of its workflow"
    log = Log(limits=[_set(SERVICE)])
    log.slot("a", "held", user="ann")
    log.row("child", "INPUT_SET", {"parent": {"instanceId": "a"}})
    log.slot("child", "held", user="ann")
    assert log.broken() == set()


def test_what_runs_without_a_slot_is_seen() -> None:
    log = Log(limits=[_set(SERVICE)])
    log.row("a", "NODE_DISPATCHED", {}, node="n")
    assert log.broken() == {"I31"}, "a limit counts it, and it never asked"
    log = Log()
    log.slot("a", "asked")
    log.row("a", "NODE_DISPATCHED", {}, node="n")
    assert log.broken() == {"I31"}, "it asked, and did not wait"
    log = Log()
    log.row("a", "NODE_DISPATCHED", {}, node="n")
    log.slot("a", "asked")
    log.slot("a", "held")
    log.row("a", "NODE_DISPATCHED", {}, node="n")
    assert log.broken() == set(), "no limit counted it when it began"


@pytest.mark.parametrize("end", ["NODE_COMPLETED", "NODE_FAILED", "NODE_CANCELLED", "end"])
def test_two_with_one_mutex_are_seen(end: str) -> None:
    for is_right in (True, False):
        log = Log()
        log.mutex("a", "MUTEX_REQUESTED")
        log.mutex("b", "MUTEX_REQUESTED")
        log.mutex("a", "MUTEX_GRANTED")
        if is_right and end == "end":
            log.ended("a", "CANCELLED")
        elif is_right:
            log.row("a", end, {"then": "fail"}, node="n")
        else:
            log.row("a", "NODE_FAILED", {"then": "retry"}, node="n")
        log.mutex("b", "MUTEX_GRANTED")
        assert log.broken() == (set() if is_right else {"I31"})


def test_a_mutex_out_of_order_is_seen() -> None:
    log = Log()
    log.mutex("a", "MUTEX_REQUESTED")
    log.mutex("b", "MUTEX_REQUESTED")
    log.mutex("b", "MUTEX_GRANTED")
    assert log.broken() == {"I34"}
    log = Log()
    log.mutex("a", "MUTEX_REQUESTED")
    log.mutex("b", "MUTEX_REQUESTED")
    log.ended("a", "CANCELLED")
    log.mutex("b", "MUTEX_GRANTED")
    assert log.broken() == set(), "it gave up"


@pytest.mark.parametrize(
    ("other", "found"),
    [({}, {"I34"}), ({"user": "ann"}, set()), ({"key": "l"}, set()), ({"limit": 2}, set())],
)
def test_a_slot_out_of_order_is_seen(other: Fields, found: set[str]) -> None:
    """Of those that count for the same limits, of which one may begin at once."""
    slot: Fields = {"key": "k", "limit": 1}
    log = Log()
    log.slot("a", "asked", **slot | other)
    log.slot("b", "asked", **slot)
    log.slot("b", "held", **slot)
    log.ended("b")
    log.slot("a", "held", **slot | other)
    assert log.broken() == found
    log = Log()
    log.slot("a", "asked", **slot)
    log.slot("b", "asked", **slot)
    log.ended("a", "CANCELLED")
    log.slot("b", "held", **slot)
    assert log.broken() == set(), "it gave up"


def _row(state: str, blocked_on: str = "", **more: Any) -> Fields:  # noqa: ANN401
    row = {"instance": "a", "state": state, "blockedOn": blocked_on, "keys": ["global"]}
    return {**row, "ownKey": None, "ownLimit": 0, **more}


@pytest.mark.parametrize(
    ("slots", "freed", "counts", "found"),
    [
        ([_row("held")], [], {"global": 1, "turn:t": 7}, set()),
        ([_row("held")], [{"keys": ["global"], "amount": 0}], {"global": 1}, set()),
        ([_row("held")], [], {}, {"I31"}),
        ([], [], {"global": 1}, {"I31"}),
        ([], [{"keys": ["global"], "amount": 1}], {"global": 1}, {"I31"}),
        ([_row("held"), _row("waiting", "global")], [], {"global": 1}, set()),
        ([_row("waiting", "global")], [], {}, {"I32"}),
        ([_row("waiting", "type:t/d")], [], {}, {"I32"}),
        ([_row("waiting", "mutex:t/m")], [], {}, {"I32"}),
        ([_row("waiting", "")], [], {}, {"I32"}),
        ([_row("on-hold", "")], [], {}, set()),
        ([_row("waiting", "key:t/d/k", ownKey="key:t/d/k", ownLimit=1)], [], {}, {"I32"}),
    ],
)
def test_counts_that_are_wrong_and_waiters_that_nobody_looks_at_are_seen(
    slots: list[Fields], freed: list[Fields], counts: dict[str, int], found: set[str]
) -> None:
    changes = [_set({"": {"globalMaxConcurrent": 1}})]
    log = Log(slots=slots, slots_freed=freed, slot_counts=counts, limits=changes)
    assert log.broken() == found
