"""The faults that a test has planned for single durable writes of its engine."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.testing.fault_plan import Fault, NoFaults


class Unrest(NoFaults):
    """Planned faults only; counts commits alone, over all processes of a test.

    Opening the store, deploying and takeover are writes too, but a workflow does not see them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._faults: dict[int, Fault] = {}
        self._actions: dict[int, list[Callable[[], None]]] = {}
        self._at_reports: dict[int, tuple[Fault, Callable[[], None]]] = {}
        self.reports = 0
        """How many results of tasks were reported."""
        self.notes: dict[int, str] = {}
        """A short description of each durable write."""

    def strike(self, write: int, fault: Fault) -> None:
        """Plan a fault at a durable write, counted from the first one."""
        self._faults[write] = fault

    def call(self, write: int, action: Callable[[], None]) -> None:
        """Plan an action for the moment of a durable write."""
        self._actions.setdefault(write, []).append(action)

    def strike_report(self, number: int, fault: Fault, action: Callable[[], None]) -> None:
        """Plan a fault for the n-th result of a task."""
        self._at_reports[number] = fault, action

    def on_report(self) -> Fault | None:
        self.reports += 1
        fault, action = self._at_reports.pop(self.reports, (None, _nothing))
        action()
        return fault

    @property
    def ahead(self) -> list[int]:
        """Writes with a planned fault that have not happened yet."""
        return sorted(write for write in self._faults if write > self.writes)

    def on_write(self, verb: str) -> Fault | None:
        if verb != "turns.commit":
            return None
        self.writes += 1
        for action in self._actions.pop(self.writes, ()):
            action()
        return self._faults.pop(self.writes, None)


def _nothing() -> None:
    """The action for results without a planned fault."""
