"""One step of an instance, from its log: what it was given and gave, its attempts, iterations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from itertools import groupby

from msgspec import UNSET, UnsetType

from tenuto.core import Plan
from tenuto.core.built_in import has_own_input, template_of
from tenuto.core.incomplete_joins import join_message
from tenuto.core.iterations import unended
from tenuto.core.scope import scope_of
from tenuto.core.undo_plan import shown_input
from tenuto.definition.report import did_you_mean
from tenuto.engine.turns.held import Held
from tenuto.expr import ExpressionError, Steps, Undefined
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import NotFound
from tenuto.model.graph import Executed, SubWorkflow
from tenuto.model.ids import NodeKey, path_of
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus

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
    attempts; of one iteration of a loop, its `steps`.
    """
    refuse_unknown(held.plan, step)
    about: Object = {"instanceId": held.state.id, "stepId": step, "iteration": iteration}
    own = [each for each in history if each["nodeId"] == step]
    planned = held.plan.nodes.get(step)
    is_loop = planned is not None and bool(planned.body)
    is_inside = planned is not None and planned.loop is not None
    is_inside |= planned is None and any(each["iteration"] for each in own)
    key = NodeKey(step, iteration)
    depth = _depth(held.plan, step)
    if is_loop and _length(iteration) > depth:
        turn = [each for each in own if each["iteration"] == iteration]
        if not turn:
            raise _no_iteration(held, step, iteration)
        return {**about, **_turn(held, turn, key), "steps": _steps(held, history, key)}
    if is_loop or (is_inside and not iteration):
        turns = [each for each in own if not is_loop or _length(str(each["iteration"])) > depth]
        turns = [each for each in turns if _is_within(str(each["iteration"]), iteration)]
        node = held.state.nodes.get(key)
        if node is not None:
            about |= {"status": node.status.value.lower(), "output": node.output}
            if node.error is not None and node.status is NodeStatus.FAILED:
                about["error"] = {"code": node.error.code, "message": node.error.message}
        if not is_loop:
            return {**about, "iterations": list(_iterations(turns, _summary))}
        children = _children(held.plan.nodes[step].body, history)

        def turn_of(own: list[Object]) -> Object:
            place = NodeKey(step, str(own[0]["iteration"]))
            return _turn(held, own, place) | children.get(place.iteration, {})

        return {**about, "iterations": list(_iterations(turns, turn_of))}
    entries = [each for each in own if each["iteration"] == iteration]
    if not entries and iteration:
        raise _no_iteration(held, step, iteration)
    return {**about, **_activation(held, entries, history, key)}


def _no_iteration(held: Held, step: str, iteration: str) -> NotFound:
    return NotFound(
        f"{step} has no iteration {iteration}",
        advice=f"`tenuto show {held.state.id} --step {step}` lists its iterations.",
    )


