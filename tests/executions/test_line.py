"""Who of those that wait for tasks is told to look."""

from __future__ import annotations

from datetime import timedelta

from tenuto.executions.line import Line
from tenuto.store.parts.jobs import WorkerClaim


def wanted(*ids: str, tenant: str = "t") -> WorkerClaim:
    return WorkerClaim(tenant, "w", ids or None, 1, timedelta(seconds=1))


def test_whoever_leaves_the_line_lets_the_first_of_each_kind_look() -> None:
    line = Line()
    first = line.join(wanted("a", "b"))
    others = [line.join(wanted(*ids)) for ids in (("a",), ("a", "c"), ("b",), ("b",), ("c",))]
    for each in others:
        each.called.clear()
    line.leave(first)
    assert [each.called.is_set() for each in others] == [True, False, True, False, False]
    anyone = line.join(wanted())
    anyone.called.clear()
    for each in others:
        each.called.clear()
    line.leave(anyone)
    assert [each.called.is_set() for each in others] == [True, True, True, False, False]


def test_whoever_waits_holds_up_nobody_who_can_do_something_else_too() -> None:
    line = Line()
    line.join(wanted("x", "y"))
    assert line.join(wanted("y", "z")).called.is_set()
    assert line.join(wanted()).called.is_set()


def test_those_who_want_the_same_look_one_after_the_other() -> None:
    line = Line()
    first = line.join(wanted("x", "y"))
    behind = [line.join(wanted(*ids)) for ids in (("y", "x"), ("x",))]
    assert first.called.is_set()
    assert not any(each.called.is_set() for each in behind)
    assert line.join(wanted("x", tenant="other")).called.is_set()
    anyone = line.join(wanted())
    assert anyone.called.is_set()
    assert not line.join(wanted("z")).called.is_set()
    assert not line.join(wanted()).called.is_set()
