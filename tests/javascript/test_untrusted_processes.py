"""A process that says what none of ours would say is ended, and costs the service nothing."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenuto.sandbox.confined_process import ConfinedProcess
from tenuto.sandbox.failures import lines_of, of_death
from tenuto.sandbox.messages import LENGTH, Ended, Ready, encode
from tenuto.tasks.child_process import ChildProcess

TOO_LONG = 30.0
WAITS = "import os, sys; os.read(int(sys.argv[-2]), 1)"
"""Until its pipe is closed."""

_READY = encode(Ready(protections=(), missing=()))
SAYINGS = {
    "a message of two gigabytes": LENGTH.pack(1 << 31),
    "no message": LENGTH.pack(3) + b"\xc1\xc1\xc1",
    "a message of the service": (LENGTH.pack(len(_READY)) + _READY) * 2,
    "an answer that nobody asked for": LENGTH.pack(len(_READY))
    + _READY
    + LENGTH.pack(len(encode(Ended())))
    + encode(Ended()),
    "a deep message": LENGTH.pack(5_000) + b"\x91" * 5_000,
}


@pytest.mark.asyncio
@pytest.mark.parametrize("said", SAYINGS.values(), ids=SAYINGS)
async def test_a_process_that_says_something_else_is_ended(said: bytes) -> None:
    program = f"import os, sys; os.write(int(sys.argv[-1]), {said!r})"
    program += "; os.read(int(sys.argv[-2]), 1)"
    with ThreadPoolExecutor(1) as starter:
        child = await asyncio.get_running_loop().run_in_executor(
            starter, lambda: ChildProcess("-I", "-c", program, environment={})
        )
        process = ConfinedProcess(child, starter)
        async with asyncio.timeout(TOO_LONG):
            assert await process.ended == "signal SIGKILL"


@pytest.mark.asyncio
async def test_a_process_is_ended_though_no_thread_begins_any_more() -> None:
    """As while the interpreter stops."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as starter:
        child = await loop.run_in_executor(
            starter,
            lambda: ChildProcess("-I", "-c", WAITS, environment={}),
        )
        process = ConfinedProcess(child, starter)
        starter.shutdown()
        await loop.shutdown_default_executor()
        process.kill()
        assert await process.ended == "the interpreter stops"
    child.kill()
    assert str(child.death()) == "signal SIGKILL"


@pytest.mark.parametrize(
    "console", [b"", b"[[1]]", b"{}", b'[["info", 0, "\\ud800"]]', b"[" * 10_000]
)
def test_lines_that_are_none_are_left_out(console: bytes) -> None:
    assert lines_of(Ended(console=console), 1000) == ((), 0)


def test_lines_are_measured_again() -> None:
    console = b"[" + b",".join([b'["odd", 1e300, "' + b"x" * 100 + b'"]'] * 50) + b"]"
    lines, dropped = lines_of(Ended(console=console, dropped=-5), 1000)
    assert (len(lines), dropped) == (8, 42)
    assert {each.level for each in lines} == {"info"}


def test_an_end_without_memory_or_time_is_told_from_a_crash() -> None:
    assert of_death("exit code 77").code == "MEMORY_EXCEEDED"
    assert of_death("signal SIGXCPU").code == "TIMEOUT"
    assert of_death("signal SIGSEGV").code == "PROCESS_DIED"
