"""Tells that no process works on a store, or that no worker has a task, and what to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.cli.views.terminal import say, say_command
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


async def say_if_idle(backend: Backend) -> bool:
    """Tell people, where no process would go on with an instance; whether it was told."""
    if await backend.has_process():
        return False
    say("no process is running; nothing moves until one does; start one with", style="yellow")
    say_command(_starting(backend.flag))
    return True


def say_if_not_taken(explained: Object, flag: str) -> None:
    """Tell people of tasks that no process and no worker has taken."""
    tasks = sorted(set(_not_taken(explained["causes"])))
    if not tasks:
        return
    names = ", ".join(tasks)
    say(f"no process and no worker has taken {names}; start a worker with", style="yellow")
    say_command(f"tenuto worker MODULE|FILE{flag if '--server' in flag else ''}")


def _starting(flag: str) -> str:
    # The settings of a project name its files.
    if not flag and Path("tenuto.toml").exists():
        return "tenuto dev"
    return f"tenuto serve --tasks MODULE|FILE{flag}"


def _not_taken(causes: JSON) -> Iterator[str]:
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict):
            details = cause.get("details")
            if cause.get("kind") == "worker" and isinstance(details, dict):
                yield str(details.get("taskId"))
            yield from _not_taken(cause.get("causes"))