def commands_further(found: Object) -> list[str]:
    """The commands that show the steps of an iteration, and the children that it started."""
    steps = found.get("steps")
    rows = [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
    commands = [
        f"tenuto show {found['instanceId']} --step '{row['stepId']}[{row['iteration']}]'"
        for row in rows
        if row["status"] != "not started"
    ]
    return commands + [
        f"tenuto explain {row['childId']}" for row in (found, *rows) if "childId" in row
    ]


def refuse_unknown(plan: Plan, step: str) -> None:
    """NotFound unless the definition has the step."""
    names = [*plan.nodes, *plan.undo_steps]
    if step not in names:
        advice = did_you_mean(step, names, f"It has {', '.join(names[:20])}.")
        raise NotFound(f"there is no step {step!r} in {plan.definition.id}", advice=advice)


def _depth(plan: Plan, step: str) -> int:
    """How many loops are around a step."""
    planned = plan.nodes.get(step)
    loop = None if planned is None else planned.loop
    return 0 if loop is None else 1 + _depth(plan, loop)


def _length(iteration: str) -> int:
    """How many loops a path is in; it may be one that a person has misspelled."""
    return len(iteration.split("/")) if iteration else 0


def _is_within(iteration: str, around: str) -> bool:
    return not around or iteration.startswith(f"{around}/")


def _iterations(
    entries: list[Object], view_of: Callable[[list[Object]], Object]
) -> Iterable[Object]:
    def place(each: Object) -> str:
        return str(each["iteration"])

    entries = sorted(entries, key=lambda each: (path_of(place(each)), each["seq"]))
    for iteration, group in groupby(entries, key=place):
        yield {"iteration": iteration, **view_of(list(group))}


def _turn(held: Held, own: list[Object], key: NodeKey) -> Object:
    """One iteration of a loop."""
    view = _outcome(own)
    found = unended(held.plan, held.state, key)
    if found is not None and found.status is not NodeStatus.RUNNING:
        view["status"] = found.status.value.lower()
        if found.error is not None:
            view["error"] = {"code": found.error.code, "message": found.error.message}
    return view


def _children(body: Collection[str], history: list[Object]) -> dict[str, Object]:
    """By iteration of a loop, the newest child of each step of its body."""
    found: defaultdict[str, dict[str, JSON]] = defaultdict(dict)
    for each in history:
        if each["eventType"] == "CHILD_STARTED" and each["nodeId"] in body:
            found[str(each["iteration"])][str(each["nodeId"])] = _payload(each)["childId"]
    return {iteration: {"childIds": [*ids.values()]} for iteration, ids in found.items()}


def _steps(held: Held, history: list[Object], key: NodeKey) -> list[JSON]:
    """The steps of one iteration of a loop, in the order of the graph."""
    names = sorted(held.plan.nodes[key.node].body, key=held.plan.order_of)
    inside = [each for each in history if each["iteration"] == key.iteration]
    views: list[JSON] = []
    for name in names:
        entries = [each for each in inside if each["nodeId"] == name]
        view: Object = {"stepId": name, "iteration": key.iteration, **_summary(entries)}
        node = held.state.nodes.get(NodeKey(name, key.iteration))
        if node is not None and node.is_loop:
            # Its entries are those of its iterations.
            view["status"] = node.status.value.lower()
        views.append(view)
    return views


def _summary(own: list[Object]) -> Object:
    """An activation of a step in one row: its outcome, times, attempts and child."""
    numbers = [each["attempt"] for each in own if isinstance(each["attempt"], int)]
    count: Object = {"attemptCount": max(numbers)} if numbers else {}
    return {**_outcome(own), **_times(own), **count, **_child(own)}


def _child(own: list[Object]) -> Object:
    """The instance that was started for its newest attempt."""
    found = [_payload(each)["childId"] for each in own if each["eventType"] == "CHILD_STARTED"]
    return {"childId": found[-1]} if found else {}


def _activation(held: Held, entries: list[Object], history: list[Object], key: NodeKey) -> Object:
    view = _outcome(entries)
    if (waits := join_message(held.plan, held.state, key)) is not None:
        view["join"] = waits
    given = _input(held, entries, history, key)
    if given is not UNSET:
        view["input"] = given
        template = _template(held.plan, key)
        if template is not UNSET and template != given:
            view["template"] = template
    return {**view, **_child(entries), "attempts": list(_attempts(entries))}


def _template(plan: Plan, key: NodeKey) -> JSON | UnsetType:
    """Its input as the definition writes it; unset where the definition says nothing."""
    planned = plan.nodes.get(key.node)
    config = None if planned is None else planned.node.config
    if not isinstance(config, Executed | SubWorkflow) or not has_own_input(config):
        return UNSET
    return template_of(config)


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
    return max((at for at, each in enumerate(entries) if _begins(each)), default=-1)


def _begins(entry: Object) -> bool:
    """Whether something of a step begins by it; the timers of an SLA are set beside that."""
    return entry["eventType"] in _BEGINNINGS and _payload(entry).get("kind") != "sla"


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
    """Of the last attempt that has ended: milliseconds that it ran, and waited; its worker."""
    ended = [each for each in entries if each["eventType"] in _ENDS]
    said = _payload(ended[-1]) if ended else {}
    ran: Object = {"worker": said["worker"]} if "worker" in said else {}
    took = said.get("executionTime")
    if not isinstance(took, int):
        return ran
    last = ended[-1]
    own = (each for each in entries if each["attempt"] == last["attempt"])
    began = next(each for each in own if each["eventType"] != "RETRY_SCHEDULED")
    moments = (datetime.fromisoformat(str(each["at"])) for each in (began, last))
    since, until = map(epoch_ms, moments)
    return {"executionTime": took, "queueTime": max(until - since - took, 0), **ran}


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
    if found is UNSET and key.node in held.plan.undo_steps:
        return _undo_input(held, key)
    planned = held.plan.nodes.get(key.node)
    if found is not UNSET or planned is None or key.node not in held.plan.fixed_inputs:
        return found
    config = planned.node.config
    assert isinstance(config, Executed | SubWorkflow)
    if not has_own_input(config):
        return held.state.input
    try:
        template = held.plan.input_template(key.node, config)
        value = template.render(scope_of(held.plan, held.state, None, steps=Steps()))
    except ExpressionError:
        return UNSET
    return None if isinstance(value, Undefined) else value


def _undo_input(held: Held, key: NodeKey) -> JSON | UnsetType:
    """What a compensation step is given that spells no input out, which the log does not repeat.

    Without the state of the instance, as in an undo plan.
    """
    undoing = held.state.compensation
    item = next((each for each in undoing.plan if each.key == key), None) if undoing else None
    try:
        return UNSET if item is None else shown_input(held.plan, held.state, item, Steps())
    except ExpressionError:
        return UNSET


def _payload(entry: Object) -> Object:
    payload = entry["payload"]
    return payload if isinstance(payload, dict) else {}
