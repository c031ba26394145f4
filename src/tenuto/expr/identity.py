"""Which lists and objects in a value are one and the same.

The only module of the language that asks where an object is in memory. What it tells saves work,
and changes no result: a list that is in a value twice is looked at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def mark(value: object) -> int:
    """The same for the same object, as long as that is kept."""
    return id(value)


def has_twice(values: Sequence[object]) -> bool:
    """Whether one object is there more than once."""
    return len(values) > 1 and len(set(map(id, values))) < len(values)
