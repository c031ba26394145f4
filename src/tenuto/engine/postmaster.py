"""Brings events and waits together. Both write, commit, and only then look for each other.

An event that is stored looks for open waits; a wait that is open looks back at stored events.
Whichever was committed second finds the first, so none is lost; a wait takes one event, so none is
used twice. Which came first is the store's order, whatever clocks say: an event goes to every wait
that was open when it was stored. Moments decide only how far a wait looks back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping

import msgspec

from tenuto.engine.intake import Intake
from tenuto.engine.outage import Outage
from tenuto.engine.requests import EventRequest, Request
from tenuto.events import fits
from tenuto.expr import ExpressionError, event_term_values, split_condition
from tenuto.model.errors import Conflict, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched
from tenuto.model.json import JSON
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.protocol import (
    Delivery,
    EventResult,
    LookedBack,
    Mail,
    MatchWrite,
    Store,
    WaitKey,
    WaitRow,
    WaitTerm,
)

log = logging.getLogger("tenuto.events")

PAGE = 500
_NEEDS_SOMEBODY = frozenset({"TEN-4004", "TEN-4005", "TEN-4006"})
"""A store that denies, is of another version or is damaged is no weather that passes by itself."""

_encode = msgspec.json.Encoder().encode


class Postmaster:
    """Stores events, finds whom they are for, and finds past events for new waits."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        intake_of: Callable[[str], Intake],
        tenant: str = "default",
        *,
        errand: Callable[[Coroutine[None, None, None]], object],
        outage: Outage,
        is_guest: bool = False,
    ) -> None:
        """With `is_guest` its letters are for whoever works, and it hands nobody any.

        `errand` starts what goes on when nobody waits for it any more.
        """
        self._errand = errand
        self._outage = outage
        self._is_guest = is_guest
        self._store = store
        self._clock = clock
        self._intake_of = intake_of
        self._tenant = tenant
        self.unmatched: set[str] = set()
        """Events that are stored and whose senders wait to hear whom they are for."""

    async def publish(self, event: Event) -> EventResult:
        """Store an event and record whom it is for; the same id twice acts once."""
        intake = self._intake_of(event.id)
        future: asyncio.Future[EventResult] = asyncio.get_running_loop().create_future()
        intake.store_event(EventRequest(event=event, future=future))
        stored = await future
        if stored.outcome == "conflict":
            raise Conflict(
                f"event {event.id} was published before with other content",
                code="TEN-3008",
                advice="Give each event an id of its own; repeat one only unchanged.",
            )
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
                return stored._replace(resumed=await self.match(stored.number, event))
            except StoreUnavailable as error:
                # It is in the inbox: from here on it may be late, but not left alone.
                self._outage.met(f"matching event {event.id}", error)
                if error.code in _NEEDS_SOMEBODY:
                    self._errand(self._match_late(stored.number, event))
                    raise
                await self._clock.sleep(BAD_WEATHER)

    async def _match_late(self, number: int, event: Event) -> None:
        """Its sender knows what is wrong; once somebody has put it right, it is matched."""
        while True:
            await self._clock.sleep(BAD_WEATHER)
            try:
                await self.match(number, event)
            except StoreUnavailable as error:
                log.debug("event %s waits to be matched: %s", event.id, error)
            except TenutoError as error:
                log.error("the event %s is left alone: %s", event.id, error)  # noqa: TRY400
                return
            else:
                return

    async def match(self, number: int, event: Event) -> int:
        """Find the open waits that an event fits and leave it in their mail; returns how many."""
        waits: list[WaitRow] = []
        resumed = 0
        for wait in await self._fitting(event):
            if wait.follows < number:
                waits.append(wait)
            elif wait.since <= event.received_at and not self._is_guest:
                # It came first: the wait takes the oldest that it has not had, perhaps another.
                resumed += await self._look_back_if_readable(wait)
        resumed += len(waits)
        now = self._clock.now()
        mail = tuple(
            Mail(
                id=f"{event.id}/{wait.instance_id}/{wait.node}/{wait.iteration}",
                instance_id=wait.instance_id,
                input=_encode(_matched(wait, event)),
                created_at=now,
            )
            for wait in waits
        )
        deliveries = tuple(
            Delivery(event.id, wait.instance_id, wait.node, wait.iteration, "matched")
            for wait in waits
        )
        if self._is_guest:
            # A turn's letters are its author's to hand over, as long as that lives. These go out
            # before the matching is done: if it never is, it is done again, and they with it.
            await self._store.send(mail)
        await self._intake_of(event.id).store_match(
            MatchWrite(
                event_id=event.id,
                mail=() if self._is_guest else mail,
                deliveries=deliveries,
                resumed=resumed,
                matched_at=now,
            )
        )
        for wait, letter in () if self._is_guest else zip(waits, mail, strict=True):
            self._intake_of(wait.instance_id).report(
                Request(wait.instance_id, _matched(wait, event), mail_id=letter.id)
            )
        return resumed

    async def look_back(self, wait: WaitRow) -> bool:
        """Offer a new wait the events that came before it was committed, oldest first."""
        intake = self._intake_of(wait.instance_id)
        opening = LookedBack(*key_of(wait), wait.attempt)
        pattern = None if wait.is_wildcard else wait.pattern
        after = 0
        while True:
            page = await self._store.events_since(
                wait.tenant, pattern, wait.since, after=after, limit=PAGE
            )
            for cursor, event in page:
                after = cursor
                if self._fits(wait, event):
                    taken = await self._offer(intake, wait, event)
                    if taken:
                        return True
            if len(page) < PAGE:
                await intake.looked_back(opening)
                return False

    async def _look_back_if_readable(self, wait: WaitRow) -> bool:
        """One instance that cannot be read keeps an event from no other."""
        try:
            return await self.look_back(wait)
        except StoreUnavailable:
            raise
        except TenutoError as error:
            log.warning("the wait %s is left alone: %s", key_of(wait), error)
            return False

    async def _offer(self, intake: Intake, wait: WaitRow, event: Event) -> bool:
        """Whether the wait is settled: it took the event, or is not open any more."""
        future = asyncio.get_running_loop().create_future()
        report = msgspec.structs.replace(_matched(wait, event), by_lookback=True)
        intake.report(Request(wait.instance_id, report, future=future))
        answer = await future
        return answer.rejection is None or answer.rejection.code != "TEN-3007"

    async def _fitting(self, event: Event) -> list[WaitRow]:
        value = event.as_value()
        terms: list[WaitTerm] = []
        for term in await self._store.wait_terms(self._tenant, event.pattern):
            if not fits(term.pattern, event.pattern):
                continue
            values = _term_values(term.term_paths, value)
            terms.append(WaitTerm(term.pattern, term.term_paths, values))
        found: list[WaitRow] = []
        after: WaitKey | None = None
        while terms:
            page = await self._store.waits_for(self._tenant, terms, limit=PAGE, after=after)
            found += [wait for wait in page if self._fits(wait, event)]
            if len(page) < PAGE:
                break
            after = key_of(page[-1])
        return found

    def _fits(self, wait: WaitRow, event: Event) -> bool:
        if not fits(wait.pattern, event.pattern):
            return False
        if wait.correlation_id is not None and wait.correlation_id != event.correlation_id:
            return False
        if wait.condition is None:
            return True
        captured: list[JSON] = msgspec.json.decode(wait.captures)
        try:
            return split_condition(wait.condition).matches(event.as_value(), captured)
        except ExpressionError as error:
            log.debug("condition of %s/%s: %s", wait.instance_id, wait.node, error)
            return False


def key_of(wait: WaitRow) -> WaitKey:
    return WaitKey(wait.instance_id, wait.node, wait.iteration)


def _matched(wait: WaitRow, event: Event) -> EventMatched:
    return EventMatched(node=wait.node, iteration=wait.iteration, attempt=wait.attempt, event=event)


def _term_values(term_paths: str, event: Mapping[str, JSON]) -> str:
    if not term_paths:
        return ""
    paths: list[str] = msgspec.json.decode(term_paths)
    return _encode(event_term_values(event, paths)).decode()
