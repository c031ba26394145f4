"""`tenuto cancel`, `pause`, `resume`, `retry`: put a command to an instance.

The engine that has the store open decides on commands. When another process holds it, the command
is left in the instance's mailbox, and this one waits until it was taken. When nobody holds it, this
process opens it for a moment; tasks are not run, they wait for a process that has them.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from typing import Final

import msgspec

from tenuto.cli import exits
from tenuto.cli.finding import find_instance
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.running import engine
from tenuto.cli.showing import held_instance
from tenuto.cli.stores import Reader, reading, store_flag
from tenuto.cli.terminal import say, show, show_json
from tenuto.core import InstanceState, Rejection
from tenuto.core.decide import decide
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict, StoreUnavailable
from tenuto.model.inputs import CancelAsked, Input, RetryAsked
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.protocol import Mail

LOCKED: Final = "TEN-4002"
TAKEN_WITHIN: Final = 10.0
"""Seconds that a running engine has to take a command from its mailbox."""
_LOOK_EVERY: Final = 0.1
_END_WITHIN: Final = 15.0


async def command(url: str, text: str, asked: Input, *, is_json: bool) -> int:
    """Put `asked` to the instance that `text` names and tell what became of it."""
    async with reading(url) as reader:
        row = await find_instance(reader.store, text)
        held = await held_instance(reader, row.id)
        refused = decide(held.plan, held.state, asked, reader.clock.now()).rejection
        if refused is not None:
            raise _conflict(refused)
    is_held = False
    try:
        status = await _ask_here(url, row.id, asked)
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        is_held = True
        status = await _ask_by_mail(url, row.id, asked)
    if is_json:
        show_json({"id": row.id, "status": status.value})
    else:
        mark, _ = STATUS_MARKS[status]
        show(f"{mark} {status.value}  {row.id}")
        if isinstance(asked, CancelAsked) and not status.is_final:
            say("  Running steps have been told to stop and have their grace period.")
        if isinstance(asked, RetryAsked) and not (is_held or status.is_final):
            say("  No process has the store open. To run its steps:")
            say(f"    tenuto run --instance {row.id} --tasks MODULE|FILE{store_flag(url)}")
    return exits.DONE


def _conflict(refused: Rejection) -> Conflict:
    """The error that the same command raises in Python."""
    return Conflict(refused.message, code=refused.code)


async def _ask_here(url: str, instance_id: str, asked: Input) -> Status:
    with redirect_stdout(sys.stderr):
        async with engine(url, is_brief=True) as app:
            answer = await app.engine.ask(instance_id, asked)
            if answer.rejection is not None:
                raise _conflict(answer.rejection)
            if not isinstance(asked, CancelAsked) or answer.status.is_final:
                return answer.status
            # Nobody else would be there to end it once the grace period is over.
            say("running steps have their grace period …", style="dim")
            try:
                async with asyncio.timeout(_END_WITHIN):
                    return (await app.engine.final_state(instance_id)).state.status
            except TimeoutError:
                return answer.status


async def _ask_by_mail(url: str, instance_id: str, asked: Input) -> Status:
    async with reading(url) as reader:
        before = await _state(reader, instance_id)
        now = reader.clock.now()
        mail = Mail(
            id=f"cli/{iso(now)}/{SystemIds().short()}",
            instance_id=instance_id,
            input=msgspec.json.encode(asked),
            created_at=now,
        )
        await reader.store.send([mail])
        say("left it for the process that has the store open …", style="dim")
        return (await _taken(reader, before)).status


async def _taken(reader: Reader, before: InstanceState) -> InstanceState:
    """Wait until the log has grown by what was asked."""
    try:
        async with asyncio.timeout(TAKEN_WITHIN):
            while True:
                after = await _state(reader, before.id)
                if _took_effect(before, after):
                    return after
                await reader.clock.sleep(_LOOK_EVERY)
    except TimeoutError:
        raise StoreUnavailable(
            f"the command was left, but not taken within {TAKEN_WITHIN:g} s",
            code=LOCKED,
            advice="It stays in the mailbox and is taken as soon as that process looks there.",
        ) from None


def _took_effect(before: InstanceState, after: InstanceState) -> bool:
    if before.status.is_final:
        # Nothing but a retry makes the log of one that has ended longer.
        return after.version > before.version
    return (
        after.status.is_final
        or (before.pause is None) is not (after.pause is None)
        or (before.cancellation is None) is not (after.cancellation is None)
    )


async def _state(reader: Reader, instance_id: str) -> InstanceState:
    return (await held_instance(reader, instance_id)).state
