"""Timers in the order in which they are due, as a value that never changes.

A balanced tree that shares its parts with the value before: the cost of a change, and of finding
those that are due, does not depend on how many timers there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TypeAlias

from tenuto.model.inputs import TimerKey

Item: TypeAlias = tuple[datetime, TimerKey]
_Tree: TypeAlias = "tuple[int, Item, _Tree, _Tree] | None"
"""Size, item, those before it, those after it."""

_HEAVIER = 3
"""One side of a tree is at most so many times as heavy as the other."""
_TWICE = 2


class DueOrder:
    """Items in order; equal to another one with equal items."""

    __slots__ = ("_tree",)

    def __init__(self, tree: _Tree = None) -> None:
        self._tree = tree

    def with_item(self, item: Item) -> DueOrder:
        """With one more; one that is in it already stays there once."""
        return DueOrder(_with(self._tree, item))

    def without_item(self, item: Item) -> DueOrder:
        """Without one, where it is in it."""
        return DueOrder(_without(self._tree, item))

    def until(self, now: datetime) -> Iterator[TimerKey]:
        """The timers that are due at `now`, the longest due first."""
        for due, key in self:
            if due > now:
                return
            yield key

    def __iter__(self) -> Iterator[Item]:
        above: list[tuple[int, Item, _Tree, _Tree]] = []
        tree = self._tree
        while above or tree is not None:
            while tree is not None:
                above.append(tree)
                tree = tree[2]
            _, item, _, tree = above.pop()
            yield item

    def __len__(self) -> int:
        return _size(self._tree)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DueOrder):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # equal ones may be of different trees


NONE_DUE = DueOrder()


def due_order(items: Iterable[Item]) -> DueOrder:
    """Some items in order."""
    return DueOrder(_built(sorted(items)))


def _built(items: list[Item]) -> _Tree:
    if not items:
        return None
    middle = len(items) // 2
    return _joined(_built(items[:middle]), items[middle], _built(items[middle + 1 :]))


def _size(tree: _Tree) -> int:
    return 0 if tree is None else tree[0]


def _joined(left: _Tree, item: Item, right: _Tree) -> _Tree:
    return (_size(left) + _size(right) + 1, item, left, right)


def _with(tree: _Tree, item: Item) -> _Tree:
    if tree is None:
        return (1, item, None, None)
    _, here, left, right = tree
    if item < here:
        return _balanced(_with(left, item), here, right)
    if here < item:
        return _balanced(left, here, _with(right, item))
    return tree


def _without(tree: _Tree, item: Item) -> _Tree:
    if tree is None:
        return None
    _, here, left, right = tree
    if item < here:
        return _balanced(_without(left, item), here, right)
    if here < item:
        return _balanced(left, here, _without(right, item))
    if left is None or right is None:
        return right if left is None else left
    following = right
    while following[2] is not None:
        following = following[2]
    return _balanced(left, following[1], _without(right, following[1]))


def _balanced(left: _Tree, item: Item, right: _Tree) -> _Tree:
    """A tree of both sides, one of which may have got too heavy by one item."""
    lighter, heavier = sorted((_size(left), _size(right)))
    if lighter + heavier <= 1 or heavier <= _HEAVIER * lighter:
        return _joined(left, item, right)
    if _size(left) < _size(right):
        assert right is not None
        _, other, inner, outer = right
        if inner is None or _size(inner) < _TWICE * _size(outer):
            return _joined(_joined(left, item, inner), other, outer)
        _, middle, before, after = inner
        return _joined(_joined(left, item, before), middle, _joined(after, other, outer))
    assert left is not None
    _, other, outer, inner = left
    if inner is None or _size(inner) < _TWICE * _size(outer):
        return _joined(outer, other, _joined(inner, item, right))
    _, middle, before, after = inner
    return _joined(_joined(outer, other, before), middle, _joined(after, item, right))
