"""`tenuto serve` and `tenuto dev`: the service, until somebody stops it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tenuto.api.asgi import build_api
from tenuto.api.config import ServiceConfig, is_loopback
from tenuto.api.serving import bind, serving, url_of
from tenuto.app import Tenuto
from tenuto.cli import exits
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.running import close, interruptible
from tenuto.cli.sources import read_sources
from tenuto.cli.stores import described, listen_url, make_room
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.terminal import say
from tenuto.cli.trying import begun, say_what_to_try, stop_with_parent
from tenuto.compose import MEMORY
from tenuto.engine.settings import Settings
from tenuto.model.errors import Forbidden


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    store: str
    host: str
    port: int
    tasks: Sequence[str] = ()
    files: Sequence[Path] = ()
    """Definitions that are deployed first."""
    listener: int | None = None
    """The address, where another process holds it and serves for as long as that one lives."""
    starts: Sequence[str] | None = None
    """Of `dev`: instances to begin, `WORKFLOW=JSON`; None where nothing is said of what to try."""


async def serve(wish: Wish) -> int:
    """Serve until Ctrl-C, or until the process is asked to end."""
    config = ServiceConfig(host=wish.host, port=wish.port)
    _refuse_open_door(config)
    load_tasks(wish.tasks, None)
    for file in wish.files:
        load_tasks((), file)
    make_room(wish.store)
    listener = bind(config) if wish.listener is None else socket.socket(fileno=wish.listener)
    app = Tenuto(
        None if wish.store == MEMORY else wish.store,
        listen_url=listen_url(wish.store),
        settings=Settings(unknown_tasks="wait", mail_every=0.5),
    )
    with interruptible() as stopped, logs_on_stderr(), listener:
        await app.open()
        try:
            workflows = await _deploy(app, wish.files)
            async with serving(build_api(app, config), listener):
                say(f"serving {url_of(listener)} from {described(wish.store)}; Ctrl-C stops")
                if wish.listener is not None:
                    stop_with_parent(stopped)
                if wish.starts is not None:
                    begun_ones = await begun(app, wish.starts)
                    await say_what_to_try(url_of(listener), workflows, begun_ones, stopped)
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


def _refuse_open_door(config: ServiceConfig) -> None:
    """Who can be reached from elsewhere has to know whom it answers."""
    if not is_loopback(config.host):
        raise Forbidden(
            f"{config.host} can be reached from other machines, and no credential is asked for",
            code="TEN-5022",
            advice="Listen on 127.0.0.1.",
        )


async def _deploy(app: Tenuto, files: Sequence[Path]) -> list[str]:
    deployed: list[str] = []
    for file in files:
        for source in read_sources(file):
            source.checked()
            document = source.document
            assert isinstance(document, dict)
            version = await app.deploy(document if source.flow is None else source.flow)
            say(f"{source.checked().id}@{version} from {file}", style="dim")
            deployed.append(source.checked().id)
    return deployed
