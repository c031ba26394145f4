"""By which values an instance is found: those that its definition lists in `options.searchable`."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.core.plan import Plan
from tenuto.core.scope import Context, Seen, Sight
from tenuto.core.state import InstanceState
from tenuto.expr import UNDEFINED, Lazy, Undefined
from tenuto.model.search_terms import SearchTerm, term_of


def seen_at(plan: Plan, state: InstanceState, keys: Sequence[str | int]) -> Seen:
    """The value at a path below `ctx`, without working out the others."""
    value: Seen = Context(Sight(plan, state, None, {}))
    for key in keys:
        value = _inside(value, key)
        if isinstance(value, Undefined):
            return value
    return value


def search_terms(plan: Plan, state: InstanceState) -> tuple[SearchTerm, ...]:
    """One for each name that has a value; one without is found by none."""
    found: list[SearchTerm] = []
    for name, keys in plan.searchable:
        value = seen_at(plan, state, keys)
        if isinstance(value, Undefined | Lazy):
            continue
        term = term_of(name, value)
        if term is not None:
            found.append(term)
    return tuple(found)


def _inside(value: Seen, key: str | int) -> Seen:
    if isinstance(value, Lazy):
        return value.get(str(key))
    if isinstance(value, dict):
        return value.get(str(key), UNDEFINED)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return UNDEFINED
