"""What turns have done to slots since the pass before."""

from __future__ import annotations

import asyncio

from tenuto.model.effects import AskSlot, ReleaseSlot


class SlotHints:
    """Set by turns, taken by the loop of admission."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._is_asked = self._is_resting = False
        self._released = 0

    def rest(self, *, is_resting: bool) -> None:
        """Let slots that are given back wait for the next pass, and begin none for them."""
        self._is_resting = is_resting
        if is_resting and not self._is_asked:
            self.event.clear()
        elif not is_resting and self._released:
            # They came during the pass, which may have been too early for them.
            self.event.set()

    def asked(self) -> None:
        """Rows wait, or may: the next pass looks."""
        self._is_asked = True
        self.event.set()

    def follow(self, order: AskSlot | ReleaseSlot, *, is_admitted: bool = False) -> None:
        """A slot was asked for, or given back; `is_admitted`: no pass has to follow."""
        if is_admitted:
            return
        if isinstance(order, AskSlot):
            self.asked()
        else:
            self._released += 1
            if not self._is_resting:
                self.event.set()

    def take(self) -> tuple[bool, int]:
        """Whether slots were asked for, and how many were given back; reset by the call."""
        taken = self._is_asked, self._released
        self._is_asked, self._released = False, 0
        return taken
