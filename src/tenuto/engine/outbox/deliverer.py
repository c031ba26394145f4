"""Delivers events to webhooks until each is acknowledged.

A webhook receives the events of one instance one after the other; different instances, and
different webhooks, do not wait for each other. Nor does a tenant wait for the webhooks of another.
Failed deliveries are retried with growing pauses. A webhook to which all deliveries fail for days
is disabled, and the gap is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.outbox.endpoints import Endpoint, Gap, Health, encoded, endpoint_of, health_of
from tenuto.engine.outbox.pace import Pace
from tenuto.engine.outbox.retry_backoff import arrived, failed_again, is_hopeless, pause
from tenuto.engine.outbox.signatures import signed_headers
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Reply, Sender, Timer
from tenuto.store.errors import Fenced
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting, Settlement
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.webhooks")

MOST_WAITED_FOR = 256
"""Webhooks in all that may owe an answer."""
_SLOW = 2.0
"""Seconds after which a webhook that has not answered blocks no slot."""
MOST_EACH = 10
"""Requests to one webhook at once."""
_RESERVE = 8
"""One of so many slots is for tenants that have less than their share."""
_LONGEST_REST = 60.0
"""The most seconds for which a failing webhook is skipped."""
_ACCEPTED = range(200, 300)
_REFUSED = frozenset(range(400, 500)) - {408, 425, 429}
"""Statuses that reject one event: the webhook takes other events, and is not skipped."""
_MOST_GAPS = 20
_PATIENCE = 5.0
"""Seconds until an unavailable store is asked again to record deliveries."""


class Deliverer:
    """Delivers the rows that the drainer has fanned out."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        sender: Sender,
        seconds: float,
        disable_after: timedelta,
        again: Callable[[], None],
        bounds: Bounds = DEFAULT_BOUNDS,
        pace: Pace | None = None,
    ) -> None:
        """`again`: a webhook is free, and there may be more for it."""
        self._store = store
        self._clock = clock
        self._sender = sender
        self._seconds = seconds
        self._disable_after = disable_after
        self._again = again
        self._bounds = bounds
        self._busy: dict[str, asyncio.Task[None]] = {}
        """Webhooks that are being served."""
        self._failures: dict[str, int] = {}
        """Failing webhooks → failures in a row."""
        self._slow: set[str] = set()
        """Webhooks that are being served, and have not answered for a while."""
        self._has_looked = False
        """Whether failures seen by other processes have been read."""
        self._resting: dict[str, Timer] = {}
        """Failing webhooks that are skipped for a while, whatever is due to them."""
        self._tenants: dict[str, str] = {}
        """Webhook → its tenant."""
        self._of_tenants: dict[str, list[str]] = {}
        """Tenant → its webhooks."""
        self._beginning: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Tenant → the lock of its request that begins next."""
        self._pace = pace or Pace(clock)

    async def run_once(self) -> datetime | None:
        """Begin due deliveries; returns when the next one is due."""
        if not self._has_looked:
            listeners = await self._store.listeners.of(None)
            self._failures |= {each.id: 1 for each in listeners if _is_failing(each)}
            self._know_tenants(listeners)
            self._has_looked = True
        moments = [
            await self._serve_all(ask)
            for asks in (self._trusted, self._doubted)
            for ask in self._fairly(asks)
        ]
        return min((each for each in moments if each is not None), default=None)

    def know(self, listeners: Sequence[Listener]) -> None:
        """Take the list of all subscribers, and drop what is known of removed or disabled ones."""
        self._know_tenants(listeners)
        hearing = {each.id for each in listeners if each.level or each.hears_inbox}
        for id in self._failures.keys() - hearing:
            del self._failures[id]

    def _know_tenants(self, listeners: Sequence[Listener]) -> None:
        self._tenants = {each.id: each.tenant for each in listeners if each.kind != "definition"}
        self._of_tenants = {}
        for id, tenant in self._tenants.items():
            self._of_tenants.setdefault(tenant, []).append(id)

    def _fairly(self, asks: Callable[[], _Ask]) -> Iterator[_Ask]:
        """First for all tenants, but for a reserve; that is for tenants with less than their share.

        Where the webhooks are all of one tenant, it has all slots.
        """
        ask = asks()
        reserve = max(1, ask.slots // _RESERVE) if len(self._of_tenants) > 1 else 0
        yield ask._replace(slots=ask.slots - reserve)
        ask = asks()
        if not reserve or len(ask.taken) < ask.slots - reserve:
            return
        served = Counter(self._tenants.get(id, "") for id in ask.taken)
        share = ask.slots // (len(served) + 1)
        over = {tenant for tenant, count in served.items() if count >= share}
        theirs = {id for tenant in over for id in self._of_tenants.get(tenant, ())}
        yield ask._replace(but=ask.but | theirs)

    def _trusted(self) -> _Ask:
        """Serve webhooks that did not fail last time."""
        return _Ask(
            self._bounds.webhooks,
            [id for id in self._busy if id not in self._failures and id not in self._slow],
            {*self._busy, *self._resting, *self._failures},
        )

    def _doubted(self) -> _Ask:
        """Serve failing webhooks: however many, the others keep their slots."""
        unavailable = {*self._busy, *self._resting}
        return _Ask(
            self._bounds.failing_webhooks,
            [id for id in self._busy if id in self._failures],
            unavailable,
            self._failures.keys() - unavailable,
        )

    async def _serve_all(self, ask: _Ask) -> datetime | None:
        """Serve as many webhooks as there are slots; returns when the next delivery is due."""
        room = min(ask.slots - len(ask.taken), MOST_WAITED_FOR - len(self._busy))
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
        """Wait until one of the webhooks in service is done."""
        await asyncio.wait(self._busy.values(), return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Stop deliveries; those without an answer are repeated by another process."""
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
            # It is tried with the next pass: at once it would only fail again.
            log.error("webhook=%s: a delivery broke off", id, exc_info=error)
            return
        self._again()

    async def _serve(self, id: str, listener: Listener | None, postings: Sequence[Posting]) -> None:
        if listener is None:
            # It was removed meanwhile, with its deliveries.
            self._failures.pop(id, None)
            await self._settled(Settlement(listener_id=id))
            return
        try:
            endpoint, before = endpoint_of(listener), health_of(listener)
        except msgspec.DecodeError as error:
            log.error("webhook=%s cannot be read, its deliveries wait: %s", id, error)  # noqa: TRY400
            await self._settled(Settlement(listener_id=id, put_off=self._put_off(postings)))
            return
        replies = await asyncio.gather(
            *(self._send(listener.tenant, endpoint, each) for each in postings)
        )
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
                "webhook=%s is disabled: no delivery has arrived since %s (%s); it loses events "
                "until it is enabled",
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

    async def _send(self, tenant: str, endpoint: Endpoint, posting: Posting) -> Reply:
        signed = signed_headers(endpoint.secret, posting.event_id, self._clock.now(), posting.body)
        headers = {"content-type": "application/json", "user-agent": "tenuto", **signed}
        await self._turn_to_begin(tenant)
        return await self._sender.post(
            endpoint.url, headers, posting.body, self._seconds, tenant=tenant
        )

    async def _turn_to_begin(self, tenant: str) -> None:
        """Return once for each tenant in a round of the event loop: others wait for each round."""
        lock = self._beginning.setdefault(tenant, asyncio.Lock())
        async with lock:
            await self._clock.sleep(0)

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
        """A failing webhook is not tried once for each instance with events for it."""
        if not has_failed:
            self._failures.pop(id, None)
            return
        count = self._failures[id] = self._failures.get(id, 0) + 1
        seconds = min(_LONGEST_REST, 2.0 ** min(count - 1, 20))
        self._resting[id] = self._clock.call_later(seconds, partial(self._rested, id))

    def wake(self, id: str) -> None:
        """Serve a failing webhook again at once: what failed there may be mended."""
        timer = self._resting.pop(id, None)
        if timer is not None:
            timer.cancel()

    def _rested(self, id: str) -> None:
        del self._resting[id]
        self._again()

    async def _settled(self, settlement: Settlement) -> None:
        """Record an acknowledged delivery, also if the store is unavailable for a while."""
        known = self._tenants.get(settlement.listener_id)
        tenants = () if known is None else (known,)
        while True:
            try:
                await self._pace.write(lambda: self._store.outbox.settle(settlement), tenants)
            except StoreUnavailable as error:
                log.warning(
                    "webhook=%s: a delivery is not recorded yet: %s", settlement.listener_id, error
                )
                await self._clock.sleep(_PATIENCE)
            except Fenced:
                log.warning(
                    "webhook=%s: another process delivers to it, events are sent again",
                    settlement.listener_id,
                )
                return
            else:
                return


class _Ask(NamedTuple):
    """Which webhooks to serve: within how many slots, without some, and among some."""

    slots: int
    taken: Sequence[str]
    """The webhooks that have a slot now."""
    but: set[str]
    among: set[str] | None = None


def _is_failing(listener: Listener) -> bool:
    if listener.kind == "definition":
        return False
    try:
        return health_of(listener).failing_since is not None
    except msgspec.DecodeError:
        # A newer program's: that program serves it, and no other webhook waits for it.
        log.warning("webhook=%s: its health cannot be read", listener.id)
        return True


def _by_listener(postings: Sequence[Posting]) -> dict[str, list[Posting]]:
    found: dict[str, list[Posting]] = {}
    for posting in postings:
        found.setdefault(posting.listener_id, []).append(posting)
    return found


def _gap_of(given_up: Sequence[Posting], now: datetime, reason: str) -> Gap:
    """Whether an event fails while others arrive: it is dropped, so that its successors come."""
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
