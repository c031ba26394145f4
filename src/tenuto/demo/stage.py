"""The stage: starts the program, looks at its store from outside, kills it, starts it again."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tenuto.cli.backends.reader import Reader
from tenuto.cli.views.watchers import Watcher
from tenuto.core import InstanceState
from tenuto.model.errors import TenutoError
from tenuto.store.parts.instances import InstanceQuery

_LOOK_EVERY: Final = 0.1
_PATIENCE: Final = 30.0


class Program:
    """One life of the program."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path) -> None:
        self._process = process
        self._output = output

    @classmethod
    async def start(cls, folder: Path, *arguments: str) -> Program:
        output = folder / "program.log"
        with output.open("ab") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tenuto.demo.program",
                str(folder),
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        return cls(process, output)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def kill(self) -> None:
        """SIGKILL: no handler runs, nothing more is written."""
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def end(self) -> None:
        """Wait until it ends by itself."""
        async with asyncio.timeout(_PATIENCE):
            await self._process.wait()
        self.must_have_gone_well()

    def must_have_gone_well(self) -> None:
        if self._process.returncode not in (None, 0):
            log = self._output.read_text(encoding="utf-8", errors="replace")
            raise TenutoError(f"the program ended with {self._process.returncode}\n{log}")

    async def clear_away(self) -> None:
        """End it if it still runs, when the demonstration stops early."""
        if self._process.returncode is None:
            await self.kill()


async def first_instance(reader: Reader) -> str:
    """The id of the order, once it was accepted."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            page = await reader.store.instances.page(InstanceQuery(limit=1))
            if page.items:
                return page.items[0].id
            await reader.clock.sleep(_LOOK_EVERY)


async def watch_until(
    reader: Reader,
    instance_id: str,
    watcher: Watcher,
    program: Program,
    is_reached: Callable[[InstanceState], bool],
) -> InstanceState:
    """Show what the store says until the instance is where it should be."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            held = await reader.held(instance_id)
            watcher.changed(held.state, held.plan.nodes)
            if is_reached(held.state):
                return held.state
            program.must_have_gone_well()
            await reader.clock.sleep(_LOOK_EVERY)
