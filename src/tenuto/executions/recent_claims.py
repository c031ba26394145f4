"""Claims that were answered a while ago: whoever did not hear the answer may ask for it again.

What is known of a claim goes with its leases: as they end, and with the last of them once nobody
has extended any for as long as they are granted. Beyond a number of leases those go first of which
nothing was heard for longest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from tenuto.store.job_protocol import Lease

MOST_REMEMBERED = 50_000
"""Leases."""


class ClaimKey(NamedTuple):
    """Which claim of which worker."""

    tenant: str
    worker_id: str
    request_id: str


class _Made:
    """What a claim was granted, and is not over."""

    def __init__(self, leases: Sequence[Lease], seconds: float, now: float) -> None:
        self.leases = dict.fromkeys(leases)
        self.seconds = seconds
        self.lapses_at = now + seconds
        self.was_repeated = False


class RecentClaims:
    """What was granted to the last claims; of older ones nothing is known."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._claims: OrderedDict[ClaimKey, _Made] = OrderedDict()
        """Those first of which nothing was heard for longest."""
        self._claim_of: dict[Lease, ClaimKey] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._claim_of)

    def remember(self, key: ClaimKey, leases: Sequence[Lease], seconds: float, now: float) -> None:
        """A claim was granted these, each for so long; `now` by a clock that only rises."""
        self._drop(key)
        self._claims[key] = _Made(leases, seconds, now)
        self._claim_of |= dict.fromkeys(leases, key)
        while self._claims:
            oldest = next(iter(self._claims))
            if len(self) <= self._most and self._claims[oldest].lapses_at > now:
                return
            self._drop(oldest)

    def repeated(self, key: ClaimKey) -> tuple[Lease, ...]:
        """What a claim was granted that is made again."""
        made = self._claims.get(key)
        if made is None:
            return ()
        made.was_repeated = True
        return tuple(made.leases)

    def extended(self, lease: Lease, now: float) -> None:
        """Its worker has it for another while."""
        key = self._claim_of.get(lease)
        if key is not None:
            made = self._claims[key]
            made.lapses_at = now + made.seconds
            self._claims.move_to_end(key)

    def forget(self, lease: Lease) -> None:
        """It is over."""
        key = self._claim_of.pop(lease, None)
        if key is not None:
            made = self._claims[key]
            del made.leases[lease]
            if not made.leases:
                del self._claims[key]

    def unheard(self, leases: Sequence[Lease]) -> list[Lease]:
        """Forget what nobody heard of; what was not asked for again since then, which is nobody's.

        The rest is theirs who asked.
        """
        found = [lease for lease in leases if not self._was_repeated(lease)]
        for lease in found:
            self.forget(lease)
        return found

    def _was_repeated(self, lease: Lease) -> bool:
        key = self._claim_of.get(lease)
        return key is not None and self._claims[key].was_repeated

    def _drop(self, key: ClaimKey) -> None:
        made = self._claims.pop(key, None)
        for lease in made.leases if made is not None else ():
            del self._claim_of[lease]
