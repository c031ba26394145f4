"""A store that is away is said once, by whoever notices first, and so is that it is back.

Every loop asks the store, and each would complain at each try. What is said again is what needs
somebody: another reason than that the store cannot be reached.
"""

from __future__ import annotations

import logging

from tenuto.model.errors import MAY_BE_WRITTEN, StoreUnavailable
from tenuto.ports import Clock

log = logging.getLogger("tenuto.engine")

_PASSES_BY_ITSELF = frozenset({"TEN-4001", "TEN-4008", MAY_BE_WRITTEN})
_AWAY = "away"
_ALWAYS_ASK = frozenset({"heartbeat", "mailbox"})
"""Loops that never pass without a word from the store."""


class Outage:
    """Who is kept from working, since when, and what the log knows of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[str, str] = {}
        """Who tries again, and why the last try failed."""
        self._since: float | None = None
        self._told: set[str] = set()

    def noticed(self, who: str, error: StoreUnavailable) -> None:
        """The store has refused `who`, which tries again until it `worked`."""
        if self._since is None:
            self._since = self._clock.ticks()
        self._waiting[who] = _reason(error)
        self.met(who, error)

    def met(self, who: str, error: StoreUnavailable) -> None:
        """The store has refused `who`; whether it is back others have to find out."""
        if _reason(error) in self._told:
            log.debug("%s: %s", who, error)
            return
        if self._since is not None:
            self._told.add(_reason(error))
        log.warning("the store is unavailable, trying again (%s): %s", who, error)

    def rests(self, who: str) -> None:
        """`who` has nothing to ask for, and will not be the one to find out."""
        self._waiting.pop(who, None)

    def worked(self, who: str) -> None:
        """The store has done what `who` asked for."""
        if self._since is None:
            return
        was_waiting = self._waiting.pop(who, None) is not None
        if not self._waiting and (was_waiting or who in _ALWAYS_ASK):
            log.warning("the store is back after %.1f s", self._clock.ticks() - self._since)
            self._since = None
            self._told.clear()


def _reason(error: StoreUnavailable) -> str:
    return _AWAY if error.code in _PASSES_BY_ITSELF else error.code
