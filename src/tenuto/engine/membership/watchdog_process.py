"""Watches the note of the process that started it. Run as a program, without the package.

A decision that stands for ten looks is to be stopped, one that stands for fifteen cannot be, and
the process is killed; what was decided on stays in the file. Looks are counted and not seconds: of
a machine that sleeps, or a process that is paused, the decisions take no longer.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
from pathlib import Path

_SIZE, _ACCUSED, _HUNG, _TEXT = 4096, 0, 8, 16
_LOOKS, _MORE_LOOKS = 10, 5


def watch(path: str, seconds: float, stop: int | None) -> None:
    """Return when the other process has ended, or closes the way to this one."""
    watched = os.getppid()
    with Path(path).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), _SIZE)
    number, looks = 0, 0
    while not select.select([0], [], [], seconds / _LOOKS)[0] and os.getppid() == watched:
        standing = _standing(memory)
        if standing != number or not standing:
            number, looks = standing, 0
            continue
        looks += not _is_paused(watched)
        if looks == _LOOKS and stop is not None:
            memory[_ACCUSED : _ACCUSED + 8] = number.to_bytes(8, "little")
            os.kill(watched, stop)
        elif looks >= _LOOKS + (_MORE_LOOKS if stop is not None else 0):
            memory[_HUNG : _HUNG + 8] = number.to_bytes(8, "little")
            memory.flush()
            text = memory[_TEXT:].partition(b"\n")[0].decode("utf-8", "replace")
            sys.stderr.write(
                f"CRITICAL a decision does not end, and its process is killed: {text!r}\n"
            )
            os.kill(watched, signal.SIGKILL)
            return


def _standing(memory: mmap.mmap) -> int:
    """The number of the decision that is being made; 0 if there is none."""
    text = memory[_TEXT : _TEXT + 24].partition(b"\t")[0]
    return int(text) if text.isdigit() else 0


def _is_paused(process: int) -> bool:
    """Whether the process is stopped by a signal or a debugger, as far as the system says."""
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state in (b"T", b"t")


if __name__ == "__main__":
    watch(sys.argv[1], float(sys.argv[2]), int(sys.argv[4]) if sys.argv[3] == "1" else None)
