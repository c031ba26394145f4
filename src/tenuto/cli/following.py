"""Watches an instance from outside, at a store or a server, to its end."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.hearing import first_of, unless
from tenuto.cli.looking import Looker
from tenuto.cli.running import Ended, interruptible
from tenuto.cli.stores import described
from tenuto.cli.terminal import say
from tenuto.cli.watchers import watcher_for
from tenuto.engine.turns.held import Held

_LAST_LOOK = 5.0
"""Seconds for a look that began before the time was up."""


async def follow(looker: Looker, id: str, url: str, timeout: float | None) -> Held | Ended:  # noqa: ASYNC109
    """Follow the instance to its end, or until somebody has seen enough."""
    held = await looker.held(id)
    where = f"{held.state.definition_id}@{held.state.definition_version}"
    say(f"{where}  {id}  in {described(url)}", style="bold")
    clock = looker.clock
    until = None if timeout is None else clock.ticks() + timeout
    with interruptible() as stopped, watcher_for(held.plan, held.state, clock.now) as watcher:
        async with looker.watching(id, held.state.version) as grown:
            while not held.state.has_ended:
                left = None if until is None else until - clock.ticks()
                if left is not None and left <= 0:
                    return Ended(exits.TIMED_OUT)
                if await first_of(stopped, grown, left):
                    return Ended(exits.INTERRUPTED)
                grown.clear()
                # Also when the time is up there is a last look.
                longest = None if until is None else max(until - clock.ticks(), _LAST_LOOK)
                newer = await unless(stopped, looker.advanced(held), longest)
                if newer is None:
                    return Ended(exits.INTERRUPTED if stopped.is_set() else exits.TIMED_OUT)
                if newer.state.version > held.state.version:
                    held = newer
                    watcher.changed(held.state, held.plan.nodes)
    return held
