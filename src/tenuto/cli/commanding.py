"""`tenuto cancel`, `pause`, `resume`, `retry`: put a command to an instance.

The engine that has the store open decides on commands. When another process holds a file, or the
store is a database, the command is left in the instance's mailbox, and this process waits until it
was taken. When nobody is there, this process opens the store for a moment; tasks are not run, they
wait for a process that has them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from tenuto.cli import exits
from tenuto.cli.asking import asked_there
from tenuto.cli.finding import find_instance
from tenuto.cli.mailing import handed_in, here_or_by_mail, say_how_to_run
from tenuto.cli.places import ServerUrl
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.showing import held_instance
from tenuto.cli.stores import Reader, reading
from tenuto.cli.terminal import say, show, show_json
from tenuto.core import InstanceState, Rejection
from tenuto.core.decide import decide
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict, StoreUnavailable
from tenuto.model.inputs import CancelAsked, CompensationRetryAsked, Input, PauseAsked
from tenuto.model.policy import NO_POLICIES
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.parts.mailbox import Mail

if TYPE_CHECKING:
    from tenuto.app import Tenuto

_END_WITHIN: Final = 15.0


async def command(url: str, text: str, asked: Input, *, is_json: bool) -> int:
    """Put `asked` to the instance that `text` names and tell what became of it."""
    if isinstance(url, ServerUrl):
        row, status = await asked_there(url, text, asked)
        _tell(url, row.id, status, asked, by_others=True, is_json=is_json)
        return exits.DONE
    async with reading(url) as reader:
        row = await find_instance(reader, text)
        held = await held_instance(reader, row.id)
        foreseen = decide(held.plan, held.state, asked, reader.clock.now(), NO_POLICIES)
        if foreseen.rejection is not None:
            raise _conflict(foreseen.rejection)
    # Asking again is no mistake, and nothing to wait for.
    status, by_others = held.state.status, True
    if foreseen.entries:
        status, by_others = await here_or_by_mail(
            url,
            lambda app: _ask_here(app, row.id, asked),
            lambda: _ask_by_mail(url, row.id, asked),
        )
    _tell(url, row.id, status, asked, by_others=by_others, is_json=is_json)
    return exits.DONE


def _tell(
    url: str, id: str, status: Status, asked: Input, *, by_others: bool, is_json: bool
) -> None:
    if is_json:
        show_json({"id": id, "status": status.value})
        return
    mark, _ = STATUS_MARKS[status]
    show(f"{mark} {status.value}  {id}")
    if isinstance(asked, CancelAsked) and not status.is_final:
        say("  Running steps have their grace period, then what completed is undone.")
    goes_on = not status.is_final or isinstance(asked, CompensationRetryAsked)
    if goes_on and not by_others and not isinstance(asked, PauseAsked):
        say_how_to_run(url, id)


def _conflict(refused: Rejection) -> Conflict:
    """The error that the same command raises in Python."""
    return Conflict(refused.message, code=refused.code)


async def _ask_here(app: Tenuto, instance_id: str, asked: Input) -> Status:
    answer = await app.engine.ask(instance_id, asked)
    if answer.rejection is not None:
        raise _conflict(answer.rejection)
    return await _settled(app, instance_id, asked, answer.status)


async def _ask_by_mail(url: str, instance_id: str, asked: Input) -> tuple[Status, bool]:
    async with reading(url) as reader:
        before = await _state(reader, instance_id)
        now = reader.clock.now()
        mail = Mail(
            id=f"cli/{iso(now)}/{SystemIds().short()}",
            instance_id=instance_id,
            input=msgspec.json.encode(asked),
            created_at=now,
        )

        async def look() -> Status | None:
            after = await _state(reader, instance_id)
            return after.status if _took_effect(before, after) else None

        async with handed_in(reader, mail, look) as (status, app):
            if app is None:
                return status, True
            return await _settled(app, instance_id, asked, status), False


async def _settled(app: Tenuto, instance_id: str, asked: Input, status: Status) -> Status:
    """Wait for the end of what was cancelled: nobody else would be there when its grace is over.

    What it then undoes is left to a process that has the tasks.
    """
    if not isinstance(asked, CancelAsked) or status.is_final:
        return status
    say("running steps have their grace period …", style="dim")
    changed = asyncio.Event()
    stop = app.engine.listen(lambda _: changed.set())
    try:
        async with asyncio.timeout(_END_WITHIN):
            while True:
                changed.clear()
                state = (await app.engine.state_of(instance_id)).state
                if state.status.is_final or state.compensation is not None:
                    return state.status
                await changed.wait()
    except (TimeoutError, StoreUnavailable):
        # It is told to end, and does so with the next process at the latest.
        return status
    finally:
        stop()


def _took_effect(before: InstanceState, after: InstanceState) -> bool:
    if before.status.is_final:
        # Nothing but what was asked for makes the log of one that has ended longer.
        return after.version > before.version
    return (
        after.status.is_final
        or (before.pause is None) is not (after.pause is None)
        or (before.cancellation is None) is not (after.cancellation is None)
    )


async def _state(reader: Reader, instance_id: str) -> InstanceState:
    return (await held_instance(reader, instance_id)).state
