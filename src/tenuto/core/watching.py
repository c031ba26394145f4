"""Which loops have to read their `enough` again, since something that it names has changed."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.core.plan import Plan, Watch
from tenuto.core.state import InstanceState
from tenuto.model.entries import Entry, NodeCompleted, NodeEntry
from tenuto.model.graph import End
from tenuto.model.ids import NodeKey


def changed_for(plan: Plan, state: InstanceState, entry: Entry) -> set[NodeKey]:
    """The loops under way for which `entry` changed something."""
    if not state.loops or not isinstance(entry, NodeEntry) or entry.node not in plan.nodes:
        return set()
    found: set[NodeKey] = set()
    for name, watch in plan.watching.items():
        # What changes inside its own body is not seen from outside: its results tell.
        if plan.is_seen(entry.node, plan.nodes[name].loop) and _names(plan, watch, entry):
            found.update(_under_way(plan, state, name, entry.key))
    return found


def all_watching(plan: Plan, state: InstanceState) -> set[NodeKey]:
    """The loops under way whose `enough` names more than their own results."""
    return {key for key in state.loops if key.node in plan.watching}


def _names(plan: Plan, watch: Watch, entry: NodeEntry) -> bool:
    if watch.steps is None or entry.node in watch.steps:
        return True
    if not isinstance(entry, NodeCompleted):
        return False
    written = {entry.variable, *(entry.variables or ())} - {None}
    if isinstance(plan.nodes[entry.node].node.config, End):
        written.add("output")
    return bool(written) if watch.variables is None else not watch.variables.isdisjoint(written)


def _under_way(plan: Plan, state: InstanceState, loop: str, key: NodeKey) -> Iterator[NodeKey]:
    """The activations of a loop that see the node `key`: in its iteration, or further inside."""
    if plan.nodes[loop].loop == plan.nodes[key.node].loop:
        beside = NodeKey(loop, key.iteration)
        if beside in state.loops:
            yield beside
        return
    for each in state.loops:
        if each.node == loop and plan.seen_from(each, key.node) == key:
            yield each
