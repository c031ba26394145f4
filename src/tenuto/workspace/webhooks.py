"""The webhooks of one tenant, and its subscriptions, which expire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from tenuto.definition.report import did_you_mean
from tenuto.egress import PUBLIC, Allowance
from tenuto.engine.confirmed_write import confirmed_write
from tenuto.engine.definitions.listener_rows import hears_inbox, level_heard
from tenuto.engine.outbox.endpoints import Endpoint, Health, encoded, endpoint_of, health_of
from tenuto.engine.outbox.signatures import new_secret
from tenuto.model.checks import within
from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.quotas import DEFAULT_QUOTAS, Quotas, refuse_beyond
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.ports import Clock, Ids
from tenuto.store.parts.listeners import Backlog, DeliveryPlace, Listener
from tenuto.store.protocol import Store
from tenuto.workspace.cursors import Milliseconds, Number, read_cursor, write_cursor
from tenuto.workspace.endpoint_rules import (
    expiry_problems,
    filter_problems,
    pattern_problems,
    secret_problems,
    text_problems,
    url_problems,
)
from tenuto.workspace.values import (
    MOST_ITEMS,
    Page,
    PendingDelivery,
    State,
    Subscription,
    Webhook,
)


class _Place(NamedTuple):
    """The last delivery of a page."""

    at_ms: Milliseconds
    number: Number


class _Listeners:
    """The common part of webhooks and subscriptions."""

    kind: ClassVar[Literal["webhook", "subscription"]]

    def __init__(  # noqa: PLR0913 - what a back end has of its own
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        *,
        allowance: Allowance = PUBLIC,
        changed: Callable[[], None] = lambda: None,
        hastened: Callable[[str], None] = lambda _: None,
        tenant: str = DEFAULT_TENANT,
        quotas: Quotas = DEFAULT_QUOTAS,
        adding: asyncio.Lock | None = None,
    ) -> None:
        """`changed` is called when a listener was added, changed or enabled.

        `allowance`: what may be called beside the public network.

        `hastened` is called with the id of one whose deliveries are to be tried at once.

        `adding` is held while one is counted and added, so that the quota holds.
        """
        self._store = store
        self._clock = clock
        self._ids = ids
        self._allowance = allowance
        self._changed = changed
        self._hastened = hastened
        self._tenant = tenant
        self._most = quotas.webhooks if self.kind == "webhook" else quotas.subscriptions
        self._adding = adding or asyncio.Lock()

    async def remove(self, id: str) -> None:
        """Remove it; pending deliveries are dropped. NotFound."""
        if not await self._store.listeners.remove(self._tenant, self.kind, id):
            raise await self._missing(id)

    async def deliveries(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[PendingDelivery]:
        """What is on its way to it, in the order in which it is tried; NotFound.

        Of each stream the first event is listed: the others follow it.
        """
        within(limit, "limit", 1, MOST_ITEMS)
        place = read_cursor(cursor, _Place)
        await self._found(id)
        after = None if place is None else DeliveryPlace(from_epoch_ms(place.at_ms), place.number)
        seen = self._store.seen_by(self._tenant)
        found = await seen.listeners.deliveries(self._tenant, id, after=after, limit=limit + 1)
        shown = found[:limit]
        return Page(
            items=[
                PendingDelivery(
                    event_id=each.event_id,
                    created_at=each.created_at,
                    attempts=each.attempts,
                    due_at=each.due,
                )
                for each in shown
            ],
            next_cursor=write_cursor(_Place(epoch_ms(shown[-1].due), shown[-1].number))
            if len(found) > limit
            else None,
        )

    async def resend(self, id: str) -> int:
        """Try everything now that was put off after a failure; how many. NotFound."""
        await self._found(id)
        hastened = await self._store.listeners.hasten(self._tenant, id, self._clock.now())
        self._hastened(id)
        return hastened

    async def _enabled(self, id: str) -> Listener:
        listener = await self._found(id)
        _, health, _ = _read(listener)
        if health.disabled_at is None:
            return listener
        now = self._clock.now()
        gaps = tuple(replace(gap, until=gap.until or now) for gap in health.gaps)
        enabled = replace(
            listener,
            level=level_heard(listener.patterns),
            hears_inbox=hears_inbox(listener.patterns),
            health=encoded(Health(delivered_at=health.delivered_at, gaps=gaps)),
        )
        if not await self._store.listeners.enable(enabled):
            # It was enabled or removed since it was read.
            return await self._found(id)
        self._changed()
        return enabled

    async def _changed_to(self, id: str, endpoint: Endpoint, patterns: Sequence[str]) -> Listener:
        """The listener with another address or other patterns, from now on."""
        changed = replace(
            await self._found(id),
            patterns=tuple(dict.fromkeys(patterns)),
            level=level_heard(patterns),
            hears_inbox=hears_inbox(patterns),
            settings=encoded(endpoint),
        )
        if not await self._store.listeners.change(changed):
            raise await self._missing(id)
        self._changed()
        return await self._found(id)

    async def _put(
        self, endpoint: Endpoint, patterns: Sequence[str], expires_at: datetime | None = None
    ) -> Listener:
        prefix = "wh" if self.kind == "webhook" else "sub"
        listener = Listener(
            id=f"{prefix}-{self._ids.short()}",
            kind=self.kind,
            patterns=tuple(dict.fromkeys(patterns)),
            level=level_heard(patterns),
            hears_inbox=hears_inbox(patterns),
            settings=encoded(endpoint),
            created_at=self._clock.now(),
            expires_at=expires_at,
            tenant=self._tenant,
        )
        async with self._adding:
            here = await self._store.seen_by(self._tenant).listeners.of(self._tenant)
            used = sum(each.kind == self.kind for each in here)
            refuse_beyond(f"{self.kind}s", used, self._most)
            await confirmed_write(lambda: self._store.listeners.put(listener), self._clock)
        self._changed()
        return listener

    async def _all(self) -> list[tuple[Listener, Backlog | None]]:
        seen = self._store.seen_by(self._tenant)
        backlogs = await seen.listeners.backlogs(self._tenant)
        return [
            (each, backlogs.get(each.id))
            for each in await seen.listeners.of(self._tenant)
            if each.kind == self.kind
        ]

    async def _found(self, id: str) -> Listener:
        for listener, _ in await self._all():
            if listener.id == id:
                return listener
        raise await self._missing(id)

    async def _missing(self, id: str) -> NotFound:
        known = [listener.id for listener, _ in await self._all()]
        otherwise = f"`tenuto {self.kind}s list` shows those that there are."
        return NotFound(
            f"there is no {self.kind} {id}",
            code="TEN-3301",
            advice=did_you_mean(id, known, otherwise),
        )


class Webhooks(_Listeners):
    """Addresses that are notified of events."""

    kind: ClassVar[Literal["webhook", "subscription"]] = "webhook"

    async def add(
        self,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Notify `url` of every event that matches one of `patterns`, from now on.

        Each is sent as a signed POST until it is answered with 2xx. InvalidInput lists all
        problems. The secret, made unless it is given, is in what this returns and nowhere else.
        """
        wanted = self._wanted(url, patterns, secret, description)
        endpoint = Endpoint(
            url=url, secret=secret or new_secret(self._ids), description=description
        )
        listener = await self._put(endpoint, wanted)
        return replace(_webhook(listener, None), secret=endpoint.secret)

    async def list(self) -> list[Webhook]:
        """Every webhook, oldest first, and the state of its deliveries."""
        return [_webhook(listener, backlog) for listener, backlog in await self._all()]

    async def get(self, id: str) -> Webhook:
        """A webhook, and the state of its deliveries; NotFound."""
        for each in await self.list():
            if each.id == id:
                return each
        raise await self._missing(id)

    async def change(
        self,
        id: str,
        url: str,
        patterns: str | Iterable[str],
        *,
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Change its address or patterns; its secret stays unless another is given. NotFound.

        Pending deliveries go to the new address. InvalidInput lists all problems.
        """
        wanted = self._wanted(url, patterns, secret, description)
        before = await self._found(id)
        kept = secret or _read(before)[0].secret or new_secret(self._ids)
        endpoint = Endpoint(url=url, secret=kept, description=description)
        return _webhook(await self._changed_to(id, endpoint, wanted), None)

    def _wanted(
        self, url: str, patterns: str | Iterable[str], secret: str | None, description: str | None
    ) -> Sequence[str]:
        wanted = _patterns(patterns)
        _refuse(
            "the webhook cannot be kept",
            [
                *url_problems(url, "$.url", self._allowance),
                *pattern_problems(wanted),
                *secret_problems(secret),
                *text_problems(description=description),
            ],
        )
        return wanted

    async def enable(self, id: str) -> Webhook:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        return _webhook(await self._enabled(id), None)


class Subscriptions(_Listeners):
    """Addresses that are notified of events until they expire."""

    kind: ClassVar[Literal["webhook", "subscription"]] = "subscription"

    async def add(
        self,
        callback_url: str,
        patterns: str | Iterable[str],
        *,
        subscriber_id: str,
        filter: str | None = None,  # noqa: A002 - a word of the contract
        correlation_id: str | None = None,
        expiration_time: datetime | None = None,
        secret: str | None = None,
    ) -> Subscription:
        """Notify `callback_url` of events that match one of `patterns` and the filters.

        `filter` is an expression over `event`; an event for which it fails does not match. Each is
        sent as an EventNotification, signed like a webhook. InvalidInput lists all problems.
        """
        wanted = _patterns(patterns)
        _refuse(
            "the subscription cannot be kept",
            [
                *url_problems(callback_url, "$.callbackUrl", self._allowance),
                *pattern_problems(wanted),
                *filter_problems(filter),
                *expiry_problems(expiration_time, self._clock.now()),
                *secret_problems(secret),
                *text_problems(subscriberId=subscriber_id, correlationId=correlation_id),
            ],
        )
        endpoint = Endpoint(
            url=callback_url,
            secret=secret or new_secret(self._ids),
            subscriber_id=subscriber_id,
            filter=filter,
            correlation_id=correlation_id,
        )
        listener = await self._put(endpoint, wanted, expiration_time)
        return replace(self._shown(listener), secret=endpoint.secret)

    async def list(self) -> list[Subscription]:
        """Every subscription, oldest first, and the state of its deliveries."""
        return [self._shown(listener, backlog) for listener, backlog in await self._all()]

    async def get(self, id: str) -> Subscription:
        """A subscription, and the state of its deliveries; NotFound."""
        for each in await self.list():
            if each.id == id:
                return each
        raise await self._missing(id)

    async def enable(self, id: str) -> Subscription:
        """Notify it again, from now on; one that was not disabled stays as it is."""
        return self._shown(await self._enabled(id))

    def _shown(self, listener: Listener, backlog: Backlog | None = None) -> Subscription:
        over = listener.expires_at
        return _subscription(
            listener, backlog, has_expired=over is not None and over <= self._clock.now()
        )


def callback_problems(
    subscriber_id: str, patterns: Sequence[str], expires_at: datetime, now: datetime
) -> list[Problem]:
    """All that is wrong with who is to hand in events, with which, and with until when."""
    return [
        *pattern_problems(patterns),
        *text_problems(subscriberId=subscriber_id),
        *expiry_problems(expires_at, now),
    ]


def _patterns(patterns: str | Iterable[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _refuse(message: str, problems: list[Problem]) -> None:
    if problems:
        raise InvalidInput(message, problems)


def _webhook(listener: Listener, backlog: Backlog | None) -> Webhook:
    endpoint, health, state = _read(listener)
    return Webhook(
        id=listener.id,
        url=endpoint.url,
        patterns=listener.patterns,
        description=endpoint.description,
        state=state,
        pending=0 if backlog is None else backlog.size,
        oldest_pending=None if backlog is None else backlog.oldest,
        delivered_at=health.delivered_at,
        failing_since=health.failing_since,
        last_error=health.last_error,
        disabled_at=health.disabled_at,
        gaps=health.gaps,
        created_at=listener.created_at,
    )


def _subscription(
    listener: Listener, backlog: Backlog | None, *, has_expired: bool
) -> Subscription:
    (endpoint, _, _), shown = _read(listener), _webhook(listener, backlog)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return Subscription(
        **fields,
        subscriber_id=endpoint.subscriber_id or "",
        filter=endpoint.filter,
        correlation_id=endpoint.correlation_id,
        expiration_time=listener.expires_at,
        expired=has_expired,
    )


def _read(listener: Listener) -> tuple[Endpoint, Health, State]:
    """Its settings and health; one that cannot be read is shown as `unreadable`."""
    try:
        endpoint, health = endpoint_of(listener), health_of(listener)
    except msgspec.DecodeError as error:
        why = f"what is kept of it cannot be read: {error}"
        return Endpoint(url="", secret=""), Health(last_error=why), "unreadable"
    return endpoint, health, _state(health)


def _state(health: Health) -> State:
    if health.disabled_at is not None:
        return "disabled"
    return "active" if health.failing_since is None else "failing"
