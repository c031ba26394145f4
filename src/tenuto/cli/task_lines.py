"""Prints what the tasks of an instance logged and printed, once or until it has ended."""

from __future__ import annotations

import asyncio
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tenuto.cli import exits
from tenuto.cli.live_feed import first_of, interruptible, unless
from tenuto.cli.lookup import find_instance
from tenuto.cli.views.terminal import as_called, say, say_command, show, show_as_it_is
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.engine.turns.held import Held
    from tenuto.workspace.protocol import Instance

_LOOK_EVERY: Final = 0.7
"""Seconds between polls: lines are not part of the log whose growth is notified."""
_LAST_LINES: Final = 1.0
"""Seconds after the end of an instance in which its last lines are written, or more of them."""
_NAME: Final = 16
_KIND: Final = 8


class Wanted(NamedTuple):
    """Which lines are asked for."""

    step: str | None = None
    iteration: str | None = None
    attempt: int | None = None


async def show_lines(
    backend: Backend, text: str, which: Wanted, *, follows: bool, is_json: bool
) -> int:
    """Print each line, in JSON with all that is known of it."""
    id = (await find_instance(backend.space, text)).id
    printer = _Printer(backend.space.at(id), which, is_json=is_json)
    if not follows:
        await printer.look()
        if not printer.seen and not is_json:
            _say_none(id, which, backend.flag)
        return exits.DONE
    with interruptible() as stopped:
        begun = await backend.held(id)
        # Inside, a server that is begun again is waited for; lines that it had are not lost.
        async with backend.watching(id, begun.state.version):
            held: Held | None = begun
            while held is not None and not held.state.has_ended:
                await unless(stopped, printer.look())
                if await first_of(stopped, asyncio.Event(), _LOOK_EVERY):
                    return exits.INTERRUPTED
                held = await unless(stopped, backend.advanced(held))
            await unless(stopped, printer.look())
            is_growing = True
            while is_growing and not await first_of(stopped, asyncio.Event(), _LAST_LINES):
                is_growing = bool(await unless(stopped, printer.look_at_all()))
        return exits.INTERRUPTED if stopped.is_set() else exits.DONE


async def logs_of_failure(backend: Backend, held: Held) -> str | None:
    """The command that shows what the failed step logged and printed; None if that is nothing."""
    error = held.state.last_error
    if error is None or error.step_id is None:
        return None
    iteration = error.iteration or None
    try:
        instance = backend.space.at(held.state.id)
        page = await instance.log_page(error.step_id, iteration=iteration, limit=1)
    except TenutoError:
        # A server of an earlier version has no lines.
        return None
    if not page.items:
        return None
    step = f"{error.step_id}[{iteration}]" if iteration else error.step_id
    return as_called(f"tenuto logs {held.state.id} --step {shlex.quote(step)}{backend.flag}")


class _Printer:
    """Prints the lines that it has not printed before."""

    def __init__(self, instance: Instance, which: Wanted, *, is_json: bool) -> None:
        self._instance = instance
        self._which = which
        self._is_json = is_json
        self._cursors: list[str | None] = [None]
        """Where the pages begin that are read again: another process may add to them."""
        self.seen: set[tuple[object, ...]] = set()

    async def look(self) -> None:
        following: str | None = None
        for cursor in self._cursors:
            following = await self._show(cursor)
        while following is not None:
            self._cursors = [*self._cursors[-1:], following]
            following = await self._show(following)

    async def look_at_all(self) -> bool:
        """Read from the beginning: a late chunk may be before what was read. Whether one was."""
        before = len(self.seen)
        self._cursors = [None]
        await self.look()
        return len(self.seen) > before

    async def _show(self, cursor: str | None) -> str | None:
        step, iteration, attempt = self._which
        page = await self._instance.log_page(
            step, iteration=iteration, attempt=attempt, cursor=cursor
        )
        for item in page.items:
            key = (item["stepId"], item["iteration"], item["attempt"], item["number"])
            if key not in self.seen:
                self.seen.add(key)
                show_as_it_is(_json(item)) if self._is_json else show(line_text(item))
        return page.next_cursor


def line_text(item: Object) -> str:
    """A line as people read it: time, step and attempt, level or stream, text."""
    at = datetime.fromisoformat(str(item["at"]))
    iteration = f"[{item['iteration']}]" if item["iteration"] else ""
    name = f"{item['stepId']}{iteration} #{item['attempt']}"
    kind = item.get("level") or item.get("stream") or ""
    time = at.strftime("%H:%M:%S.%f")[:-3]
    return f"{time}  {name:<{_NAME}}  {kind:<{_KIND}}  {item['text']}".rstrip()


def _json(item: Object) -> str:
    return msgspec.json.encode(item).decode()


def _say_none(id: str, which: Wanted, flag: str) -> None:
    of = "no task of it" if which.step is None else f"{which.step}"
    what = "has logged or printed anything" if which.step is None else "logged and printed nothing"
    if which.attempt is not None:
        what += f" in attempt {which.attempt}"
    say(f"{of} {what} that was kept")
    say("  The entries of its log:")
    say_command(f"tenuto history {id}{flag}")
