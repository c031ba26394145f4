"""Maps that never change: with another item, it is another map.

A small map is a dict that is copied whole, which is cheaper than sharing; a large one is a
persistent map (rpds), so that the cost of a change does not depend on the size. The size alone
decides which it is: maps with equal items are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from rpds import HashTrieMap

_K = TypeVar("_K")
_V = TypeVar("_V")

_SMALL = 32


def with_item(items: Mapping[_K, _V], key: _K, value: _V) -> Mapping[_K, _V]:
    """`items` with `key` set."""
    if isinstance(items, dict):
        if len(items) < _SMALL or key in items:
            copy = items.copy()
            copy[key] = value
            return copy
        items = HashTrieMap.convert(items)
    assert isinstance(items, HashTrieMap)
    return items.insert(key, value)


def without_item(items: Mapping[_K, _V], key: _K) -> Mapping[_K, _V]:
    """`items` without `key`."""
    if key not in items:
        return items
    if isinstance(items, dict):
        copy = items.copy()
        del copy[key]
        return copy
    assert isinstance(items, HashTrieMap)
    rest = items.discard(key)
    return rest if len(rest) > _SMALL else dict(rest)


def as_map(items: dict[_K, _V]) -> Mapping[_K, _V]:
    """A map of `items`."""
    return items if len(items) <= _SMALL else HashTrieMap.convert(items)
