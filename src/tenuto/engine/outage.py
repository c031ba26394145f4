"""Outages of the store: logged once, and logged once when they are over.

Every loop would otherwise log each failed try. Another reason than an unreachable store is logged
as well, since it needs an operator.
"""

from __future__ import annotations

import logging

from tenuto.model.errors import MAY_BE_WRITTEN, ProcessStops, StoreUnavailable
from tenuto.ports import Clock

log = logging.getLogger("tenuto.engine")

_PASSES_BY_ITSELF = frozenset({"TEN-4001", "TEN-4008", ProcessStops.code, MAY_BE_WRITTEN})
_AWAY = "away"
_ALWAYS_ASK = frozenset({"heartbeat", "mailbox"})
"""Loops whose every pass asks the store."""


class Outage:
    """The loops that wait for the store, since when, and the reasons already logged."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[str, str] = {}
        """Loops that retry, and why the last try failed."""
        self._since: float | None = None
        self._logged: set[str] = set()

    @property
    def seconds(self) -> float | None:
        """For how long the store has been away; None: it is not."""
        return None if self._since is None else self._clock.ticks() - self._since

    def noticed(self, who: str, error: StoreUnavailable) -> None:
        """The store has failed for `who`, which retries until it `worked`."""
        self._waiting[who] = _reason(error)
        self.met(who, error)

    def met(self, who: str, error: StoreUnavailable) -> None:
        """The store has failed for `who`; other loops find out when it is back."""
        if self._since is None:
            self._since = self._clock.ticks()
        if _reason(error) in self._logged:
            log.debug("%s: %s", who, error)
            return
        self._logged.add(_reason(error))
        log.warning("the store is unavailable, trying again (%s): %s", who, error)

    def rests(self, who: str) -> None:
        """`who` has no request for the store, and will not find out."""
        self._waiting.pop(who, None)

    def worked(self, who: str) -> None:
        """A request of `who` has succeeded."""
        if self._since is None:
            return
        was_waiting = self._waiting.pop(who, None) is not None
        if not self._waiting and (was_waiting or who in _ALWAYS_ASK):
            log.warning("the store is back after %.1f s", self._clock.ticks() - self._since)
            self._since = None
            self._logged.clear()


def _reason(error: StoreUnavailable) -> str:
    return _AWAY if error.code in _PASSES_BY_ITSELF else error.code
