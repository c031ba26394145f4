"""Claims that were answered a while ago: whoever did not hear the answer may ask for it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from tenuto.store.job_protocol import Lease

MOST_REMEMBERED = 10_000


class ClaimKey(NamedTuple):
    """Which claim of which worker."""

    tenant: str
    worker_id: str
    request_id: str


class ClaimsMade:
    """What was granted to the last claims; of older ones nothing is known."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._granted: OrderedDict[ClaimKey, tuple[Lease, ...]] = OrderedDict()
        self._most = most

    def remember(self, key: ClaimKey, leases: Sequence[Lease]) -> None:
        self._granted[key] = tuple(leases)
        self._granted.move_to_end(key)
        if len(self._granted) > self._most:
            self._granted.popitem(last=False)

    def granted(self, key: ClaimKey) -> tuple[Lease, ...]:
        return self._granted.get(key, ())
