"""Watches the note of the process that started it. Run as a program, without the package.

A decision that hangs is distinguished from a process that gets no processor: what counts is the
time that the deciding thread has computed since the decision began. A decision that waits for
something, which none should, computes nothing: of the time that passes a tenth counts. It is
measured in looks and not by a clock: of a machine that sleeps, or a process that is paused, the
decisions take no longer.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
from pathlib import Path

_SIZE, _ACCUSED, _HUNG, _TEXT = 4096, 0, 8, 16
LOOKS = 10
"""Looks in the time that a decision may take."""
BLOCKED = 10
"""So many times longer may a decision take that computes nothing, or gets no processor."""
_LONGER = 1.5
"""So many times longer may a decision take until its process is killed: it may be stopped first."""

STOP, KILL = "stop", "kill"


class Rule:
    """Says what is to be done about the decision that stands in a note, from look to look."""

    def __init__(self, seconds: float, *, can_stop: bool) -> None:
        """`seconds`: how long a decision may take. `can_stop`: whether it can be interrupted."""
        self._seconds = seconds
        self._can_stop = can_stop
        self._number = 0
        self._before: float | None = None
        self._looks = 0
        self._is_stopped = False

    def look(self, number: int, computed: float | None, *, is_paused: bool = False) -> str | None:
        """STOP, KILL or None.

        `number`: that of the decision; 0: none. `computed`: the seconds that the deciding thread
        has computed in its life; None: the system does not say, and all time counts.
        """
        if number != self._number or not number:
            self._number, self._before = number, computed
            self._looks, self._is_stopped = 0, False
            return None
        self._looks += not is_paused
        spent = self._looks * self._seconds / LOOKS
        if computed is not None and self._before is not None:
            spent = max(computed - self._before, spent / BLOCKED)
        if spent >= self._seconds * (_LONGER if self._can_stop else 1):
            return KILL
        if spent < self._seconds or self._is_stopped:
            return None
        self._is_stopped = True
        return STOP


def watch(path: str, seconds: float, stop: int | None, thread: int) -> None:
    """Return when the other process has ended, or closes the way to this one."""
    watched = os.getppid()
    with Path(path).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), _SIZE)
    rule = Rule(seconds, can_stop=stop is not None)
    while not select.select([0], [], [], seconds / LOOKS)[0] and os.getppid() == watched:
        number = _standing(memory)
        is_paused, computed = _state(watched, thread) if number else (False, None)
        verdict = rule.look(number, computed, is_paused=is_paused)
        if verdict == STOP and stop is not None:
            memory[_ACCUSED : _ACCUSED + 8] = number.to_bytes(8, "little")
            os.kill(watched, stop)
        elif verdict == KILL:
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


def _state(process: int, thread: int) -> tuple[bool, float | None]:
    """Whether a signal or a debugger paused a thread, and the seconds that it has computed."""
    try:
        said = Path(f"/proc/{process}/task/{thread}/stat").read_bytes()
        fields = said.rpartition(b")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return False, None
    return fields[0] in (b"T", b"t"), ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    can_stop = sys.argv[3] == "1"
    watch(sys.argv[1], float(sys.argv[2]), int(sys.argv[4]) if can_stop else None, int(sys.argv[5]))
