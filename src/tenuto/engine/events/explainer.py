"""Gathers the facts about an instance that does not move, and explains it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from tenuto.core.explain import Facts, Owner, Quarantined, explain
from tenuto.core.explain_steps import MOST_CAUSES
from tenuto.core.state import InstanceState, NodeState
from tenuto.definition.task_places import misspelling_of
from tenuto.engine.definitions.whole_instances import of_whole
from tenuto.engine.events.event_views import near_events_view
from tenuto.engine.events.inspector import Inspector
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.causes import (
    Breaker,
    Cause,
    Estimate,
    Explanation,
    Holder,
    Past,
    Queued,
    RequestWait,
    TaskHolder,
    TaskLimit,
)
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso, to_milliseconds
from tenuto.model.graph import Config, Http, Task
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.pauses import between_parts
from tenuto.model.policy import NO_POLICIES, Policies
from tenuto.model.slots import GLOBAL, PACES, kept_of
from tenuto.ports import Clock
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.schedules import ScheduleKey
from tenuto.store.parts.slot_rows import Slot
from tenuto.store.parts.slots import MOST_HELD
from tenuto.store.parts.workers import CONNECTED_FOR, WorkerRow
from tenuto.store.protocol import Store
from tenuto.store.task_room import WHOLE, Tokens
from tenuto.targets.names import host_of, target_key
from tenuto.tasks.runner import Runner

PastEstimate: TypeAlias = Callable[[Past, str, str, str], Estimate | None]
"""How long earlier ones took of a tenant's workflow and step; None where too few are known."""
RequestWaits: TypeAlias = Callable[[str], Mapping[tuple[str, str, int], RequestWait]]
"""Instance → node, iteration and attempt → what a request waits for."""
MOST_DEPTH = 5
"""So many instances below one another are explained."""
MOST_CHILDREN = 20
"""So many children of one instance are."""
MOST_TICKS = 100
"""So many open ticks of the schedule of an instance are counted."""
MOST_IN_ALL = 100
"""So many below one are, however they are spread."""


MOST_HOLDERS = 5
"""So many holders of a full limit are named."""
_OF_STEPS: tuple[Past, ...] = ("attempt", "queue", "wait", "mutex", "child")

_KEPT = "free ones are kept for tenants with less than their share"
Made = TypeVar("Made")


class _Open(NamedTuple):
    """What is looked at of the open steps of an instance, of which there may be thousands."""

    keys: list[NodeKey]
    """The first few, by name."""
    names: list[str]
    """A few of their names."""
    children: list[str]
    """The first few instances that steps are."""
    asks_for_slots: bool
    """Whether a step waits for a slot."""


class _Budget:
    """How many instances may still be explained, and what is read once for all of them."""

    def __init__(self, left: int) -> None:
        self._left = left
        self.workers: list[WorkerRow] | None = None
        """The connected workers, once they were read."""

    def take(self, wanted: list[str]) -> list[str]:
        """Take as many as fit; siblings come before their children."""
        taken = wanted[: min(MOST_CHILDREN, self._left)]
        self._left -= len(taken)
        return taken


