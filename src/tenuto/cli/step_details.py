"""One step of an instance, from its log: what it was given and gave, its attempts, iterations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from msgspec import UNSET, UnsetType

from tenuto.core import Plan
from tenuto.core.incomplete_joins import join_message
from tenuto.core.scope import scope_of
from tenuto.definition.report import did_you_mean
from tenuto.engine.turns.held import Held
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import NotFound
from tenuto.model.graph import SubWorkflow, Task
from tenuto.model.ids import NodeKey, path_of
from tenuto.model.json import JSON, Object

_ENDS = {
    "NODE_COMPLETED": "completed",
    "NODE_FAILED": "failed",
    "NODE_CANCELLED": "cancelled",
    "NODE_SKIPPED": "skipped",
    "ITERATION_ENDED": "completed",
    "COMPENSATION_COMPLETED": "completed",
    "COMPENSATION_FAILED": "failed",
}
_BEGINNINGS = frozenset(
    {"NODE_DISPATCHED", "COMPENSATION_DISPATCHED", "ITERATION_STARTED", "WAIT_OPENED", "TIMER_SET"}
)


def step_details(held: Held, history: list[Object], step: str, iteration: str) -> Object:
    """A step, or one iteration of it; NotFound where the definition has none of that name.

    Of a step in a loop without an iteration, and of a loop, there are `iterations` instead of
    attempts.
    """
    refuse_unknown(held.plan, step)
    about: Object = {"instanceId": held.state.id, "stepId": step, "iteration": iteration}
    own = [each for each in history if each["nodeId"] == step]
    planned = held.plan.nodes.get(step)
    is_loop = planned is not None and bool(planned.body)
    is_inside = planned is not None and planned.loop is not None
    is_inside |= planned is None and any(each["iteration"] for each in own)
    if is_loop or (is_inside and not iteration):
        turns = [each for each in own if _is_turn(each) or not is_loop]
        turns = [each for each in turns if _is_within(str(each["iteration"]), iteration)]
        node = held.state.nodes.get(NodeKey(step, iteration))
        if node is not None:
            about |= {"status": node.status.value.lower(), "output": node.output}
        return {**about, "iterations": list(_iterations(turns))}
    entries = [each for each in own if each["iteration"] == iteration]
    if not entries and iteration:
        raise NotFound(
            f"{step} has no iteration {iteration}",
            advice=f"`tenuto show {held.state.id} --step {step}` lists its iterations.",
        )
    return {**about, **_activation(held, entries, history, NodeKey(step, iteration))}


def refuse_unknown(plan: Plan, step: str) -> None:
    """NotFound unless the definition has the step."""
    names = [*plan.nodes, *plan.undo_steps]
    if step not in names:
        advice = did_you_mean(step, names, f"It has {', '.join(names[:20])}.")
        raise NotFound(f"there is no step {step!r} in {plan.definition.id}", advice=advice)


def _is_turn(entry: Object) -> bool:
    return str(entry["eventType"]).startswith("ITERATION_")


def _is_within(iteration: str, around: str) -> bool:
    return not around or iteration.startswith(f"{around}/")


def _iterations(entries: list[Object]) -> Iterable[Object]:
    def place(each: Object) -> str:
        return str(each["iteration"])

    entries = sorted(entries, key=lambda each: (path_of(place(each)), each["seq"]))
    for iteration, group in groupby(entries, key=place):
        own = list(group)
        numbers = [each["attempt"] for each in own if isinstance(each["attempt"], int)]
        count: Object = {"attemptCount": max(numbers)} if numbers else {}
        yield {"iteration": iteration, **_outcome(own), **_times(own), **count}


def _activation(held: Held, entries: list[Object], history: list[Object], key: NodeKey) -> Object:
    view = _outcome(entries)
    if (waits := join_message(held.plan, held.state, key)) is not None:
        view["join"] = waits
    given = _input(held, entries, history, key)
    if given is not UNSET:
        view["input"] = given
    child = [_payload(each)["childId"] for each in entries if each["eventType"] == "CHILD_STARTED"]
    if child:
        view["childId"] = child[-1]
    return {**view, "attempts": list(_attempts(entries))}


def _outcome(entries: list[Object]) -> Object:
    """How far it is: the status, times, and its output or error."""
    view: Object = {"status": "not started" if not entries else "started"}
    if not entries:
        return view
    view["startedAt"] = entries[0]["at"]
    ended = [each for each in entries if each["eventType"] in _ENDS]
    last = ended[-1] if ended else None
    if last is None or entries.index(last) < _last_beginning(entries):
        return view
    said = _payload(last)
    view["status"] = _status(last)
    view["endedAt"] = last["at"]
    if "output" in said:
        view["output"] = said["output"]
    if said.get("error") is not None:
        view["error"] = said["error"]
    if "reason" in said:
        view["reason"] = said["reason"]
    return view


def _status(last: Object) -> str:
    said = _payload(last)
    if said.get("then") == "retry":
        return "retrying"
    if "error" in (said.get("status"), last["nodeStatus"]):
        return "failed"
    return "cancelled" if said.get("status") == "cancelled" else _ENDS[str(last["eventType"])]


def _last_beginning(entries: list[Object]) -> int:
    return max(
        (at for at, each in enumerate(entries) if each["eventType"] in _BEGINNINGS), default=-1
    )


def _attempts(entries: list[Object]) -> Iterable[Object]:
    """Each attempt with its times; `nextAttemptAt` where another follows after a back-off."""
    due = {
        each["attempt"]: _payload(each).get("due")
        for each in entries
        if each["eventType"] == "RETRY_SCHEDULED"
    }
    own = [each for each in entries if each["eventType"] != "RETRY_SCHEDULED"]
    numbers = sorted({each["attempt"] for each in own if isinstance(each["attempt"], int)})
    for number in numbers:
        mine = [each for each in own if each["attempt"] == number]
        view: Object = {"attempt": number, **_outcome(mine)}
        view.pop("output", None)
        view |= _times(mine)
        if view["status"] == "retrying":
            view["status"] = "failed"
        if (following := due.get(number + 1)) is not None:
            view["nextAttemptAt"] = following
        yield view


def _times(entries: list[Object]) -> Object:
    """Milliseconds for which the last attempt that has ended ran, and waited before that."""
    ended = [each for each in entries if each["eventType"] in _ENDS]
    took = _payload(ended[-1]).get("executionTime") if ended else None
    if not isinstance(took, int):
        return {}
    last = ended[-1]
    own = (each for each in entries if each["attempt"] == last["attempt"])
    began = next(each for each in own if each["eventType"] != "RETRY_SCHEDULED")
    moments = (datetime.fromisoformat(str(each["at"])) for each in (began, last))
    since, until = map(epoch_ms, moments)
    return {"executionTime": took, "queueTime": max(until - since - took, 0)}


def _input(
    held: Held, entries: list[Object], history: list[Object], key: NodeKey
) -> JSON | UnsetType:
    """What its newest attempt was given; UNSET where that is not known, or is nothing."""
    found: JSON | UnsetType = UNSET
    seqs = {each["seq"] for each in entries}
    for each in history:
        if each["eventType"] == "RETRY_REQUESTED":
            match _payload(each).get("edited"):
                case {"stepId": key.node, "input": edited, **rest} if (
                    rest.get("iteration", "") == key.iteration
                ):
                    found = edited
                case _:
                    pass
        elif each["seq"] in seqs and "input" in _payload(each):
            found = _payload(each)["input"]
    planned = held.plan.nodes.get(key.node)
    if found is not UNSET or planned is None or key.node not in held.plan.fixed_inputs:
        return found
    config = planned.node.config
    assert isinstance(config, Task | SubWorkflow)
    if not config.has_input:
        return held.state.input
    try:
        template = held.plan.template(key.node, "input", config.input)
        value = template.render(scope_of(held.plan, held.state, None))
    except ExpressionError:
        return UNSET
    return None if isinstance(value, Undefined) else value


def _payload(entry: Object) -> Object:
    payload = entry["payload"]
    return payload if isinstance(payload, dict) else {}
