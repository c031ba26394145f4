"""The turns part of an engine: lanes with their intakes and caches, and the waiters for results."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.definitions.start_checks import key_conflict
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.meters import TurnMeter
from tenuto.engine.shared import Shared
from tenuto.engine.turns.deferred_inputs import DeferredInputs
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.drafter import STRETCHES, Core, Decide, Drafter, Undecided
from tenuto.engine.turns.held import Cache, Held
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.lane import Lane
from tenuto.engine.turns.loader import Loader
from tenuto.engine.turns.long_folds import LongFolds
from tenuto.engine.turns.note import EFFECTS, DecisionStopped
from tenuto.engine.turns.quarantine import Quarantine
from tenuto.engine.turns.requests import Answer, EventRequest, Matter, Request, StartFacts
from tenuto.engine.turns.watchers import Watchers
from tenuto.model.errors import NotFound, ProcessStops, TenutoError
from tenuto.store.parts.slot_rows import Admission
from tenuto.store.parts.turns import EventResult


class AfterTurn(NamedTuple):
    """What the other parts do once a turn is durable, or did not take a request."""

    concluded: Callable[[Draft], None]
    """Perform the effects of one instance's share of a turn."""
    all_concluded: Callable[[Sequence[Draft]], None]
    """Count what a turn has written, and notify those that follow it; after the effects."""
    stored: Callable[[Sequence[EventRequest], Mapping[str, EventResult]], None]
    """Match events that were stored, or had been before; the results by event id."""
    hint: Callable[[Collection[str]], None]
    """Notify other processes of input for instances that they own."""
    admitted: Callable[[Admission], None]
    """Follow a pass of admission that was made with a turn."""
    fenced: Callable[[str], Awaitable[None]]
    """Continue under a new process id, since the store has declared this one dead."""
    undecided: Undecided


