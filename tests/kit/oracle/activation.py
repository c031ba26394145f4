"""Nodes and iterations as the oracle keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.kit.checker.expression import Json
from tests.kit.checker.graph import Node
from tests.kit.workload.behaviours import Behaviour


@dataclass(slots=True, eq=False)
class Scope:
    """The top of an instance, or one iteration of a loop: its context and its nodes."""

    ctx: dict[str, Json]
    loop: Activation | None = None
    path: str = ""
    names: dict[str, Json] = field(default_factory=dict)
    """What is in `ctx` here alone: the item and its index, or the index and what came last."""
    nodes: dict[str, Activation] = field(default_factory=dict)
    failed: bool = False
    called_off: bool = False

    @property
    def over(self) -> bool:
        """Nothing more of it begins."""
        return self.failed or self.called_off

    def name(self, id: str) -> str:
        return f"{id}[{self.path}]" if self.path else id


@dataclass(slots=True, eq=False)
class Activation:
    """A node, in one iteration of the loops around it."""

    plan: Node
    scope: Scope
    status: str = "PENDING"
    taken: int = 0
    dead: int = 0
    arrivals: list[Json] = field(default_factory=list)
    """What its taken edges brought, of a loop over arrivals."""
    tries: int = 0
    serial: int = 0
    """Rises whenever what was planned for this node no longer counts."""
    told: bool = False
    held: bool = False
    """Its task is done, and asked that what follows is dispatched later."""
    tells: int = 0
    withdrawn: bool = False
    """The instance's end called it off: its edges stay as they are."""
    held_back: tuple[str, ...] = ()
    failures: int = 0
    """Those that use up the budget: since it was re-opened, if it was."""
    reopened: bool = False
    unhandled: bool = False
    retrying: bool = False
    retry_due: bool = False
    behaviour: Behaviour | None = None
    since: int = 0
    sees: dict[str, Json] = field(default_factory=dict)
    output: Json = None
    counted: list[Json] = field(default_factory=list)
    """The events of a wait for several."""
    # Of a loop alone.
    items: list[Json] | None = None
    started: int = 0
    fresh_from: int = 0
    """How many iterations had begun when it was re-opened."""
    succeeded: int = 0
    results: dict[int, Json] = field(default_factory=dict)
    last: Json = None
    ends: list[int] = field(default_factory=list)
    """Indexes of iterations that have ended, in the order of their ends."""
    named: Json = None
    """What its `enough` named when it was read last."""
    completed: bool = False
    """A step that `completes` it was done."""
    next_ctx: dict[str, Json] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        return self.status in ("RUNNING", "WAITING")

    @property
    def fires(self) -> bool:
        total = len(self.plan.incoming)
        if self.plan.takes_arrivals:
            return self.taken > 0
        if self.plan.needs is None:
            return self.taken + self.dead == total and (self.taken > 0 or total == 0)
        return self.taken >= self.plan.needs

    @property
    def doomed(self) -> bool:
        total = len(self.plan.incoming)
        return total > 0 and total - self.dead < (self.plan.needs or 1)

    @property
    def has_all_edges(self) -> bool:
        """Whether each of its edges is taken or dead."""
        return self.taken + self.dead == len(self.plan.incoming)

    def arrive(self, source: str, output: Json) -> None:
        """An edge to it is taken."""
        self.taken += 1
        self.arrivals.append({"from": source, "output": output})

    @property
    def may_begin(self) -> bool:
        """Whether it is about to begin, or to be skipped."""
        if self.status != "PENDING" or self.scope.over:
            return False
        return self.reopened or self.doomed or (self.fires and bool(self.plan.incoming))

    @property
    def collected(self) -> list[Json]:
        """What a loop's iterations gave, in the order of items."""
        return [self.results[index] for index in sorted(self.results)]
