"""Follows an instance that runs elsewhere: its steps or its log, to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from tenuto.cli import exits
from tenuto.cli.live_feed import first_of, interruptible, unless
from tenuto.cli.lookup import find_instance
from tenuto.cli.sources import read_source
from tenuto.cli.views.instance import entry_line
from tenuto.cli.views.masking import masked
from tenuto.cli.views.outcome import conclude, name_of
from tenuto.cli.views.terminal import say, say_command, show, show_as_it_is
from tenuto.cli.views.watchers import watcher_for
from tenuto.engine.turns.held import Held
from tenuto.model.json import Object
from tenuto.workspace.values import Summary

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.local_run import RunOptions
    from tenuto.core import InstanceState

_LAST_LOOK: Final = 5.0
"""Seconds for a request that began before the time was up."""


async def run_elsewhere(backend: Backend, options: RunOptions) -> int:
    """Deploy and start a file, or find an instance, and watch it: its tasks run elsewhere."""
    if options.instance is not None:
        id = (await find_instance(backend.space, options.instance)).id
    else:
        assert options.file is not None
        source = read_source(options.file)
        definition = source.checked()
        version = await backend.space.deploy(source.deployable)
        started = await backend.space.start(
            definition.id,
            options.input,
            key=options.key,
            correlation_id=options.correlation_id,
            version=version,
        )
        id = started.id
    return await watch(backend, id, timeout=options.timeout, is_json=options.is_json)


async def watch(backend: Backend, id: str, *, timeout: float | None, is_json: bool) -> int:  # noqa: ASYNC109
    """Watch an instance to its end and print its outcome; the exit code."""
    ended = await followed(backend, id, timeout)
    if isinstance(ended, Held):
        return conclude(ended, backend.flag, is_json=is_json)
    if ended == exits.TIMED_OUT:
        say(f"not ended within {timeout:g} s; stopped watching", style="yellow")
    else:
        say("stopped watching", style="yellow")
    say("  It goes on. To look at it:")
    say_command(f"tenuto show {id}{backend.flag}")
    return ended


async def followed(
    backend: Backend,
    id: str,
    timeout: float | None,  # noqa: ASYNC109 - a time for the user
    is_over: Callable[[InstanceState], bool] = lambda state: state.has_ended,
) -> Held | int:
    """The instance at its end, or once `is_over`; an exit code where it was stopped before."""
    held = await backend.held(id)
    where = name_of(held.state)
    say(f"{where}  {id}  in {backend.described}", style="bold")
    clock = backend.clock
    until = None if timeout is None else clock.ticks() + timeout
    with interruptible() as stopped, watcher_for(held.plan, held.state, clock.now) as watcher:
        async with backend.watching(id, held.state.version) as grown:
            while not is_over(held.state):
                left = None if until is None else until - clock.ticks()
                if left is not None and left <= 0:
                    return exits.TIMED_OUT
                if await first_of(stopped, grown, left):
                    return exits.INTERRUPTED
                grown.clear()
                # Also when the time is up there is a last look.
                longest = None if until is None else max(until - clock.ticks(), _LAST_LOOK)
                newer = await unless(stopped, backend.advanced(held), longest)
                if newer is None:
                    return exits.INTERRUPTED if stopped.is_set() else exits.TIMED_OUT
                if newer.state.version > held.state.version:
                    held = newer
                    watcher.changed(held.state, held.plan.nodes)
    return held


async def show_log(
    backend: Backend, text: str, *, follows: bool, is_json: bool, tail: int | None = None
) -> int:
    """Print each entry of a log on a line of its own, in JSON with all that it says.

    `tail`: begin with so many entries before the end.
    """
    found = await find_instance(backend.space, text)
    first = 0
    if tail is not None:
        # One entry more says where they begin, and that is all there is to know for --tail 0.
        newest = await backend.space.at(found.id).history(last=tail + 1)
        _show_entries(found, newest[len(newest) - min(tail, len(newest)) :], is_json=is_json)
        first = int(str(newest[-1]["seq"]))
    if not follows:
        if tail is None:
            await _show_after(backend, found, first, is_json=is_json)
        return exits.DONE
    with interruptible() as stopped:
        async with backend.watching(found.id, first) as grown:
            return await _tail(backend, found, stopped, grown, first, is_json=is_json)


async def _tail(
    backend: Backend,
    found: Summary,
    stopped: asyncio.Event,
    grown: asyncio.Event,
    seen: int,
    *,
    is_json: bool,
) -> int:
    """Print the log after an entry, and what is added, to the end of the instance or Ctrl-C."""
    held = await backend.held(found.id)
    while True:
        seen = await _show_after(backend, found, seen, is_json=is_json)
        # Only what was read before it had ended may have grown since.
        if held.state.has_ended:
            return exits.DONE
        if await first_of(stopped, grown):
            return exits.INTERRUPTED
        grown.clear()
        newer = await unless(stopped, backend.advanced(held))
        if newer is None:
            return exits.INTERRUPTED
        held = newer


async def _show_after(backend: Backend, found: Summary, seen: int, *, is_json: bool) -> int:
    """Print the entries after one; the number of the last."""
    items = await backend.space.at(found.id).history(after=seen)
    _show_entries(found, items, is_json=is_json)
    return int(str(items[-1]["seq"])) if items else seen


def _show_entries(found: Summary, items: Iterable[Object], *, is_json: bool) -> None:
    for item in items:
        if is_json:
            show_as_it_is(msgspec.json.encode(masked(item)).decode())
        else:
            show(entry_line(item, found.created_at))
