"""What a command would do, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenuto.cli.foreseen import Basis, Foreseen, basis_of, of_retry, refuse
from tenuto.cli.views.advice import Advice, say_advice, with_warnings
from tenuto.cli.views.terminal import say, show, show_json
from tenuto.model.errors import TenutoError
from tenuto.model.inputs import CancelAsked, PauseAsked, ResumeAsked
from tenuto.model.json import Object
from tenuto.model.status import Status

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.engine.turns.held import Held


async def show_foreseen(
    backend: Backend, id: str, action: str, *, is_json: bool, is_edited: bool = False
) -> None:
    """What a command to one instance would do; its refusal, where it would be refused."""
    if action == "cancel":
        await _show_undoing(backend, id, is_json=is_json)
        return
    if action == "retry" and await _is_released_alone(backend, id):
        said = "it would be released from quarantine, and go on where it stood"
        _show(id, action, {"released": True}, [f"  {said}"], is_json=is_json)
        return
    held = await backend.held(id)
    if action == "retry":
        found = of_retry(held, backend)
        basis = await basis_of_state(backend, held, is_edited=is_edited)
        show_steps(id, action, found, basis, is_json=is_json)
        return
    is_pause = action == "pause"
    refuse(held, PauseAsked(by="cli") if is_pause else ResumeAsked(by="cli"), backend)
    said = "no step would be started any more" if is_pause else "its steps would go on"
    _show(id, action, {}, [f"  {said}"], is_json=is_json)


def show_steps(
    id: str,
    action: str,
    found: Foreseen,
    basis: Basis,
    *,
    is_json: bool,
    warnings: Sequence[Advice] = (),
) -> None:
    """The steps that would be kept, those that would run, and what they would run with."""
    view = with_warnings({**basis.view(), **found.view()}, warnings)
    _show(id, action, view, [*basis.lines(), *found.lines()], is_json=is_json)
    if not is_json:
        say_advice(warnings)


async def basis_of_state(backend: Backend, held: Held, *, is_edited: bool = False) -> Basis:
    """What an instance that goes on goes on with."""
    state = held.state
    return await basis_of(
        backend, state.definition_id, state.definition_version, is_edited=is_edited
    )


async def say_retry(backend: Backend, id: str, *, is_edited: bool = False) -> None:
    """Tell people what a retry does again; a refusal is left to the retry itself."""
    try:
        if await _is_released_alone(backend, id):
            return
        held = await backend.held(id)
        found = of_retry(held, backend)
    except TenutoError:
        return
    basis = await basis_of_state(backend, held, is_edited=is_edited)
    for line in [*basis.lines(), *found.lines()]:
        say(line, style="dim")


async def _show_undoing(backend: Backend, id: str, *, is_json: bool) -> None:
    from tenuto.cli.views.compensation import show_undo_plan

    refuse(await backend.held(id), CancelAsked(by="cli"), backend)
    plan = await backend.space.at(id).undo_plan()
    if is_json:
        show_json({"id": id, "action": "cancel", "dryRun": True, "undoPlan": plan})
        return
    show(f"cancel {id}")
    show_undo_plan(plan)


async def _is_released_alone(backend: Backend, id: str) -> bool:
    """Whether it is quarantined, and a retry would only release it."""
    explained = await backend.space.at(id).explain()
    causes = explained["causes"]
    assert isinstance(causes, list)
    first = causes[0]
    assert isinstance(first, dict)
    return first["kind"] == "quarantined" and explained["status"] != Status.FAILED.value


def _show(id: str, action: str, view: Object, lines: list[str], *, is_json: bool) -> None:
    if is_json:
        show_json({"id": id, "action": action, "dryRun": True, **view})
        return
    show(f"{action} {id}")
    for line in lines:
        show(line)
