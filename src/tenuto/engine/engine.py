"""One process's engine over one store: starts it, feeds it, stops it in good order."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tenuto.core import Plan, decide, outstanding
from tenuto.engine.definitions.declared_tasks import DeclaredTasks
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.definitions.resolver import Resolver
from tenuto.engine.definitions.start_checks import key_conflict
from tenuto.engine.effects.dispatcher import Dispatcher, Others
from tenuto.engine.effects.job_runner import JobOffice
from tenuto.engine.effects.mailbox_delivery import Mailroom
from tenuto.engine.effects.task_context import facts_for, facts_of
from tenuto.engine.effects.timekeeper import Timekeeper
from tenuto.engine.events.event_router import Postmaster
from tenuto.engine.events.inspector import Inspector
from tenuto.engine.events.look_back import LookingBack
from tenuto.engine.events.triggers import Triggers
from tenuto.engine.loops import Loops
from tenuto.engine.membership.membership import Heart
from tenuto.engine.membership.takeover import Recovery
from tenuto.engine.membership.unreadable import LeftToOthers
from tenuto.engine.outage import Outage
from tenuto.engine.outbox.deliverer import Deliverer
from tenuto.engine.outbox.drainer import Drainer
from tenuto.engine.outbox.outbox import Telling
from tenuto.engine.settings import Settings
from tenuto.engine.test_runs.mocks import mocked
from tenuto.engine.test_runs.test_runs import Rehearsals
from tenuto.engine.turns.deferred_inputs import Later
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.drafter import Core, Decide, Drafter, Undecided
from tenuto.engine.turns.held import Cache, Held
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.lane import Lane
from tenuto.engine.turns.loader import Loader
from tenuto.engine.turns.requests import (
    Answer,
    EventRequest,
    IndexAgain,
    Matter,
    OfferJob,
    Request,
    StartFacts,
)
from tenuto.engine.turns.turn_meter import TurnMeter
from tenuto.engine.turns.watchers import Watchers
from tenuto.engine.upkeep.instance_retention import Forgetter
from tenuto.engine.upkeep.retention import Pruner
from tenuto.model.effects import ResolveChild, StartAttempt
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.inputs import (
    AttemptLost,
    Input,
    Started,
    TaskFailed,
    TaskSucceeded,
    TimerDue,
)
from tenuto.model.rehearsal import Mock
from tenuto.ports import Clock, Ids, Sender
from tenuto.store.parts.jobs import JobKey, Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.turns import EventResult
from tenuto.store.parts.waits import WaitRow
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry
from tenuto.tasks.runner import Runner

log = logging.getLogger("tenuto.engine")

T = TypeVar("T")

_A_MOMENT = timedelta(milliseconds=1)
_HINTED_BEATS = 0.5
"""Seconds between beats that a hint calls for: letters come with hints too."""
_SOONER = 3
"""By how much the next beat comes sooner after one that the store did not hear."""
_SELDOM = 30.0
"""Seconds between looks for what nobody else can have left."""
_LAST_WORDS = 3.0
"""Seconds for which addresses outside are still told when the engine stops."""
_LAST_WRITES = 10.0
"""Seconds that a store has to take what is left when the engine stops."""


class Engine:
    """Everything between the public API and a store."""

    def __init__(
        self,
        store: Store,
        *,
        registry: Registry,
        clock: Clock,
        ids: Ids,
        settings: Settings | None = None,
        sender: Sender | None = None,
        decide: Decide = decide,
    ) -> None:
        """Without a `sender` nothing is sent to addresses outside: it waits for who has one.

        `decide` is the core, or what stands around it.
        """
        self.settings = settings or Settings()
        self.store = store
        self.registry = registry
        self.clock = clock
        self.ids = ids
        self.declared_tasks = DeclaredTasks(store, registry)
        self._core = Core(decide, self.declared_tasks.of)
        self.plans = Plans(
            store,
            clock,
            self.settings.retry,
            self.settings.limits,
            listens=self._may_have_to_tell,
        )
        self.loader = Loader(store, self.plans)
        self._outage = Outage(clock)
        self.meter = TurnMeter()
        self._caches = [Cache() for _ in range(store.lanes)]
        self.intakes = [Intake(self.settings.bounds) for _ in range(store.lanes)]
        self.lanes = [self._lane(number) for number in range(store.lanes)]
        self.runner = Runner(registry, clock, self._reported, limits=self.settings.limits)
        self.timekeeper = Timekeeper(
            store,
            clock,
            self._report,
            longest_nap=self.settings.longest_nap,
            batch=self.settings.bounds.timer_batch,
            outage=self._outage,
        )
        self._resolver = Resolver(
            plans=self.plans,
            clock=clock,
            report=self._report,
            is_missing=self._is_missing,
            limits=self.settings.limits,
        )
        triggers = Triggers(plans=self.plans, loader=self.loader, refusal=self._resolver.refusal)
        self.inspector = Inspector(store, self.loader, triggers, clock)
        self.looking_back = LookingBack(
            store, self._intake_of, page=self.settings.bounds.look_back_page
        )
        self._left_to_others = LeftToOthers(
            store=store,
            clock=clock,
            outage=self._outage,
            errand=self._errand,
            given_back=self._given_back,
            most=self.settings.bounds.unreadable_kept,
        )
        self._mailroom = Mailroom(
            store=store,
            plans=self.plans,
            clock=clock,
            report=self._report,
            errand=self._errand,
            unreadable=self._unreadable_letter,
            may_start=lambda: self._left_to_others.instances_of_letters,
            bounds=self.settings.bounds,
        )
        self.postmaster = Postmaster(
            store,
            clock,
            self._intake_of,
            errand=self._errand,
            outage=self._outage,
            is_guest=self.settings.is_guest,
            triggers=triggers,
            send=self._mailroom.send,
        )
        self._dispatcher = Dispatcher(
            runner=self.runner,
            timekeeper=self.timekeeper,
            look_back=self._look_back,
            resolve=self._resolve,
            send=self._mailroom.send,
            match=self._match,
            others=Others(self._is_offered, self._offer, self._withdraw_job),
            stand_in=self._stand_in,
        )
        self._jobs = JobOffice(
            store=store,
            loader=self.loader,
            registry=registry,
            clock=clock,
            report=self._report,
            start=self._start_job,
            stop=self._stop_job,
            unreadable=self._unreadable_job,
        )
        self._heart = Heart(
            store=store,
            clock=clock,
            ids=ids,
            recovery=Recovery(
                store=store,
                postmaster=self.postmaster,
                looking_back=self.looking_back,
                report=self._report,
                has_room=lambda: not self._left_to_others.is_full,
                batch=self.settings.bounds.recovery_batch,
            ),
            outage=self._outage,
            inherited=self._inherited,
            tasks_are=self.declared_tasks.heard,
            let_all_go=self._let_all_go,
        )
        self.loader.process_id = self._heart.process_id
        self.telling = self._telling(sender)
        self.pruner = Pruner(
            store=store,
            clock=clock,
            keep_events=timedelta(seconds=self.settings.inbox_retention),
            keep_bulks=timedelta(seconds=self.settings.bulk_retention),
        )
        keep = self.settings.instance_retention
        self.forgetter = Forgetter(
            store=store,
            plans=self.plans,
            clock=clock,
            keep=None if keep is None else timedelta(seconds=keep),
        )
        self.rehearsals = Rehearsals(
            store=store,
            plans=self.plans,
            clock=clock,
            ask=self.ask,
            end_of=self.final_state,
            forget=self._forget,
            keep_for=timedelta(seconds=self.settings.test_run_retention),
        )
        self._later = Later(clock, self._report)
        self._watchers = Watchers(store, self.loader, self._run_here)
        self._loops = Loops(clock, self._outage, self._loop_died)
        self._errands: set[asyncio.Task[Any]] = set()
        """What goes on beside the loops: look-backs, and events on their way to waits."""
        self._listeners: list[Callable[[Draft], None]] = []
        self._is_open = self._was_open = False
        self._mail_hint = asyncio.Event()
        self._beat_hint = asyncio.Event()
        self._beat_hinted_at = 0.0
        self._fault: BaseException | None = None

    # -- life

    async def open(self) -> int:
        """Open the store and go on with what is outstanding; returns how many were taken over."""
        if self._was_open and not self._is_open:
            raise StoreUnavailable(
                "an engine that has stopped stays so", advice="Make another: Tenuto(...)."
            )
        is_guest = self.settings.is_guest
        opening = self.store.open(self.process_id, self.clock.now(), is_guest=is_guest)
        self._go_on_from(await opening)
        self._is_open = self._was_open = True
        try:
            return await self._begin()
        except BaseException:
            await self._end(clean=False)
            raise

    def _go_on_from(self, latest: datetime) -> None:
        """Let time go on from where it had come: what comes now is later than what is there."""
        behind = (latest - self.clock.now()).total_seconds()
        if behind > 0:
            log.warning("the clock is %.3f s behind the store; time goes on from there", behind)
            self.clock.not_before(latest + _A_MOMENT)

    async def _begin(self) -> int:
        for lane in self.lanes:
            self._loops.start("lane", lane.run())
        self._loops.start("later", self._later.run())
        if self.store.is_shared:
            # First of all: however long it takes to begin, the others know that it lives.
            every = self.store.beat_every.total_seconds()
            self._loops.tick(
                "heart", every, self._heart.beat, hint=self._beat_hint, again=every / _SOONER
            )
            self._loops.tick("watchers", self.settings.watch_every, self._watchers.run_once)
        return 0 if self.settings.is_guest else await self._begin_to_work()

    async def _begin_to_work(self) -> int:
        await self.declared_tasks.read()
        taken_over = await self._heart.take_over()
        self._loops.start("catching up", self._heart.catch_up())
        await self._mailroom.run_once()
        self._loops.start("timekeeper", self.timekeeper.run())
        self._loops.tick(
            "mailroom", self.settings.mail_every, self._mailroom.run_once, hint=self._mail_hint
        )
        self._loops.tick("projector", self.settings.project_every / 2, self._project)
        await self._jobs.run_once()
        every = self.settings.jobs_every if self.store.is_shared else _SELDOM
        every = max(every, self.settings.jobs_every)
        self._loops.start("jobs", self._jobs.run(every, self._outage))
        self._loops.start("outbox", self.telling.run(self.settings.outbox_every))
        self._loops.tick("retention", self.settings.prune_every, self._forget_what_is_old)
        if self.store.is_shared:
            await self.store.members.listen(self._heard)
            self._loops.tick("timers of others", self.settings.timers_every, self._look_at_timers)
            self._loops.start("heir", self._heart.inherit())
        return taken_over

    async def close(self) -> None:
        """Stop in good order: no new work, tasks get their grace, what is promised is written.

        Whoever has no time for that cancels it: then the store is let go at once.
        """
        if not self._is_open:
            return
        self._is_open = False
        try:
            await self._finish()
        except BaseException:
            await self._end(clean=False)
            raise
        await self._end(clean=True)

    async def _finish(self) -> None:
        self._jobs.stop()
        left = await self.runner.drain(self.settings.stop_grace)
        if left:
            log.warning("%d attempts were still running; they start again next time", left)
        await self._settle()
        if self._fault is None and not self.settings.is_guest:
            await self.telling.finish(_LAST_WORDS)
        for task in list(self._errands):
            task.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)

    async def _end(self, *, clean: bool) -> None:
        self._is_open = False
        await self._loops.stop()
        await self.telling.stop()
        try:
            await self.store.close(self.clock.now(), clean=clean)
        finally:
            self._leave_nobody_waiting(
                StoreUnavailable("the engine has stopped; what was accepted goes on later")
            )

    async def _settle(self) -> None:
        """Write what is left; a store that is away does not hold up the end for ever."""
        if self._fault is not None:
            return
        try:
            async with asyncio.timeout(_LAST_WRITES):
                for lane in self.lanes:
                    lane.project()
                    await lane.idle()
                while self._errands:
                    # A wait that has not looked back is nothing that others would find.
                    await asyncio.wait(self._errands)
                    for lane in self.lanes:
                        await lane.idle()
                if self.store.is_shared:
                    # Else whoever opens the store next finds what is left.
                    await self._heart.caught_up()
        except TimeoutError:
            log.warning("the store did not take everything before the engine stopped")

    # -- what people ask

    async def start(
        self,
        plan: Plan,
        started: Started,
        *,
        instance_id: str | None = None,
        key: str | None = None,
        content_hash: bytes = b"",
        tenant: str = "default",
    ) -> Answer:
        """Start an instance; answered once it is durable."""
        self._refuse_when_closed()
        self._refuse_as_guest()
        chosen = instance_id or self.ids.instance_id(self.clock.now())
        facts = StartFacts(plan=plan, tenant=tenant, key=key, content_hash=content_hash)
        return await self._ask(chosen, started, facts)

    async def begun(self, tenant: str, key: str, content_hash: bytes) -> Answer | None:
        """What was started under a key, for a repeat that would be refused by now; None: nothing.

        A repeat is told of the first, whatever has become of the workflow since. Conflict where the
        first was not the same.
        """
        used = await self.store.instances.used_key(tenant, key)
        if used is None:
            return None
        if used.content_hash != content_hash:
            raise key_conflict(used.instance_id)
        try:
            state = (await self.state_of(used.instance_id)).state
        except NotFound:
            return None  # it has just been forgotten, and its key with it
        return Answer(
            instance_id=state.id, status=state.status, version=state.version, is_repeat=True
        )

    async def ask(self, instance_id: str, input: Input) -> Answer:
        """Put a command to an instance; answered once it is durable."""
        self._refuse_when_closed()
        self._refuse_as_guest()
        return await self._ask(instance_id, input, None)

    async def index_again(self, instance_id: str) -> None:
        """Have written by what an instance is found; returns once that is durable.

        Where another process owns it, a letter to that one is: it knows what it has written.
        """
        self._refuse_when_closed()
        await self._ask(instance_id, IndexAgain(), None)

    async def publish(self, event: Event) -> EventResult:
        """Store an event and record whom it is for; answered once that is durable."""
        self._refuse_when_closed()
        result = await self.postmaster.publish(event)
        self.telling.hint()
        if self.settings.is_guest and (result.resumed or result.cancelled or result.started):
            await self._hinted(())
        return result

    async def state_of(self, instance_id: str) -> Held:
        """An instance as its log says it is now."""
        return await self.loader.look_at(instance_id)

    async def final_state(self, instance_id: str) -> Held:
        """Wait until an instance has ended. Registers first, then looks: no end is missed."""
        return await self._watchers.end_of(instance_id, self._refuse_when_closed)

    def listen(self, listener: Callable[[Draft], None]) -> Callable[[], None]:
        """Be told of every durable change made by this process; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def fault(self) -> BaseException | None:
        """What killed a background loop, if one died."""
        return self._fault

    @property
    def is_catching_up(self) -> bool:
        """Whether it still matches events, and looks back for waits, that others left undone."""
        return self._heart.is_catching_up

    async def caught_up(self) -> None:
        """Wait until that is done."""
        await self._heart.caught_up()

    # -- what workers outside ask

    def report(
        self, instance_id: str, report: TaskSucceeded | TaskFailed | AttemptLost, lease: int
    ) -> asyncio.Future[Answer]:
        """Put the end of a job to its instance, under a lease; done once it is durable."""
        self._refuse_when_closed()
        self._refuse_as_guest()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._report(Request(instance_id, report, future=future, lease=lease))
        return future

    def at_hand(self, instance_id: str) -> Held | None:
        """An instance in its newest state, if that need not be read."""
        return self._run_here(instance_id)

    def foresee_lapse(self, seconds: float) -> None:
        """Look for leases that lapsed after so many seconds, if not before."""
        self._jobs.foresee(seconds)

    def unreadable_jobs(self, leases: Sequence[Lease], error: TenutoError) -> None:
        """Have jobs claimed through other processes, whose program can read their instances."""
        for lease in leases:
            self._unreadable_job(lease, error)

    def errand(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        """Do something that goes on when nobody waits for it any more, while the engine runs."""
        try:
            self._refuse_when_closed()
        except StoreUnavailable:
            work.close()
            raise
        return self._errand(work)

    # -- what lanes ask

    @property
    def process_id(self) -> str:
        """The name under which this process owns instances; another one after it was fenced."""
        return self._heart.process_id

    def concluded(self, draft: Draft) -> None:
        """An instance's share of a turn is durable: the world is told."""
        if draft.mail_taken:
            self._mailroom.taken(draft.instance_id, draft.mail_taken)
        self._dispatcher.perform(draft)
        if draft.state.status.is_final:
            self._watchers.saw(draft.instance_id, draft.held)
        if self.telling.drainer.is_listened_to and draft.rows:
            self.telling.hint()
        for listener in self._listeners:
            listener(draft)

    def stored(self, requests: Sequence[EventRequest], results: Mapping[str, EventResult]) -> None:
        """Events of a turn are durable: they look for whom they are for."""
        self.postmaster.stored(requests, results)

    def hint(self, owners: Collection[str]) -> None:
        """Tell other processes that there is something for instances of theirs."""
        _ = self._errand(self._hinted(owners))

    def later(self, request: Request) -> None:
        """Try an input again after a while, since the store takes nothing that follows from it."""
        self._later.put(request)

    async def fenced(self, process_id: str) -> None:
        """The store took `process_id` for dead."""
        await self._heart.fenced(process_id)

    # -- inner wiring

    def _may_have_to_tell(self) -> None:
        self.telling.hint()

    def _telling(self, sender: Sender | None) -> Telling:
        deliverer = None
        if sender is not None:
            deliverer = Deliverer(
                store=self.store,
                clock=self.clock,
                sender=sender,
                seconds=self.settings.webhook_timeout,
                disable_after=timedelta(seconds=self.settings.disable_webhooks_after),
                again=self._may_have_to_tell,
            )
        return Telling(
            drainer=Drainer(
                store=self.store,
                clock=self.clock,
                publish=self.postmaster.publish,
                known=(lambda _: None) if deliverer is None else deliverer.know,
            ),
            deliverer=deliverer,
            clock=self.clock,
            outage=self._outage,
            process_id=lambda: self.process_id,
            fenced=self._heart.fenced,
        )

    def _lane(self, number: int) -> Lane:
        return Lane(
            number=number,
            store=self.store,
            intake=self.intakes[number],
            drafter=Drafter(
                loader=self.loader,
                cache=self._caches[number],
                clock=self.clock,
                undecided=Undecided(self._left_alone, self._leave_to_owner, self._unreadable),
                core=self._core,
                bounds=self.settings.bounds,
                is_shared=self.store.is_shared,
                is_offered=(self._is_offered if self.settings.unknown_tasks == "wait" else None),
            ),
            clock=self.clock,
            outage=self._outage,
            process=self,
            meter=self.meter,
        )

    def _number_of(self, id: str) -> int:
        return zlib.crc32(id.encode()) % len(self.lanes) if len(self.lanes) > 1 else 0

    def _intake_of(self, id: str) -> Intake:
        return self.intakes[self._number_of(id)]

    def _run_here(self, instance_id: str) -> Held | None:
        held = self._caches[self._number_of(instance_id)].get(instance_id)
        return held if held is not None and (held.is_owned or not self.store.is_shared) else None

    def _heard(self) -> None:
        """There may be letters; and now and then it is a process that has stopped."""
        self._mail_hint.set()
        if self.clock.ticks() - self._beat_hinted_at > _HINTED_BEATS:
            self._beat_hinted_at = self.clock.ticks()
            self._beat_hint.set()

    def _inherited(self) -> None:
        self.timekeeper.look()
        self._mail_hint.set()

    def _let_all_go(self, new_id: str) -> int:
        self.loader.process_id = new_id
        for lane in self.lanes:
            lane.let_all_go()
        self.timekeeper.let_all_go()
        self._mailroom.let_all_go()
        self._later.let_all_go()
        self._jobs.let_all_go()
        return self.runner.abandon()

    async def _look_at_timers(self) -> None:
        await self._left_to_others.run_once()
        self.timekeeper.look()

    async def _hinted(self, owners: Collection[str]) -> None:
        # They look by themselves too, only later.
        with suppress(StoreUnavailable):
            await self._mailroom.put_back()
            await self.store.members.hint(owners)

    def _report(self, request: Request) -> None:
        self._intake_of(request.instance_id).report(request)

    def _reported(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        self._report(self._jobs.request_of(instance_id, report))

    def _forget(self, instance_id: str) -> None:
        self.runner.abandon(instance_id)
        self.timekeeper.forget(instance_id)
        self._jobs.forget(instance_id)
        self._caches[self._number_of(instance_id)].forget(instance_id)

    def _offer(self, instance_id: str, order: StartAttempt) -> None:
        offer = OfferJob(
            order.node,
            order.iteration,
            order.attempt,
            order.task_id,
            order.timeout,
            order.heartbeat_timeout,
        )
        self._report(Request(instance_id, offer))

    def _stand_in(self, instance_id: str, order: StartAttempt, mock: Mock) -> None:
        report = mocked(order, mock)
        # Like any other result it comes after the turn, never from within it.
        loop = asyncio.get_running_loop()
        loop.call_soon(self._report, Request(instance_id, report))

    def _withdraw_job(self, key: JobKey) -> None:
        if self._jobs.withdraw(key):
            _ = self._errand(self._jobs.withdraw_all())

    def _start_job(self, held: Held, key: JobKey) -> bool:
        policies = self.declared_tasks.of(held.tenant)
        for order in outstanding(held.plan, held.state, policies):
            if isinstance(order, StartAttempt) and (
                key == JobKey(held.state.id, order.node, order.iteration, order.attempt)
            ):
                facts = facts_for(held.plan, held.state, order, facts_of(held.state))
                self.runner.start(held.state.id, order, facts)
                return True
        return False

    def _stop_job(self, key: JobKey) -> None:
        self.runner.stop(*key)

    async def _ask(self, instance_id: str, input: Matter, start: StartFacts | None) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._intake_of(instance_id).ask(Request(instance_id, input, future=future, start=start))
        return await future

    def _unreadable(self, orphan: Orphan, requests: Sequence[Request], error: TenutoError) -> None:
        if not self.store.is_shared:
            # There is nobody to give it to: it stays for the next program that opens the store.
            for request in requests:
                self._left_alone(request)
            return
        self.runner.abandon(orphan.instance_id)
        self.timekeeper.forget(orphan.instance_id)
        self._jobs.forget(orphan.instance_id)
        self._watchers.cannot_see(orphan.instance_id, error)
        for request in requests:
            if request.mail_id is not None:
                self._mailroom.given_back(MailKey(request.mail_id, request.instance_id))
        self._left_to_others.instance(orphan, requests, error)

    def _unreadable_letter(self, letter: MailKey) -> None:
        if self.store.is_shared:
            self._mailroom.given_back(letter)
            self._left_to_others.letter(letter)

    def _unreadable_job(self, lease: Lease, error: TenutoError) -> None:
        if self.store.is_shared:
            self._left_to_others.job(lease, error)

    def _given_back(self, request: Request) -> None:
        if isinstance(request.input, TimerDue):
            self.timekeeper.let_go(request.instance_id, request.input)

    def _left_alone(self, request: Request) -> None:
        if isinstance(request.input, TimerDue):
            self.timekeeper.set_aside(request.instance_id, request.input)
        self._mailroom.let_go(request)

    def _leave_to_owner(self, request: Request) -> None:
        self._mailroom.leave_to_owner(request)

    def _is_offered(self, task_id: str) -> bool:
        return self.settings.unknown_tasks == "wait" and task_id not in self.registry

    def _is_missing(self, task_id: str) -> bool:
        return self.settings.unknown_tasks == "fail" and task_id not in self.registry

    def _resolve(self, instance_id: str, tenant: str, order: ResolveChild) -> None:
        _ = self._errand(self._resolver.resolve(instance_id, tenant, order))

    def _look_back(self, arms: Sequence[WaitRow]) -> None:
        _ = self._errand(self._looked_back(arms))

    def _match(self, number: int, event: Event) -> None:
        if number:
            _ = self._errand(self.postmaster.match_late(number, event))
        else:
            log.error("event %s: somebody else has published another one of this id", event.id)

    def _errand(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    async def _looked_back(self, arms: Sequence[WaitRow]) -> bool:
        while True:
            try:
                return await self.looking_back.of(arms)
            except StoreUnavailable:
                await self.clock.sleep(1.0)
            except TenutoError as error:
                log.warning("a wait of %s did not look back: %s", arms[0].instance_id, error)
                return False

    async def _forget_what_is_old(self) -> int:
        # Now and then, for who stopped before it had caught up and is nobody's heir's concern.
        self._heart.look_for_unfinished()
        pruned = await self.pruner.run_once()
        forgotten = await self.forgetter.run_once() + await self.rehearsals.run_once()
        return forgotten + pruned.events + pruned.listeners + pruned.bulk_operations

    async def _project(self) -> int:
        return sum(lane.next_stretch() for lane in self.lanes)

    def _loop_died(self, name: str, error: BaseException) -> None:
        self._fault = error
        self._leave_nobody_waiting(TenutoError(f"the engine's loop {name} died: {error!r}"))

    def _leave_nobody_waiting(self, error: TenutoError) -> None:
        """Tell those who wait for an answer, or for an end, that this process will not see it."""
        for intake in self.intakes:
            intake.abandon(error)
        for errand in self._errands:
            errand.cancel()
        self._watchers.abandon(error)

    def _refuse_when_closed(self) -> None:
        if not self._is_open or self._fault is not None:
            raise StoreUnavailable(
                "the engine is not running",
                advice="Use `async with Tenuto(...) as app:`, or call app.open() first.",
            )

    def _refuse_as_guest(self) -> None:
        if self.settings.is_guest:
            raise TenutoError(
                "a guest of the store can only publish events",
                code="TEN-4004",
                advice="Use an engine that is none: Settings(is_guest=False).",
            )
