"""`tenuto dev`: a serving process that is restarted whenever a file changes.

The socket is held by this process and handed to each serving one, so that a request during a
restart waits a moment instead of being refused. The store is kept: running instances go on.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tenuto.api.config import ServiceConfig
from tenuto.api.server import bind
from tenuto.cli import exits
from tenuto.cli.live_feed import interruptible
from tenuto.cli.python_files import named
from tenuto.cli.views.terminal import say
from tenuto.definition import check, parse_document
from tenuto.model.errors import TenutoError

_WATCHED = (".json", ".py")
_ONE = asyncio.FIRST_COMPLETED
_QUIET_MS = 200
"""An editor that writes a file in several steps is waited for so long."""


async def serve_and_reload(
    host: str, port: int, files: Sequence[Path], tasks: Sequence[str]
) -> int:
    """Serve until Ctrl-C; the serving process gets the arguments of this one."""
    folders = _folders(files, tasks)
    with interruptible() as stopped, bind(ServiceConfig(host=host, port=port)) as listener:
        listener.listen()
        child = await _started(listener.fileno())
        changes = _changes(folders, stopped)
        first = asyncio.ensure_future(anext(changes, None))
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
    names = ", ".join(sorted(each.name for each in changed))
    wrong = [problem for each in changed if (problem := _problem(each)) is not None]
    if wrong and child.returncode is None:
        say(f"reload  {names}: {wrong[0]}", style="red")
        say("  Still serving what was there before.")
        return child
    say(f"reload  {names} changed", style="bold")
    await _stop(child)
    return await _started(descriptor)


async def _started(descriptor: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tenuto", *sys.argv[1:], "--listener", str(descriptor)),
        pass_fds=(descriptor,),
        # It ends with this process, however that ends: the pipe is closed then.
        stdin=asyncio.subprocess.PIPE,
        # Ctrl-C is for this process, which stops the other one.
        start_new_session=True,
    )


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
        if wanted := {each for each in files if each.suffix in _WATCHED}:
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
