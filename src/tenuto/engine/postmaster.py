"""Brings events and waits together. Both write, commit, and only then look for each other.

An event that is stored looks for open waits; a wait that is open looks back at stored events.
Whichever was committed second finds the first, so none is lost; a wait takes one event, so none is
used twice. Which came first is the store's order, whatever clocks say: an event goes to every wait
that was open when it was stored. Moments decide only how far a wait looks back.

Triggers stand among the waits and do not look back: an event finds those that cancel an instance,
and those that start one, by the same look-up.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter

import msgspec

from tenuto.engine.inspector import id_is_taken
from tenuto.engine.intake import Intake
from tenuto.engine.outage import Outage
from tenuto.engine.recipients import Recipients, key_of, place_of
from tenuto.engine.requests import EventRequest, Request
from tenuto.engine.together import Together
from tenuto.engine.triggers import Triggers
from tenuto.engine.wait_finder import WaitFinder, is_fit
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched, TriggerMatched
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.columns import DEFAULT_TENANT
from tenuto.store.protocol import (
    Delivery,
    EventResult,
    LookedBack,
    Mail,
    MatchWrite,
    Store,
    WaitRow,
)

log = logging.getLogger("tenuto.events")

PAGE = 500
_NEEDS_SOMEBODY = frozenset({"TEN-4004", "TEN-4005", "TEN-4006"})
"""A store that denies, is of another version or is damaged is no weather that passes by itself."""

_encode = msgspec.json.Encoder().encode
_position = attrgetter("position")


class Postmaster:
    """Stores events, finds whom they are for, and finds past events for new waits."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        intake_of: Callable[[str], Intake],
        *,
        errand: Callable[[Coroutine[None, None, None]], object],
        outage: Outage,
        triggers: Triggers,
        start: Callable[[SendMail], None],
        is_guest: bool = False,
    ) -> None:
        """With `is_guest` its letters are for whoever works, and it hands nobody any.

        `errand` starts what goes on when nobody waits for it any more; `start` hands over a letter
        that starts an instance.
        """
        self._errand = errand
        self._outage = outage
        self._recipients = Recipients(WaitFinder(store, DEFAULT_TENANT), triggers, clock)
        self._start = start
        self._is_guest = is_guest
        self._store = store
        self._clock = clock
        self._intake_of = intake_of
        self._newest = Together(partial(store.newest_events, DEFAULT_TENANT))
        self.unmatched: set[str] = set()
        """Events that are stored and whose senders wait to hear whom they are for."""

    async def publish(self, event: Event) -> EventResult:
        """Store an event and record whom it is for; the same id twice acts once."""
        intake = self._intake_of(event.id)
        future: asyncio.Future[EventResult] = asyncio.get_running_loop().create_future()
        intake.store_event(EventRequest(event=event, future=future))
        stored = await future
        if stored.outcome == "conflict":
            raise id_is_taken(event.id)
        if stored.outcome == "duplicate" and stored.matched:
            return stored
        self.unmatched.add(event.id)
        try:
            return await self._matched_in_the_end(stored, event)
        finally:
            self.unmatched.discard(event.id)

    async def _matched_in_the_end(self, stored: EventResult, event: Event) -> EventResult:
        while True:
            try:
                if stored.outcome == "duplicate":
                    event = await self._first_of(event)
                match = await self.match(stored.number, event)
                return stored._replace(
                    resumed=match.resumed, cancelled=match.cancelled, started=match.started
                )
            except StoreUnavailable as error:
                # It is in the inbox: from here on it may be late, but not left alone.
                self._outage.met(f"matching event {event.id}", error)
                if error.code in _NEEDS_SOMEBODY:
                    self._errand(self._match_in_the_end(stored.number, event))
                    raise
                await self._clock.sleep(BAD_WEATHER)

    async def _first_of(self, event: Event) -> Event:
        """The event as it was stored the first time: its moment says which instances it starts."""
        known = await self._store.event(DEFAULT_TENANT, event.id)
        return event if known is None else known.event

    async def _match_in_the_end(self, number: int, event: Event) -> None:
        """Its sender knows what is wrong; once somebody has put it right, it is matched."""
        await self._clock.sleep(BAD_WEATHER)
        await self.match_late(number, event)

    async def match_late(self, number: int, event: Event) -> None:
        """Match an event that is in the inbox and for which nobody waits."""
        while True:
            try:
                await self.match(number, event)
            except StoreUnavailable as error:
                log.debug("event %s waits to be matched: %s", event.id, error)
                await self._clock.sleep(BAD_WEATHER)
            except TenutoError as error:
                log.error("the event %s is left alone: %s", event.id, error)  # noqa: TRY400
                return
            else:
                return

    async def match(self, number: int, event: Event) -> MatchWrite:
        """Find whom an event is for and leave it in their mail; once returned, that is durable."""
        whom = await self._recipients.of(number, event)
        now, resumed = whom.at, len(whom.waits)
        for wait in whom.later:
            # It came first: the wait takes the oldest that it has not had, perhaps another.
            resumed += not self._is_guest and await self._look_back_if_readable(wait)
        told, starts = (*whom.waits, *whom.cancelling), whom.starts
        letters = [_letter(wait, event, now) for wait in told]
        for start in starts.deliveries:
            if start.reason is not None:
                log.warning("event %s does not start %s: %s", event.id, start.node, start.reason)
        match = MatchWrite(
            event_id=event.id,
            mail=tuple(_mail(letter) for letter in (*letters, *starts.letters)),
            deliveries=(*(_matched(wait, event) for wait in told), *starts.deliveries),
            resumed=resumed,
            cancelled=whom.cancelled,
            started=len(starts.letters),
            matched_at=now,
        )
        if self._is_guest:
            # A turn's letters are its author's to hand over, as long as that lives. These go out
            # before the matching is done: if it never is, it is done again, and they with it.
            await self._store.send(match.mail)
            await self._intake_of(event.id).store_match(msgspec.structs.replace(match, mail=()))
            return match
        await self._intake_of(event.id).store_match(match)
        for letter in letters:
            self._intake_of(letter.to).report(Request(letter.to, letter.input, mail_id=letter.id))
        for letter in starts.letters:
            self._start(letter)
        return match

    async def arms_of(self, wait: WaitRow) -> list[WaitRow]:
        """All arms of a wait, of which one is known."""
        if not wait.arm:
            return [wait]
        stored = await self._store.waits(wait.instance_id)
        arms = [each for each in stored if place_of(each) == place_of(wait)]
        return sorted(arms, key=_position) or [wait]

    async def look_back(self, arms: Sequence[WaitRow]) -> bool:
        """Offer a new wait the events that came before it was committed, oldest first.

        Where it has several arms, the oldest that fits any of them, and of those the first listed.
        """
        wait = arms[0]
        intake = self._intake_of(wait.instance_id)
        async for event in self._past_events(arms):
            arm = next((each for each in arms if is_fit(each, event)), None)
            if arm is not None and await self._offer(intake, arm, event):
                return True
        await intake.looked_back(LookedBack(*place_of(wait), wait.attempt))
        return False

    async def _past_events(self, arms: Sequence[WaitRow]) -> AsyncIterator[Event]:
        """What the inbox has of all patterns that a wait is open for, oldest first."""
        wait = arms[0]
        names = {arm.pattern for arm in arms if not arm.is_wildcard}
        is_wild = any(arm.is_wildcard for arm in arms)
        if not is_wild and not await self._has_come(names, wait.since):
            return  # as most find that open a moment after their instance began
        patterns: Collection[str | None] = {None} if is_wild else names
        streams = [
            _Stream(self._store, wait.tenant, pattern, wait.since)
            for pattern in sorted(patterns, key=str)
        ]
        while True:
            heads = [head for stream in streams if (head := await stream.head()) is not None]
            if not heads:
                return
            number, event = min(heads, key=lambda head: (head[1].received_at, head[0]))
            for stream in streams:
                stream.drop(number)
            yield event

    async def _has_come(self, names: Collection[str], since: datetime) -> bool:
        """Whether the inbox has any event of these names that was received from `since` on."""
        newest = [await self._newest.ask(name) for name in names]
        return any(moment is not None and moment >= since for moment in newest)

    async def _look_back_if_readable(self, wait: WaitRow) -> bool:
        """One instance that cannot be read keeps an event from no other."""
        try:
            return await self.look_back(await self.arms_of(wait))
        except StoreUnavailable:
            raise
        except TenutoError as error:
            log.warning("the wait %s is left alone: %s", key_of(wait), error)
            return False

    async def _offer(self, intake: Intake, wait: WaitRow, event: Event) -> bool:
        """Whether the wait is settled: it took the event, or is not open any more."""
        future = asyncio.get_running_loop().create_future()
        report = msgspec.structs.replace(_report(wait, event), by_lookback=True)
        intake.report(Request(wait.instance_id, report, future=future))
        answer = await future
        return answer.rejection is None or answer.rejection.code != "TEN-3007"


