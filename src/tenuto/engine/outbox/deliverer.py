"""Sends events to addresses outside, until each has said that it has them.

Of one instance an address hears one event after the other; different instances do not wait for each
other, and no address waits for another. What does not arrive is tried again, ever less often. An
address at which nothing has arrived for days is disabled, and the gap is written down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tenuto.engine.outbox.endpoints import Endpoint, Gap, Health, encoded, endpoint_of, health_of
from tenuto.engine.outbox.retry_backoff import arrived, failed_again, is_hopeless, pause
from tenuto.engine.outbox.signatures import signed_headers
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Reply, Sender, Timer
from tenuto.store.errors import Fenced
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting, Settlement
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.webhooks")

MOST_ADDRESSES = 64
"""Addresses that are sent to at once; those that fail have room of their own."""
MOST_DOUBTFUL = 16
"""Addresses that are sent to at once of those that failed last time."""
MOST_WAITED_FOR = 256
"""Addresses in all that may owe an answer."""
_SLOW = 2.0
"""Seconds after which an address that has not answered keeps no room from others."""
MOST_EACH = 10
"""Requests to one address at once."""
_LONGEST_REST = 60.0
"""Seconds for which an address that takes nothing is left alone, at most."""
_ACCEPTED = range(200, 300)
_REFUSED = frozenset(range(400, 500)) - {408, 425, 429}
"""Answers about what was sent: whoever gives them takes other things, and needs no rest."""
_MOST_GAPS = 20
_PATIENCE = 5.0
"""Seconds until a store that was away is asked again to record what has arrived."""


class Deliverer:
    """Takes what is on its way to where it should go."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        sender: Sender,
        seconds: float,
        disable_after: timedelta,
        again: Callable[[], None],
    ) -> None:
        """`again`: an address is free, and there may be more for it."""
        self._store = store
        self._clock = clock
        self._sender = sender
        self._seconds = seconds
        self._disable_after = disable_after
        self._again = again
        self._busy: dict[str, asyncio.Task[None]] = {}
        """Addresses that are being sent to."""
        self._failures: dict[str, int] = {}
        """Addresses that took and judged nothing of what they were sent last → times in a row."""
        self._slow: set[str] = set()
        """Addresses that are being sent to, and have not answered for a while."""
        self._has_looked = False
        """Whether it is known who failed while other processes sent."""
        self._resting: dict[str, Timer] = {}
        """Those of them that are left alone for a while: however much is due to them."""

    async def run_once(self) -> datetime | None:
        """Begin to send what is due; when something else will be."""
        if not self._has_looked:
            listeners = await self._store.listeners.of(None)
            self._failures |= {each.id: 1 for each in listeners if _is_failing(each)}
            self._has_looked = True
        moments = [await self._serve_all(self._trusted()), await self._serve_all(self._doubted())]
        return min((each for each in moments if each is not None), default=None)

    def know(self, listeners: Iterable[Listener]) -> None:
        """These are all who listen: what is known of those that went, or hear nothing, goes."""
        hearing = {each.id for each in listeners if each.level or each.hears_inbox}
        for id in self._failures.keys() - hearing:
            del self._failures[id]

    def _trusted(self) -> _Ask:
        """Those that took what they were sent last, or were never sent anything."""
        answering = sum(id not in self._failures and id not in self._slow for id in self._busy)
        return _Ask(MOST_ADDRESSES - answering, {*self._busy, *self._resting, *self._failures})

    def _doubted(self) -> _Ask:
        """Those that failed last time: however many they are, the others have their room."""
        asked = sum(id in self._failures for id in self._busy)
        unavailable = {*self._busy, *self._resting}
        return _Ask(MOST_DOUBTFUL - asked, unavailable, self._failures.keys() - unavailable)

    async def _serve_all(self, ask: _Ask) -> datetime | None:
        """Begin to send to as many as there is room for; when something else will be due."""
        room = min(ask.room, MOST_WAITED_FOR - len(self._busy))
        if room <= 0 or ask.among == set():
            return None
        found = await self._store.outbox.claim_due(
            self._clock.now(), most=room, each=MOST_EACH, busy=ask.but, among=ask.among
        )
        listeners = {each.id: each for each in found.listeners}
        for id, postings in _by_listener(found.items).items():
            task = asyncio.get_running_loop().create_task(
                self._serve(id, listeners.get(id), postings), name=f"tenuto webhook {id}"
            )
            self._busy[id] = task
            slow = self._clock.call_later(_SLOW, partial(self._is_slow, id))
            task.add_done_callback(partial(self._done, id, slow))
        return found.next_due

    @property
    def is_sending(self) -> bool:
        return bool(self._busy)

    async def answered(self) -> None:
        """Wait until one of the addresses that are being sent to is done with."""
        await asyncio.wait(self._busy.values(), return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Send nothing more; what has no answer yet is sent again by whoever goes on."""
        for timer in self._resting.values():
            timer.cancel()
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sender.close()

    def _is_slow(self, id: str) -> None:
        self._slow.add(id)
        self._again()

    def _done(self, id: str, slow: Timer, task: asyncio.Task[None]) -> None:
        slow.cancel()
        self._slow.discard(id)
        del self._busy[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # It is tried at the next look: at once it would only break off again.
            log.error("sending to %s broke off", id, exc_info=error)
            return
        self._again()

    async def _serve(self, id: str, listener: Listener | None, postings: Sequence[Posting]) -> None:
        if listener is None:
            # It was removed meanwhile; what was on its way to it went with it.
            self._failures.pop(id, None)
            await self._settled(Settlement(listener_id=id))
            return
        try:
            endpoint, before = endpoint_of(listener), health_of(listener)
        except msgspec.DecodeError as error:
            log.error("%s cannot be read, and is told later: %s", id, error)  # noqa: TRY400
            await self._settled(Settlement(listener_id=id, put_off=self._put_off(postings)))
            return
        replies = await asyncio.gather(*(self._send(endpoint, each) for each in postings))
        now = self._clock.now()
        delivered = [
            posting.event_id
            for posting, reply in zip(postings, replies, strict=True)
            if reply.status in _ACCEPTED
        ]
        failed = [
            (posting, reply)
            for posting, reply in zip(postings, replies, strict=True)
            if reply.status not in _ACCEPTED
        ]
        is_judging = any(reply.status in _REFUSED for _, reply in failed)
        self._let_rest(id, has_failed=not delivered and not is_judging)
        health = self._health(before, now, bool(delivered), failed)
        is_disabled = health.disabled_at is not None
        given_up = [each for each, _ in failed if is_hopeless(each, now, self._disable_after)]
        if not is_disabled and given_up:
            health = _with_gap(health, _gap_of(given_up, now, health.last_error or ""))
            delivered += [each.event_id for each in given_up]
        if is_disabled:
            health = _with_gap(health, await self._open_gap(listener, health, now))
            log.error(
                "%s is disabled: nothing has arrived there since %s (%s); events are lost to it "
                "until somebody enables it",
                *(listener.id, health.failing_since, health.last_error),
            )
        await self._settled(
            Settlement(
                listener_id=listener.id,
                delivered=tuple(delivered),
                put_off=self._put_off([each for each, _ in failed if each not in given_up]),
                health=encoded(health),
                is_disabled=is_disabled,
            )
        )

    def _put_off(self, postings: Sequence[Posting]) -> tuple[tuple[str, datetime], ...]:
        now = self._clock.now()
        return tuple(
            (each.event_id, now + pause(each, each.attempts, self._disable_after))
            for each in postings
        )

    async def _send(self, endpoint: Endpoint, posting: Posting) -> Reply:
        signed = signed_headers(endpoint.secret, posting.event_id, self._clock.now(), posting.body)
        headers = {"content-type": "application/json", "user-agent": "tenuto", **signed}
        return await self._sender.post(endpoint.url, headers, posting.body, self._seconds)

    def _health(
        self,
        before: Health,
        now: datetime,
        has_delivered: bool,  # noqa: FBT001
        failed: Sequence[tuple[Posting, Reply]],
    ) -> Health:
        if has_delivered:
            before = arrived(before, now)
        if not failed:
            return before
        health = replace(before, last_error=_reason(failed[-1][1]))
        return health if has_delivered else failed_again(health, now, self._disable_after)

    async def _open_gap(self, listener: Listener, health: Health, now: datetime) -> Gap:
        backlog = (await self._store.listeners.backlogs(listener.tenant)).get(listener.id)
        return Gap(
            since=now if backlog is None else backlog.oldest,
            until=None,
            lost=0 if backlog is None else backlog.size,
            reason=health.last_error or "",
        )

    def _let_rest(self, id: str, *, has_failed: bool) -> None:
        """One that takes nothing is not asked once for each instance that has something for it."""
        if not has_failed:
            self._failures.pop(id, None)
            return
        count = self._failures[id] = self._failures.get(id, 0) + 1
        seconds = min(_LONGEST_REST, 2.0 ** min(count - 1, 20))
        self._resting[id] = self._clock.call_later(seconds, partial(self._rested, id))

    def _rested(self, id: str) -> None:
        del self._resting[id]
        self._again()

    async def _settled(self, settlement: Settlement) -> None:
        """What has arrived is not sent again because the store is away for a while."""
        while True:
            try:
                await self._store.outbox.settle(settlement)
            except StoreUnavailable as error:
                log.warning("what %s has is not recorded yet: %s", settlement.listener_id, error)
                await self._clock.sleep(_PATIENCE)
            except Fenced:
                log.warning("what %s has is sent again: others send to it", settlement.listener_id)
                return
            else:
                return


class _Ask(NamedTuple):
    """Whom to send to: to how many, to none of some, and to no others than some."""

    room: int
    but: set[str]
    among: set[str] | None = None


def _is_failing(listener: Listener) -> bool:
    if listener.kind == "definition":
        return False
    try:
        return health_of(listener).failing_since is not None
    except msgspec.DecodeError:
        # A newer program's: it is sent to by that, and nobody else waits for it.
        log.warning("what is known of %s cannot be read", listener.id)
        return True


def _by_listener(postings: Sequence[Posting]) -> dict[str, list[Posting]]:
    found: dict[str, list[Posting]] = {}
    for posting in postings:
        found.setdefault(posting.listener_id, []).append(posting)
    return found


def _gap_of(given_up: Sequence[Posting], now: datetime, reason: str) -> Gap:
    """What arrives nowhere while other things do: it goes, so that what follows it can come."""
    since = min(each.created_at for each in given_up)
    return Gap(since=since, until=now, lost=len(given_up), reason=reason)


def _with_gap(health: Health, gap: Gap) -> Health:
    return replace(health, gaps=(*health.gaps, gap)[-_MOST_GAPS:])


def _reason(reply: Reply) -> str:
    if reply.status is None:
        return reply.error or "no answer"
    if reply.status in range(300, 400):
        return f"answered {reply.status}: redirects are not followed"
    return f"answered {reply.status}"
