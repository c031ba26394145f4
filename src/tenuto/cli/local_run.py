"""`tenuto run` on a store: an engine in this process, watched until its instance ends."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.backends.engine import engine
from tenuto.cli.backends.place import tenant_of
from tenuto.cli.backends.reader import (
    described,
    make_room,
    require_there,
    store_flag,
)
from tenuto.cli.backends.recorded import recorded_here
from tenuto.cli.code import code_checked
from tenuto.cli.deployment import deployed
from tenuto.cli.live_feed import interruptible
from tenuto.cli.lookup import find_instance
from tenuto.cli.sources import Source, read_source
from tenuto.cli.task_modules import load_tasks, refuse_unknown_tasks
from tenuto.cli.views.outcome import conclude, name_of
from tenuto.cli.views.terminal import logs_on_stderr, say, say_command
from tenuto.cli.views.watchers import watcher_for
from tenuto.compose import MEMORY
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import JSON
from tenuto.tasks.capture import CAPTURE

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.core import InstanceState, Plan
    from tenuto.engine.engine import Engine
    from tenuto.engine.turns.draft import Draft
    from tenuto.engine.turns.held import Held
    from tenuto.workspace.instance import InstanceRef


def has_ended(state: InstanceState) -> bool:
    """Whether an instance has ended."""
    return state.has_ended


_LOOK_EVERY = 0.5
"""Seconds between polls of what other processes do."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """What to run, or to go on with."""

    file: Path | None = None
    input: JSON = None
    instance: str | None = None
    tasks: Sequence[str] = ()
    timeout: float | None = None
    key: str | None = None
    correlation_id: str | None = None
    is_json: bool = False
    reason: str | None = None
    """Why it is started, for the audit log."""


async def run(url: str, options: RunOptions) -> int:
    """Run it with an engine in this process; the exit code."""
    source = read_source(options.file) if options.file is not None else None
    if source is not None and options.instance is None:
        [source] = await code_checked([source])
        source.checked()
    loaded = load_tasks(options.tasks, options.file)
    if options.instance is not None:
        await require_there(url)
    make_room(url)
    with redirect_stdout(sys.stderr), logs_on_stderr():
        async with engine(url) as app:
            if source is not None and options.instance is None:
                refuse_unknown_tasks(source, app.tasks, loaded)
                reference = await _start(app, url, source, options)
            else:
                reference = await _find(app, url, options)
            ended = await _watched(app, url, reference, options)
    if isinstance(ended, int):
        return ended
    return conclude(ended, store_flag(url), is_json=options.is_json)


@asynccontextmanager
async def looking(ours: Engine, look: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Poll, where other processes may change what this one is not notified of."""
    if not ours.store.is_shared:
        yield
        return

    async def loop() -> None:
        while True:
            await ours.clock.sleep(_LOOK_EVERY)
            with suppress(StoreUnavailable):
                await look()

    task = asyncio.ensure_future(loop())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _start(app: Tenuto, url: str, source: Source, options: RunOptions) -> InstanceRef:
    space = app.workspace(tenant_of(url), "app")
    definition = source.checked()
    await deployed(app, space, source, reason=options.reason)
    start = partial(
        space.start,
        definition.id if source.flow is None else source.flow,
        options.input,
        key=options.key,
        correlation_id=options.correlation_id,
    )
    return await recorded_here(
        app, space.tenant, "start_workflow", definition.id, start, reason=options.reason
    )


async def _find(app: Tenuto, url: str, options: RunOptions) -> InstanceRef:
    assert options.instance is not None
    space = app.workspace(tenant_of(url), "app")
    return space.at((await find_instance(space, options.instance)).id)


async def _watched(
    app: Tenuto, url: str, reference: InstanceRef, options: RunOptions
) -> Held | int:
    """Watch; and say how to go on before the store is closed, which may take long, or fail."""
    try:
        ended = await watch_here(app, url, reference, options.timeout)
    except StoreUnavailable:
        _say_how_to_go_on(url, reference.id, options, None)
        raise
    if isinstance(ended, int):
        _say_how_to_go_on(url, reference.id, options, ended)
    return ended


async def watch_here(
    app: Tenuto,
    url: str,
    reference: InstanceRef,
    timeout: float | None,  # noqa: ASYNC109 - a time for the user
    until: Callable[[InstanceState], bool] = has_ended,
) -> Held | int:
    """The instance at its end; an exit code where watching was stopped before.

    `until`: whether it is watched no longer, where that is before its end.
    """
    ours = app.engine
    held = await ours.state_of(reference.id)
    where = name_of(held.state)
    say(f"{where}  {reference.id}  in {described(url)}", style="bold")
    policies = ours.policies.of(held.tenant)
    shown = watcher_for(held.plan, held.state, ours.clock.now, policies)
    with interruptible() as stopped, shown as watcher:
        # The live list replaces the streams.
        CAPTURE.renew()
        newest, is_over = held.state, asyncio.Event()

        def changed_to(state: InstanceState, steps: Iterable[str]) -> None:
            nonlocal newest
            if state.version >= newest.version:
                newest = state
                watcher.changed(state, steps)
                if until(state):
                    is_over.set()

        async def end() -> Held:
            """One that has ended may still be compensated."""
            if until is has_ended:
                ended = await _end_of(ours, reference.id)
                if ended.state.has_ended:
                    return ended
            await is_over.wait()
            return await ours.state_of(reference.id)

        def changed(draft: Draft) -> None:
            if draft.instance_id == reference.id:
                changed_to(draft.state, moved(held.plan, newest, draft))

        async def look() -> None:
            found = await ours.state_of(reference.id)
            changed_to(found.state, found.plan.nodes)

        unlisten = ours.listen(changed)
        final = asyncio.ensure_future(end())
        enough = asyncio.ensure_future(stopped.wait())
        try:
            with suppress(StoreUnavailable):
                await look()
            async with looking(ours, look):
                done, _ = await asyncio.wait(
                    {final, enough}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
                )
            if final in done:
                ended = final.result()
                changed_to(ended.state, ended.plan.nodes)
                return ended
            return exits.INTERRUPTED if enough in done else exits.TIMED_OUT
        finally:
            unlisten()
            for task in (final, enough):
                task.cancel()
            await asyncio.gather(final, enough, return_exceptions=True)


def moved(plan: Plan, before: InstanceState, draft: Draft) -> Iterable[str]:
    """The steps that a draft changes, or all where it does not follow the state seen before."""
    if draft.before.version == before.version:
        return [row.node_id for row in draft.rows if row.node_id is not None]
    return plan.nodes


async def _end_of(ours: Engine, instance_id: str) -> Held:
    """The instance once it has ended; a store that is unavailable is waited for."""
    while True:
        try:
            return await ours.final_state(instance_id)
        except StoreUnavailable:
            if ours.fault is not None:
                raise
            await ours.clock.sleep(_LOOK_EVERY)


def _say_how_to_go_on(url: str, instance_id: str, options: RunOptions, code: int | None) -> None:
    if code == exits.TIMED_OUT:
        say(f"not ended within {options.timeout:g} s; stopped watching", style="yellow")
    elif code is not None:
        say("stopped watching", style="yellow")
    if url == MEMORY:
        say("  The store was in memory: the instance is gone with this process.")
        return
    say("  The instance is stored. To continue it:")
    file = f" {shlex.quote(str(options.file))}" if options.file is not None else ""
    tasks = "".join(f" --tasks {shlex.quote(each)}" for each in options.tasks)
    say_command(f"tenuto run{file} --instance {instance_id}{tasks}{store_flag(url)}")