class _Stream:
    """Past events of one pattern, or of all, page after page."""

    def __init__(self, store: Store, tenant: str, pattern: str | None, since: datetime) -> None:
        self._read = partial(store.events_since, tenant, pattern, since, limit=PAGE)
        self._page: deque[tuple[int, Event]] = deque()
        self._after = 0
        self._is_last = False

    async def head(self) -> tuple[int, Event] | None:
        """The oldest that was not dropped."""
        if not self._page and not self._is_last:
            self._page.extend(await self._read(after=self._after))
            self._is_last = len(self._page) < PAGE
            if self._page:
                self._after = self._page[-1][0]
        return self._page[0] if self._page else None

    def drop(self, number: int) -> None:
        if self._page and self._page[0][0] == number:
            self._page.popleft()


def _report(wait: WaitRow, event: Event) -> EventMatched:
    return EventMatched(
        node=wait.node,
        iteration=wait.iteration,
        attempt=wait.attempt,
        event=event,
        arm=wait.arm,
    )


def _letter(wait: WaitRow, event: Event, now: datetime) -> SendMail:
    report: EventMatched | TriggerMatched = _report(wait, event)
    if wait.is_cancellation:
        report = TriggerMatched(trigger=wait.position, event=event)
    id = f"{event.id}/{wait.instance_id}/{wait.node}/{wait.iteration}"
    if wait.arm:
        id += f"/{wait.arm}"
    return SendMail(to=wait.instance_id, id=id, at=now, input=report)


def _mail(letter: SendMail) -> Mail:
    return Mail(
        id=letter.id, instance_id=letter.to, input=_encode(letter.input), created_at=letter.at
    )


def _matched(wait: WaitRow, event: Event) -> Delivery:
    return Delivery(event.id, *place_of(wait), "matched", wait.arm)
