"""Sets of nodes, in the order in which they came, that states share until one of them changes."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.model.ids import NodeKey


class Keys(dict[NodeKey, None]):
    """A set of nodes; once it is shared it does not change any more."""

    __slots__ = ("is_shared",)

    is_shared: bool


def keys_of(keys: Iterable[NodeKey]) -> Keys:
    """A set of these."""
    made = Keys.fromkeys(keys)
    assert isinstance(made, Keys)
    made.is_shared = not made
    return made or NO_KEYS


NO_KEYS = Keys()
NO_KEYS.is_shared = True


def with_key(keys: Keys, key: NodeKey) -> Keys:
    """`keys` and `key`: the same set, unless it is shared."""
    if keys.is_shared:
        keys = Keys(keys)
        keys.is_shared = False
    keys[key] = None
    return keys


def without_key(keys: Keys, key: NodeKey) -> Keys:
    """`keys` without `key`: the same set, unless it is shared."""
    if key not in keys:
        return keys
    if len(keys) == 1:
        return NO_KEYS
    if keys.is_shared:
        keys = Keys(keys)
        keys.is_shared = False
    del keys[key]
    return keys
