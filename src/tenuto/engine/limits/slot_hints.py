"""What turns have done to slots since the pass before."""

from __future__ import annotations

import asyncio

from tenuto.model.effects import AskSlot, ReleaseSlot


class SlotHints:
    """Set by turns, taken by the loop of admission."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._is_asked = False
        self._released = 0

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
            self.event.set()

    def take(self) -> tuple[bool, int]:
        """Whether slots were asked for, and how many were given back; reset by the call."""
        taken = self._is_asked, self._released
        self._is_asked, self._released = False, 0
        return taken
