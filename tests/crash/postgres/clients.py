"""Those who start workflows and wait for their ends, whatever happens to the processes they ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.crash.postgres.crew import Crew
from tests.kit.checker.record import Fields
from tests.kit.patience import patience

AT_ONCE = 32
"""So many instances are under way at the same time."""


class Clients:
    """Repeat what was not answered, with the same key, and keep the book of what was."""

    def __init__(self, crew: Crew, *, at_once: int = AT_ONCE, workflow: str = "load") -> None:
        self._crew = crew
        self._workflow = workflow
        self._room = asyncio.Semaphore(at_once)
        self._jobs: list[asyncio.Task[None]] = []
        self._progress = asyncio.Condition()
        self.book: list[Fields] = []
        self.accepted = 0
        self.ended = 0
        self.statuses: dict[str, str] = {}

    def begin(self, number: int) -> None:
        """Start so many more, as fast as there is room."""
        first = len(self._jobs)
        self._jobs += [
            asyncio.create_task(self._see_through(k)) for k in range(first, first + number)
        ]

    async def has_accepted(self, number: int) -> None:
        """Wait until so many starts were acknowledged in all."""
        await self._reached(f"{number} acknowledged starts", lambda: self.accepted >= number)

    async def has_ended(self, number: int) -> None:
        await self._reached(f"{number} ends", lambda: self.ended >= number)

    async def _reached(self, what: str, is_reached: Callable[[], bool]) -> None:
        async with self._progress:
            while not is_reached():
                async with patience(f"one more on the way to {what}"):
                    await self._progress.wait()
                for job in self._jobs:
                    if job.done():
                        job.result()

    async def all_ended(self) -> None:
        await asyncio.gather(*self._jobs)

    def give_up(self) -> None:
        for job in self._jobs:
            job.cancel()

    async def _see_through(self, k: int) -> None:
        try:
            await self._see_to_its_end(k)
        except Exception:
            await self._count()
            raise

    async def _see_to_its_end(self, k: int) -> None:
        async with self._room:
            given: Fields = {"k": k, "flag": True}
            key = f"key {k}"
            made = await self._crew.insist("start", workflow=self._workflow, input=given, key=key)
            self.book.append({"op": "start", "outcome": "ok", "key": key, "input": given, **made})
            await self._count(accepted=1)
            ended = await self._crew.insist("end", instance=made["instance"])
            self.statuses[made["instance"]] = ended["status"]
            await self._count(ended=1)

    async def _count(self, *, accepted: int = 0, ended: int = 0) -> None:
        async with self._progress:
            self.accepted += accepted
            self.ended += ended
            self._progress.notify_all()
