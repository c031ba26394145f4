"""Sends events to addresses outside, until each has said that it has them.

Of one instance an address hears one event after the other; different instances do not wait for each
other, and no address waits for another. What does not arrive is tried again, ever less often. An
address at which nothing has arrived for days is disabled, and the gap is written down.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from tenuto.engine.endpoints import Endpoint, Gap, Health, encoded, endpoint_of, health_of
from tenuto.engine.signing import signed_headers
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Reply, Sender
from tenuto.store.protocol import Listener, Posting, Settlement, Store

log = logging.getLogger("tenuto.webhooks")

MOST_ADDRESSES = 64
"""Addresses that are sent to at once."""
MOST_EACH = 10
"""Requests to one address at once."""
_FIRST, _FACTOR, _LONGEST = 5.0, 3.0, 6 * 3600.0
"""Seconds until the second try, by how much the pause grows, and how long it gets."""
_ACCEPTED = range(200, 300)
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
        tenant: str = "default",
    ) -> None:
        """`again`: an address is free, and there may be more for it."""
        self._store = store
        self._clock = clock
        self._sender = sender
        self._seconds = seconds
        self._disable_after = disable_after
        self._again = again
        self._tenant = tenant
        self._busy: dict[str, asyncio.Task[None]] = {}
        """Addresses that are being sent to."""

    async def run_once(self) -> datetime | None:
        """Begin to send what is due; when something else will be."""
        while True:
            room = MOST_ADDRESSES - len(self._busy)
            if room <= 0:
                return None
            found = await self._store.due_postings(
                self._clock.now(), most=room, each=MOST_EACH, busy=tuple(self._busy)
            )
            if not found.items:
                return found.next_due
            listeners = {each.id: each for each in await self._store.listeners(self._tenant)}
            for id, postings in _by_listener(found.items).items():
                task = asyncio.get_running_loop().create_task(
                    self._serve(id, listeners.get(id), postings), name=f"tenuto webhook {id}"
                )
                self._busy[id] = task
                task.add_done_callback(partial(self._done, id))

    @property
    def is_sending(self) -> bool:
        return bool(self._busy)

    async def answered(self) -> None:
        """Wait until one of the addresses that are being sent to is done with."""
        await asyncio.wait(self._busy.values(), return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Send nothing more; what has no answer yet is sent again by whoever goes on."""
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sender.close()

    def _done(self, id: str, task: asyncio.Task[None]) -> None:
        del self._busy[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # It is tried at the next look: at once it would only break off again.
            log.error("sending to %s broke off", id, exc_info=error)
            return
        self._again()

    async def _serve(self, id: str, listener: Listener | None, postings: Sequence[Posting]) -> None:
        if listener is None:
            # It was removed meanwhile; what was on its way to it went with it.
            await self._settled(Settlement(listener_id=id))
            return
        endpoint = endpoint_of(listener)
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
        health = self._health(health_of(listener), now, bool(delivered), failed)
        is_disabled = health.disabled_at is not None
        if is_disabled:
            health = await self._with_gap(listener, health, now)
            log.error(
                "%s is disabled: nothing has arrived there since %s (%s); events are lost to it "
                "until somebody enables it",
                *(listener.id, health.failing_since, health.last_error),
            )
        await self._settled(
            Settlement(
                listener_id=listener.id,
                delivered=tuple(delivered),
                put_off=tuple(
                    (each.event_id, now + _pause(listener.id, each)) for each, _ in failed
                ),
                health=encoded(health),
                is_disabled=is_disabled,
            )
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
            before = replace(before, delivered_at=now, failing_since=None, last_error=None)
        if not failed:
            return before
        error = _reason(failed[-1][1])
        since = before.failing_since or (None if has_delivered else now)
        health = replace(before, failing_since=since, last_error=error)
        if since is not None and now - since >= self._disable_after:
            return replace(health, disabled_at=now)
        return health

    async def _with_gap(self, listener: Listener, health: Health, now: datetime) -> Health:
        backlog = (await self._store.backlogs(listener.tenant)).get(listener.id)
        gap = Gap(
            since=now if backlog is None else backlog.oldest,
            until=None,
            lost=0 if backlog is None else backlog.size,
            reason=health.last_error or "",
        )
        return replace(health, gaps=(*health.gaps, gap)[-_MOST_GAPS:])

    async def _settled(self, settlement: Settlement) -> None:
        """What has arrived is not sent again because the store is away for a while."""
        while True:
            try:
                await self._store.settle(settlement)
            except StoreUnavailable as error:
                log.warning("what %s has is not recorded yet: %s", settlement.listener_id, error)
                await self._clock.sleep(_PATIENCE)
            else:
                return


def _by_listener(postings: Sequence[Posting]) -> dict[str, list[Posting]]:
    found: dict[str, list[Posting]] = {}
    for posting in postings:
        found.setdefault(posting.listener_id, []).append(posting)
    return found


def _pause(listener_id: str, posting: Posting) -> timedelta:
    """Until the next try: growing, bounded, and up to a fifth longer, not the same for all."""
    seconds = min(_LONGEST, _FIRST * _FACTOR ** min(posting.attempts, 20))
    key = f"{listener_id}:{posting.event_id}:{posting.attempts}"
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return timedelta(seconds=seconds * (1 + int.from_bytes(digest) / 2**64 / 5))


def _reason(reply: Reply) -> str:
    if reply.status is None:
        return reply.error or "no answer"
    if reply.status in range(300, 400):
        return f"answered {reply.status}: redirects are not followed"
    return f"answered {reply.status}"
