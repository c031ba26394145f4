"""One instance as text and JSON: its steps, waits, last error, output and log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.compensation import show_no_undo_plan, show_undo_plan, show_undoing
from tenuto.cli.views.failure import show_failure
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.near_misses import near_event_lines
from tenuto.cli.views.progress import collapsed, elapsed, failed_inside, lines_of
from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago, data, one_line, show, show_line, styled
from tenuto.core import InstanceState
from tenuto.core.ending import output_of
from tenuto.core.view import waits_of
from tenuto.engine.events.event_views import waits_view
from tenuto.engine.events.inspector import NearEvents
from tenuto.engine.turns.held import Held
from tenuto.model.durations import iso
from tenuto.model.graph import Approval
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import Object
from tenuto.model.lengths import length
from tenuto.model.policy import NO_POLICIES, Policies
from tenuto.model.status import Status
from tenuto.store.parts.waits import WaitKey
from tenuto.workspace.instance_views import instance_view

if TYPE_CHECKING:
    from rich.text import Text

_NOT_TAKEN: Final = 0
"""The token of an attempt that no process and no worker has claimed."""
_INDENT: Final = " " * 6
"""Before the second line of an entry."""


def show_instance(  # noqa: PLR0913 - one for each part
    held: Held,
    near: NearEvents,
    now: datetime,
    *,
    foreseen: Object | None,
    history: list[Object] | None,
    with_traceback: bool = False,
    logs: str | None = None,
    policies: Policies = NO_POLICIES,
    turns: Mapping[NodeKey, str] = MappingProxyType({}),
    all_steps: bool = False,
) -> None:
    """An instance, and its undo plan and log where they are given.

    `logs` is the command that shows the lines of the step that failed. `policies`: those of its
    tasks, as far as they are known. `turns`: how far loops were that were cancelled.
    Long stretches of steps at rest are counted on one line, unless `all_steps`.
    """
    _show_head(held, now)
    show(_steps(held, now, policies, turns, all_steps=all_steps))
    _show_end(held, near, now, with_traceback=with_traceback, logs=logs)
    if foreseen is not None and held.state.status.is_final:
        show_no_undo_plan(held.state)
    elif foreseen is not None:
        show_undo_plan(foreseen)
    if history is not None:
        show("")
        show(_log(history, held.state.created_at))


def instance_json(
    held: Held, near: NearEvents, *, foreseen: Object | None, history: list[Object] | None
) -> Object:
    """The same as JSON."""
    view = instance_view(held)
    view["waits"] = waits_view(held, near)
    if foreseen is not None:
        view["undoPlan"] = None if held.state.status.is_final else foreseen
    if history is not None:
        view["history"] = [*history]
    return view


def _show_head(held: Held, now: datetime) -> None:
    state = held.state
    mark, style = STATUS_MARKS[state.status]
    show(styled(f"{mark} {state.status.value}", style, f"  {state.id}"))
    facts = [
        ("workflow", f"{state.definition_id}@{state.definition_version}"),
        ("started", f"{ago(state.created_at, now)}{_took(state, now)}"),
        ("input", one_line(state.input)),
    ]
    if state.parent is not None:
        facts.append(("a step of", f"{state.parent.id}  {state.parent.node}"))
    if state.schedule is not None:
        tick = f"tick of {iso(state.schedule.nominal)}"
        facts.append(("schedule", f"{state.schedule.id}  {tick}"))
    if state.rerun_of is not None:
        facts.append(("rerun of", f"{state.rerun_of}{_rerun_from(held)}"))
    if state.correlation_id is not None:
        facts.append(("correlates", state.correlation_id))
    if state.pause is not None:
        facts.append(("paused by", f"{state.pause.by}  {state.pause.reason or ''}".rstrip()))
    facts.append(("log", f"{state.version} entries"))
    for name, value in facts:
        show(styled(f"  {name:<10}", "dim", f"  {value}"))
    show("")


def _rerun_from(held: Held) -> str:
    """The step that a rerun began at: the first one behind steps that were taken over."""
    taken = {key.node for key, node in held.state.nodes.items() if node.is_taken_over}
    if not taken:
        return "  from the beginning"
    first = [
        name
        for name, planned in held.plan.nodes.items()
        if name not in taken and any(edge.source in taken for edge in planned.incoming)
    ]
    begun = f"from {first[0]}, " if len(first) == 1 else ""
    return f"  {begun}took over {', '.join(sorted(taken, key=lambda name: held.plan[name].order))}"


def _took(state: InstanceState, now: datetime) -> str:
    return f", took {length(elapsed(state, now))}" if state.status.is_final else ""


def _steps(
    held: Held,
    now: datetime,
    policies: Policies,
    turns: Mapping[NodeKey, str],
    *,
    all_steps: bool,
) -> Text:
    from rich.text import Text

    rows: list[list[str | Text]] = []
    steps = lines_of(held.plan, held.state, now, policies)
    lines = [
        *(steps if all_steps else collapsed(steps)),
        *failed_inside(held.plan, held.state, now),
    ]
    for line in lines:
        node = held.state.nodes.get(NodeKey(line.step))
        output = cell(node.output, 60) if node is not None and node.output is not None else ""
        said = line.note
        if node is not None and held.jobs.get((line.step, "", node.attempt)) == _NOT_TAKEN:
            said = f"not taken yet, {said}"
        if turned := turns.get(NodeKey(line.step)):
            said = f"{said}  {turned.removesuffix(', ')}"
        note = Text(said, style=line.style if line.style != "green" else "")
        if line.detail:
            note.append(f"  {line.detail}", style="red")
        rows.append([Text(f"{line.mark} {line.step}", style=line.style), note, output])
    if not any(row[2] for row in rows):
        return table_of(("  STEP", ""), [row[:2] for row in rows], whole=1)
    longest = max((len(row[0]) + len(row[1]) for row in rows), default=0)
    # The state of a step matters more than its output; on a narrow terminal both are cut.
    return table_of(("  STEP", "", "OUTPUT"), rows, whole=2 if longest < data().width - 20 else 1)


def _show_end(
    held: Held, near: NearEvents, now: datetime, *, with_traceback: bool, logs: str | None
) -> None:
    state = held.state
    for wait in waits_of(held.plan, state, in_full=True):
        assert isinstance(wait, dict)
        if "approval" in wait:
            _show_approval(held, NodeKey(str(wait["stepId"]), str(wait["iteration"])))
            continue
        condition = f" where {wait['eventCondition']}" if wait["eventCondition"] else ""
        show("")
        show(styled("waits", "bold", f"  for {wait['eventPattern']}{condition}"))
        until = f", until {wait['timeoutAt']}" if wait["timeoutAt"] else ""
        show_line(f"  since {wait['since']}{until}")
        names = (str(wait.get(name, "")) for name in ("stepId", "iteration", "armId"))
        for line in near_event_lines(near.get(WaitKey(state.id, *names), []), now):
            show_line(f"  {line}")
    if state.last_error is not None:
        show_failure(state.last_error, with_traceback=with_traceback, logs=logs)
    if state.cancellation is not None:
        cancellation = state.cancellation
        show("")
        why = cancellation.reason or "no reason given"
        show(styled("cancelled", "bold", f"  by {cancellation.requested_by}: {why}"))
    show_undoing(state)
    if state.status is Status.COMPLETED:
        show("")
        show(styled("output", "bold", f"  {one_line(output_of(held.plan, state), 1000)}"))


def _show_approval(held: Held, key: NodeKey) -> None:
    """Who may decide, until when, and on what form."""
    state, config = held.state, held.plan[key.node].node.config
    node = state.nodes[key]
    assert isinstance(config, Approval)
    asked = node.approval
    assert asked is not None
    name = f"{key.node}[{key.iteration}]" if key.iteration else key.node
    show("")
    show(styled("decision", "bold", f"  on {name}: for {asked.assignees}"))
    since = f"since {iso(node.started_at)}" if node.started_at else ""
    deadline = state.timers.get(TimerKey(TimerKind.WAIT_TIMEOUT, key.node, key.iteration))
    facts = [
        since,
        f"until {iso(deadline.due)}" if deadline else "",
        f"reminders: {asked.reminded}" if asked.reminded else "",
        f"escalated {iso(asked.escalated_at)}" if asked.escalated_at else "",
    ]
    show_line(f"  {', '.join(fact for fact in facts if fact)}")
    if config.form_schema is not None:
        show(f"  form {one_line(config.form_schema, 1000)}")


def _log(history: list[Object], start: datetime) -> Text:
    rows: list[list[str | Text]] = []
    for item in history:
        moment = datetime.fromisoformat(str(item["at"]))
        rows.append(
            [
                str(item["seq"]),
                length(moment - start),
                str(item["eventType"]),
                _step(item),
                str(item["attempt"]) if item["nodeId"] else "",
                _said(item),
            ]
        )
    return table_of(("SEQ", "AFTER", "ENTRY", "STEP", "TRY", ""), rows, whole=5)


def entry_line(item: Object, start: datetime) -> str:
    """An entry of the log on a line of its own."""
    after = length(datetime.fromisoformat(str(item["at"])) - start)
    step = _step(item) or "-"
    line = f"{item['seq']:>4}  {after:>8}  {item['eventType']:<24}  {step:<12}"
    said = _said(item)
    if not data().is_terminal or len(line) + len(said) + 2 <= data().width:
        return f"{line}  {said}".rstrip()
    # The columns stay; what the entry says has a line of its own.
    return f"{line.rstrip()}\n{_INDENT}{one_line(said, max(data().width - len(_INDENT), 20))}"


def _step(item: Object) -> str:
    """The step that an entry is about."""
    iteration = f"[{item['iteration']}]" if item["iteration"] else ""
    return f"{item['nodeId']}{iteration}" if item["nodeId"] else ""


def _said(item: Object) -> str:
    """The error of an entry, or else its payload."""
    payload = item["payload"]
    return cell(str(item["errorMessage"] or "") or payload or "", 100)
