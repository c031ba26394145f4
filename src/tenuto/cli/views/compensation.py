"""Compensation as text: under way, done, and planned."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.terminal import one_line, say, say_command, show, show_line, styled
from tenuto.core import InstanceState
from tenuto.core.state import Compensation
from tenuto.core.view import compensation_view
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.ids import NodeKey

_MOST_SHOWN: Final = 50
"""Items of a plan that are shown, besides those that failed."""


def show_undoing(state: InstanceState) -> None:
    """The progress of the compensation of an instance."""
    found = compensation_view(state.compensation)
    if not isinstance(found, dict):
        return
    undoing = state.compensation
    assert undoing is not None
    done, plan = _listed(found, "completed"), _listed(found, "plan")
    show("")
    show(styled("undone", "bold", f"  {len(done)} of {len(plan)}  {found['status']}"))
    left_out = 0
    for place, item in enumerate(undoing.plan):
        if place >= _MOST_SHOWN and place not in undoing.failed and place != undoing.current:
            left_out += 1
            continue
        shown = f"{_name(undoing, place)}  for {item.compensation_for}"
        show_line(f"  {place + 1}  {shown}  {_result(undoing, place)}")
    if left_out:
        show_line(f"     {left_out} more (-o json shows all)")
    for each in undoing.skipped:
        name = f"{each.step_id}[{each.iteration}]" if each.iteration else each.step_id
        show_line(f"  -  {name}  skipped: {_REASONS.get(each.reason, each.reason)}")


def _result(undoing: Compensation, place: int) -> str:
    """What has become of an item of the plan."""
    if place == undoing.current:
        attempt = f", attempt {undoing.place[2]}" if undoing.place is not None else ""
        return f"under way{attempt}"
    if (error := undoing.failed.get(place)) is not None:
        return f"failed: {one_line(f'{error.code}: {error.message}')}"
    if place < undoing.position:
        return "done"
    return "to come" if undoing.is_under_way else "not done: the undo was broken off"


async def undoing_again(backend: Backend, id: str, step: NodeKey) -> Object:
    """What has become of a compensation step that was asked to run again, as far as it is known."""
    undoing = (await backend.held(id)).state.compensation
    view: Object = {"stepId": step.node, "iteration": step.iteration, "status": "under way"}
    if undoing is None:
        return view
    place = next((at for at, item in enumerate(undoing.plan) if item.key == step), None)
    if place is None or place == undoing.current:
        return view
    if (error := undoing.failed.get(place)) is not None:
        return {**view, "status": "failed", "error": f"{error.code}: {error.message}"}
    return {**view, "status": "done"} if place < undoing.position else view


async def say_undoing_again(backend: Backend, id: str, step: NodeKey) -> None:
    """Tell people the same, and how to look at it."""
    found = await undoing_again(backend, id, step)
    name = f"{step.node}[{step.iteration}]" if step.iteration else step.node
    said = {
        "under way": f"{name} runs again; to look at it:",
        "done": f"{name} ran again, and is done; to look at it:",
        "failed": f"{name} ran again and failed, {found.get('error')}; to look at it:",
    }
    say(f"  {said[str(found['status'])]}")
    say_command(f"tenuto show {id} --step {shlex.quote(name)}{backend.flag}")


def undone_since(before: Compensation | None, after: Compensation | None) -> list[str]:
    """A line for each compensation step that has ended between two states."""
    if after is None or after is before:
        return []
    first = 0 if before is None else before.position
    lines: list[str] = []
    for place in range(first, after.position):
        name, error = _name(after, place), after.failed.get(place)
        lines.append(f"↶ {name}  undone" if error is None else f"✗ {name}  {error.message}")
    return lines


def under_way(undoing: Compensation | None) -> str | None:
    """The compensation that runs now, on one line."""
    if undoing is None or undoing.current is None:
        return None
    how_far = f"{undoing.current + 1}/{len(undoing.plan)}"
    return f"↶ {_name(undoing, undoing.current)}  undoing {how_far}"


def _name(undoing: Compensation, place: int) -> str:
    item = undoing.plan[place]
    return f"{item.step_id}[{item.iteration}]" if item.iteration else item.step_id


def show_no_undo_plan(state: InstanceState) -> None:
    """That an ended instance cannot be cancelled, and what was undone of it."""
    undoing = state.compensation
    names: list[str] = []
    if undoing is not None:
        done = (each for each in range(undoing.position) if each not in undoing.failed)
        names = [_name(undoing, place) for place in done]
    said = f"undone: {', '.join(names)}" if names else "nothing was undone"
    show("")
    show(styled("undo plan", "bold", f"  none: it has ended; {said}"))


def show_undo_plan(foreseen: Object) -> None:
    """What would be undone, in this order, and what not."""
    show("")
    plan, skipped = _listed(foreseen, "plan"), _listed(foreseen, "skipped")
    how_many = f"{len(plan)} of its steps" if plan else "nothing"
    show(styled("undo plan", "bold", f"  cancelling it would undo {how_many}"))
    for number, item in enumerate(plan, 1):
        assert isinstance(item, dict)
        given = f"cannot be worked out: {item['error']}" if "error" in item else item["input"]
        step = f"{item['stepId']}[{item['iteration']}]" if item["iteration"] else item["stepId"]
        show_line(f"  {number}  {step}  for {item['compensationFor']}  {one_line(given, 100)}")
    for child in _listed(foreseen, "children") if "children" in foreseen else ():
        assert isinstance(child, dict)
        show_line(f"  &  {child['stepId']}  {child['instanceId']} is cancelled, and undoes itself")
    for each in skipped:
        assert isinstance(each, dict)
        show_line(f"  -  {each['stepId']}  {_REASONS.get(str(each['reason']), each['reason'])}")


_REASONS = {
    "condition": "its condition does not hold",
    "not-completed": "what it undoes has not completed",
    "taken-over": "what it undoes ran in the earlier instance",
}


def _listed(owner: Object, name: str) -> list[JSON]:
    found = owner[name]
    assert isinstance(found, list)
    return found
