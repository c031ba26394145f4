"""Stores events, matches them with waits and triggers, and records their recipients.

An event is stored first and matched afterwards. A wait is stored first and looks back afterwards
(`engine/events/look_back.py`). The one that was committed second finds the first, so no event is
missed, and a wait takes only one event. The sequence numbers of the store decide the order, not
clocks: an event goes to every wait that was open when the event was stored.

Triggers are stored among the waits and do not look back: the same query finds the triggers that
cancel an instance and those that start one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial

import msgspec

from tenuto.encryption.store import refuse_plain
from tenuto.engine.events.inspector import id_is_taken
from tenuto.engine.events.mailbox_messages import Part, parts_of
from tenuto.engine.events.recipients import Recipients
from tenuto.engine.events.slices import Slices
from tenuto.engine.events.triggers import Triggers
from tenuto.engine.events.wait_finder import WaitFinder
from tenuto.engine.shared import Shared
from tenuto.engine.turns.batch import PendingMatch
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import EventRequest
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable, TenutoError, may_be_written
from tenuto.model.events import Event
from tenuto.model.json import is_small
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.store.parts.turns import EventResult, MatchWrite
from tenuto.store.parts.waits import WaitRow

log = logging.getLogger("tenuto.events")

MOST_TOGETHER = 500
"""The most events that are matched with one query."""
_NEEDS_SOMEBODY = frozenset({"TEN-4004", "TEN-4005", "TEN-4006"})
"""Errors that last until an operator acts: a store that denies access, has another version or is
damaged."""


class StoredEvent:
    """An event in the inbox, and the future on which its sender waits."""

    __slots__ = ("event", "future", "is_first", "is_settled", "result")

    def __init__(
        self, result: EventResult, event: Event, future: asyncio.Future[EventResult]
    ) -> None:
        self.result = result
        self.event = event
        self.future = future
        self.is_first = result.outcome != "duplicate"
        """Whether `event` is the copy that is in the inbox."""
        self.is_settled = False
        """Whether its recipients are durable, or this process has given up recording them."""

    def matched(self, match: MatchWrite) -> None:
        self.is_settled = True
        if not self.future.done():
            self.future.set_result(
                self.result._replace(
                    resumed=match.resumed, cancelled=match.cancelled, started=match.started
                )
            )

    def refuse(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class EventRouter:
    """Stores events and leaves mailbox messages for their recipients."""

    def __init__(
        self,
        shared: Shared,
        intake_of: Callable[[str], Intake],
        *,
        triggers: Triggers,
        slices: Slices,
        send: Callable[[SendMail, str], None],
    ) -> None:
        """`send` hands a durable mailbox message over to an instance of that tenant."""
        self._spawn = shared.background.spawn
        self._outage = shared.outage
        self._finder = WaitFinder(shared.store, slices)
        self._recipients = Recipients(self._finder, triggers, shared.clock)
        self._send = send
        self._is_guest = shared.settings.is_guest
        """Whether this engine is a guest: then other processes deliver its mailbox messages."""
        self._bounds = shared.settings.bounds
        self._sharing = shared.sharing
        self._large = shared.settings.bounds.large_document
        self._store = shared.store
        self._clock = shared.clock
        self._intake_of = intake_of
        self.unmatched: set[tuple[str, str]] = set()
        """Events that are being matched, by tenant and id."""

    async def publish(self, event: Event) -> EventResult:
        """Store an event and record its recipients; the same id twice acts once.

        A stored event is matched, whether or not its sender still waits.
        """
        await refuse_plain(self._store, event, self._clock.now())
        future: asyncio.Future[EventResult] = asyncio.get_running_loop().create_future()
        request = EventRequest(event=event, future=future, is_large=self._is_large(event))
        self._intake_of(event.id).store_event(request)
        return await future

    def stored(self, requests: Sequence[EventRequest], results: Mapping[str, EventResult]) -> None:
        """Match the events that a turn has stored, all of a tenant with one query."""
        waiting: list[StoredEvent] = []
        for request in requests:
            event, result = request.event, results[request.event.id]
            each = StoredEvent(result, event, request.future)
            if result.outcome == "conflict":
                each.refuse(id_is_taken(event.id))
            elif result.outcome == "duplicate" and result.matched:
                if not request.future.done():
                    request.future.set_result(result)
            else:
                self.unmatched.add((event.tenant, event.id))
                waiting.append(each)
        # Each tenant by itself: costly conditions of one do not delay the events of others.
        for tenant in dict.fromkeys(each.event.tenant for each in waiting):
            its_own = [each for each in waiting if each.event.tenant == tenant]
            _ = self._spawn(self._match_in_the_end(its_own))

    async def _match_in_the_end(self, events: Sequence[StoredEvent]) -> None:
        """Match events, and retry until that succeeds: a stored event is never dropped."""
        try:
            while left := [each for each in events if not each.is_settled]:
                try:
                    for first in range(0, len(left), MOST_TOGETHER):
                        await self.match_together(left[first : first + MOST_TOGETHER])
                except StoreUnavailable as error:
                    late = [each for each in left if not each.is_settled]
                    self._outage.met(f"matching {len(late)} events", error)
                    if error.code in _NEEDS_SOMEBODY:
                        # Their senders get the error; the events are matched once the store is
                        # repaired.
                        for each in late:
                            each.refuse(error)
                    await self._clock.sleep(OUTAGE_RETRY_SECONDS)
        except asyncio.CancelledError:
            stopped = may_be_written("the engine stopped before the event was matched")
            for each in events:
                each.refuse(stopped)
            raise
        finally:
            self.unmatched.difference_update((each.event.tenant, each.event.id) for each in events)

    async def match_together(self, events: Sequence[StoredEvent]) -> None:
        """Find the recipients of events with one query; the recipients are durable on return."""
        for each in events:
            if not each.is_first:
                each.event = await self._first_of(each.event)
                each.is_first = True
        found = await self._finder.fitting_each([each.event for each in events])
        recording = _Recording()
        others: list[Coroutine[None, None, None]] = []
        for each, fitting in zip(events, found, strict=True):
            targets = self._recipients.at_once(fitting, each.result.number, each.event)
            if targets is None or self._is_guest:
                others.append(self._match_one(each, fitting))
            else:
                parts = parts_of(each.event, targets, self._most_messages)
                part = next(parts)
                if not part.match.is_done:
                    others.append(self._match_one(each, fitting))
                    continue
                settled = partial(self._recorded, each, part, recording)
                pending = PendingMatch(part.match, settled, self._is_large(each.event, part.match))
                self._intake_of(each.event.id).store_match(pending)
                recording.begun()
        outcomes = await asyncio.gather(*others, return_exceptions=True)
        await recording.over()
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    def _recorded(
        self,
        each: StoredEvent,
        part: Part,
        recording: _Recording,
        error: Exception | None,
    ) -> None:
        """The recipients of an event are durable, or cannot be recorded."""
        if error is None:
            for message in part.messages:
                self._send(message, part.match.tenant)
            each.matched(part.match)
        else:
            each.is_settled = True
            each.refuse(error)
        recording.ended()

    async def _match_one(self, each: StoredEvent, fitting: Sequence[WaitRow]) -> None:
        try:
            each.matched(await self._match(each.result.number, each.event, fitting))
        except StoreUnavailable:
            raise
        except TenutoError as error:
            each.is_settled = True
            each.refuse(error)

    async def _first_of(self, event: Event) -> Event:
        """The first copy of an event: its time of storage decides which instances it starts."""
        known = await self._store.inbox.get(event.tenant, event.id)
        return event if known is None else known.event

    async def match_late(self, number: int, event: Event) -> None:
        """Match an event of the inbox that has no waiting sender."""
        key = (event.tenant, event.id)
        self.unmatched.add(key)
        try:
            while True:
                try:
                    await self.match(number, event)
                except StoreUnavailable as error:
                    log.debug("event=%s waits to be matched: %s", event.id, error)
                    await self._clock.sleep(OUTAGE_RETRY_SECONDS)
                else:
                    return
        except TenutoError as error:
            log.error("event=%s cannot be matched: %s", event.id, error)  # noqa: TRY400
        finally:
            self.unmatched.discard(key)

    async def match(self, number: int, event: Event) -> MatchWrite:
        """Find the recipients of an event and write mailbox messages to them; durable on return."""
        return await self._match(number, event, await self._finder.fitting(event))

    async def _match(self, number: int, event: Event, fitting: Sequence[WaitRow]) -> MatchWrite:
        targets = await self._recipients.among(fitting, number, event)
        for start in targets.starts.deliveries:
            if start.reason is not None:
                log.warning(
                    "event=%s does not start definition=%s: %s", event.id, start.node, start.reason
                )
        for match, messages in parts_of(event, targets, self._most_messages):
            if self._is_guest:
                # The process that writes a turn delivers the turn's messages, and a guest delivers
                # none. So the messages are sent before the match is recorded; if the matching is
                # interrupted, it is repeated with the same messages.
                await self._store.mailbox.send(match.mail)
                await self._record(msgspec.structs.replace(match, mail=()))
                continue
            await self._record(match, is_large=self._is_large(event, match))
            for message in messages:
                self._send(message, match.tenant)
        return match

    @property
    def _most_messages(self) -> int:
        """How many are written at once."""
        bounds = self._bounds
        return bounds.shared_messages if self._sharing.is_shared else bounds.turn_messages

    def _is_large(self, event: Event, match: MatchWrite | None = None) -> bool:
        """Whether an event, or a part of its matching, has a turn of its own, and then a rest."""
        if match is not None and len(match.mail) >= self._bounds.shared_messages:
            return True
        return not is_small(event.payload, self._large)

    def _record(self, match: MatchWrite, *, is_large: bool = False) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        pending = PendingMatch(match, partial(_settle, future), is_large)
        self._intake_of(match.event_id).store_match(pending)
        return future


class _Recording:
    """Counts the recordings in flight; `over` waits until there are none."""

    def __init__(self) -> None:
        self._count = 0
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begun(self) -> None:
        self._count += 1

    def ended(self) -> None:
        self._count -= 1
        if not self._count and not self._future.done():
            self._future.set_result(None)

    async def over(self) -> None:
        if self._count:
            await self._future


def _settle(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
