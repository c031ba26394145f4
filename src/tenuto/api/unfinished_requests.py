"""How many requests of one address have begun and not come to their end.

Nobody knows yet who asks. So that one address cannot have everything wait for it, what it may leave
unfinished at the same time is bounded.
"""

from __future__ import annotations


class UnfinishedRequests:
    """Counts unfinished requests by where they come from; an address without any is not kept."""

    def __init__(self, most: int) -> None:
        """So many at once from one address."""
        self._most = most
        self._counts: dict[str, int] = {}

    def begin(self, address: str) -> bool:
        """Whether there is room for another; then it counts until it has ended."""
        count = self._counts.get(address, 0)
        if count >= self._most:
            return False
        self._counts[address] = count + 1
        return True

    def end(self, address: str) -> None:
        """One that was let begin has come whole, or never will."""
        count = self._counts.pop(address)
        if count > 1:
            self._counts[address] = count - 1

    def __len__(self) -> int:
        """From how many addresses something is unfinished."""
        return len(self._counts)
