"""However deep the stack is on which it begins, an evaluation costs no system call for each call.

A chunk of frames that is mapped anew shows as a page fault, which is counted and not timed.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from contextlib import suppress

import pytest

from tenuto.cli.event_loop import fast_loop
from tenuto.cli.exits import perform
from tenuto.expr import ExpressionError, Steps, split_condition
from tenuto.model.call_stack import with_call_room

DOUBLED = "event.payload.list.reduce((a, b) => [a, a], 1) == 7"
"""A value of 2^60 numbers, of which some thousand are looked at."""
NESTED = f"event.payload.list.map(x => {'[' * 40}{','.join(['-x'] * 200)}{']' * 40}).includes(7)"
DEPTHS = range(0, 90, 3)
MANY = 2_000
"""Page faults: an evaluation that maps chunks has some thousand."""


def faults_at(depth: int, source: str) -> int:
    """The page faults of an evaluation that begins so many calls deep."""
    if depth:
        return faults_at(depth - 1, source)
    condition = split_condition(source)
    event = {"payload": {"list": [*range(60)]}}
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    with suppress(ExpressionError):
        condition.matches(event, [], Steps())
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def most_faults(source: str) -> int:
    with_call_room(faults_at, 0, source)  # what it compiles and allocates once
    return max(faults_at(depth, source) for depth in DEPTHS)


@pytest.mark.parametrize("source", [DOUBLED, NESTED])
def test_calls_with_room_map_no_chunks(source: str) -> None:
    assert with_call_room(most_faults, source) < MANY


@pytest.mark.parametrize("loop", [None, fast_loop()])
def test_what_the_command_line_runs_has_room(
    loop: Callable[[], asyncio.AbstractEventLoop] | None,
) -> None:
    async def work() -> int:
        return most_faults(DOUBLED)

    assert perform(work, is_json=False, loop=loop) < MANY


def test_arguments_and_errors_pass() -> None:
    assert with_call_room(max, 1, 3, key=lambda each: -each) == 1
    with pytest.raises(ZeroDivisionError):
        with_call_room(divmod, 1, 0)
