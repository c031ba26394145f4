"""What happened, as those outside the engine saw it: tasks, clients, commits and faults."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from tenuto.testing.weather import Fault
from tests.kit.checker.record import Fields


class Ledgers:
    """Written by the world as it goes; survives every crash."""

    def __init__(self) -> None:
        self.effects: list[Fields] = []
        self.client: list[Fields] = []
        self.commits: list[Fields] = []
        self.faults: list[Fields] = []
        self.shut_out = 0
        """How often a write found that another engine's entry was there already."""
        self.refused: set[tuple[str, str, int]] = set()
        """Results (instance, node, attempt) that no store takes, however often they are sent."""
        self.refusals_owed = 0
        """Refusals that wait for a turn with a task's result in it."""
        self._seen: set[tuple[str, str]] = set()
        self._tries: Counter[tuple[str, str]] = Counter()

    def fault(self, kind: Fault, at: float) -> None:
        self.faults.append({"kind": str(kind), "at": round(at * 1000)})

    def commit(self, turn: str, instance: str, first: int, last: int) -> None:
        """Note a commit; one that is sent again is the same."""
        if (turn, instance) not in self._seen:
            self._seen.add((turn, instance))
            number = len(self.commits) + 1
            self.commits.append(
                {"gseq": number, "instance": instance, "first": first, "last": last}
            )

    def has_committed(self, turn: str, instance: str) -> bool:
        return (turn, instance) in self._seen

    def request(self, op: str, **what: object) -> Fields:
        """Note that a client asks; what came of it is filled in, and is unknown until then."""
        entry: Fields = {"op": op, "outcome": "unknown", **what}
        self.client.append(entry)
        return entry

    def call(self, key: str, instance: str, node: str, attempt: int) -> Fields:
        """Note that a task runs."""
        effect: Fields = {
            "key": key,
            "instance": instance,
            "node": node,
            "iteration": "",
            "attempt": attempt,
            "outcome": "running",
        }
        self.effects.append(effect)
        return effect

    def has_called(self, instance: str, node: str) -> bool:
        """Whether a node is one that runs tasks."""
        return any(each["instance"] == instance and each["node"] == node for each in self.effects)

    def tries(self, instance: str, node: str) -> int:
        """How many attempts of a node have come to an end of their own."""
        return self._tries[instance, node]

    def ended(self, effect: Fields, outcome: Literal["completed", "failed", "cancelled"]) -> None:
        effect["outcome"] = outcome
        self._tries[str(effect["instance"]), str(effect["node"])] += 1

    def process_ended(self, outcome: Literal["lost", "stopped"]) -> None:
        """Whatever still runs went with its process."""
        for effect in reversed(self.effects):
            if effect["outcome"] == "running":
                effect["outcome"] = outcome

    def counts(self) -> Counter[str]:
        """How often each fault happened."""
        return Counter(str(fault["kind"]) for fault in self.faults)
