"""`python -m tenuto.demo`: an order waits for its payment, and its process is killed on the way."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tenuto.cli.backends.reader import Reader, reading
from tenuto.cli.views.terminal import say, say_command, show_json
from tenuto.cli.views.watchers import Watcher, watcher_for
from tenuto.core import InstanceState
from tenuto.core.ending import output_of
from tenuto.demo.program import DATABASE, SEEN, url
from tenuto.demo.stage import Program, first_instance, watch_until
from tenuto.engine.upkeep.verification import verify
from tenuto.model.errors import TenutoError
from tenuto.model.ids import NodeKey
from tenuto.model.status import NodeStatus, Status
from tenuto.ports import SystemClock


async def play(folder: Path) -> int:
    """The whole piece; 0 when the order reached its end."""
    clock = SystemClock()
    say("An order waits for its payment, and its process is killed on the way.", style="bold")
    say(f"The store is one SQLite file: {folder / DATABASE}", style="dim")
    program = await Program.start(folder)
    try:
        while not (folder / DATABASE).exists():
            program.must_have_gone_well()
            await clock.sleep(0.05)
        await clock.sleep(0.3)
        async with reading(url(folder)) as reader:
            return await _acts(reader, folder, program)
    finally:
        await program.clear_away()


async def _acts(reader: Reader, folder: Path, program: Program) -> int:
    order = await first_instance(reader)
    held = await reader.held(order)
    clock = reader.clock
    with watcher_for(held.plan, held.state, clock.now) as watcher:
        _act("1", f"process {program.pid} takes the order")
        await _under_way(reader, order, watcher, program)
        await program.kill()
        state = (await reader.held(order)).state
        _crash(program, "in the middle of process_order")
        say(
            f"      On disk: {state.version} entries. The order is accepted, attempt 1 of "
            "process_order was ordered.\n      Its result was in memory only: that attempt is lost."
        )
        await clock.sleep(1.2)

        program = await Program.start(folder)
        _act("2", f"the same program again, process {program.pid}: it goes on by itself")
        await watch_until(
            reader, order, watcher, program, lambda state: state.status is Status.WAITING_FOR_EVENT
        )
        await clock.sleep(0.8)
        await program.kill()
        _crash(program, "while the order waits")
        say("      A wait needs no process. It is a row, with its time-out in three days.")
        await clock.sleep(1.2)

        program = await Program.start(folder, "--pay")
        _act("3", f"the same program again, process {program.pid}; now the payment arrives")
        await watch_until(reader, order, watcher, program, lambda state: state.status.is_final)
        await program.end()
    held = await reader.held(order)
    if held.state.status is not Status.COMPLETED:
        raise TenutoError(f"the order ended {held.state.status.value}")
    say()
    say("The order is complete. Its output:", style="bold green")
    show_json(output_of(held.plan, held.state))
    await _epilogue(reader, folder, held.state)
    return 0


async def _under_way(reader: Reader, order: str, watcher: Watcher, program: Program) -> None:
    """Until the first attempt has been running long enough to be seen."""

    def is_running(state: InstanceState) -> bool:
        node = state.nodes.get(NodeKey("process_order"))
        return node is not None and node.status is NodeStatus.RUNNING

    await watch_until(reader, order, watcher, program, is_running)
    await reader.clock.sleep(1.2)


async def _epilogue(reader: Reader, folder: Path, state: InstanceState) -> None:
    say()
    say("What the tasks saw:", style="bold")
    lost = True
    for line in (folder / SEEN).read_text(encoding="utf-8").splitlines():
        step, attempt, key = line.split(" ", 2)
        note = ""
        if step == "process_order":
            note = "lost with its process" if lost else "the same key: the other side can tell"
            lost = False
        say(f"  {step:<15} attempt {attempt}  key …{key[-len(step) - 9 :]}  {note}".rstrip())
    async for verdict in verify(reader.store, reader.plans):
        if verdict.differences:
            raise TenutoError("the log and the stored state differ", code="TEN-4007")
    say(f"Verified: the stored state follows from the {state.version} entries of its log.")
    say()
    say("Look yourself:", style="bold")
    say_command(f"tenuto show @last --history --store {url(folder)}")


def _act(number: str, text: str) -> None:
    say(f"\n  {number}   {text}", style="bold")


def _crash(program: Program, where: str) -> None:
    say(f"\n  ✗   kill -9 {program.pid}, {where}", style="bold red")


def main() -> int:
    """Play in a folder of its own, which is left for people to look at."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="tenuto-"))
    try:
        return asyncio.run(play(folder))
    except KeyboardInterrupt:
        say(f"stopped; what it left is in {folder}")
        return 130
    except TenutoError as error:
        say(str(error), style="red")
        return 1


if __name__ == "__main__":
    sys.exit(main())
