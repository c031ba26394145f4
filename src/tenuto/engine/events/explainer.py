"""Gathers the facts about an instance that does not move, and explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tenuto.core.explain import Facts, Owner, Quarantined, explain
from tenuto.core.explain_steps import MOST_CAUSES
from tenuto.core.state import InstanceState, NodeState
from tenuto.definition.task_places import misspelling_of
from tenuto.engine.events.event_views import near_events_view
from tenuto.engine.events.inspector import Inspector
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.causes import Breaker, Cause, Estimate, Explanation, Queued, RequestWait
from tenuto.model.durations import from_epoch_ms, iso, to_milliseconds
from tenuto.model.graph import Config, Http, Task
from tenuto.model.json import JSON, Object
from tenuto.model.policy import NO_POLICIES, Policies
from tenuto.ports import Clock
from tenuto.store.parts.schedules import ScheduleKey
from tenuto.store.parts.slots import Limits
from tenuto.store.parts.workers import CONNECTED_FOR, WorkerRow
from tenuto.store.protocol import Store
from tenuto.targets.names import host_of, target_key
from tenuto.tasks.runner import Runner

StepEstimate: TypeAlias = Callable[[str, str, str], Estimate | None]
"""How long attempts of a step of a tenant's workflow ran; None where too few are known."""
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
        estimate: StepEstimate = lambda *_: None,
        waits: RequestWaits = lambda _: {},
    ) -> None:
        """`runner`: what runs here, for those in whose process something does.

        `policies`: those of a tenant's tasks. `estimate`: how long attempts of a step ran. `waits`:
        what requests of an instance wait for in this process.
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
        near = await self._inspector.near_events(held)
        silences = {} if self._runner is None else self._runner.silences(held.state.id)
        owner = await self._owner(held)
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
            children=await self._children(held.state, depth, budget),
            policies=self._policies(held.tenant),
            breakers=await self._breakers(held),
            waits=self._waits(held.state.id) if owner == "here" else await self._hosts(held),
            takers=await self._takers(held, budget),
            estimates=self._estimates(held),
            meant=await self._meant(held, budget),
            queued_ticks=await self._queued_ticks(held),
            queued=frozenset() if self._runner is None else self._runner.queued(held.state.id),
            slot=await self._queued(held) if held.state.is_without_slot else None,
        )
        return explain(held.plan, held.state, facts)

    async def _queued(self, held: Held) -> Queued | None:
        """What an instance without a slot waits for; None: it does not ask for one."""
        slots = self._store.slots
        found = [each for each in await slots.of(held.tenant, held.state.id) if not each.node]
        if not found or found[0].state == "held":
            return None
        slot = found[0]
        key = slot.blocked_on
        if not key:
            on_hold = slot.state == "on-hold"
            return Queued(since=slot.asked_at, limit="", is_on_hold=on_hold)
        place, length = await slots.place(slot)
        limits = Limits((row.tenant, row.document) for row in await slots.configs())
        holders = [each for each in await slots.held(held.tenant) if key in each.keys]
        return Queued(
            since=slot.asked_at,
            limit=key,
            held=(await slots.counts([key])).get(key, 0),
            most=slot.own_limit if key == slot.own_key else limits.of(key),
            place=place,
            length=length,
            holders=tuple(each.instance_id for each in holders[:MOST_HOLDERS]),
        )

    async def _children(
        self, state: InstanceState, depth: int, budget: _Budget
    ) -> dict[str, Explanation]:
        wanted = budget.take(_children_of(state)) if depth else []
        if not wanted:
            return {}
        loaded = await self._loader.load(wanted, is_shown=True)
        return {
            id: await self._explained(held, depth - 1, budget)
            for id, held in loaded.items()
            if isinstance(held, Held)
        }

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

    async def _hosts(self, held: Held) -> dict[tuple[str, str, int], RequestWait]:
        """The open breakers of hosts that attempts in another process are for."""
        found: dict[tuple[str, str, int], RequestWait] = {}
        for key in sorted(held.state.open_nodes())[:MOST_CAUSES]:
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
        known = {row.id for row in await self._store.tasks.page(held.tenant)}
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

    def _estimates(self, held: Held) -> dict[str, Estimate]:
        names = dict.fromkeys(key.node for key in held.state.open_nodes())
        found = {
            name: self._estimate(held.tenant, held.state.definition_id, name)
            for name in list(names)[:MOST_CAUSES]
        }
        return {name: each for name, each in found.items() if each is not None}

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


def _children_of(state: InstanceState) -> list[str]:
    if state.has_ended:
        return []
    nodes = [state.nodes[key] for key in sorted(state.open_nodes())]
    if state.compensation is not None and state.compensation.work is not None:
        nodes.append(state.compensation.work)
    return [node.child_id for node in nodes if node.child_id is not None]


def explanation_view(explained: Explanation) -> Object:
    """An explanation in JSON."""
    return {
        "instanceId": explained.instance_id,
        "status": explained.status.value,
        "summary": explained.summary,
        "causes": [_cause(each) for each in explained.causes],
    }


def _cause(cause: Cause) -> JSON:
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
