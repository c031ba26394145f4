"""A decision that kills its process every time, and the notes that processes leave behind."""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import datetime

from tenuto.core import Decision, InstanceState, Plan
from tenuto.engine.membership.watchdog_process import KILL, Rule
from tenuto.engine.turns.drafter import Decide
from tenuto.engine.turns.note import HUNG, SIZE, TEXT, Note, read
from tenuto.engine.turns.quarantine import Left
from tenuto.model.inputs import Input, Started
from tenuto.model.policy import Policies
from tenuto.testing.virtual_loop import VirtualLoop


class Killed(BaseException):
    """Unwinds the decision; the loop that it runs in goes no further."""


def _watch(memory: bytearray, number: int) -> None:
    """As the watchdog does, from look to look: first of a starved process, then of a hung one."""
    rule, computed = Rule(1.0, can_stop=False), 0.0
    assert not any(rule.look(number, computed) for _ in range(90)), "it was not its turn"
    while number and rule.look(number, computed) != KILL:
        computed += 0.1
    memory[HUNG : HUNG + 8] = number.to_bytes(8, "little")


class Poison:
    """Instances of one workflow kill whoever decides on them, until that is mended."""

    def __init__(
        self,
        definition_id: str,
        *,
        is_hang: bool = False,
        only_at: Container[int] | None = None,
        at_start: bool = False,
    ) -> None:
        """With `is_hang` it is the watchdog that kills, as it says in the note.

        With `at_start` it is their starts that kill, and nothing else.

        With `only_at` processes die by chance: at these decisions, counted over all processes.
        """
        self._definition_id = definition_id
        self._is_hang = is_hang
        self._only_at = only_at
        self.at_start = at_start
        self._decisions = 0
        self._memories: dict[str, bytearray] = {}
        """The notes of living processes."""
        self._left: dict[str, Left] = {}
        self.losses = 0
        self.places: list[str] = []
        """What was being decided on at each loss."""
        self.is_mended = self.is_released = False

    def planted(self, decide: Decide, loop: VirtualLoop) -> Decide:
        """The core with the bug in it."""

        def deciding(
            plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
        ) -> Decision:
            if self.at_start:
                is_meant = isinstance(input, Started) and input.definition_id == self._definition_id
            else:
                is_meant = state.version > 0 and state.definition_id == self._definition_id
            self._decisions += is_meant
            is_hit = self._only_at is None or self._decisions in self._only_at
            if is_meant and is_hit and not self.is_mended:
                self._kill()
                loop.crash("poison")
                raise Killed
            return decide(plan, state, input, now, policies)

        return deciding

    def begun(self) -> None:
        """A new process: those before it are gone, whatever they died of."""
        self._memories.clear()

    def _kill(self) -> None:
        self.losses += 1
        for process_id, memory in self._memories.items():
            if self._is_hang:
                number = bytes(memory[TEXT:]).partition(b"\t")[0].decode()
                _watch(memory, int(number.strip("\0") or "0"))
            if (noted := read(bytes(memory))) is not None:
                self._left[process_id] = Left(process_id, noted)
                self.places.append(noted.place)

    # -- as the notes of an engine

    def open(self, process_id: str, note: Note) -> None:
        self._memories[process_id] = memory = bytearray(SIZE)
        note.keep_in(memory)

    def left(self) -> Iterator[Left]:
        yield from list(self._left.values())

    def forget(self, process_id: str) -> None:
        self._left.pop(process_id, None)

    def close(self) -> None:
        """Nothing stands in a note between two decisions."""
