"""How what is undone, was undone or would be undone is shown."""

from __future__ import annotations

from tenuto.cli.terminal import one_line, show, styled
from tenuto.core import InstanceState
from tenuto.core.view import compensation_view
from tenuto.model.json import JSON, Object


def show_undoing(state: InstanceState) -> None:
    """How far an instance is with undoing what it had done."""
    found = compensation_view(state.compensation)
    if not isinstance(found, dict):
        return
    undoing = state.compensation
    assert undoing is not None
    done, plan = _listed(found, "completed"), _listed(found, "plan")
    show("")
    show(styled("undone", "bold", f"  {len(done)} of {len(plan)}  {found['status']}"))
    if undoing.place is not None:
        step, iteration, attempt = undoing.place
        place = f"{step}[{iteration}]" if iteration else step
        show(f"  now     {place}, attempt {attempt}")
    for failed in _listed(found, "failed"):
        assert isinstance(failed, dict)
        show(f"  failed  {failed['stepId']}: {one_line(failed['error'])}")


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
        show(f"  {number}  {step}  for {item['compensationFor']}  {one_line(given, 100)}")
    for each in skipped:
        assert isinstance(each, dict)
        show(f"  -  {each['stepId']}  {_REASONS.get(str(each['reason']), each['reason'])}")


_REASONS = {
    "condition": "its condition does not hold",
    "not-completed": "what it undoes has not completed",
}


def _listed(owner: Object, name: str) -> list[JSON]:
    found = owner[name]
    assert isinstance(found, list)
    return found
