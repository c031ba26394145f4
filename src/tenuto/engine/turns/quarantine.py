"""Finds instances that hang or kill their process, and keeps them from being decided on.

A process notes what it decides on. The next one reads the notes of those that died: an instance
that one process died of is a suspect until the same input was decided on; one that two died of at
the same place, or that a watchdog had to kill a process for, is quarantined, until an operator
releases it. A start that would be quarantined is refused: there is no instance to release.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tenuto.engine.turns.note import STARTING, Note, Noted, is_recovery
from tenuto.model.errors import Conflict, StoreUnavailable
from tenuto.model.ids import start_letter
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.quarantine import Suspect
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.quarantine")


QUEUED = "the queue"
"""The place of one that waits for a slot, and whose row the store refuses."""


async def release(store: Store, instance_id: str) -> bool:
    """Let all processes decide on an instance again; whether it was quarantined."""
    suspect = await store.quarantine.get(instance_id)
    if suspect is None or not suspect.is_quarantined:
        return False
    if suspect.place == QUEUED:
        await store.slots.let_go(suspect.tenant, instance_id)
    await store.quarantine.clear(instance_id)
    await store.members.hint(())
    return True


class Left(NamedTuple):
    """The note of a process that is gone."""

    process_id: str
    noted: Noted


class Notes(Protocol):
    """Where the notes of processes outlive them."""

    def open(self, process_id: str, note: Note) -> None:
        """Keep the note of a process."""

    def left(self) -> Iterable[Left]:
        """What processes noted that died; each until `forget`."""

    def forget(self, process_id: str) -> None:
        """The note of a process is in the store."""

    def close(self) -> None:
        """The process stops, and leaves no note."""


class NoNotes:
    """A store that ends with its process needs none."""

    def open(self, process_id: str, note: Note) -> None: ...

    def left(self) -> Iterable[Left]:
        return ()

    def forget(self, process_id: str) -> None: ...

    def close(self) -> None: ...


class Quarantine:
    """What this process knows of suspects; the store has the last word."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        notes: Notes,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._notes = notes
        self._spawn = spawn
        self.note = Note()
        self.held: dict[str, Suspect] = {}
        """Quarantined instances, by id; nearly always empty."""
        self.suspects: dict[str, Suspect] = {}
        """Instances that one process died of; nearly always empty."""
        self.put_aside: Callable[[str], None] = lambda _: None
        """Stop the work of this process for an instance that was quarantined."""
        self.released: Callable[[str], None] = lambda _: None
        """Take an instance up again."""
        self.process_id = ""
        self._unwritten: dict[str, asyncio.Task[None]] = {}
        """Instances that were quarantined here, until that is durable."""
        self._looking = asyncio.Lock()

    async def open(self, process_id: str) -> None:
        """Begin to note, and read what others left."""
        self.process_id = process_id
        self._notes.open(process_id, self.note)
        await self.look()

    def close(self) -> None:
        """Note nothing any more: this process did not die."""
        self._notes.close()

    async def look(self) -> None:
        """Record what dead processes noted, and read which instances are quarantined."""
        async with self._looking:
            for left in self._notes.left():
                await self._record(left)
                self._notes.forget(left.process_id)
                log.error("instance=%s: a process ended deciding on %s", *left.noted[:2])
            await self._refresh()

    async def _record(self, left: Left) -> None:
        id, place = left.noted[:2]
        versions = await self._store.instances.newest_seqs([id])
        suspect = replace(self._suspect(left.process_id, left.noted), version=versions.get(id, 0))
        await self._store.quarantine.suspect(suspect, is_recovery=is_recovery(place))

    async def _known(self) -> dict[str, Suspect]:
        """The suspects, without those that there is nothing left to decide on."""
        found = {each.instance_id: each for each in await self._store.quarantine.suspects()}
        unborn = {id for id, each in found.items() if not each.tenant or each.place == STARTING}
        if unborn:
            starts = [MailKey(start_letter(id), id) for id in sorted(unborn)]
            unborn -= {key.instance_id for key in await self._store.mailbox.waiting(starts)}
            there = await self._store.instances.newest_seqs(unborn)
            for id in sorted(unborn):
                if id not in there or found[id].place == STARTING:
                    del found[id]
                    await self._store.quarantine.clear(id)
        return found

    async def _refresh(self) -> None:
        before = self.held
        found = await self._known()
        held = {id: each for id, each in found.items() if each.is_quarantined}
        held |= {id: before[id] for id in self._unwritten.keys() & before.keys()}
        self.held = held
        self.suspects = {id: each for id, each in found.items() if id not in held}
        for id in held.keys() - before.keys():
            log.critical("instance=%s is quarantined: %s", id, held[id].reason)
            self.put_aside(id)
        for id in before.keys() - held.keys():
            log.warning("instance=%s was released", id)
            self.released(id)

    def stopped(self, instance_id: str, place: str, reason: str | None = None) -> None:
        """A decision was stopped: the instance is quarantined at once, and soon durably."""
        reason = reason or f"deciding on {place} did not end, and was stopped"
        suspect = self._suspect(self.process_id, Noted(instance_id, place), reason)
        self.held[instance_id] = suspect
        log.critical("instance=%s is quarantined: %s", instance_id, suspect.reason)
        self.put_aside(instance_id)
        self._unwritten[instance_id] = self._spawn(self._written(suspect))

    def survived(self, instance_id: str, place: str) -> None:
        """A decision has ended: if it is the one that a process died of, that was by chance."""
        suspect = self.suspects.get(instance_id)
        if suspect is not None and suspect.place == place:
            del self.suspects[instance_id]
            _ = self._spawn(self._cleared(instance_id))

    def never_began(self, instance_id: str) -> None:
        """The refusal of a start is durable: there is nothing left that could be released."""
        suspects = (self.held.pop(instance_id, None), self.suspects.pop(instance_id, None))
        if any(suspects):
            _ = self._spawn(self._cleared(instance_id))

    async def release(self, instance_id: str) -> bool:
        """Decide on an instance again, here and everywhere; whether it was quarantined."""
        if (writing := self._unwritten.get(instance_id)) is not None:
            await asyncio.shield(writing)
        if not await release(self._store, instance_id):
            return False
        async with self._looking:
            await self._refresh()
        return True

    def refusal(self, instance_id: str) -> Conflict:
        """What a request to a quarantined instance is answered."""
        suspect = self.held[instance_id]
        return Conflict(
            f"instance {instance_id} is quarantined: {suspect.reason}",
            code="TEN-3013",
            advice=f"Mend the cause, then release it: tenuto retry {instance_id}.",
        )

    def _suspect(self, process_id: str, noted: Noted, stopped: str | None = None) -> Suspect:
        if stopped is not None:
            reason = stopped
        elif noted.is_hung:
            reason = f"deciding on {noted.place} did not end; the process was killed"
        else:
            reason = f"processes died while they decided on {noted.place}"
        return Suspect(
            instance_id=noted.instance_id,
            place=noted.place,
            process_id=process_id,
            at=self._clock.now(),
            reason=reason,
            is_quarantined=stopped is not None or noted.is_hung,
        )

    async def _written(self, suspect: Suspect) -> None:
        await self._until_stored(lambda: self._store.quarantine.suspect(suspect))
        self._unwritten.pop(suspect.instance_id, None)

    async def _cleared(self, instance_id: str) -> None:
        await self._until_stored(lambda: self._store.quarantine.clear(instance_id))

    async def _until_stored(self, write: Callable[[], Coroutine[None, None, object]]) -> None:
        while True:
            try:
                await write()
            except StoreUnavailable:
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
            else:
                return
