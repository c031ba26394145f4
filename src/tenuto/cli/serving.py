"""`tenuto serve` and `tenuto dev`: the service, until somebody stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tenuto.api.asgi import build_api
from tenuto.api.serving import bind, serving, url_of
from tenuto.app import Tenuto
from tenuto.cli import exits
from tenuto.cli.access_setup import AccessWish, checked, gatekeeper_of, refuse_open_door
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.running import close, interruptible
from tenuto.cli.sources import read_sources
from tenuto.cli.stores import described, listen_url, make_room
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.terminal import say
from tenuto.compose import MEMORY
from tenuto.engine.settings import Settings


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    store: str
    host: str
    port: int
    access: AccessWish
    tasks: Sequence[str] = ()
    files: Sequence[Path] = ()
    """Definitions that are deployed first."""


async def serve(wish: Wish) -> int:
    """Serve until Ctrl-C, or until the process is asked to end."""
    config = checked(wish.host, wish.port, wish.access)
    await refuse_open_door(wish.host, wish.store, wish.access)
    load_tasks(wish.tasks, None)
    for file in wish.files:
        load_tasks((), file)
    make_room(wish.store)
    listener = bind(config)
    app = Tenuto(
        None if wish.store == MEMORY else wish.store,
        listen_url=listen_url(wish.store),
        settings=Settings(unknown_tasks="wait", mail_every=0.5),
    )
    with interruptible() as stopped, logs_on_stderr(), listener:
        await app.open()
        try:
            await _deploy(app, wish.files)
            gate = build_api(app, config, admission=gatekeeper_of(app, wish.access))
            async with serving(gate, listener):
                say(f"serving {url_of(listener)} from {described(wish.store)}; Ctrl-C stops")
                await stopped.wait()
                say("stopping: requests and running tasks may end; nothing is lost")
        finally:
            await close(app)
    return exits.DONE


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop: a fast one where there is one for this platform."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _deploy(app: Tenuto, files: Sequence[Path]) -> None:
    for file in files:
        for source in read_sources(file):
            source.checked()
            document = source.document
            assert isinstance(document, dict)
            version = await app.deploy(document if source.flow is None else source.flow)
            say(f"{source.checked().id}@{version} from {file}", style="dim")
