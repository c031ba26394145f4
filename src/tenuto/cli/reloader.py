"""`tenuto dev`: a serving process that is restarted whenever a file changes.

The socket is held by this process and handed to each serving one, so that a request during a
restart waits a moment instead of being refused. The store is kept: running instances go on.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tenuto.api.config import ServiceConfig
from tenuto.api.server import bind
from tenuto.cli import exits
from tenuto.cli.file_names import FILES
from tenuto.cli.live_feed import interruptible
from tenuto.cli.python_files import named
from tenuto.cli.views.terminal import PROGRAM, say
from tenuto.definition import check, parse_document
from tenuto.model.errors import TenutoError

_ONE = asyncio.FIRST_COMPLETED
_STILL = "  Still serving what was there before."
_QUIET_MS = 200
"""An editor that writes a file in several steps is waited for so long."""


class Serving(NamedTuple):
    """A serving process, and the pipe on which it says that it has read its files."""

    process: asyncio.subprocess.Process
    ready: int

    async def is_ready(self) -> bool:
        """Wait until it can serve; False where it has ended before."""
        try:
            return bool(await asyncio.to_thread(os.read, self.ready, 1))
        finally:
            os.close(self.ready)

    def go(self) -> None:
        """Let it open the store and serve."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")


async def serve_and_reload(
    host: str, port: int, files: Sequence[Path], tasks: Sequence[str]
) -> int:
    """Serve until Ctrl-C; the serving process gets the arguments of this one."""
    folders = _folders(files, tasks)
    with interruptible() as stopped, bind(ServiceConfig(host=host, port=port)) as listener:
        listener.listen()
        changes = _changes(folders, stopped)
        first = asyncio.ensure_future(anext(changes, None))
        begun = await _started(listener.fileno())
        if await begun.is_ready():
            begun.go()
        child = begun.process
        await asyncio.wait({first, ending := asyncio.ensure_future(child.wait())}, return_when=_ONE)
        if not first.done():
            # Its arguments are wrong, or its port or store is in use: no change of a file helps.
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return ending.result()
        changed = first.result()
        while changed is not None:
            child = await _restarted(child, changed, listener.fileno())
            changed = await anext(changes, None)
        await _stop(child)
    return exits.DONE


async def _restarted(
    child: asyncio.subprocess.Process, changed: set[Path], descriptor: int
) -> asyncio.subprocess.Process:
    """The process that serves from now on: the old one, unless a new one could read its files."""
    names = ", ".join(sorted(each.name for each in changed))
    wrong = {each: problem for each in changed if (problem := _problem(each)) is not None}
    is_code = any(each.suffix == ".py" for each in wrong)
    if wrong and (is_code or len(wrong) == len(changed)) and child.returncode is None:
        say(f"reload  {names}: {next(iter(wrong.values()))}", style="red")
        say(_STILL)
        return child
    say(f"reload  {names} changed", style="bold")
    fresh = await _started(descriptor, "--again")
    if not await fresh.is_ready() and child.returncode is None:
        await fresh.process.wait()
        say(_STILL)
        return child
    await _stop(child)
    fresh.go()
    return fresh.process


async def _started(descriptor: int, *more: str) -> Serving:
    ready, told = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tenuto", *sys.argv[1:], "--listener", str(descriptor)),
            *("--ready", str(told), *more),
            pass_fds=(descriptor, told),
            env={**os.environ, PROGRAM: sys.argv[0]},
            # It ends with this process, however that ends: the pipe is closed then.
            stdin=asyncio.subprocess.PIPE,
            # Ctrl-C is for this process, which stops the other one.
            start_new_session=True,
        )
    finally:
        os.close(told)
    return Serving(process, ready)


async def _stop(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.terminate()
    await child.wait()


async def _changes(folders: Iterable[Path], stopped: asyncio.Event) -> AsyncIterator[set[Path]]:
    """The files that have changed, whenever some have, until it is stopped."""
    from watchfiles import awatch

    watching = awatch(*folders, stop_event=stopped, debounce=_QUIET_MS, recursive=False)
    async for changes in watching:
        files = {Path(path) for _, path in changes}
        if wanted := {each for each in files if each.suffix in FILES}:
            yield wanted


def _folders(files: Sequence[Path], tasks: Sequence[str]) -> set[Path]:
    paths = [which.file if (which := named(each)) else each for each in files]
    paths += [Path(each) for each in tasks if each.endswith(".py")]
    folders = {path.resolve().parent for path in paths}
    return {folder for folder in folders if folder.is_dir()} or {Path.cwd()}


def _problem(file: Path) -> str | None:
    """What keeps a file from being read at all; None where nothing does, or it is gone."""
    try:
        text = file.read_bytes()
        if file.suffix == ".py":
            ast.parse(text, str(file))
            return None
        problems = check(parse_document(text, str(file))).problems
    except OSError:
        return None
    except (SyntaxError, ValueError) as error:
        return str(error)
    except TenutoError as error:
        return error.message
    errors = [each for each in problems if each.severity == "error"]
    return str(errors[0]) if errors else None
