"""Watches an instance from outside, at a store or a server, to its end."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.looking import Looker
from tenuto.cli.running import Ended, interruptible
from tenuto.cli.stores import described
from tenuto.cli.terminal import say
from tenuto.cli.watchers import watcher_for
from tenuto.engine.held import Held

_LOOK_EVERY = 0.3
"""Seconds between looks."""


async def follow(looker: Looker, id: str, url: str, timeout: float | None) -> Held | Ended:  # noqa: ASYNC109
    """Follow the instance to its end, or until somebody has seen enough."""
    held = await looker.held(id)
    where = f"{held.state.definition_id}@{held.state.definition_version}"
    say(f"{where}  {id}  in {described(url)}", style="bold")
    clock = looker.clock
    until = None if timeout is None else clock.ticks() + timeout
    with interruptible() as stopped, watcher_for(held.plan, held.state, clock.now) as watcher:
        while not held.state.has_ended:
            if until is not None and clock.ticks() >= until:
                return Ended(exits.TIMED_OUT)
            if await clock.wait(stopped, _LOOK_EVERY):
                return Ended(exits.INTERRUPTED)
            newer = await looker.advanced(held)
            if newer.state.version > held.state.version:
                held = newer
                watcher.changed(held.state, held.plan.nodes)
    return held
