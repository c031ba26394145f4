"""Tells that no process works on a store, or that a task is not taken, and what to do."""

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
    """Tell people of tasks that no process and no worker has taken, or no address takes."""
    waiting = dict(_tasks(explained["causes"], "worker"))
    if tasks := sorted(id for id, workers in waiting.items() if not workers):
        names = ", ".join(tasks)
        say(f"no process and no worker has taken {names}; start a worker with", style="yellow")
        say_command(f"tenuto worker MODULE|FILE{flag if '--server' in flag else ''}")
    if tasks := sorted(id for id, workers in waiting.items() if workers):
        names = ", ".join(tasks)
        say(f"workers that take {names} are connected; what they hold is in", style="yellow")
        say_command(f"tenuto workers list{flag}")
    if tasks := sorted(dict(_tasks(explained["causes"], "breaker"))):
        names = ", ".join(tasks)
        said = f"the address of {names} has failed too often, and is tried again later; it is in"
        say(said, style="yellow")
        say_command(f"tenuto tasks list{flag}")


def _starting(flag: str) -> str:
    # The settings of a project name its files.
    if not flag and Path("tenuto.toml").exists():
        return "tenuto dev"
    return f"tenuto serve --tasks MODULE|FILE{flag}"


def _tasks(causes: JSON, kind: str) -> Iterator[tuple[str, JSON]]:
    """The tasks of steps that are held for a reason of this kind, in children too.

    Each with the number of connected workers that take it.
    """
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict):
            details = cause.get("details")
            if cause.get("kind") == kind and isinstance(details, dict):
                yield str(details.get("taskId")), details.get("workers")
            yield from _tasks(cause.get("causes"), kind)
