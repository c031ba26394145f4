"""Steps and blocks, as they are recorded while a workflow function is called.

A block is a part of the function: all of it, one side of a `when`, the body of a loop, the handler
of an error. A barrier (`sleep`, `wait_event`, `publish`, `terminate`) divides a block into
segments: it comes after all of the segment before it and before all of the segment after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tenuto.model.graph import DEFAULT, ELSE, ERROR
from tenuto.python_form.places import Place

GO = "go"
"""The one handle of a step that only joins."""

APPROVED, REJECTED = "approved", "rejected"
"""Handles of an approval."""

ARM = "_arm"
"""Behind the id of a wait: the variable with the arm that it took."""

Join = Literal["required", "any", "all"]

_OF_ITEMS = frozenset({"item", "index"})
_OF_WHILE = frozenset({"index", "last"})


class Step:
    """A future node of the graph."""

    def __init__(  # noqa: PLR0913 - what a node is
        self,
        kind: str,
        base: str,
        block: Block,
        place: Place,
        *,
        config: dict[str, object] | None = None,
        handle: str = DEFAULT,
        join: Join = "required",
        is_barrier: bool = False,
        has_output: bool = False,
    ) -> None:
        self.kind = kind
        self.base = base
        """Its name if no variable holds it."""
        self.block = block
        self.segment = block.segment
        self.place = place
        self.config = config if config is not None else {}
        self.handle = handle
        """The handle from which the edges to dependent steps leave."""
        self.join = join
        self.is_barrier = is_barrier
        self.has_output = has_output
        self.given_name: str | None = None
        self.named_after: tuple[Step, str] | None = None
        """A step whose id is the prefix of this one's id."""
        self.title: str | None = None
        self.id = ""
        """Set when the function has returned."""
        self.waits_for: list[Step] = []
        """Steps that it depends on, by their values or by `.after`."""
        self.sources: list[Exit] = []
        """For an `any` join: the handles of which the first is enough."""
        self.at_least = 1
        """For an `any` join: how many of the handles are enough."""
        self.cancels_rest = False
        """For an `any` join: whether the other sources are cancelled."""
        self.ways: dict[str, Exit] | None = None
        """For a join of the outcomes of an approval: those with which the workflow continues if the
        function tests the decision."""
        self.keeps: object = None
        """For a variable that keeps a value of an iteration: that value."""
        self.variables: frozenset[str] = frozenset()
        """The variables of the context that it sets, beside its output."""
        self.branches: list[Block] = []
        """For a condition: its sides, in order."""
        self.hidden: tuple[str, Step] | None = None
        """A variable, and the value of another branch that it held before this one."""

    @property
    def is_part_of_barrier(self) -> bool:
        """Whether it only joins the handles of a barrier."""
        return self.is_barrier and bool(self.sources)

    def take(self, *handles: str) -> None:
        """Continue with further outcomes of an approval, except those that are handled."""
        ways = self.ways or {}
        for each in handles:
            if each in ways and ways[each] not in self.sources:
                self.sources.append(ways[each])

    def __repr__(self) -> str:
        return f"<{self.kind} {self.id or self.base} at {self.place}>"


class Exit(NamedTuple):
    """A handle of a step, as an edge leaves it."""

    step: Step
    handle: str


class Block:
    """A part of a workflow function, and its entry."""

    def __init__(
        self,
        parent: Block | None = None,
        head: Step | None = None,
        handle: str = DEFAULT,
        *,
        is_loop: bool = False,
    ) -> None:
        self.parent = parent
        self.head = head
        self.handle = handle
        self.is_loop = is_loop
        self._segments: list[list[Step]] = [[]]
        self.decision: Step | None = None
        """The `when` that an `otherwise` would belong to."""
        self.entries: list[Exit | None] = [None if head is None else Exit(head, handle)]
        """The entry that the steps of each segment come after."""
        self.ended_by: Step | None = None
        """The `terminate` that no step can follow."""
        self.kept: dict[str, Step] = {}
        """The values of an iteration that loops inside it use, by name, and the steps that keep
        them."""

    @property
    def segment(self) -> int:
        return len(self.entries) - 1

    @property
    def head_waits(self) -> bool:
        """Whether the head waits for values that the block uses; not if it handles a failure."""
        assert self.head is not None
        return self.is_loop or self.head.kind == "condition"

    @property
    def names(self) -> frozenset[str]:
        """The names that an iteration brings, if it is the body of a loop."""
        if not self.is_loop or self.head is None:
            return frozenset()
        return _OF_WHILE if "while" in self.head.config else _OF_ITEMS

    @property
    def around(self) -> Iterator[Block]:
        """This block and those it stands in, from the inside."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent

    @property
    def is_empty(self) -> bool:
        return not any(self._segments)

    def add(self, step: Step) -> None:
        self._segments[step.segment].append(step)

    def remove(self, step: Step) -> None:
        self._segments[step.segment].remove(step)

    def begin_segment(self, after: Step) -> None:
        self.entries.append(Exit(after, after.handle))
        self._segments.append([])

    def at(self, segment: int) -> list[Step]:
        """Its steps in one segment, the barrier that ends it left out."""
        return [each for each in self._segments[segment] if not each.is_barrier]

    def item_of(self, step: Step) -> Step | None:
        """The step of this block that is `step` or contains it; None if it is elsewhere."""
        if step.block is self:
            return step
        for block in step.block.around:
            if block.parent is self:
                return block.head
        return None


__all__ = [
    "APPROVED",
    "ARM",
    "DEFAULT",
    "ELSE",
    "ERROR",
    "GO",
    "REJECTED",
    "Block",
    "Exit",
    "Join",
    "Step",
]
