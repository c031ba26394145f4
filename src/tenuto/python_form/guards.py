"""Finds steps behind a `when` that look guarded by it and are not.

A wait in a block delays the steps behind it in that block. A step behind the block depends only on
the steps that it names, so it runs in parallel with the wait: valid, but rarely intended if no step
waits for the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tenuto.model.errors import Problem
from tenuto.python_form.edges import Edges
from tenuto.python_form.step import Step

_HOLDING = frozenset({"approval", "eventWait", "delay", "terminate"})


def unguarded(edges: Edges) -> Iterator[Problem]:
    """A warning for each decision with a wait inside that no later step depends on."""
    steps = list(edges)
    users: dict[Step, list[Step]] = {step: [] for step in steps}
    for step, sources in edges.items():
        for each in sources:
            users[each.step].append(step)
    seen: set[Step] = set()
    for number, step in enumerate(steps):
        if step.kind not in _HOLDING:
            continue
        for head in _decisions_around(step):
            if head in seen:
                continue
            seen.add(head)
            behind = [each for each in islice(steps, number + 1, None) if _is_behind(each, head)]
            if behind and _after(head, users).isdisjoint(behind):
                yield _warning(step, behind[0])


def _decisions_around(step: Step) -> Iterator[Step]:
    """The decisions around a step, from the inside."""
    for block in step.block.around:
        if block.is_loop:
            return
        if block.head is not None and block in block.head.branches:
            yield block.head


def _is_behind(later: Step, head: Step) -> bool:
    """Whether a step is behind the decision, and is not only a join."""
    return (
        later.kind != "end"
        and not later.sources
        and later.join == "required"
        and head.block is later.block
        and later is not head
    )


def _after(head: Step, users: Mapping[Step, Sequence[Step]]) -> set[Step]:
    """The steps inside a decision, and those that depend on one of them."""
    found: set[Step] = set()
    left = [step for step in users if any(each in head.branches for each in step.block.around)]
    while left:
        step = left.pop()
        if step not in found:
            found.add(step)
            left += users[step]
    return found


def _warning(step: Step, later: Step) -> Problem:
    how = (
        "Put it into `with otherwise():`"
        if step.kind == "terminate"
        else "Put it into the block behind that, and into `with otherwise():`"
    )
    message = f"`{later.id}` does not wait for `{step.id}` in {step.place}: the two run at once"
    return Problem(
        code="TEN-1122",
        path=str(later.place),
        message=later.place.quoted_behind(message),
        advice=f"{how}, or let it begin after a step of each side with `.after_any(…)`; if they "
        "are to run at once, ignore this.",
        severity="warning",
    )
