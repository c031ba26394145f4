"""What happened, as those outside the engine saw it: tasks, clients, commits and faults."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from tenuto.testing.fault_plan import Fault
from tests.kit.checker.record import Fields


class Ledgers:
    """Written by the world as it goes; survives every crash."""

    def __init__(self) -> None:
        self.effects: list[Fields] = []
        self.client: list[Fields] = []
        self.commits: list[Fields] = []
        self.faults: list[Fields] = []
        self.heard: list[Fields] = []
        """What came to addresses outside."""
        self.shut_out = 0
        """How often a write found that another engine's entry was there already."""
        self.refused: set[tuple[str, str, str, int]] = set()
        """Results (instance, node, iteration, attempt) that no store takes, however often they are
        sent."""
        self.accepted: set[tuple[str, str, str, int]] = set()
        """Results that are durable."""
        self.limits: list[Fields] = []
        """Every change of limits, and how many commits were there when it was asked and done."""
        self.stored: dict[tuple[str, str], int] = {}
        """How many commits were there before each event, by its tenant and id."""
        self.refusals_owed = 0
        """Refusals that wait for a turn with a task's result in it."""
        self.most_running = 0
        """The most tasks that ran at once, in all engines."""
        self._running = 0
        self._seen: set[tuple[str, str]] = set()
        self._tries: Counter[tuple[str, str, str]] = Counter()

    def fault(self, kind: Fault, at: float) -> None:
        self.faults.append({"kind": str(kind), "at": round(at * 1000)})

    def commit(self, turn: str, instance: str, first: int, last: int) -> None:
        """Note a commit; one that is sent again is the same."""
        if (turn, instance) not in self._seen:
            self._seen.add((turn, instance))
            number = len(self.commits) + 1
            self.commits.append(
                {
                    "gseq": number,
                    "turn": turn,
                    "instance": instance,
                    "first": first,
                    "last": last,
                }
            )

    def event(self, tenant: str, id: str) -> None:
        """Note that an event is stored; only the first time counts."""
        self.stored.setdefault((tenant, id), len(self.commits))

    def limit(self, limits: Fields) -> Fields:
        """Note that limits are about to be set; when that is done is filled in."""
        change: Fields = {"asked": len(self.commits) + 1, "done": None, "limits": limits}
        self.limits.append(change)
        return change

    def request(self, op: str, **what: object) -> Fields:
        """Note that a client asks; what came of it is filled in, and is unknown until then."""
        entry: Fields = {"op": op, "outcome": "unknown", **what}
        self.client.append(entry)
        return entry

    def call(self, key: str, instance: str, node: str, attempt: int) -> Fields:
        """Note that a task runs; its key tells in which iteration."""
        effect: Fields = {
            "key": key,
            "instance": instance,
            "node": node,
            "iteration": iteration_of(key, instance, node),
            "attempt": attempt,
            "outcome": "running",
        }
        self.effects.append(effect)
        self._running += 1
        self.most_running = max(self.most_running, self._running)
        return effect

    def has_called(self, instance: str, node: str) -> bool:
        """Whether a node is one that runs tasks."""
        return any(each["instance"] == instance and each["node"] == node for each in self.effects)

    def tries(self, instance: str, node: str, iteration: str = "") -> int:
        """How many attempts of a node have come to an end of their own."""
        return self._tries[instance, node, iteration]

    def ended(self, effect: Fields, outcome: Literal["completed", "failed", "cancelled"]) -> None:
        self._running -= effect["outcome"] == "running"
        effect["outcome"] = outcome
        place = (str(effect["instance"]), str(effect["node"]), str(effect["iteration"]))
        self._tries[place] += 1

    def process_ended(self, outcome: Literal["lost", "stopped"]) -> None:
        """Whatever still runs went with its process."""
        self._running = 0
        for effect in reversed(self.effects):
            if effect["outcome"] == "running":
                effect["outcome"] = outcome

    def counts(self) -> Counter[str]:
        """How often each fault happened."""
        return Counter(str(fault["kind"]) for fault in self.faults)


def iteration_of(key: str, instance: str, node: str) -> str:
    """The iteration that an idempotency key names; none when it is not such a key."""
    start = f"{instance}:{node}:"
    return key.removeprefix(start) if key.startswith(start) else ""