class Explainer:
    """Looks, and changes nothing."""

    def __init__(
        self,
        store: Store,
        loader: Loader,
        inspector: Inspector,
        clock: Clock,
        *,
        runner: Runner | None = None,
        policies: Callable[[str], Policies] = lambda _: NO_POLICIES,
        estimate: PastEstimate = lambda *_: None,
        waits: RequestWaits = lambda _: {},
    ) -> None:
        """`runner`: what runs here, for those in whose process something does.

        `policies`: those of a tenant's tasks. `estimate`: how long earlier ones took. `waits`: what
        requests of an instance wait for in this process.
        """
        self._waits = waits
        self._store = store
        self._loader = loader
        self._inspector = inspector
        self._clock = clock
        self._runner = runner
        self._policies = policies
        self._estimate = estimate

    async def explain(self, held: Held) -> Explanation:
        """Where an instance stands and why."""
        return await self._explained(held, MOST_DEPTH, _Budget(MOST_IN_ALL))

    async def _quarantine(self, instance_id: str) -> Quarantined | None:
        found = await self._store.quarantine.get(instance_id)
        if found is None or not found.is_quarantined:
            return None
        return Quarantined(reason=found.reason, since=found.at)

    async def _explained(self, held: Held, depth: int, budget: _Budget) -> Explanation:
        now = self._clock.now()
        quarantine = await self._quarantine(held.state.id)
        if quarantine is not None:
            return explain(held.plan, held.state, Facts(now=now, quarantine=quarantine))
        opened = await self._of_whole(held, partial(_opened, held.state))
        near = await self._inspector.near_events(held)
        silences = {} if self._runner is None else self._runner.silences(held.state.id)
        owner = await self._owner(held)
        waiting = await self._waiting(held, opened)
        facts = Facts(
            now=now,
            heartbeats={
                place: to_milliseconds(now - timedelta(seconds=silence))
                for place, silence in silences.items()
            },
            owner=owner,
            jobs=held.jobs,
            near={
                (key.node, key.iteration, key.arm): near_events_view(events)
                for key, events in near.items()
            },
            children=await self._children(opened, depth, budget),
            policies=self._policies(held.tenant),
            breakers=await self._breakers(held),
            waits=self._waits(held.state.id)
            if owner == "here"
            else await self._hosts(held, opened),
            takers=await self._takers(held, budget),
            estimates=self._estimates(held, opened),
            meant=await self._meant(held, budget),
            queued_ticks=await self._queued_ticks(held),
            queued=frozenset() if self._runner is None else self._runner.queued(held.state.id),
            bounded={} if self._runner is None else self._runner.bounded(held.state.id),
            limited=await self._limited(held),
            here=frozenset() if self._runner is None else self._runner.places(held.state.id),
            slot=waiting.get(("", "")) if held.state.is_without_slot else None,
            mutexes=waiting,
        )
        return await self._of_whole(held, partial(explain, held.plan, held.state, facts))

    async def _of_whole(self, held: Held, work: Callable[[], Made]) -> Made:
        return await of_whole(self._loader.values, held, work)

    async def _waiting(self, held: Held, opened: _Open) -> dict[tuple[str, str], Queued]:
        """By node and iteration, the slots that it waits for; without a node, its own."""
        if not (held.state.is_without_slot or opened.asks_for_slots):
            return {}
        slots = self._store.slots
        rows = [each for each in await slots.of(held.tenant, held.state.id) if each.state != "held"]
        limits = Limits((row.tenant, row.document) for row in await slots.configs())
        return {
            (each.node, each.iteration): await self._queued(each, limits)
            for each in rows[:MOST_CAUSES]
        }

    async def _queued(self, slot: Slot, limits: Limits) -> Queued:
        """What a request for a slot waits for."""
        key = slot.blocked_on
        if not key:
            on_hold = slot.state == "on-hold"
            return Queued(since=slot.asked_at, limit="", is_on_hold=on_hold)
        if key.startswith(PACES):
            return await self._paced(slot)
        slots = self._store.slots
        place, length = await slots.place(slot)
        why = ""
        if key == GLOBAL and limits.is_adaptive:
            reports = await self._store.load_reports.living(self._clock.now())
            limits.adapt(reports[0].asked if reports else None)
            why = reports[0].reason if reports else ""
        taken = (await slots.counts([key])).get(key, 0)
        most = slot.own_limit if key == slot.own_key else limits.of(key)
        if key == GLOBAL and most is not None and most - kept_of(most) <= taken < most:
            why = f"{why}; {_KEPT}" if why else _KEPT
        # Only the limit of the service is shared with other tenants.
        holders = await slots.holders(
            slot.tenant, key, limit=MOST_HELD if key == GLOBAL else MOST_HOLDERS
        )
        own = len(holders) if key == GLOBAL and len(holders) < MOST_HELD else taken
        return Queued(
            since=slot.asked_at,
            limit=key,
            held=taken,
            most=most,
            place=place,
            length=length,
            queue_place=None if slot.node else await slots.place_in_queue(slot),
            holders=tuple(
                Holder(
                    instance_id=each.instance_id,
                    step_id=each.node,
                    iteration=each.iteration,
                    since=each.held_at,
                )
                for each in holders[:MOST_HOLDERS]
            ),
            more=max(0, own - min(len(holders), MOST_HOLDERS)),
            of_others=max(0, taken - own),
            why=why,
        )

    async def _paced(self, slot: Slot) -> Queued:
        """What an instance that is debounced, or waits for a rate, waits for."""
        slots, key, rate = self._store.slots, slot.blocked_on, slot.rate
        state = (await slots.paces([key])).get(key)
        at = None if state is None else state.next_at
        until = None if at is None else from_epoch_ms(at)
        if rate is None or key != rate.key:
            return Queued(since=slot.asked_at, limit=key, until=until)
        place, length = await slots.place(slot)
        if until is not None:
            # Each time lets as many begin as the rate allows.
            until += (place - 1) // rate.limit * timedelta(milliseconds=rate.per)
        now = epoch_ms(self._clock.now())
        return Queued(
            since=slot.asked_at,
            limit=key,
            held=0 if state is None else state.begun(rate.per, now),
            most=rate.limit,
            place=place,
            length=length,
            queue_place=await slots.place_in_queue(slot),
            per=timedelta(milliseconds=rate.per),
            until=until,
        )

    async def _children(self, opened: _Open, depth: int, budget: _Budget) -> dict[str, Explanation]:
        wanted = budget.take(opened.children) if depth else []
        if not wanted:
            return {}
        loaded = await self._loader.load(wanted, is_shown=True)
        found: dict[str, Explanation] = {}
        for id, held in loaded.items():
            if isinstance(held, Held):
                began = self._loader.now()
                found[id] = await self._explained(held, depth - 1, budget)
                await self._loader.pause(began, held.tenant)
        return found

    async def _breakers(self, held: Held) -> dict[str, Breaker]:
        """The open breakers of push targets whose tasks wait for a request."""
        found: dict[str, Breaker] = {}
        for task_id in _waiting_tasks(held):
            row = await self._store.tasks.target(held.tenant, task_id)
            state = None if row is None else _breaker_of(row.state)
            if state is not None and state.open_until is not None:
                since = None if state.opened_at is None else from_epoch_ms(state.opened_at)
                found[task_id] = Breaker(since=since, until=from_epoch_ms(state.open_until))
        return found

    async def _hosts(self, held: Held, opened: _Open) -> dict[tuple[str, str, int], RequestWait]:
        """The open breakers of hosts that attempts in another process are for."""
        found: dict[tuple[str, str, int], RequestWait] = {}
        for key in opened.keys:
            node, config = held.state.nodes[key], held.plan[key.node].node.config
            host = _host_of(config, node) if node.is_in_flight else None
            if host is None:
                continue
            row = await self._store.tasks.target(*target_key(held.tenant, "http", host))
            state = None if row is None else _breaker_of(row.state)
            if state is not None and state.open_until is not None:
                found[key.node, key.iteration, node.attempt] = RequestWait(
                    target=host,
                    obstacle="breaker",
                    since=from_epoch_ms(state.opened_at or state.open_until),
                    until=from_epoch_ms(state.open_until),
                )
        return found

    async def _limited(self, held: Held) -> dict[str, TaskLimit]:
        """The limits that hold back tasks of attempts that nothing has claimed."""
        found: dict[str, TaskLimit] = {}
        limited = self._policies(held.tenant).limited
        for task_id in _waiting_tasks(held) if limited else ():
            if (limits := limited.get(task_id)) is None:
                continue
            use = await self._store.jobs.use_of(held.tenant, task_id, most=MOST_HOLDERS)
            concurrency, rate = limits.concurrency, limits.rate_per_second
            if concurrency is not None and use.held >= concurrency:
                holders = tuple(
                    TaskHolder(each.key.instance_id, each.key.node, each.leased_by)
                    for each in use.holders
                )
                found[task_id] = TaskLimit(
                    obstacle="concurrency", held=use.held, most=concurrency, holders=holders
                )
            elif rate is not None:
                now = epoch_ms(self._clock.now())
                missing = WHOLE - Tokens(use.tokens, use.tokens_at).now(rate, now)
                if missing > 0:
                    until = from_epoch_ms(now + math.ceil(missing / WHOLE / rate * 1000))
                    found[task_id] = TaskLimit(
                        obstacle="rate", held=use.held, most=rate, until=until
                    )
        return found

    async def _takers(self, held: Held, budget: _Budget) -> dict[str, int]:
        """How many connected workers take each of the tasks that wait for one."""
        tasks = _waiting_tasks(held)
        if tasks and budget.workers is None:
            # Children have the tenant of their parent: they are read once.
            budget.workers = await self._store.workers.page(
                held.tenant, self._clock.now(), within=CONNECTED_FOR
            )
        workers = budget.workers or ()
        return {id: sum(each.may_take(id) for each in workers) for id in tasks}

    async def _meant(self, held: Held, budget: _Budget) -> dict[str, str]:
        """Of tasks that are not known, a known one with nearly the same name."""
        tasks = _waiting_tasks(held)
        if not tasks:
            return {}
        known = {*await self._store.tasks.names(held.tenant)}
        known |= {id for each in budget.workers or () for id in each.task_ids or ()}
        if self._runner is not None:
            known |= {*self._runner.task_ids}
        near = {id: misspelling_of(id, known) for id in tasks}
        return {id: name for id, name in near.items() if name is not None}

    async def _queued_ticks(self, held: Held) -> int:
        """How many ticks of its schedule wait for the end of an instance."""
        tick = held.state.schedule
        if tick is None or held.state.has_ended:
            return 0
        key = ScheduleKey(held.tenant, tick.id)
        found = await self._store.schedules.open_ticks([key], MOST_TICKS)
        return sum(each.outcome == "queued" for each in found.get(key, ()))

    def _estimates(self, held: Held, opened: _Open) -> dict[tuple[Past, str], Estimate]:
        wanted: list[tuple[Past, str]] = [("slot", "")]
        wanted += [(past, name) for name in opened.names for past in _OF_STEPS]
        found = {
            (past, name): self._estimate(past, held.tenant, held.state.definition_id, name)
            for past, name in wanted
        }
        return {place: each for place, each in found.items() if each is not None}

    async def _owner(self, held: Held) -> Owner:
        if held.is_owned or not held.state.needs_owner:
            return "here"
        if held.owner_elsewhere is None:
            return "nobody"
        living = await self._store.members.living([held.owner_elsewhere])
        return "elsewhere" if living else "silent"


