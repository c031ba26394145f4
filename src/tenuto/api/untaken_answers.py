"""Counts the bytes of large answers that clients have not taken yet, by tenant or address.

An answer is in memory until its client has taken it, and a client may take its time: without a
bound, a few hundred connections that read nothing would use up the memory of the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.access.client_network import client_network
from tenuto.access.principal import Principal
from tenuto.api.problems import Refusal
from tenuto.model.errors import may_be_written

_RETRY_SECONDS = 5
_FOR_CHANGES = 2
"""Answers to changes have so many times the room, so that unread lists do not cost these."""


class UntakenAnswers:
    """The large answers that are under way; a tenant or address without any is not kept."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of one tenant, or of one address without a credential."""
        self._most = most
        self._bytes: dict[str, int] = {}

    @contextmanager
    def holding(self, who: str, size: int, *, is_change: bool) -> Iterator[None]:
        """Count an answer inside of this context; TenutoError where there is no room for it.

        One alone is let through at any size: otherwise nobody could ever read it. `is_change`: the
        request may have changed something, so that its refusal must not say that it did not.
        """
        held = self._bytes.get(who, 0)
        if held and held + size > self._most * (_FOR_CHANGES if is_change else 1):
            if is_change:
                raise may_be_written("too many bytes of answers are not taken yet for this one")
            raise Refusal(
                429,
                "TEN-4295",
                f"{held:,} bytes of answers are not taken yet",
                headers={"retry-after": str(_RETRY_SECONDS)},
            )
        self._bytes[who] = held + size
        try:
            yield
        finally:
            left = self._bytes.pop(who) - size
            if left:
                self._bytes[who] = left

    def __len__(self) -> int:
        """The number of tenants and addresses with large answers under way."""
        return len(self._bytes)


def who_takes(principal: Principal | None, source: str | None) -> str:
    """By what an answer counts: a tenant may have many keys, so it counts as a whole."""
    if principal is None:
        return f"address {client_network(source or '')}"
    return f"tenant {principal.tenant}"
