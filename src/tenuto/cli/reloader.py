"""`tenuto dev`, `tenuto worker --reload`: a process that is restarted whenever a file changes.

The socket of a service is held by this process and handed to each serving one, so that a request
during a restart waits a moment instead of being refused. The store is kept: running instances go
on.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from tenuto.api.config import ServiceConfig
from tenuto.api.server import bind, url_of
from tenuto.cli import exits
from tenuto.cli.dev_hints import say_where
from tenuto.cli.file_names import FILES
from tenuto.cli.live_feed import interruptible, kill_at_second_interrupt
from tenuto.cli.python_files import named
from tenuto.cli.served_address import kept_announced, reachable
from tenuto.cli.unserved_files import unserved
from tenuto.cli.views.terminal import PROGRAM, say
from tenuto.config.config import Config
from tenuto.definition import check, parse_document
from tenuto.model.errors import TenutoError

_ONE = asyncio.FIRST_COMPLETED
_QUIET_MS = 200
"""An editor that writes a file in several steps is waited for so long."""


class Started(NamedTuple):
    """A process that was started, and the pipe on which it says how far it has come."""

    process: asyncio.subprocess.Process
    ready: int
    stopped: asyncio.Event

    async def has_come_further(self) -> bool:
        """Wait until it has read its files, then until it works; False where it has ended.

        With Ctrl-C it is ended: it may read its files for long.
        """
        said = asyncio.ensure_future(asyncio.to_thread(os.read, self.ready, 1))
        stopping = asyncio.ensure_future(self.stopped.wait())
        await asyncio.wait({said, stopping}, return_when=_ONE)
        stopping.cancel()
        if not said.done():
            await _stop(self.process)
        return bool(await said) and not self.stopped.is_set()

    def go(self) -> None:
        """Let it work."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")


class Reloading(NamedTuple):
    """What is started again, and what it gets besides the arguments of this process."""

    folders: set[Path]
    arguments: Sequence[str] = ()
    descriptors: Sequence[int] = ()
    works: str = "serving"
    """What it does, for messages."""
    handing_over: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while one process ends and the next one begins."""
    read: Callable[[], Sequence[Path]] | None = None
    """The files that it reads: other definitions that change are named. None: it serves none."""


async def serve_and_reload(
    config: Config, files: Sequence[Path], read: Callable[[], Sequence[Path]]
) -> int:
    """Serve until Ctrl-C. `read`: the files that a restarted process reads, with those of tasks."""
    with bind(ServiceConfig(host=config.host, port=config.port)) as listener:
        listener.listen()
        if config.log_format == "text":
            say_where(reachable(url_of(listener)))
        descriptor = listener.fileno()
        return await reload(
            Reloading(
                _folders(files, config.tasks),
                ("--listener", str(descriptor)),
                (descriptor,),
                handing_over=lambda: kept_announced(config.store),
                read=read,
            )
        )


async def work_and_reload(config: Config) -> int:
    """Run the tasks of a worker until Ctrl-C."""
    return await reload(Reloading(_folders((), config.tasks), works="running"))


async def reload(wish: Reloading) -> int:
    """Keep a process running until Ctrl-C: another one whenever a file changes."""
    with interruptible() as stopped:
        changes = _changes(wish.folders, stopped)
        first = asyncio.ensure_future(anext(changes, None))
        child = await _begun(wish, stopped)
        await asyncio.wait({first, ending := asyncio.ensure_future(child.wait())}, return_when=_ONE)
        if not first.done() and not stopped.is_set():
            # Its arguments are wrong, or its port or store is in use: no change of a file helps.
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return ending.result()
        changed = await first
        while changed is not None:
            child = await _restarted(wish, child, changed, stopped)
            changed = await anext(changes, None)
        await _stop(child)
    return exits.DONE


async def _begun(wish: Reloading, stopped: asyncio.Event) -> asyncio.subprocess.Process:
    async with _started(wish, stopped) as begun:
        if await begun.has_come_further():
            begun.go()
        return begun.process


async def _restarted(
    wish: Reloading,
    child: asyncio.subprocess.Process,
    changed: set[Path],
    stopped: asyncio.Event,
) -> asyncio.subprocess.Process:
    """The process that works from now on: the old one, unless a new one could read its files."""
    names = ", ".join(sorted(each.name for each in changed))
    wrong = {each: problem for each in changed if (problem := _problem(each)) is not None}
    is_code = any(each.suffix == ".py" for each in wrong)
    if wrong and (is_code or len(wrong) == len(changed)) and child.returncode is None:
        say(f"reload  {names}: {next(iter(wrong.values()))}", style="red")
        say(f"  Still {wish.works} what was there before.")
        return child
    say(f"reload  {names} changed", style="bold")
    _say_unserved(wish, changed)
    async with _started(wish, stopped, "--again") as fresh:
        can_work = await fresh.has_come_further()
        if stopped.is_set():
            await _stop(fresh.process)
            return child
        if not can_work and child.returncode is None:
            await fresh.process.wait()
            say(f"  Still {wish.works} what was there before.")
            return child
        with wish.handing_over():
            await _stop(child)
            fresh.go()
            await fresh.has_come_further()
        return fresh.process


def _say_unserved(wish: Reloading, changed: set[Path]) -> None:
    """Definitions are served where they are named: say so of a new file."""
    if wish.read is None:
        return
    try:
        found = unserved(changed, wish.read())
    except TenutoError:
        # The settings cannot be read: the process that is started says why.
        return
    for each in found:
        say(
            f"  {each.name} is not served: add it to `files` under [dev] in tenuto.toml, or name "
            "it after `tenuto dev`; then start that again.",
            style="yellow",
        )


@asynccontextmanager
async def _started(wish: Reloading, stopped: asyncio.Event, *more: str) -> AsyncIterator[Started]:
    ready, told = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Like the program itself, without this folder before the libraries (-P).
            *("-P", "-m", "tenuto", *sys.argv[1:], *wish.arguments, "--ready", str(told), *more),
            pass_fds=(*wish.descriptors, told),
            env={**os.environ, PROGRAM: sys.argv[0]},
            # It ends with this process, however that ends: the pipe is closed then.
            stdin=asyncio.subprocess.PIPE,
            # Ctrl-C is for this process, which stops the other one.
            start_new_session=True,
        )
    finally:
        os.close(told)
    kill_at_second_interrupt(process.kill)
    try:
        yield Started(process, ready, stopped)
    finally:
        os.close(ready)


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
