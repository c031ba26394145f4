"""`tenuto serve` and `tenuto dev`: the service, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tenuto.api.asgi import build_api
from tenuto.api.config import ServiceConfig, ShownSetting
from tenuto.api.connections import raise_file_limit
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.server import bind, serving, url_of
from tenuto.app import Tenuto
from tenuto.cli import exits
from tenuto.cli.access_setup import (
    AccessWish,
    access_wish,
    authenticator_of,
    browser_sign_in,
    checked,
    refuse_open_door,
)
from tenuto.cli.backends.engine import close, unlocked
from tenuto.cli.backends.place import STORE
from tenuto.cli.backends.reader import described, make_room
from tenuto.cli.dev_events import DevEvents
from tenuto.cli.dev_files import Tolerance, deploy_files, read_files
from tenuto.cli.dev_hints import DevStart, read_starts, say_what_to_try, say_where, started
from tenuto.cli.dev_sample import SHOWN
from tenuto.cli.live_feed import interruptible
from tenuto.cli.loading import end_loading
from tenuto.cli.parent_process import ParentProcess
from tenuto.cli.served_address import address_file, announced, reachable
from tenuto.cli.sources import Source
from tenuto.cli.views.terminal import say, show_json
from tenuto.compose import MEMORY, is_postgres, load_caller, without_password
from tenuto.config.config import Config
from tenuto.encryption.setup import follow_keys
from tenuto.logs import instance_lines
from tenuto.logs.attempt_lines import AttemptLines
from tenuto.logs.setup import logging_to
from tenuto.model.codes import CATALOGUE, FAILURES
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object

log = logging.getLogger("tenuto.serve")


class ServeOptions(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    config: Config
    settings: tuple[ShownSetting, ...] = ()
    """The configuration as it may be shown."""
    files: Sequence[Path] = ()
    """Definitions that are deployed first."""
    listener: int | None = None
    """The socket of a parent process, which this one serves for as long as the parent lives."""
    ready: int | None = None
    """The pipe to a parent process: a byte says that all files are read, and it then lets go on."""
    tolerance: Tolerance = "none"
    starts: Sequence[str] | None = None
    """Of `dev`: instances to start, `WORKFLOW=JSON`; None: print no commands to try."""
    is_sample: bool = False
    """Whether the files are those of the sample, and not of the user."""
    is_json: bool = False
    """Whether one JSON object on stdout says that it serves, and where."""

    @property
    def is_terminal(self) -> bool:
        """Whether people read what is printed while they develop."""
        return self.starts is not None and self.config.log_format == "text"


async def serve(options: ServeOptions) -> int:
    """Serve until Ctrl-C, or until the process is asked to end."""
    chosen = options.config
    starts = read_starts(options.starts or ())
    access = access_wish(chosen)
    config = replace(
        service_config(chosen, checked(chosen.host, chosen.port, access)), settings=options.settings
    )
    await refuse_open_door(chosen.host, chosen.store, access)
    listener = bind(config) if options.listener is None else socket.socket(fileno=options.listener)
    with listener:
        if options.is_terminal and options.listener is None:
            say_where(reachable(url_of(listener)))
        return await _serve(options, config, access, starts, listener)


async def _serve(
    options: ServeOptions,
    config: ServiceConfig,
    access: AccessWish,
    starts: Sequence[DevStart],
    listener: socket.socket,
) -> int:
    chosen = options.config
    files = read_files(chosen.tasks, options.files, options.tolerance)
    if options.is_sample:
        shown = [(SHOWN, sources) for _, sources in files.definitions]
        files = replace(files, definitions=shown)
    parent = None if options.ready is None else ParentProcess(options.ready)
    if parent is not None:
        await parent.hand_over()
    make_room(chosen.store)
    raise_file_limit()
    app = Tenuto(
        None if chosen.store == MEMORY else chosen.store,
        listen_url=chosen.listen_url if is_postgres(chosen.store) else None,
        settings=chosen.engine,
        encryption=chosen.encryption,
    )
    load_caller()
    # Read now: while the first refusal is answered, everything would wait for it.
    _ = len(CATALOGUE), len(FAILURES)
    end_loading()
    announce = _announcer(chosen)
    logs = logging_to(form=chosen.log_format, level=chosen.log_level, to=chosen.log_to)
    with interruptible() as stopped, logs, _quiet_in_dev(options), ExitStack() as here:
        with unlocked(chosen.store, ["list"]):
            await app.open()
        app.engine.listen(DevEvents().show if options.is_terminal else instance_lines.log_instance)
        if chosen.log_attempts and not options.is_terminal:
            app.engine.listen(AttemptLines().heard)
        try:
            needs_key = access.is_on or await app.engine.store.access.has_keys()
            # The store is taken: commands ask this process from now on, and wait until it serves.
            listener.listen()
            url = reachable(url_of(listener))
            here.enter_context(announced(chosen.store, url, needs_key=needs_key))
            keys = asyncio.create_task(
                follow_keys(app.engine.store, chosen.encryption, app.engine.clock)
            )
            here.callback(keys.cancel)
            if parent is not None:
                parent.stop_with_it(stopped.set)
                parent.begun()
            sources = await deploy_files(app, files, announce, options.tolerance)
            gate = build_api(app, config, authentication=authenticator_of(app, access))
            async with _traced(gate, chosen), serving(gate, listener):
                name = "" if chosen.environment is None else f" ({chosen.environment})"
                where = f"{url_of(listener)}{name} from {described(chosen.store)}"
                announce(f"serving {where}; Ctrl-C stops")
                instances = await started(app, starts, is_again=options.tolerance == "definitions")
                if options.is_json and options.tolerance != "definitions":
                    ids = [each.id for each in instances]
                    show_json(_served(url, chosen, sources, ids), lines=True)
                if options.is_terminal and options.tolerance != "definitions":
                    await say_what_to_try(
                        url_of(listener),
                        sources,
                        starts,
                        instances,
                        stopped,
                        flag=_flag(chosen.store, url_of(listener)),
                        sample_in=described(chosen.store) if options.is_sample else None,
                    )
                await stopped.wait()
                announce("stopping: requests and running tasks may end; nothing is lost")
        finally:
            await close(app)
    return exits.DONE


def _served(url: str, chosen: Config, sources: Sequence[Source], instances: list[str]) -> Object:
    """What is served, for programs that have started the service."""
    return {
        "url": url,
        "store": without_password(chosen.store),
        "environment": chosen.environment,
        "process": os.getpid(),
        "workflows": [each.checked().id for each in sources],
        "instances": [*instances],
    }


@contextmanager
def _quiet_in_dev(options: ServeOptions) -> Iterator[None]:
    """The terminal of `tenuto dev` shows instances; requests are for those who debug."""
    config = options.config
    if options.starts is None or config.log_format != "text" or config.log_level != "info":
        yield
        return
    quiet = [logging.getLogger(name) for name in ("tenuto.access", "tenuto.api")]
    for each in quiet:
        each.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for each in quiet:
            each.setLevel(logging.NOTSET)


def _flag(store: str, url: str) -> str:
    """The option that names the service; empty where commands in this folder find it."""
    is_found = store == os.environ.get("TENUTO_STORE", STORE) and address_file(store) is not None
    return "" if is_found else f" --server {url}"


def service_config(chosen: Config, access: ServiceConfig) -> ServiceConfig:
    """The configuration of the service, with the settings that are not about access."""
    return replace(
        access,
        public_url=chosen.public_url,
        environment=chosen.environment,
        browser_sign_in=browser_sign_in(chosen),
        burst=chosen.burst,
        linger_seconds=chosen.linger_seconds,
        drain_seconds=chosen.drain_seconds,
    )


@asynccontextmanager
async def _traced(gate: RequestPipeline, chosen: Config) -> AsyncIterator[None]:
    """Spans are made of what happens inside, where traces are configured."""
    if not chosen.traces:
        yield
        return
    try:
        from tenuto.tracing.spans import otlp_spans
    except ImportError as error:
        raise TenutoError(
            "OpenTelemetry is not installed",
            code="TEN-4041",
            advice="Install tenuto[otel], or leave `traces` out.",
        ) from error
    engine = gate.service.app.engine
    spans = gate.service.spans = otlp_spans(engine.clock)
    engine.listen(spans.heard)
    engine.turns.meter.watch = spans.turn
    try:
        yield
    finally:
        await asyncio.to_thread(spans.close)


def _announcer(chosen: Config) -> Callable[[str], None]:
    """How messages are printed: as log lines where those are JSON."""
    return log.info if chosen.log_format == "json" else say
