"""The loop that admits instances: a pass after each turn that asks for slots or gives some back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenuto.engine.shared import Shared


class Admissions:
    """Grants slots while there are some, whichever process asked for them or gave them back."""

    def __init__(self, shared: Shared, *, hint: asyncio.Event, sent: Callable[[], None]) -> None:
        """`sent` is called when there are new messages in the mailbox."""
        self._shared = shared
        self._store = shared.store
        self._hint = hint
        self._sent = sent
        self.granted = 0
        """How many slots this process has granted."""

    def start(self) -> None:
        """Begin with what was left when the store was last open."""
        if not self._shared.settings.is_guest:
            self._shared.loops.run("admission", self.run_once, hint=self._hint, first=None)

    def hint(self) -> None:
        """There may be slots to grant."""
        self._hint.set()

    async def run_once(self) -> float | None:
        """Grant what fits; returns 0 where there is more, else waits for the hint."""
        admission = await self._store.slots.admit(self._shared.clock.now())
        self.granted += admission.granted
        if admission.has_mail:
            self._sent()
        return None if admission.is_done else 0.0
