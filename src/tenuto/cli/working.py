"""`tenuto worker`: pulls tasks from a server and runs them here, until somebody stops it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from datetime import timedelta

from tenuto.cli import exits
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.terminal import say
from tenuto.config.config import Config
from tenuto.logs.setup import logging_to
from tenuto.model.errors import InvalidInput, Problem
from tenuto.ports import SystemClock, SystemIds
from tenuto.tasks.collector import COLLECTOR
from tenuto.tasks.registry import DEFAULT_REGISTRY
from tenuto.worker import HttpDesk, Worker, run_until_told

log = logging.getLogger("tenuto.worker")


async def work(config: Config) -> int:
    """Work until Ctrl-C, or until the process is asked to end; what runs then may end."""
    wish = config.worker
    load_tasks(config.tasks, None)
    names = list(DEFAULT_REGISTRY)
    if not names:
        raise _no_tasks(config.tasks)
    _refuse_bad_server(wish.server)
    desk = HttpDesk(wish.server, key=wish.key)
    worker = Worker(
        desk,
        DEFAULT_REGISTRY,
        worker_id=f"{socket.gethostname()[:100]}-{os.getpid()}-{SystemIds().short()}",
        clock=SystemClock(),
        concurrency=wish.concurrency,
        batch=wish.batch,
        lease=timedelta(seconds=wish.lease),
    )
    announce = log.info if config.log_format == "json" else say
    with logging_to(form=config.log_format, level=config.log_level):
        announce(f"working for {wish.server} on {', '.join(names)}; Ctrl-C stops")
        COLLECTOR.spare()
        try:
            await run_until_told(worker, wish.grace)
        finally:
            await desk.close()
        announce("stopped; what was not begun is left to others")
    return exits.DONE


def _no_tasks(modules: Sequence[str]) -> InvalidInput:
    problem = Problem(
        code="TEN-2601",
        path=", ".join(modules) or "tasks",
        message="it registers no task",
        advice="Write functions with @task there, or name the module that has them.",
    )
    return InvalidInput("there is nothing that this worker could do", [problem])


def _refuse_bad_server(url: str) -> None:
    if url.startswith(("http://", "https://")):
        return
    problem = Problem(
        code="TEN-2602",
        path="--server",
        message=f"the address {url} does not begin with http:// or https://",
        advice="Name the service as it says itself when it starts: http://127.0.0.1:8484.",
    )
    raise InvalidInput("the server cannot be asked", [problem])
