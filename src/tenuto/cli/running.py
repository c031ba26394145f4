"""`tenuto run`: start an instance, or go on with one, and watch it to its end."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.errors import show_error
from tenuto.cli.finding import find_instance
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.moments import length
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.cli.progress import STATUS_MARKS, elapsed
from tenuto.cli.sources import Source, read_source
from tenuto.cli.stores import Reader, described, listen_url, make_room, require_there, store_flag
from tenuto.cli.task_modules import load_tasks, refuse_unknown_tasks
from tenuto.cli.terminal import is_redrawn, say, say_command, show_json
from tenuto.cli.watchers import watcher_for
from tenuto.compose import MEMORY
from tenuto.model.errors import StoreUnavailable, WorkflowFailed
from tenuto.model.json import JSON
from tenuto.model.status import Status

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.core import InstanceState, Plan
    from tenuto.engine.engine import Engine
    from tenuto.engine.turns.draft import Draft
    from tenuto.engine.turns.held import Held
    from tenuto.instances import InstanceRef
    from tenuto.workspace import Workspace

GRACE = 3.0
"""Seconds that running tasks have when the command ends."""
_LOOK_EVERY = 0.5
"""Seconds between looks at what other processes do."""


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    store: str
    file: Path | None = None
    input: JSON = None
    instance: str | None = None
    tasks: Sequence[str] = ()
    timeout: float | None = None
    key: str | None = None
    correlation_id: str | None = None
    is_json: bool = False


async def run(wish: Wish) -> int:
    """Do it; the exit code."""
    if isinstance(wish.store, ServerUrl):
        from tenuto.cli.running_there import run_there

        return await run_there(wish.store, wish)
    source = read_source(wish.file) if wish.file is not None else None
    if source is not None and wish.instance is None:
        source.checked()
    loaded = load_tasks(wish.tasks, wish.file)
    if wish.instance is not None:
        await require_there(wish.store)
    make_room(wish.store)
    with redirect_stdout(sys.stderr), logs_on_stderr():
        async with engine(wish.store) as app:
            if source is not None and wish.instance is None:
                refuse_unknown_tasks(source, app.tasks, loaded)
                reference = await _start(app, source, wish)
            else:
                reference = await _find(app, wish)
            ended = await _watched(app, reference, wish)
    if isinstance(ended, Ended):
        return ended.code
    return conclude(ended, wish.store, is_json=wish.is_json)


@asynccontextmanager
async def engine(
    store: str,
    *,
    is_brief: bool = False,
    is_guest: bool = False,
    listener: Callable[[Draft], None] | None = None,
) -> AsyncIterator[Tenuto]:
    """An engine that leaves steps alone whose tasks it does not know: another process has them."""
    from tenuto.app import Tenuto
    from tenuto.engine.settings import Settings

    app = Tenuto(
        None if store == MEMORY else store,
        listen_url=listen_url(store),
        settings=Settings(
            unknown_tasks="wait", stop_grace=GRACE, mail_every=0.5, is_guest=is_guest
        ),
    )
    if listener is not None:
        app.engine.listen(listener)
    taken_over = await app.open()
    if taken_over and not is_brief:
        several = "an instance" if taken_over == 1 else f"{taken_over} instances"
        say(f"going on with {several} that an earlier process left", style="dim")
    try:
        yield app
    finally:
        await close(app)


def space_of(app: Tenuto, url: str) -> Workspace:
    """What the tenant that is meant has in an engine."""
    return app.workspace(tenant_of(url), "app")


async def close(app: Tenuto) -> None:
    """Stop; that the store is away is said, and is no failure of what was asked for."""
    try:
        await app.close()
    except StoreUnavailable as error:
        # What the command did is durable, or was refused, whether or not the store hears this.
        say(f"warning: stopped without the store, which is away: {error.message}", style="yellow")
        say("  What this process had in hand is taken over by the others, or the next one.")


@contextmanager
def interruptible() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C sets; a second Ctrl-C ends the process the hard way."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop(number: int) -> None:
        stopped.set()
        loop.remove_signal_handler(number)

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def looking(ours: Engine, look: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Look every so often, where other processes may do something that this one does not hear."""
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


async def _start(app: Tenuto, source: Source, wish: Wish) -> InstanceRef:
    document = source.document
    assert isinstance(document, dict)
    space = space_of(app, wish.store)
    await space.deploy(document if source.flow is None else source.flow)
    definition = source.checked()
    return await space.start(
        definition.id if source.flow is None else source.flow,
        wish.input,
        key=wish.key,
        correlation_id=wish.correlation_id,
    )


async def _find(app: Tenuto, wish: Wish) -> InstanceRef:
    assert wish.instance is not None
    reader = Reader(wish.store, app.engine.store, app.engine.clock)
    row = await find_instance(reader, wish.instance)
    return await space_of(app, wish.store).instance(row.id)


