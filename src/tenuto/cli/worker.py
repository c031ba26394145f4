"""`tenuto worker`: pulls tasks from a server and runs them here, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import socket
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from tenuto.access.token_ends import ends_at
from tenuto.cli import exits
from tenuto.cli.backends.choice import found_server
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.dev_events import FailedTasks
from tenuto.cli.loaded_files import LoadedFiles
from tenuto.cli.loading import end_loading
from tenuto.cli.parent_process import ParentProcess
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.views.terminal import say, show_json
from tenuto.config.config import Config, WorkerConfig
from tenuto.config.sources import DEFAULT, Effective
from tenuto.logs.setup import logging_to
from tenuto.model.errors import InvalidInput, Problem
from tenuto.ports import SystemClock, SystemIds
from tenuto.tasks.collector import COLLECTOR
from tenuto.tasks.registry import DEFAULT_REGISTRY
from tenuto.worker import HttpBrokerClient, Worker, run_until_signalled
from tenuto.worker.credential import Credential, token_of_command, token_of_file

log = logging.getLogger("tenuto.worker")


async def work(config: Config, *, is_json: bool = False, ready: int | None = None) -> int:
    """Work until Ctrl-C, or until the process is asked to end; what runs then may end.

    For machines (`is_json`) stdout names its servers and tasks when it starts. `ready`: the pipe to
    the process that has started this one and restarts it when a file changes.
    """
    wish = config.worker
    load_tasks(config.tasks, None)
    loaded = LoadedFiles.of_process()
    names = list(DEFAULT_REGISTRY)
    if not names:
        raise _no_tasks(config.tasks)
    servers = checked_servers(wish.server)
    broker = HttpBrokerClient(servers, key=_credential(wish))
    worker = Worker(
        broker,
        DEFAULT_REGISTRY,
        worker_id=f"{socket.gethostname()[:100]}-{os.getpid()}-{SystemIds().short()}",
        clock=SystemClock(),
        concurrency=wish.concurrency,
        batch=wish.batch,
        lease=timedelta(seconds=wish.lease),
        on_failure=FailedTasks().show if config.log_format == "text" else None,
    )
    parent = None if ready is None else ParentProcess(ready)
    if parent is not None:
        await parent.hand_over()
        parent.stop_with_it(worker.stop)
    announce = log.info if config.log_format == "json" else say
    with logging_to(form=config.log_format, level=config.log_level, to=config.log_to):
        announce(f"working for {' or '.join(servers)} on {', '.join(names)}; Ctrl-C stops")
        if is_json:
            show_json({"servers": servers, "tasks": names}, lines=True)
        end_loading()
        COLLECTOR.spare()
        watch = None
        if parent is None:
            watch = asyncio.ensure_future(loaded.watch(SystemClock(), announce))
        else:
            parent.begun()
        try:
            await run_until_signalled(worker, wish.grace)
        finally:
            if watch is not None:
                watch.cancel()
            await broker.close()
        announce("stopped; what has not ended is left to others")
    return exits.DONE


def at_found_server(found: Effective) -> Config:
    """The configuration; where nothing names a server, the one of this folder or of the profile."""
    config = found.config
    if found.origins["worker.server"] != DEFAULT:
        return config
    store = os.environ.get("TENUTO_STORE", config.store)
    place = found_server(store, config.worker.key)
    if place is None:
        return config
    return replace(config, worker=replace(config.worker, server=str(place), key=place.key))


def _credential(wish: WorkerConfig) -> str | Credential | None:
    """One of the three: which is meant where there are several is not guessed."""
    named = [each for each in (wish.key, wish.token_file, wish.token_command) if each]
    if len(named) > 1:
        raise _bad_credential("several credentials are named", "Name one of them.")
    if wish.token_file:
        return token_of_file(Path(wish.token_file), SystemClock(), ends_at)
    if not wish.token_command:
        return wish.key
    try:
        command = shlex.split(wish.token_command)
    except ValueError as error:
        raise _bad_credential(f"the command cannot be read: {error}", "Correct it.") from error
    return token_of_command(command, SystemClock(), ends_at)


def _bad_credential(message: str, advice: str) -> InvalidInput:
    problem = Problem(
        code="TEN-2605",
        path="--api-key, --token-file, --token-command",
        message=message,
        advice=advice,
    )
    return InvalidInput("the worker cannot show who it is", [problem])


def _no_tasks(modules: Sequence[str]) -> InvalidInput:
    problem = Problem(
        code="TEN-2601",
        path=", ".join(modules) or "tasks",
        message="it registers no task",
        advice="Write functions with @task there, or name the module that has them.",
    )
    return InvalidInput("there is nothing that this worker could do", [problem])


def checked_servers(given: str) -> list[str]:
    """The addresses of the service; InvalidInput for what cannot be one."""
    servers = ServerUrl.of(given, None).addresses
    problems = [
        Problem(
            code="TEN-2602",
            path="--server",
            message=f"the address {each!r} is not http:// or https:// and the name of a host",
            advice="Name the service as it says itself when it starts: http://127.0.0.1:8484.",
        )
        for each in servers or [given]
        if not _is_address(each)
    ]
    if problems:
        raise InvalidInput("the server cannot be asked", problems)
    return servers


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
