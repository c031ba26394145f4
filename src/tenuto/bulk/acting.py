"""Doing it to one of many."""

from __future__ import annotations

from tenuto.bulk.asked import BulkAsked, ItemFailure
from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.workspace import Workspace


async def act(
    workspace: Workspace, asked: BulkAsked, id: str, *, is_repeat: bool
) -> ItemFailure | None:
    """Do it; why it could not be done. What passes by itself is raised, to be tried again.

    `is_repeat`: whether somebody may have done it who could not say so any more.
    """
    try:
        await _do(workspace, asked, id)
    except (StoreUnavailable, Overloaded):
        raise
    except (Conflict, NotFound) as error:
        return None if is_repeat else ItemFailure(id=id, code=error.code, message=error.message)
    except TenutoError as error:
        return ItemFailure(id=id, code=error.code, message=error.message)
    return None


async def _do(workspace: Workspace, asked: BulkAsked, id: str) -> None:
    if asked.target == "dead-letters":
        if asked.action == "retry":
            await workspace.retry_dead_letter(id)
        else:
            await workspace.discard_dead_letter(id)
        return
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
