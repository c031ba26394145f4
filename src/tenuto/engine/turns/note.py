"""The note of what is being decided on, in memory that may outlive the process.

Written around every decision: two writes to memory, no call of the system. If the memory is a
mapped file, the next process reads in it of which instance this one died.
"""

from __future__ import annotations

from mmap import mmap
from typing import Final, NamedTuple, TypeAlias

from tenuto.model.inputs import AttemptLost, Input, Started, TaskSucceeded, TimerDue

SIZE: Final = 4096
ACCUSED, HUNG, TEXT = 0, 8, 16
"""Where the watchdog writes the number of a decision that it wants stopped, and of one that it
kills the process for; and where the note begins, with the number of the decision."""

_ROOM: Final = SIZE - TEXT

LOADING: Final = "its log"
"""The place of an instance whose log cannot be folded: not even shown is it."""
TAKING_OVER: Final = "its takeover"
"""The place of computing what an instance owes that was taken over."""
EFFECTS: Final = "its effects"
"""The place of computing what an instance owes that was read."""
STARTING: Final = Started.__name__
"""The place of a start: there is no such instance yet."""

Memory: TypeAlias = bytearray | mmap


class DecisionStopped(BaseException):
    """A decision took too long. Raised in the midst of it, so nothing there may catch it."""


class Noted(NamedTuple):
    """What a process was deciding on."""

    instance_id: str
    place: str
    is_hung: bool = False
    """Whether the process was killed because the decision did not end."""


class Note:
    """At most one decision: all of them are made in one thread, and nothing is awaited in one."""

    def __init__(self) -> None:
        self._memory: Memory = bytearray(SIZE)
        self._number = 0
        self.place = ""
        """The place of the newest decision."""

    def keep_in(self, memory: Memory) -> None:
        """Write to other memory from now on."""
        self._memory = memory

    def on(self, instance_id: str, place: str) -> None:
        """A decision begins."""
        self._number = number = self._number + 1
        self.place = place
        text = f"{number}\t{instance_id}\t{place}\n".encode()
        end = TEXT + len(text)
        if end > SIZE:
            text, end = text[:_ROOM], SIZE
        self._memory[TEXT:end] = text

    def off(self) -> None:
        """It has ended."""
        self._memory[TEXT] = 0

    def stop_if_accused(self) -> None:
        """Raise DecisionStopped if the watchdog wants the present decision stopped."""
        memory = self._memory
        if memory[TEXT] and _number(memory, ACCUSED) == self._number:
            raise DecisionStopped


def read(memory: bytes) -> Noted | None:
    """What was being decided on when the memory was written last."""
    text = bytes(memory[TEXT:]).partition(b"\n")[0]
    if not text or not text[0]:
        return None
    number, _, rest = text.decode("utf-8", "replace").partition("\t")
    instance_id, _, place = rest.partition("\t")
    if not number.isdecimal() or not instance_id:
        return None
    return Noted(instance_id, place, _number(memory, HUNG) == int(number))


def _number(memory: bytes | Memory, at: int) -> int:
    return int.from_bytes(memory[at : at + 8], "little")


def place_of(input: Input) -> str:
    """The kind of an input and the step that it is about: the same when it comes again."""
    kind = type(input).__name__
    if isinstance(input, TaskSucceeded):
        node, iteration = input.node, input.iteration
    else:
        about = input.key if isinstance(input, TimerDue) else input
        node, iteration = getattr(about, "node", ""), getattr(about, "iteration", "")
        if not node:
            return kind
    return f"{kind} {node}[{iteration}]" if iteration else f"{kind} {node}"


def is_recovery(place: str) -> bool:
    """Whether this is decided on because a process died, so whatever it was that it died of."""
    return place in (LOADING, TAKING_OVER, EFFECTS) or place.startswith(AttemptLost.__name__)
