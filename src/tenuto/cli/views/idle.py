"""Warnings that no process works on a store, or that a task is not taken, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.cli.views.advice import Advice
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


async def if_idle(backend: Backend) -> list[Advice]:
    """Where no process would go on with an instance."""
    if await backend.has_process():
        return []
    message = "no process is running; nothing moves until one does; start one with"
    return [Advice(message, _starting(backend.flag))]


def if_not_taken(explained: Object, flag: str) -> list[Advice]:
    """Of tasks that no process and no worker has taken, or no address takes."""
    found: list[Advice] = []
    waiting = dict(_tasks(explained["causes"], "worker"))
    if tasks := sorted(id for id, workers in waiting.items() if not workers):
        names = ", ".join(tasks)
        said = f"no process and no worker has taken {names}; start a worker with"
        command = f"tenuto worker MODULE|FILE{flag if '--server' in flag else ''}"
        found.append(Advice(said, command))
    if tasks := sorted(id for id, workers in waiting.items() if workers):
        names = ", ".join(tasks)
        said = f"workers that take {names} are connected; what they hold is in"
        found.append(Advice(said, f"tenuto workers list{flag}"))
    if tasks := sorted(dict(_tasks(explained["causes"], "breaker"))):
        names = ", ".join(tasks)
        said = f"the address of {names} has failed too often, and is tried again later; it is in"
        found.append(Advice(said, f"tenuto tasks list{flag}"))
    return found


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
