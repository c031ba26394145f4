"""Who of those that wait for tasks is told to look."""

from __future__ import annotations

from datetime import timedelta

from tenuto.executions.claim_queue import ClaimQueue
from tenuto.store.parts.jobs import WorkerClaim


def wanted(*ids: str, tenant: str = "t") -> WorkerClaim:
    return WorkerClaim(tenant, "w", ids or None, 1, timedelta(seconds=1))


def test_whoever_leaves_the_line_lets_the_first_of_each_kind_look() -> None:
    queue = ClaimQueue()
    first = queue.join(wanted("a", "b"))
    others = [queue.join(wanted(*ids)) for ids in (("a",), ("a", "c"), ("b",), ("b",), ("c",))]
    for each in others:
        each.called.clear()
    queue.leave(first)
    assert [each.called.is_set() for each in others] == [True, False, True, False, False]
    anyone = queue.join(wanted())
    anyone.called.clear()
    for each in others:
        each.called.clear()
    queue.leave(anyone)
    assert [each.called.is_set() for each in others] == [True, True, True, False, False]


def test_whoever_waits_holds_up_nobody_who_can_do_something_else_too() -> None:
    queue = ClaimQueue()
    queue.join(wanted("x", "y"))
    assert queue.join(wanted("y", "z")).called.is_set()
    assert queue.join(wanted()).called.is_set()


def test_those_who_want_the_same_look_one_after_the_other() -> None:
    queue = ClaimQueue()
    first = queue.join(wanted("x", "y"))
    behind = [queue.join(wanted(*ids)) for ids in (("y", "x"), ("x",))]
    assert first.called.is_set()
    assert not any(each.called.is_set() for each in behind)
    assert queue.join(wanted("x", tenant="other")).called.is_set()
    anyone = queue.join(wanted())
    assert anyone.called.is_set()
    assert not queue.join(wanted("z")).called.is_set()
    assert not queue.join(wanted()).called.is_set()
