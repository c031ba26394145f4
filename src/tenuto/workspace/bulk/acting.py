"""Doing it to one of many."""

from __future__ import annotations

from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.model.status import Status
from tenuto.workspace.bulk.asked import Action, BulkAsked, ItemFailure
from tenuto.workspace.engine_workspace import EngineWorkspace


async def act(
    workspace: EngineWorkspace, asked: BulkAsked, id: str, *, is_repeat: bool
) -> ItemFailure | None:
    """Do it; why it could not be done. What passes by itself is raised, to be tried again.

    `is_repeat`: whether somebody may have done it who could not say so any more.
    """
    try:
        if asked.target == "dead-letters":
            await _see_to_letter(workspace, asked, id)
        else:
            await _steer(workspace, asked, id)
    except (StoreUnavailable, Overloaded):
        raise
    except Conflict as error:
        if is_repeat and _shows_that_it_was_done(asked.action, error):
            return None
        return _failure(id, error)
    except TenutoError as error:
        return _failure(id, error)
    return None


async def _see_to_letter(workspace: EngineWorkspace, asked: BulkAsked, id: str) -> None:
    try:
        await workspace.dead_letter(id)
    except NotFound:
        # A letter goes with what is done about it: maybe by this, for another of its instance.
        return
    if asked.action == "retry":
        await workspace.retry_dead_letter(id)
    else:
        await workspace.discard_dead_letter(id)


async def _steer(workspace: EngineWorkspace, asked: BulkAsked, id: str) -> None:
    instance = workspace.at(id)
    match asked.action:
        case "cancel":
            await instance.cancel(asked.reason, should_compensate=asked.should_compensate)
        case "pause":
            await instance.pause(asked.reason)
        case "resume":
            await instance.resume()
        case _:
            await instance.retry()


def _shows_that_it_was_done(action: Action, refused: Conflict) -> bool:
    """Whether an instance stands where it would if the action had been taken before."""
    match action:
        case "pause":
            return refused.status is Status.PAUSED
        case "resume":
            return refused.status not in (None, Status.PAUSED)
        case "retry":
            return refused.status not in (None, Status.FAILED)
        case _:
            return False  # What is being cancelled may be asked to again.


def _failure(id: str, error: TenutoError) -> ItemFailure:
    return ItemFailure(id=id, code=error.code, message=error.message)
