"""By what an instance is found: values that its definition lists, approvals, what it repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenuto.core.open_approvals import approval_marks
from tenuto.core.plan import Plan
from tenuto.core.scope import Context, Seen, Sight
from tenuto.core.state import InstanceState
from tenuto.expr import UNDEFINED, Lazy, Undefined
from tenuto.model.search_terms import SearchTerm, mark_of, term_of

RERUN: Final = "rerun"
"""The kind of the mark that reruns of an instance have, with its id."""


def seen_at(plan: Plan, state: InstanceState, keys: Sequence[str | int]) -> Seen:
    """The value at a path below `ctx`, without working out the others."""
    value: Seen = Context(Sight(plan, state, None, {}))
    for key in keys:
        value = _inside(value, key)
        if isinstance(value, Undefined):
            return value
    return value


class FoundBy(NamedTuple):
    """By what an instance is found: for each name of its plan the value, and its term if any."""

    values: tuple[Seen, ...]
    by_name: tuple[SearchTerm | None, ...]
    marks: tuple[SearchTerm, ...]
    """Of its open approvals, and of the instance that it repeats."""

    @property
    def terms(self) -> tuple[SearchTerm, ...]:
        """One for each name that has a value; one without is found by none."""
        return tuple(term for term in self.by_name if term is not None)


def found_by(plan: Plan, state: InstanceState, known: FoundBy | None = None) -> FoundBy:
    """By what it is found now; of a value that it had as it was `known` no term is made anew.

    Values are never changed, only replaced: the same object is the same value.
    """
    values = tuple(seen_at(plan, state, keys) for _, keys in plan.searchable)
    names = [name for name, _ in plan.searchable]
    marks = approval_marks(plan, state) if plan.approvals else ()
    if state.rerun_of is not None:
        marks = (*marks, mark_of(RERUN, state.rerun_of))
    if known is None:
        return FoundBy(values, tuple(map(_term, names, values)), marks)
    each = zip(names, values, known.values, known.by_name, strict=True)
    return FoundBy(
        values,
        tuple(term if value is old else _term(name, value) for name, value, old, term in each),
        marks,
    )


def _term(name: str, value: Seen) -> SearchTerm | None:
    return None if isinstance(value, Undefined | Lazy) else term_of(name, value)


def _inside(value: Seen, key: str | int) -> Seen:
    if isinstance(value, Lazy):
        return value.get(str(key))
    if isinstance(value, dict):
        return value.get(str(key), UNDEFINED)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return UNDEFINED
