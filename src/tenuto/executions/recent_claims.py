"""Recent claims with their leases: a worker that did not get the answer may repeat its claim.

A claim is forgotten with its last lease: when that ends, or is not extended for as long as it was
granted. Beyond a number of leases the least recently extended claims are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from tenuto.store.parts.jobs import Lease

MOST_REMEMBERED = 50_000
"""Leases."""


class ClaimKey(NamedTuple):
    """Which claim of which worker."""

    tenant: str
    worker_id: str
    request_id: str


class _Made:
    """The leases of a claim that are not over."""

    def __init__(self, leases: Sequence[Lease], seconds: float, now: float) -> None:
        self.leases = dict.fromkeys(leases)
        self.seconds = seconds
        self.lapses_at = now + seconds
        self.answers = 1
        """How many answers may have been heard."""


class RecentClaims:
    """The leases of recent claims, by claim."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._claims: OrderedDict[ClaimKey, _Made] = OrderedDict()
        """The least recently extended first."""
        self._claim_of: dict[Lease, ClaimKey] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._claim_of)

    def remember(self, key: ClaimKey, leases: Sequence[Lease], seconds: float, now: float) -> None:
        """A claim was granted these leases, for so many seconds; `now` by a monotonic clock."""
        self._drop(key)
        self._claims[key] = _Made(leases, seconds, now)
        self._claim_of |= dict.fromkeys(leases, key)
        while self._claims:
            oldest = next(iter(self._claims))
            if len(self) <= self._most and self._claims[oldest].lapses_at > now:
                return
            self._drop(oldest)

    def repeated(self, key: ClaimKey) -> tuple[Lease, ...]:
        """The leases of a claim that is repeated."""
        made = self._claims.get(key)
        if made is None:
            return ()
        made.answers += 1
        return tuple(made.leases)

    def extended(self, lease: Lease, now: float) -> None:
        """A lease was extended."""
        key = self._claim_of.get(lease)
        if key is not None:
            made = self._claims[key]
            made.lapses_at = now + made.seconds
            self._claims.move_to_end(key)

    def forget(self, lease: Lease) -> None:
        """A lease is over."""
        key = self._claim_of.pop(lease, None)
        if key is not None:
            made = self._claims[key]
            del made.leases[lease]
            if not made.leases:
                del self._claims[key]

    def unheard(self, leases: Sequence[Lease]) -> list[Lease]:
        """Forget leases whose answer was not delivered, and return them.

        Leases of a claim stay as long as another answer to it may have been heard.
        """
        for key in {self._claim_of[lease] for lease in leases if lease in self._claim_of}:
            self._claims[key].answers -= 1
        found = [lease for lease in leases if not self._may_be_heard(lease)]
        for lease in found:
            self.forget(lease)
        return found

    def _may_be_heard(self, lease: Lease) -> bool:
        key = self._claim_of.get(lease)
        return key is not None and self._claims[key].answers > 0

    def _drop(self, key: ClaimKey) -> None:
        made = self._claims.pop(key, None)
        for lease in made.leases if made is not None else ():
            del self._claim_of[lease]
