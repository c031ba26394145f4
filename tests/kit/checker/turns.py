"""Loops and their iterations, as the history tells them so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.kit.checker.expression import Json
from tests.kit.checker.graph import Node
from tests.kit.checker.record import Fields, Row


@dataclass(slots=True)
class Iteration:
    """One iteration of a loop: its path, its own context, and how it ended."""

    path: str
    started: Row
    ctx: Fields
    """Where it stands now; it began as what its loop was entered with, or as the one before."""
    names: Fields
    """What is there in this iteration alone: `item` and `index`, or `index` and `last`, over what
    the iterations around it have."""
    failure: Row | None = None
    """The row that failed it."""
    called_off: bool = False
    ended: Row | None = None

    @property
    def is_over(self) -> bool:
        """Nothing more of it may begin."""
        return self.failure is not None or self.called_off or self.ended is not None


@dataclass(slots=True)
class Turns:
    """All iterations of one activation of a loop."""

    node: Node
    items: list[Json] | None
    next_ctx: Fields
    """What the next iteration begins with."""
    iterations: list[Iteration] = field(default_factory=list)
    ends: dict[int, Row] = field(default_factory=dict)
    last: Json = None
    fresh_from: int = 0
    """How many had begun when it was re-opened last."""
    must_fail: Row | None = None
    """An item failed, and its loop does not make do with that."""

    skipped: list[int] = field(default_factory=list)
    """The items that never begin, by their rows."""
    completed_by: Row | None = None
    """The row of a step that `completes` it."""

    appended: dict[int, Row] = field(default_factory=dict)
    """Index → the row that appended the item."""

    def append(self, row: Row) -> None:
        """An item comes to those of the source."""
        self.items = [*(self.items or ()), row.payload.get("event")]
        self.appended[len(self.items) - 1] = row

    @property
    def active(self) -> list[Iteration]:
        return [each for each in self.iterations if each.ended is None]

    @property
    def succeeded(self) -> int:
        return sum(outcome_of(row) == "success" for row in self.ends.values())

    @property
    def results(self) -> list[Json]:
        """What iterations gave, in the order of items; null where one failed."""
        ended = [index for index, row in self.ends.items() if outcome_of(row) != "cancelled"]
        return [self.ends[index].payload.get("output") for index in sorted(ended)]

    @property
    def as_they_ended(self) -> list[Json]:
        """`ctx.results`: index and result of each, in the order of their ends."""
        return [
            {"index": index, "result": row.payload.get("output")}
            for index, row in self.ends.items()
            if outcome_of(row) != "cancelled"
        ]

    @property
    def errors(self) -> list[tuple[int, str]]:
        """Index and code of what went wrong."""
        return [
            (index, row.code)
            for index, row in sorted(self.ends.items())
            if outcome_of(row) == "error"
        ]


def outcome_of(row: Row) -> str:
    """Of an ITERATION_ENDED row: success, error or cancelled."""
    return str(row.payload.get("status", "success"))


def outer(path: str) -> str:
    """The iteration around the loop that `path` is an iteration of."""
    return path.rpartition("/")[0]


def index_of(path: str) -> int:
    return int(path.rpartition("/")[2])
