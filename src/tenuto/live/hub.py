"""Lets any number of people watch instances, whichever process runs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from tenuto.engine.engine import Engine
from tenuto.engine.tenancy import held_by, refuse_foreign
from tenuto.engine.turns.draft import Draft
from tenuto.live.feed import Feed
from tenuto.live.room import Room
from tenuto.model.errors import StoreUnavailable, not_there
from tenuto.model.log import LogRow

log = logging.getLogger("tenuto.live")

ALONE_EVERY = 10.0
"""Seconds between looks where nobody else writes: only whether the logs are still there."""
_GONE = 2
"""So many looks in a row that find no log: it was erased, and is not merely not seen."""


class _Place(Struct, eq=False):
    """A room, or one that is being opened, and how many are in it."""

    opening: asyncio.Future[tuple[Room, str]]
    """The room and whose instance it is."""
    people: int = 0
    hinted: int = 0
    """What was heard of its log while it was being opened."""
    missed: int = 0
    """How many looks in a row have found no log."""


class LiveHub:
    """Rooms by instance. While nobody watches there are none, and nothing is done.

    What this process makes durable is told from what it has at hand. Of instances that others may
    advance it is asked once a second how long their logs are, with one statement for all. Where a
    log was erased, those who watch it are told so.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places: dict[str, _Place] = {}
        self._is_closed = False
        self._stop_listening: Callable[[], None] | None = None
        self._asking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def follow(
        self,
        tenant: str,
        instance_id: str,
        since: int = 0,
        *,
        until_end: bool = False,
    ) -> AsyncIterator[Feed]:
        """Watch an instance from the entry after `since` on; NotFound, also if it is another's.

        The feed gives messages and, where it breaks off, one `Dropped` at its end. With
        `until_end` it ends with the instance; else it goes on until it is left.
        """
        # Also where others are in its room already: what a process has at hand is everybody's.
        await refuse_foreign(self._engine, tenant, instance_id)
        if self._is_closed:
            raise StoreUnavailable("this process stops and tells nothing more")
        place = self._places.get(instance_id) or self._opened(tenant, instance_id)
        place.people += 1
        try:
            room, whose = await asyncio.shield(place.opening)
            if whose != tenant:
                raise not_there(instance_id)
            yield Feed(room, max(since, 0), until_end=until_end)
        finally:
            place.people -= 1
            if not place.people:
                self._leave(instance_id, place)

    async def close(self) -> None:
        """Break off every feed, so that those who watch come back to another process."""
        self._is_closed = True
        for instance_id, place in list(self._places.items()):
            self._leave(instance_id, place)

    def _opened(self, tenant: str, instance_id: str) -> _Place:
        # First listen, then look: nothing that happens in between is missed.
        opening = asyncio.ensure_future(self._open(tenant, instance_id))
        place = self._places[instance_id] = _Place(opening)
        if self._stop_listening is None:
            self._stop_listening = self._engine.listen(self._heard)
            self._asking = asyncio.ensure_future(self._ask_again_and_again())
        return place

    async def _open(self, tenant: str, instance_id: str) -> tuple[Room, str]:
        """A room for an instance that the store says is this tenant's."""
        engine = self._engine
        held = await held_by(engine, tenant, instance_id, is_known=True)
        room = Room(engine.store.seen_by(tenant), engine.clock, held.plan, held.state)
        place = self._places.get(instance_id)
        if place is None:
            room.close()
        else:
            room.hint(place.hinted)
        return room, tenant

    def _leave(self, instance_id: str, place: _Place) -> None:
        if self._places.get(instance_id) is place:
            del self._places[instance_id]
        room = _room_of(place)
        if room is not None:
            room.close()
        else:
            place.opening.cancel()
        if not self._places and self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
            if self._asking is not None:
                self._asking.cancel()
                self._asking = None

    def _heard(self, draft: Draft) -> None:
        """Called for each durable change of this process: most are of what nobody watches."""
        place = self._places.get(draft.instance_id)
        if place is not None:
            self._hint(place, draft.state.version, draft.rows)

    def _hint(self, place: _Place, seq: int, rows: Sequence[LogRow] = ()) -> None:
        place.hinted = max(place.hinted, seq)
        room = _room_of(place)
        if room is not None:
            room.hint(seq, rows)

    async def _ask_again_and_again(self) -> None:
        engine = self._engine
        others_write = engine.store.is_shared or engine.settings.is_guest
        while True:
            await engine.clock.sleep(engine.settings.watch_every if others_write else ALONE_EVERY)
            asked = dict(self._places)
            try:
                newest = await engine.store.instances.newest_seqs(list(asked))
            except StoreUnavailable as error:
                log.warning("what others do to watched instances is seen later: %s", error)
                continue
            except Exception:
                log.exception("how far others are with watched instances is not known")
                continue
            for instance_id, place in asked.items():
                seq = newest.get(instance_id)
                if seq is None:
                    self._miss(place)
                else:
                    place.missed = 0
                    self._hint(place, seq)

    def _miss(self, place: _Place) -> None:
        place.missed += 1
        room = _room_of(place)
        if place.missed >= _GONE and room is not None:
            room.gone()


def _room_of(place: _Place) -> Room | None:
    """Its room, once that is open."""
    opening = place.opening
    if not opening.done() or opening.cancelled() or opening.exception() is not None:
        return None
    return opening.result()[0]
