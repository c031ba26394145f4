"""Who of those that wait for tasks is told to look."""

from __future__ import annotations

from datetime import timedelta

from tenuto.executions.line import Line
from tenuto.store.job_protocol import WorkerClaim


def test_whoever_leaves_the_line_lets_the_first_of_each_kind_look() -> None:
    def wanted(*ids: str) -> WorkerClaim:
        return WorkerClaim("t", "w", ids or None, 1, timedelta(seconds=1))

    line = Line()
    first = line.join(wanted("a", "b"))
    others = [line.join(wanted(*ids)) for ids in (("a",), ("a", "c"), ("b",), ("b",), ("c",))]
    line.leave(first)
    assert [each.called.is_set() for each in others] == [True, False, True, False, False]
    anyone = line.join(wanted())
    anyone.called.clear()
    for each in others:
        each.called.clear()
    line.leave(anyone)
    assert [each.called.is_set() for each in others] == [True, True, True, False, False]
