"""The outcomes of approvals with which a workflow continues.

A join behind each approval takes them. If the function does not test the decision, the only outcome
is that it is approved; then the join is left out, and what follows hangs on the approval itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.python_form.references import paths_in
from tenuto.python_form.step import GO, REJECTED, Exit, Step

Edges = dict[Step, dict[Exit, None]]
"""For each step the sources of its incoming edges, in order."""


def take_outcomes_tested_in_text(steps: Sequence[Step]) -> None:
    """Text that reads a decision tests it, as a future value does."""
    joins = [step for step in steps if step.ways is not None]
    read = {path[:3] for step in steps if joins for path in paths_in(step.config)}
    for join in joins:
        if ("ctx", join.sources[0].step.id, "decision") in read:
            join.take(REJECTED)


def needless_joins(steps: Sequence[Step]) -> list[Step]:
    """The joins of one outcome that no other join asks about."""
    asked = {each.step for step in steps for each in step.sources}
    return [
        step
        for step in steps
        if step.ways is not None and len(step.sources) == 1 and step not in asked
    ]


def skip_join(edges: Edges, join: Step) -> None:
    """Let what follows a join follow its one source."""
    for sources in edges.values():
        if Exit(join, GO) in sources:
            ends = [join.sources[0] if each.step is join else each for each in sources]
            sources.clear()
            sources.update(dict.fromkeys(ends))