class Turns:
    """Every input of every instance that this process advances goes through here."""

    def __init__(
        self, shared: Shared, definitions: Definitions, quarantine: Quarantine, *, decide: Decide
    ) -> None:
        self._shared = shared
        self.process_id = ""
        """The id under which this process owns instances."""
        store = shared.store
        self.quarantine = quarantine
        folds: LongFolds[Held | TenutoError] = LongFolds(shared.clock, shared.sharing)
        self.loader = Loader(store, definitions.plans, quarantine, folds)
        self.meter = TurnMeter()
        self.free = FreeSlots(definitions.limits)
        self._core = Core(decide, definitions.policies.of, quarantine, self.free)
        self._caches = [Cache() for _ in range(store.lanes)]
        bounds, sharing = shared.settings.bounds, shared.sharing
        self.intakes = [Intake(bounds, each.tenant_of, sharing) for each in self._caches]
        self._lane_count = len(self.intakes)
        self.lanes: list[Lane] = []
        self._deferred = DeferredInputs(
            shared.clock, self.report, shared.settings.bounds.first_retry
        )
        self.watchers = Watchers(store, self.loader, self.at_hand)
        self._listeners: list[Callable[[Draft], None]] = []

    def connect(self, after: AfterTurn) -> None:
        """Make the lanes, once the parts are there that follow a turn."""
        self._after = after
        self.lanes = [self._lane(number) for number in range(len(self.intakes))]

    def enter(self, process_id: str) -> None:
        """Own instances under this id from now on."""
        self.process_id = self.loader.process_id = process_id

    def start(self) -> None:
        loops = self._shared.loops
        for lane in self.lanes:
            loops.start("lane", lane.run())
        self._deferred.start(loops)

    def start_watchers(self) -> None:
        """Look for the ends of instances that other processes run."""
        every = self._shared.settings.watch_every
        self._shared.loops.tick("watchers", every, self.watchers.run_once)

    def start_projector(self) -> None:
        """Bring the rows of running instances up to date, for lists."""
        every = self._shared.settings.project_every / STRETCHES
        self._shared.loops.tick("projector", every, self._project)

    # -- inputs

    def report(self, request: Request) -> None:
        """Take an input that is never refused for lack of room."""
        self.intakes[self._number_of(request.instance_id)].report(request)

    async def ask(self, instance_id: str, input: Matter, start: StartFacts | None = None) -> Answer:
        """Put a command to an instance; answered once it is durable."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.intake_of(instance_id).ask(Request(instance_id, input, future=future, start=start))
        return await future

    async def begun(self, tenant: str, key: str, content_hash: bytes) -> Answer | None:
        """The instance that was started under a key, as the answer to a repeated start.

        It counts also where a new start would be refused by now. Conflict where the content of the
        first start was another.
        """
        used = await self._shared.store.instances.used_key(tenant, key)
        if used is None:
            return None
        if used.content_hash != content_hash:
            raise key_conflict(used.instance_id)
        try:
            state = (await self.loader.look_at(used.instance_id)).state
        except NotFound:
            return None  # it has just been deleted, and its key with it
        return Answer(
            instance_id=state.id, status=state.status, version=state.version, is_repeat=True
        )

    def intake_of(self, id: str) -> Intake:
        return self.intakes[self._number_of(id)]

    def take_small_turns(self) -> None:
        """Let new work, which comes soon, wait for little of what is recovered."""
        for intake in self.intakes:
            intake.take_small_turns()

    def promised(self) -> int:
        """How many results, timers and messages wait."""
        return sum(intake.promised for intake in self.intakes)

    def at_hand(self, instance_id: str) -> Held | None:
        """An instance that this process runs, in its newest state."""
        held = self._caches[self._number_of(instance_id)].get(instance_id)
        is_shared = self._shared.store.is_shared
        return held if held is not None and (held.is_owned or not is_shared) else None

    def listen(self, listener: Callable[[Draft], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # -- called by lanes

    def concluded(self, drafts: Sequence[Draft]) -> None:
        perform, listeners = self._after.concluded, self._listeners
        for draft in drafts:
            if draft.held.is_fresh:
                self._conclude_fresh(draft)
            else:
                perform(draft)
            if draft.state.status.is_final:
                self.watchers.saw(draft.instance_id, draft.held)
            if listeners:
                for listener in listeners:
                    listener(draft)
        self._after.all_concluded(drafts)

    def _conclude_fresh(self, draft: Draft) -> None:
        """Perform what an instance owes that was read: that has to be computed first."""
        note = self.quarantine.note
        note.on(draft.instance_id, EFFECTS)
        try:
            self._after.concluded(draft)
        except DecisionStopped:
            self.quarantine.stopped(draft.instance_id, EFFECTS)
            self.forget(draft.instance_id)
        finally:
            note.off()
        if self.quarantine.suspects:
            self.quarantine.survived(draft.instance_id, EFFECTS)

    def stored(self, requests: Sequence[EventRequest], results: Mapping[str, EventResult]) -> None:
        self._after.stored(requests, results)

    def hint(self, owners: Collection[str]) -> None:
        self._after.hint(owners)

    def admitted(self, admission: Admission) -> None:
        self._after.admitted(admission)

    def later(self, request: Request) -> None:
        self._deferred.put(request)

    async def fenced(self, process_id: str) -> None:
        await self._after.fenced(process_id)

    # -- the end

    def forget(self, instance_id: str) -> None:
        """Hold an instance in memory no longer."""
        self._caches[self._number_of(instance_id)].forget(instance_id)

    def let_all_go(self, process_id: str) -> None:
        """Own no instance any more; `process_id` is the new one."""
        self.enter(process_id)
        for lane in self.lanes:
            lane.let_all_go()
        self._deferred.let_all_go()

    def leave_costly(self) -> None:
        """Refuse new requests of tenants whose decisions take long: the process stops."""
        for lane in self.lanes:
            lane.leave_costly(ProcessStops("the engine stopped before it was decided on"))

    async def settle(self) -> None:
        """Write what is left, also of background tasks."""
        for intake in self.intakes:
            intake.drop_unawaited()
        for lane in self.lanes:
            lane.project()
            await lane.idle()
        while len(self._shared.background):
            # No other process would find a wait that has not looked back.
            await self._shared.background.ended()
            for lane in self.lanes:
                await lane.idle()

    def abandon(self, error: TenutoError) -> None:
        """Refuse every request, and every waiter for an end, with `error`."""
        for intake in self.intakes:
            intake.abandon(error)
        self.watchers.abandon(error)

    def _lane(self, number: int) -> Lane:
        shared = self._shared
        return Lane(
            number=number,
            store=shared.store,
            intake=self.intakes[number],
            drafter=Drafter(
                loader=self.loader,
                cache=self._caches[number],
                clock=shared.clock,
                undecided=self._after.undecided,
                core=self._core,
                bounds=shared.settings.bounds,
                is_shared=shared.store.is_shared,
                is_offered=shared.offers,
            ),
            clock=shared.clock,
            outage=shared.outage,
            process=self,
            meter=self.meter,
        )

    def _number_of(self, id: str) -> int:
        return zlib.crc32(id.encode()) % self._lane_count

    async def _project(self) -> int:
        return sum(lane.next_stretch() for lane in self.lanes)