async def _watched(app: Tenuto, reference: InstanceRef, wish: Wish) -> Held | Ended:
    """Watch; and say how to go on before the store is let go, which may take long, or fail."""
    try:
        ended = await _watch(app, reference, wish)
    except StoreUnavailable:
        _say_how_to_go_on(None, reference.id, wish)
        raise
    if isinstance(ended, Ended):
        _say_how_to_go_on(ended.code, reference.id, wish)
    return ended


async def _watch(app: Tenuto, reference: InstanceRef, wish: Wish) -> Held | Ended:
    """Follow the instance to its end, or until somebody has seen enough."""
    ours = app.engine
    held = await ours.state_of(reference.id)
    where = f"{held.state.definition_id}@{held.state.definition_version}"
    say(f"{where}  {reference.id}  in {described(wish.store)}", style="bold")
    policies = ours.declared_tasks.of(held.tenant)
    shown = watcher_for(held.plan, held.state, ours.clock.now, policies)
    with interruptible() as stopped, shown as watcher:
        newest, is_over = held.state, asyncio.Event()

        def tell(state: InstanceState, steps: Iterable[str]) -> None:
            nonlocal newest
            if state.version >= newest.version:
                newest = state
                watcher.changed(state, steps)
                if state.has_ended:
                    is_over.set()

        async def end() -> Held:
            """One that has its end may still be undone."""
            ended = await _end_of(ours, reference.id)
            if ended.state.has_ended:
                return ended
            await is_over.wait()
            return await ours.state_of(reference.id)

        def changed(draft: Draft) -> None:
            if draft.instance_id == reference.id:
                tell(draft.state, moved(held.plan, newest, draft))

        async def look() -> None:
            found = await ours.state_of(reference.id)
            tell(found.state, found.plan.nodes)

        unlisten = ours.listen(changed)
        final = asyncio.ensure_future(end())
        enough = asyncio.ensure_future(stopped.wait())
        try:
            with suppress(StoreUnavailable):
                await look()
            async with looking(ours, look):
                done, _ = await asyncio.wait(
                    {final, enough}, timeout=wish.timeout, return_when=asyncio.FIRST_COMPLETED
                )
            if final in done:
                ended = final.result()
                tell(ended.state, ended.plan.nodes)
                return ended
            return Ended(exits.INTERRUPTED if enough in done else exits.TIMED_OUT)
        finally:
            unlisten()
            for task in (final, enough):
                task.cancel()
            await asyncio.gather(final, enough, return_exceptions=True)


def moved(plan: Plan, before: InstanceState, draft: Draft) -> Iterable[str]:
    """The steps of which a draft tells, or all where it does not follow what was seen before."""
    if draft.before.version == before.version:
        return [row.node_id for row in draft.rows if row.node_id is not None]
    return plan.nodes


async def _end_of(ours: Engine, instance_id: str) -> Held:
    """The instance once it has ended; a store that is away is waited for."""
    while True:
        try:
            return await ours.final_state(instance_id)
        except StoreUnavailable:
            if ours.fault is not None:
                raise
            await ours.clock.sleep(_LOOK_EVERY)


class Ended(Struct, frozen=True):
    """The watching ended before the instance did."""

    code: int


def conclude(ended: Held, url: str, *, is_json: bool) -> int:
    """Tell how an instance has ended; the exit code."""
    from tenuto.core.ending import output_of
    from tenuto.instances import instance_view

    state = ended.state
    if not is_redrawn():
        # The live list ends with its bar, which says as much.
        mark, _ = STATUS_MARKS[state.status]
        say(f"{mark} {state.status.value} after {length(elapsed(state, state.updated_at))}")
    code = exits.DONE if state.status is Status.COMPLETED else exits.FAILED
    if is_json:
        show_json(instance_view(ended))
    elif state.status is Status.COMPLETED:
        show_json(output_of(ended.plan, state))
    if state.status is Status.FAILED and state.last_error is not None:
        show_error(WorkflowFailed(state.last_error))
        flag = store_flag(url)
        say("  The whole story, and to go on where it failed:")
        say_command(f"tenuto show {state.id} --history{flag}")
        say_command(f"tenuto retry {state.id}{flag}")
    elif state.status is Status.CANCELLED and state.cancellation is not None:
        reason = state.cancellation.reason or "no reason given"
        say(f"cancelled by {state.cancellation.requested_by}: {reason}")
    return code


def _say_how_to_go_on(code: int | None, instance_id: str, wish: Wish) -> None:
    if code == exits.TIMED_OUT:
        say(f"not ended within {wish.timeout:g} s; stopped watching", style="yellow")
    elif code is not None:
        say("stopped watching", style="yellow")
    if wish.store == MEMORY:
        say("  The store was in memory: the instance is gone with this process.")
        return
    say("  Everything up to here is kept. To go on:")
    file = f" {shlex.quote(str(wish.file))}" if wish.file is not None else ""
    tasks = "".join(f" --tasks {shlex.quote(each)}" for each in wish.tasks)
    say_command(f"tenuto run{file} --instance {instance_id}{tasks}{store_flag(wish.store)}")
