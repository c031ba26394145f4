"""Rerun: what a new instance takes over from an earlier one, and how it does.

The new instance begins where the earlier one was when it reached the step to rerun from: outcomes
of steps that are neither that one nor after it are written into its log, in the order in which they
were reached, as if the steps had ended here. Everything else follows by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tenuto.core.cancelling import cancel_nodes, pass_over, passed_over_by, rest_of
from tenuto.core.deciding import Deciding, Rejection
from tenuto.core.plan import Plan, PlannedNode
from tenuto.core.state import InstanceState
from tenuto.core.undo_plan import is_wanted, plan_undo
from tenuto.expr import Steps
from tenuto.model.entries import Entry, NodeCompleted, NodeSkipped
from tenuto.model.failure import Failure, LastError
from tenuto.model.graph import Terminate
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import Reused, Started

NOT_FROM_THERE = "TEN-2010"
DOES_NOT_FIT = "TEN-2011"


def following(plan: Plan, step: str) -> set[str]:
    """A step and all that comes after it."""
    found: set[str] = set()
    pending = [step]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(edge.target for edge in plan.nodes[name].outgoing)
    return found


def reusable(
    plan: Plan,
    earlier: InstanceState,
    entries: Iterable[Entry],
    from_step: str,
    *,
    ran_by: Plan | None = None,
) -> Iterator[Reused]:
    """Outcomes of `earlier` that a rerun by `plan` takes over; `entries` is its log.

    `ran_by` is the plan that it ran by itself, where that is another one.

    A step that the definition does not have any more is left out, and so is `terminate`: it would
    end the new instance before anything ran. So is a step that is undone, or about to be, with all
    that comes after it.
    """
    again = following(plan, from_step)
    for name in _undone(plan, earlier, ran_by or plan):
        again |= following(plan, name)
    for entry in entries:
        if not isinstance(entry, NodeCompleted | NodeSkipped) or entry.iteration:
            continue
        planned = plan.nodes.get(entry.node)
        if planned is None or planned.loop is not None or entry.node in again:
            continue
        if isinstance(planned.node.config, Terminate):
            continue
        if isinstance(entry, NodeCompleted):
            yield _outcome(earlier, entry)
        elif entry.reason == "when":
            yield Reused(node=entry.node, status="skipped")


def _undone(plan: Plan, earlier: InstanceState, ran_by: Plan) -> set[str]:
    """Steps that are undone, were or will be, themselves or in one of their iterations."""
    undoing = earlier.compensation
    if undoing is not None:
        undone = undoing.plan
    elif not earlier.status.is_final and is_wanted(ran_by, earlier):
        # Its end has begun: what it undoes is settled once nothing of it is open.
        undone = plan_undo(ran_by, earlier, Steps()).plan
    else:
        return set()
    found: set[str] = set()
    for item in undone:
        name = item.compensation_for
        planned = plan.nodes.get(name)
        while planned is not None and planned.loop is not None:
            name, planned = planned.loop, plan.nodes[planned.loop]
        if planned is not None:
            found.add(name)
    return found


def _outcome(earlier: InstanceState, entry: NodeCompleted) -> Reused:
    node = earlier.nodes[entry.key]
    is_cancelled = node.grace_until is not None and not node.is_withdrawn
    return Reused(
        node=entry.node,
        status=entry.status,
        output=entry.output,
        # A part of the workflow had cancelled it: it started nothing, and does not here.
        handles=() if is_cancelled else entry.handles,
        variables=entry.variables,
        error=None if node.error is None else _failure(node.error),
        errors=list(node.errors) if node.is_loop else None,
    )


def _failure(error: LastError) -> Failure:
    return Failure(code=error.code, message=error.message, details=error.details)


def misfits(plan: Plan, before: Plan, reused: Iterable[Reused]) -> Iterator[tuple[str, str]]:
    """Steps whose outcome under `before` means nothing under `plan`, each with the reason."""
    for each in reused:
        now, then = plan.nodes[each.node], before.nodes[each.node]
        if type(now.node.config) is not type(then.node.config):
            yield each.node, f"it was {_type(then)} and is now {_type(now)}"
            continue
        lost = [name for name in each.handles if name in then.handles - now.handles]
        if lost:
            yield each.node, f"it went on by handle {lost[0]!r}, on which nothing hangs any more"


def _type(planned: PlannedNode) -> str:
    return f"{type(planned.node.config).__name__}"


def take_over(d: Deciding, asked: Started) -> Rejection | None:
    """Write the reused outcomes into the log, with the cancellations that they caused."""
    spared = {each.node for each in asked.reused}
    for each in asked.reused:
        planned = d.plan.nodes.get(each.node)
        if planned is None or planned.loop is not None:
            message = f"{each.node} is no step whose outcome could be taken over"
            return Rejection(code=DOES_NOT_FIT, message=message)
        _take(d, asked, each, planned, spared)
        _skip_dead_paths(d, spared)
    if asked.from_step is not None and NodeKey(asked.from_step) in d.state.nodes:
        message = f"{asked.from_step} is never reached: the reused outcomes lead past it"
        return Rejection(code=NOT_FROM_THERE, message=message)
    return None


def _skip_dead_paths(d: Deciding, spared: set[str]) -> None:
    """Pass over what can never run, before anything is written that came after it."""
    while dead := [key for key in d.state.unreachable if key.node not in spared]:
        for key in sorted(dead, key=lambda key: d.plan.order_of(key.node)):
            pass_over(d, key, "dead-path")


def _take(
    d: Deciding, asked: Started, reused: Reused, planned: PlannedNode, spared: set[str]
) -> None:
    key = NodeKey(reused.node)
    # A loop over arrivals cancels the rest when it ends, any other step when it begins.
    if planned.node.cancel_rest and not planned.takes_arrivals:
        _cancel_rest(d, key, spared)
    if reused.status == "skipped":
        d.emit(
            NodeSkipped(
                at=d.now,
                node=reused.node,
                reason="when",
                reused_from=asked.rerun_of,
                handles=passed_over_by(planned),
            )
        )
        return
    d.emit(
        NodeCompleted(
            at=d.now,
            node=reused.node,
            status=reused.status,
            variable=planned.node.output_variable,
            output=reused.output,
            handles=reused.handles,
            variables=reused.variables,
            reused_from=asked.rerun_of,
            error=reused.error,
            errors=reused.errors,
        )
    )
    if planned.node.cancel_rest and planned.takes_arrivals and reused.status == "success":
        _cancel_rest(d, key, spared)
    if reused.status == "success" and reused.handles:
        named = (d.plan.seen_from(key, name) for name in planned.node.cancels)
        cancel_nodes(d, (other for other in named if other.node not in spared))


def _cancel_rest(d: Deciding, key: NodeKey, spared: set[str]) -> None:
    cancel_nodes(d, (late for late in rest_of(d, key) if late.node not in spared))
