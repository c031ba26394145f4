"""Where the threads and tasks of a process are."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys
from collections.abc import Iterator
from pathlib import Path


def stacks_of_tasks() -> str:
    """Where each task of the running loop waits."""
    return "\n".join(
        f"task {task.get_name()}: {' > '.join(_awaited(task.get_coro()))}"
        for task in asyncio.all_tasks()
    )


def _awaited(coroutine: object) -> Iterator[str]:
    """A coroutine, the one that it awaits, and so on."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            return
        code = frame.f_code
        yield f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


def show_stacks_when_asked() -> None:
    """At SIGUSR1 this process writes the stacks of its threads and tasks to its standard error."""
    asyncio.get_running_loop().add_signal_handler(
        signal.SIGUSR1, lambda: print(f"{stacks_of_tasks()}\n", file=sys.stderr, flush=True)
    )
    # Also where the loop is stuck.
    faulthandler.register(signal.SIGUSR1, chain=True)
