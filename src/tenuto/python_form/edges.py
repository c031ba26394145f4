"""Turns the dependencies of steps into edges.

Every edge is required. A step has an edge from each step of its own segment that it uses, or else
from the entry of its segment: the barrier before it, or the head of its block. The entry waits for
earlier steps. The head of a block waits for the values that the block uses from outside; so the
steps in it need no edge to those, and a side that is not taken waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tenuto.model.graph import ELSE
from tenuto.python_form.outcomes import (
    Edges,
    needless_joins,
    skip_join,
    take_outcomes_tested_in_text,
)
from tenuto.python_form.references import named_steps
from tenuto.python_form.step import GO, Block, Exit, Step
from tenuto.python_form.step_ids import Names
from tenuto.python_form.trace import Trace, only_the_last

__all__ = ["Edges", "wire"]


def wire(trace: Trace, names: Names) -> Edges:
    """The edges into every step; adds the joins that barriers behind a decision need."""
    return _Wiring(trace, names).all_edges()


class _Wiring:
    def __init__(self, trace: Trace, names: Names) -> None:
        self._trace = trace
        self._names = names
        self._by_id = {step.id: step for step in trace.steps}
        self._edges: Edges = {step: {} for step in trace.steps}
        self._setting: dict[str, list[Step]] = {}
        """By variable, the steps that set it."""
        for step in trace.steps:
            for name in step.variables:
                self._setting.setdefault(name, []).append(step)

    def all_edges(self) -> Edges:
        take_outcomes_tested_in_text(self._trace.steps)
        for step in list(self._edges):
            for source in step.sources:
                self._edges[step][source] = None
            if step.is_part_of_barrier:
                continue
            for used in (*step.waits_for, *named_steps(step, self._by_id, self._set_before)):
                self._require(used, step)
        for step in self._trace.steps:
            self._fold_into_its_only_user(step)
        for step in list(self._trace.steps):
            if step.is_barrier and not step.sources:
                for end in self._all_before(step):
                    self._edges[step][end] = None
        for step in self._trace.steps:
            self._enter(step)
        for step in needless_joins(self._trace.steps):
            skip_join(self._edges, step)
            self._remove(step)
        return self._edges

    def _set_before(self, name: str, step: Step) -> Step | None:
        """The last step before `step` that sets a variable."""
        setting = self._setting.get(name)
        if setting is None:
            return None
        steps = self._trace.steps
        before = [each for each in setting if steps.index(each) < steps.index(step)]
        return before[-1] if before else None

    def _require(self, used: Step, user: Step) -> None:
        """Let `user`, or the head of a block around it, wait for `used`."""
        waiting = user
        block = user.block
        while block not in used.block.around:
            assert block.head is not None
            assert block.parent is not None
            if block.head_waits:
                waiting = block.head
            block = block.parent
        if waiting is used or used is user:
            return
        item, own = block.item_of(used), block.item_of(waiting)
        assert item is not None
        assert own is not None
        if not self._can_be_seen(used, block, user) or own is used:
            return
        if waiting.is_barrier and used.block is block and item.segment <= own.segment:
            # It comes after all of them anyway.
            return
        if item.segment > own.segment or (item.is_barrier and item.segment == own.segment):
            self._refuse_later(used, user)
        elif item.segment == own.segment or used.block is not block:
            self._edges[waiting][Exit(used, used.handle)] = None

    def _can_be_seen(self, used: Step, block: Block, user: Step) -> bool:
        between = list(used.block.around)
        between = between[: between.index(block)]
        if any(each.is_loop for each in between):
            self._trace.refuse(
                "TEN-1116",
                f"`{used.id}` is inside a loop and does not exist outside",
                "Use the results of the loop, which are a list.",
                user.place,
            )
            return False
        if between and used.hidden is not None and user.join != "any":
            self._trace.refuse("TEN-1107", *only_the_last(*used.hidden), user.place)
        return True

    def _refuse_later(self, used: Step, user: Step) -> None:
        self._trace.refuse(
            "TEN-1115",
            f"`{user.id}` names `{used.id}`, which comes after it",
            "Move the step behind the one that it names.",
            user.place,
        )

    def _fold_into_its_only_user(self, join: Step) -> None:
        """An `any` join that only one step waits for is merged into that step."""
        if join.base != "after_any":
            return
        users = [step for step, sources in self._edges.items() if Exit(join, GO) in sources]
        for user in users:
            others = [each.step for each in self._edges[user] if each.step is not join]
            if join.at_least == 1 and any(each.step in others for each in join.sources):
                # A step that it needs anyway is among those of which one is enough.
                del self._edges[user][Exit(join, GO)]
        users = [step for step in users if Exit(join, GO) in self._edges[step]]
        if len(users) == 1 and users[0].block is join.block and len(self._edges[users[0]]) == 1:
            user = users.pop()
            user.join = "any"
            user.sources = join.sources
            user.at_least, user.cancels_rest = join.at_least, join.cancels_rest
            self._edges[user] = dict(self._edges[join])
        if not users:
            self._remove(join)

    def _remove(self, step: Step) -> None:
        del self._edges[step]
        self._trace.steps.remove(step)
        step.block.remove(step)

    def _enter(self, step: Step) -> None:
        """Let a step without a predecessor in its segment wait for the segment's entry."""
        entry = step.block.entries[step.segment]
        if entry is None or step.sources:
            return
        if not any(self._comes_from(step, each.step) for each in self._edges[step]):
            self._edges[step] = {entry: None, **self._edges[step]}

    def _comes_from(self, step: Step, source: Step) -> bool:
        """Whether `source` itself comes after the entry of the step's segment."""
        item = step.block.item_of(source)
        if item is None or item.segment != step.segment:
            return False
        return all(self._comes_from(step, each.step) for each in source.sources)

    def _all_before(self, barrier: Step) -> Iterator[Exit]:
        """The last steps of the segment that a barrier ends."""
        steps = barrier.block.at(barrier.segment)
        used = {each for step in steps if step.join != "any" for each in self._edges[step]}
        joined = [set(step.sources) for step in steps]
        for step in steps:
            if step.branches:
                ends = list(self._ends(step))
                if len(ends) == 1:
                    yield ends[0]
                elif ends and set(ends) not in joined:
                    yield self._gather(step, ends)
            elif Exit(step, step.handle) not in used:
                yield Exit(step, step.handle)

    def _ends(self, head: Step) -> Iterator[Exit]:
        """The last steps of all sides of a decision."""
        for block in head.branches:
            yield from self._ends_of(block)
        if head.branches[-1].handle != ELSE:
            yield Exit(head, ELSE)

    def _ends_of(self, block: Block) -> Iterator[Exit]:
        if block.ended_by is not None:
            return
        steps = block.at(block.segment)
        entry = block.entries[-1]
        assert entry is not None
        if not steps:
            yield entry
        used = {each for step in steps for each in self._edges[step]}
        for step in steps:
            if step.branches:
                yield from self._ends(step)
            elif Exit(step, step.handle) not in used:
                yield Exit(step, step.handle)

    def _gather(self, head: Step, ends: Iterable[Exit]) -> Exit:
        """A join behind a decision, which waits for the taken sides."""
        config: dict[str, object] = {"branches": [{"id": GO, "when": "true"}]}
        step = Step("condition", "", head.block, head.place, config=config, handle=GO, join="all")
        step.segment = head.segment
        step.id = self._names.take(f"{head.id}_done")
        self._trace.steps.append(step)
        self._edges[step] = dict.fromkeys(ends)
        return Exit(step, GO)
