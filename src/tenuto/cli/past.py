"""An instance as its log says it was: after an entry, and a loop before it was cancelled."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.cli.backends.log_rows import log_row
from tenuto.cli.views.progress import turns_of
from tenuto.core import InstanceState, blank, fold_all
from tenuto.engine.turns.held import Held
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object
from tenuto.model.log import from_row
from tenuto.model.status import NodeStatus

_CANCELLED = "NODE_CANCELLED"


def held_after(held: Held, log: Sequence[Object], number: int) -> Held:
    """The instance after the entry of this number; InvalidInput where the log has none."""
    last = held.state.version
    if not 1 <= number <= last:
        problem = Problem(
            code="TEN-2000",
            path="--at",
            message=f"the log has no entry {number}",
            advice=f"Its entries are 1 to {last}; `tenuto history` lists them.",
        )
        raise InvalidInput("the instance cannot be shown as it was then", [problem])
    entries = (from_row(log_row(each)) for each in log[:number])
    state = fold_all(held.plan, blank(held.state.id), entries)
    return Held(state, held.plan, held.tenant)


def cut_loops(state: InstanceState) -> frozenset[NodeKey]:
    """Loops that were cancelled while the instance went on: the state has no counts of them."""
    return frozenset(
        key
        for key, node in state.nodes.items()
        if node.is_loop
        and not key.iteration
        and node.status is NodeStatus.CANCELLED
        and key not in state.loops
    )


def turns_of_cut_loops(held: Held, log: Sequence[Object]) -> dict[NodeKey, str]:
    """How far each of these loops was when it was cancelled."""
    wanted = cut_loops(held.state)
    found: dict[NodeKey, str] = {}
    state, folded, first = blank(held.state.id), 0, 0
    for number, each in enumerate(log if wanted else ()):
        if each["eventType"] != _CANCELLED:
            first = number + 1
            continue
        key = NodeKey(str(each["nodeId"]), str(each["iteration"] or ""))
        if key not in wanted:
            continue
        # Its iterations are cancelled before it: they are not counted as done.
        entries = (from_row(log_row(row)) for row in log[folded:first])
        state, folded = fold_all(held.plan, state, entries), first
        found[key] = turns_of(held.plan, state, key)
    return found
