"""By which marks an instance is found while it waits for decisions: for any, and by who decides."""

from __future__ import annotations

from typing import Final

from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.approvals import People
from tenuto.model.search_terms import SearchTerm, mark_of

OPEN: Final = "approval"
OVERDUE: Final = "overdue"
ANYBODY: Final = "*"
"""Instead of names, where there are too many: its approvals have to be looked at."""
_MOST_OPEN: Final = 100
"""Of an instance with more open steps no approval is looked at: that would cost each decision as
much as there are."""
_MOST_NAMES: Final = 100
"""So many of those who may decide are indexed for one instance."""


def approval_marks(plan: Plan, state: InstanceState) -> tuple[SearchTerm, ...]:
    """The marks of the open approvals; without any there are none."""
    if not state.open_waits or not any(name in state.open_steps for name in plan.approvals):
        return ()
    if state.open > _MOST_OPEN:
        return tuple(mark_of(kind, name) for kind in (OPEN, OVERDUE) for name in ("", ANYBODY))
    asked = [each for key in state.open_nodes() if (each := state.nodes[key].approval) is not None]
    every = [each.assignees for each in asked]
    late = [each.assignees for each in asked if each.is_overdue]
    return (*_marks(OPEN, every), *_marks(OVERDUE, late))


def _marks(kind: str, groups: list[People]) -> tuple[SearchTerm, ...]:
    if not groups:
        return ()
    names = dict.fromkeys(name for people in groups for name in people.marks())
    listed = [ANYBODY] if len(names) > _MOST_NAMES else sorted(names)
    return tuple(mark_of(kind, name) for name in ("", *listed))
