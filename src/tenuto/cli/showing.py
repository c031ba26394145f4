"""`tenuto show`: one instance as its log says it is now."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli import exits
from tenuto.cli.errors import raised_at
from tenuto.cli.finding import find_instance
from tenuto.cli.looking import Looker, looking_at
from tenuto.cli.moments import ago, length
from tenuto.cli.near_lines import near_event_lines
from tenuto.cli.progress import STATUS_MARKS, elapsed, lines_of
from tenuto.cli.tables import table_of
from tenuto.cli.terminal import data, one_line, show, show_json, styled
from tenuto.cli.undoing import show_undo_plan, show_undoing
from tenuto.core import InstanceState
from tenuto.core.ending import output_of
from tenuto.core.foreseen_undo import undo_plan
from tenuto.core.view import waits_of
from tenuto.engine.events.event_views import waits_view
from tenuto.engine.events.inspector import NearEvents
from tenuto.engine.turns.held import Held
from tenuto.instances import instance_view
from tenuto.model.durations import iso
from tenuto.model.graph import Approval
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.waits import WaitKey

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


async def show_instance(
    url: str, text: str, *, with_history: bool, with_undo_plan: bool, is_json: bool
) -> int:
    """Print an instance, and its log or what cancelling it would undo if asked for."""
    async with looking_at(url) as reader:
        row = await find_instance(reader, text)
        held = await reader.held(row.id)
        history = await reader.history(row.id) if with_history else None
        near = await reader.near_events(held)
        now = reader.clock.now()
    foreseen = undo_plan(held.plan, held.state, CancelAsked(by="cli")) if with_undo_plan else None
    if is_json:
        view = instance_view(held)
        view["waits"] = waits_view(held, near)
        if foreseen is not None:
            view["undoPlan"] = foreseen
        if history is not None:
            items: list[JSON] = list(history)
            view["history"] = items
        show_json(view)
        return exits.DONE
    _show_head(held, now)
    show(_steps(held, now))
    _show_end(held, near, now)
    if foreseen is not None:
        show_undo_plan(foreseen)
    if history is not None:
        show("")
        show(_log(history, held.state.created_at))
    return exits.DONE


async def held_instance(reader: Looker, instance_id: str) -> Held:
    """An instance from its log."""
    return await reader.held(instance_id)


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
    if state.correlation_id is not None:
        facts.append(("correlates", state.correlation_id))
    if state.pause is not None:
        facts.append(("paused by", f"{state.pause.by}  {state.pause.reason or ''}".rstrip()))
    facts.append(("log", f"{state.version} entries"))
    for name, value in facts:
        show(styled(f"  {name:<10}", "dim", f"  {value}"))
    show("")


def _took(state: InstanceState, now: datetime) -> str:
    return f", took {length(elapsed(state, now))}" if state.status.is_final else ""


def _steps(held: Held, now: datetime) -> Table:
    from rich.text import Text

    rows: list[list[str | Text]] = []
    for line in lines_of(held.plan, held.state, now):
        node = held.state.nodes.get(NodeKey(line.step))
        output = one_line(node.output, 60) if node is not None and node.output is not None else ""
        note = Text(line.note, style=line.style if line.style != "green" else "")
        if line.detail:
            note.append(f"  {line.detail}", style="red")
        rows.append([Text(f"{line.mark} {line.step}", style=line.style), note, output])
    if not any(row[2] for row in rows):
        return table_of(("  STEP", ""), [row[:2] for row in rows], whole=1)
    longest = max((len(row[0]) + len(row[1]) for row in rows), default=0)
    # Where a step stands matters more than what it gave; on a narrow terminal both are cut.
    return table_of(("  STEP", "", "OUTPUT"), rows, whole=2 if longest < data().width - 20 else 1)


def _show_end(held: Held, near: NearEvents, now: datetime) -> None:
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
        show(f"  since {wait['since']}{until}")
        names = (str(wait.get(name, "")) for name in ("stepId", "iteration", "armId"))
        for line in near_event_lines(near.get(WaitKey(state.id, *names), []), now):
            show(f"  {line}")
    if state.last_error is not None:
        error = state.last_error
        show("")
        place = f" in {error.step_id}, attempt {error.attempt}" if error.step_id else ""
        show(styled("last error", "bold red", f"  {error.code}{place}: {error.message}"))
        if (raised := raised_at(error.details)) is not None:
            show(f"  raised at {raised}")
        elif error.details is not None:
            show(f"  details   {one_line(error.details)}")
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
    """Who may decide, until when, on what form, and what to type."""
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
    show(f"  {', '.join(fact for fact in facts if fact)}")
    form = ""
    if config.form_schema is not None:
        form = " --form JSON"
        show(f"  form {one_line(config.form_schema, 1000)}")
    show(f"  tenuto decide {state.id} {shlex.quote(name)} approved --by NAME{form}  (or rejected)")


def _log(history: list[Object], start: datetime) -> Table:
    rows: list[list[str | Text]] = []
    for item in history:
        moment = datetime.fromisoformat(str(item["at"]))
        payload = item["payload"]
        rows.append(
            [
                str(item["seq"]),
                length(moment - start),
                str(item["eventType"]),
                _step(item),
                str(item["attempt"]) if item["nodeId"] else "",
                one_line(str(item["errorMessage"] or (_plain(payload) if payload else "")), 100),
            ]
        )
    return table_of(("SEQ", "AFTER", "ENTRY", "STEP", "TRY", ""), rows, whole=5)


def _step(item: Object) -> str:
    iteration = f"[{item['iteration']}]" if item["iteration"] else ""
    return f"{item['nodeId']}{iteration}" if item["nodeId"] else ""


def _plain(value: JSON) -> str:
    return msgspec.json.encode(value).decode()