class _BreakerState(Struct, frozen=True):
    """What is read of the shared state of a push target."""

    opened_at: int | None = None
    open_until: int | None = None


def _breaker_of(state: bytes) -> _BreakerState | None:
    try:
        return msgspec.json.decode(state, type=_BreakerState)
    except msgspec.MsgspecError:
        return None  # the push dispatcher says so


def _host_of(config: Config, node: NodeState) -> str | None:
    """The host that an attempt calls; None: it calls none."""
    if not isinstance(config, Http):
        return None
    given = node.input if isinstance(node.input, dict) else {}
    try:
        return str(host_of(str(given.get("url", config.url))))
    except ValueError:
        return None  # no URL: it fails with that


def _waiting_tasks(held: Held) -> list[str]:
    """The tasks of attempts that were offered and not claimed, as many as are looked at."""
    found: dict[str, None] = {}
    for (node, *_), token in held.jobs.items():
        planned, undoing = held.plan.nodes.get(node), held.plan.undo_steps.get(node)
        config = None if planned is None else planned.node.config
        if token == 0 and isinstance(config, Task):
            found[config.task_id] = None
        if token == 0 and undoing is not None:
            found[undoing.task_id] = None
    return list(found)[:MOST_CHILDREN]


def _opened(state: InstanceState) -> _Open:
    keys = state.open_nodes()
    of_children: list[NodeKey] = []
    asks_for_slots = False
    for key in keys:
        between_parts()
        node = state.nodes[key]
        asks_for_slots = asks_for_slots or node.is_queued
        if node.child_id is not None:
            of_children.append(key)
    nodes = [state.nodes[key] for key in heapq.nsmallest(MOST_CHILDREN, of_children)]
    if state.compensation is not None and state.compensation.work is not None:
        nodes.append(state.compensation.work)
    children = [node.child_id for node in nodes if node.child_id is not None]
    return _Open(
        keys=heapq.nsmallest(MOST_CAUSES, keys),
        names=[*dict.fromkeys(key.node for key in keys)][:MOST_CAUSES],
        children=[] if state.has_ended else children,
        asks_for_slots=asks_for_slots,
    )


def explanation_view(explained: Explanation) -> Object:
    """An explanation in JSON."""
    return {
        "instanceId": explained.instance_id,
        "status": explained.status.value,
        "summary": explained.summary,
        "causes": [_cause(each) for each in explained.causes],
    }


def causes_in(causes: Iterable[Cause]) -> int:
    """How many causes there are, with those below them."""
    return sum(1 + causes_in(each.causes) for each in causes)


def _cause(cause: Cause) -> JSON:
    between_parts()
    view: Object = {"kind": cause.kind.value}
    if cause.step_id is not None:
        view |= {"stepId": cause.step_id, "iteration": cause.iteration}
    view["message"] = cause.message
    view |= _moments(since=cause.since, until=cause.until)
    if (found := cause.estimate) is not None:
        view["estimate"] = {
            "p50": found.p50,
            "p90": found.p90,
            "from": found.count,
            "scope": "process",
        }
    return view | {"details": cause.details, "causes": [_cause(each) for each in cause.causes]}


def _moments(**moments: datetime | None) -> Object:
    return {name: iso(moment) for name, moment in moments.items() if moment is not None}
