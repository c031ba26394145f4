"""One action on one item of a bulk operation."""

from __future__ import annotations

from functools import partial

from tenuto.engine.engine import Engine
from tenuto.model.durations import parse_moment
from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.model.status import Status
from tenuto.workspace.bulk.request import Action, BulkAsked, ItemFailure
from tenuto.workspace.dead_letters import DeadLetters
from tenuto.workspace.instance import InstanceRef


async def act(
    engine: Engine, tenant: str, asked: BulkAsked, id: str, *, is_repeat: bool
) -> ItemFailure | None:
    """Act on one item and give why it failed; passing failures are raised, to be tried again.

    `is_repeat`: whether a process may have done it that died before it could record that.
    """
    try:
        if asked.is_backfill:
            return await _start_tick(engine, tenant, asked, id)
        if not asked.is_on_instances:
            own = partial(InstanceRef, engine, tenant=tenant, by=asked.by, is_known=True)
            await _act_on_letter(DeadLetters(engine.store, tenant, own), asked, id)
        else:
            await _command(InstanceRef(engine, id, tenant=tenant, by=asked.by), asked)
    except (StoreUnavailable, Overloaded):
        raise
    except Conflict as error:
        if is_repeat and _is_done_already(asked.action, error):
            return None
        return _failure(id, error)
    except TenutoError as error:
        return _failure(id, error)
    return None


async def _start_tick(engine: Engine, tenant: str, asked: BulkAsked, id: str) -> ItemFailure | None:
    """Start the tick of a nominal time; one that was started before is not started again."""
    which = asked.which
    assert which.schedule_id is not None
    tick = await engine.schedules.backfill_tick(
        tenant, which.schedule_id, parse_moment(id), overlap=asked.overlap
    )
    if tick.outcome in ("started", "queued"):
        return None
    return ItemFailure(id=id, code="TEN-3090", message=tick.reason or f"it was {tick.outcome}")


async def _act_on_letter(letters: DeadLetters, asked: BulkAsked, id: str) -> None:
    try:
        await letters.row(id)
    except NotFound:
        # The letter is gone: maybe by this action, for another letter of its instance.
        return
    if asked.action == "retry":
        await letters.retry(id)
    else:
        await letters.discard(id)


async def _command(instance: InstanceRef, asked: BulkAsked) -> None:
    match asked.action:
        case "cancel":
            await instance.cancel(asked.reason, should_compensate=asked.should_compensate)
        case "pause":
            await instance.pause(asked.reason)
        case "resume":
            await instance.resume()
        case _:
            await instance.retry()


def _is_done_already(action: Action, refused: Conflict) -> bool:
    """Whether the status is the one that the action leads to."""
    match action:
        case "pause":
            return refused.status is Status.PAUSED
        case "resume":
            return refused.status not in (None, Status.PAUSED)
        case "retry":
            return refused.status not in (None, Status.FAILED)
        case _:
            return False  # Cancelling again is no conflict.


def _failure(id: str, error: TenutoError) -> ItemFailure:
    return ItemFailure(id=id, code=error.code, message=error.public_message)
