"""Shows what events did, nearly did, or would do, without storing anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from tenuto.engine.definitions.plans import Plans
from tenuto.engine.definitions.resolver import Resolver
from tenuto.engine.events.near_misses import NearEvent, NearMisses, NearWait
from tenuto.engine.events.recipients import Recipients, Targets, place_of
from tenuto.engine.events.slices import Slices
from tenuto.engine.events.triggers import Triggers
from tenuto.engine.events.wait_finder import WaitFinder
from tenuto.engine.loops import BackgroundTasks
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.events import Event
from tenuto.model.family import triggered_id
from tenuto.model.policy import Limits
from tenuto.ports import Clock
from tenuto.store.columns import event_columns
from tenuto.store.parts.inbox import Delivery, InboxEvent
from tenuto.store.parts.turns import EventResult
from tenuto.store.parts.waits import WaitKey
from tenuto.store.protocol import Store

NearEvents: TypeAlias = dict[WaitKey, list[NearEvent]]


class EventReport(NamedTuple):
    """An event of the inbox, and its deliveries."""

    found: InboxEvent
    deliveries: list[Delivery]
    starts: frozenset[Delivery]
    """Deliveries that were to start an instance; triggers of running instances may have taken it
    too."""
    near: list[NearWait]


class DryRun(NamedTuple):
    """The effect that publishing an event would have."""

    result: EventResult
    targets: Targets | None
    """None where it was published before."""
    near: list[NearWait]


class Inspector:
    """Reads open waits and stored events, and compares them."""

    def __init__(
        self, store: Store, loader: Loader, triggers: Triggers, clock: Clock, slices: Slices
    ) -> None:
        """`slices`: those of all matching, which rests and ends with them."""
        self._store = store
        self._slices = slices
        self._recipients = Recipients(WaitFinder(store, slices, for_answers=True), triggers, clock)
        self._near = NearMisses(store, loader, clock, slices)

    async def near_events(self, held: Held) -> NearEvents:
        """The events that the open waits of an instance did not take."""
        if not held.state.open_waits:
            return {}
        rows = await self._store.seen_by(held.inbox).waits.of(held.state.id)
        waits = [row for row in rows if not row.is_cancellation]
        with self._slices.for_answer():
            return await self._near.of_waits(held.inbox, waits, held.state.created_at)

    async def event(self, tenant: str, id: str) -> EventReport:
        """An event of a tenant with its deliveries and near misses; NotFound."""
        seen = self._store.seen_by(tenant)
        found = await seen.inbox.get(tenant, id)
        if found is None:
            raise NotFound(
                f"there is no event {id}",
                advice="An event is known by the id with which it was published.",
            )
        event = found.event
        deliveries = await seen.inbox.deliveries_of(tenant, id)
        starts = frozenset(each for each in deliveries if _is_start(each, event))
        reached = {(each.instance_id, each.node, each.iteration) for each in deliveries}
        reached |= {("", each.node, tenant) for each in starts}
        with self._slices.for_answer():
            near = await self._near.of_event(found.number, event, reached)
        return EventReport(_counted(found, deliveries, starts), deliveries, starts, near)

    async def dry_run(self, event: Event) -> DryRun:
        """The effect that publishing an event would have; Conflict where its id is taken."""
        with self._slices.for_answer():
            return await self._dry_run(event)

    async def _dry_run(self, event: Event) -> DryRun:
        known = await self._store.seen_by(event.tenant).inbox.get(event.tenant, event.id)
        number: int | None = None
        if known is not None:
            _refuse_other_content(known.event, event)
            if known.matched:
                counts = {
                    "resumed": known.resumed,
                    "cancelled": known.cancelled,
                    "started": known.started,
                }
                return DryRun(EventResult("duplicate", matched=True, **counts), None, [])
            event, number = known.event, known.number
        targets = await self._recipients.of(number, event)
        reached = {place_of(wait) for wait in (*targets.waits, *targets.later, *targets.cancelling)}
        reached |= {("", each.node, event.tenant) for each in targets.starts.deliveries}
        result = EventResult(
            "stored" if known is None else "duplicate",
            # A wait that opened later takes the oldest match: most often this event.
            resumed=len(targets.waits) + len(targets.later),
            cancelled=targets.cancelled,
            started=len(targets.starts.messages),
        )
        return DryRun(result, targets, await self._near.of_event(number, event, reached))


def inspector_of(store: Store, plans: Plans, loader: Loader, clock: Clock) -> Inspector:
    """An inspector for read-only use: all tasks count as known."""
    resolver = Resolver(
        plans=plans,
        clock=clock,
        background=BackgroundTasks(),
        report=lambda _: None,
        is_missing=lambda _: False,
        limits=Limits(),
    )
    slices = Slices(clock)
    triggers = Triggers(plans=plans, loader=loader, refusal=resolver.refusal, slices=slices)
    return Inspector(store, loader, triggers, clock, slices)


def _counted(
    found: InboxEvent, deliveries: Iterable[Delivery], starts: frozenset[Delivery]
) -> InboxEvent:
    """The deliveries of an event in all, once they are known.

    Where matching broke off between two parts, the last count has only the deliveries that were
    found anew; and deleted instances have no deliveries any more.
    """
    if not found.matched:
        return found
    others = [each for each in deliveries if each not in starts]
    resumed = {(each.instance_id, each.node, each.iteration) for each in others if each.node}
    cancelled = {each.instance_id for each in others if not each.node}
    started = [each for each in starts if each.outcome != "refused"]
    return found._replace(
        resumed=max(found.resumed, len(resumed)),
        cancelled=max(found.cancelled, len(cancelled)),
        started=max(found.started, len(started)),
    )


def _is_start(delivery: Delivery, event: Event) -> bool:
    """Whether its node is the definition of an instance that the event was to start."""
    started = triggered_id(event.received_at, event.tenant, event.id, delivery.node)
    return delivery.instance_id == started and delivery.arm.isdecimal()


def _refuse_other_content(first: Event, second: Event) -> None:
    if event_columns(first).content_hash != event_columns(second).content_hash:
        raise id_is_taken(second.id)


def id_is_taken(event_id: str) -> Conflict:
    """The refusal of an event whose id belongs to another event."""
    return Conflict(
        f"event {event_id} was published before with other content",
        code="TEN-3008",
        advice="Give each event an id of its own; repeat one only unchanged.",
    )
