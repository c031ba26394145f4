"""A budget for retries of database operations: at most a part of the first tries.

Retries help against single faults. Under an overload they add to it, and the more fails the more is
tried: so each first try earns a fifth of a retry, and without savings an operation fails at once.
"""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.2
"""Retries for each first try, over a while."""
MOST_SAVED: Final = 50.0
"""The most retries that are saved up: a database that restarts breaks every connection once."""


class RetryCounts:
    """How many operations were repeated, and how many were not for want of a budget."""

    __slots__ = ("refused", "repeated")

    def __init__(self) -> None:
        self.repeated = 0
        self.refused = 0


class RetryBudget:
    """A bucket of tokens: first tries fill it, retries take from it."""

    def __init__(self, share: float = SHARE, most: float = MOST_SAVED) -> None:
        self._share = share
        self._most = most
        self._saved = most
        self.counts = RetryCounts()

    def tried(self) -> None:
        """An operation is tried for the first time."""
        if self._saved < self._most:
            self._saved = min(self._most, self._saved + self._share)

    def take(self) -> bool:
        """Whether an operation may be repeated; then it counts."""
        if self._saved < 1:
            self.counts.refused += 1
            return False
        self._saved -= 1
        self.counts.repeated += 1
        return True
