"""Searches that take as long as the text and the pattern together, never their product.

CPython's own search is as fast only where a text has more than three times the length of the
pattern: then it is the two-way algorithm of Crochemore and Perrin. Else it may compare all of the
pattern at each of the last 2,000 places, and at any place of a text below 2,500 characters;
backwards it does so at every place. The pattern is a tenant's, and may be half a megabyte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

LONG: Final = 100
"""From this length on a pattern is looked for with room; below, CPython's worst case is small."""

_ROOM: Final = 2_500


def with_room(text: str, pattern: str) -> str:
    """The text, behind it so much that CPython uses its linear search wherever that starts."""
    if not LONG <= len(pattern) <= len(text):
        return text
    return text + "\0" * (3 * len(pattern) + _ROOM)


def places(text: str, pattern: str, start: int = 0) -> Iterator[int]:
    """Where the pattern is, from left to right. An empty one is between all characters."""
    room = with_room(text, pattern)
    # What is found first is the leftmost: if that reaches into the room, the text has no more.
    last = len(text) - len(pattern)
    found = room.find(pattern, start)
    while 0 <= found <= last:
        yield found
        found = room.find(pattern, found + (len(pattern) or 1))


def first(text: str, pattern: str, start: int = 0) -> int:
    """`text.find(pattern, start)`."""
    if len(pattern) < LONG:
        return text.find(pattern, start)
    return next(places(text, pattern, start), -1)


def last(text: str, pattern: str, end: int) -> int:
    """`text.rfind(pattern, 0, end)`."""
    if len(pattern) < LONG:
        return text.rfind(pattern, 0, end)
    backwards = text[:end][::-1]
    found = first(backwards, pattern[::-1])
    return found if found < 0 else len(backwards) - len(pattern) - found
