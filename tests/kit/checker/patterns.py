"""Which event patterns a subscription takes: `*` is one word, `**` one or more."""

from __future__ import annotations


def fits(subscription: str, pattern: str) -> bool:
    """Whether an event of `pattern` is one that `subscription` speaks of."""
    return _fits(tuple(subscription.split(".")), tuple(pattern.split(".")))


def _fits(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if not wanted:
        return not words
    if not words:
        return False
    first, rest = wanted[0], wanted[1:]
    if first == "**":
        return any(_fits(rest, words[taken:]) for taken in range(1, len(words) + 1))
    return first in ("*", words[0]) and _fits(rest, words[1:])
