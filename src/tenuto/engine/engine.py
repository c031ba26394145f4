"""One process's engine over one store: starts its parts, takes requests, stops in good order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec.structs import replace

from tenuto.built_in.protocol import Executors
from tenuto.core import Plan, decide
from tenuto.encryption.errors import no_keys
from tenuto.encryption.rotation import look_back_again
from tenuto.encryption.store import can_seal
from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.effects.effects import Effects
from tenuto.engine.events.events import Events
from tenuto.engine.events.explainer import PastEstimate
from tenuto.engine.limits.admission import Admissions
from tenuto.engine.limits.rule_application import RuleApplication
from tenuto.engine.load.load import Load
from tenuto.engine.membership.membership import Membership
from tenuto.engine.outbox.outbox import Outbox
from tenuto.engine.schedules.callbacks import CallbackTask, Origin
from tenuto.engine.schedules.schedules import Schedules
from tenuto.engine.secrets.secrets import Secrets
from tenuto.engine.secrets.vault import Vault
from tenuto.engine.settings import Settings
from tenuto.engine.shared import Shared
from tenuto.engine.test_runs.test_runs import TestRuns
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.drafter import Decide, Undecided
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.quarantine import NoNotes, Notes, Quarantine
from tenuto.engine.turns.requests import Answer, IndexAgain, Request, StartFacts, TakenOver
from tenuto.engine.turns.turns import AfterTurn, Turns
from tenuto.engine.upkeep.upkeep import Upkeep
from tenuto.engine.usage import Usage
from tenuto.model.errors import NotFound, ProcessStops, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.inputs import (
    AttemptLost,
    Input,
    RetryAsked,
    Started,
    TaskFailed,
    TaskSucceeded,
)
from tenuto.model.json import JSON
from tenuto.model.status import Status
from tenuto.ports import Clock, Ids, Sender
from tenuto.store.parts.members import Pulse
from tenuto.store.parts.turns import EventResult
from tenuto.store.protocol import Store
from tenuto.store.row_sizes import RowSizes
from tenuto.targets.gate import Gate
from tenuto.tasks.registry import Registry

log = logging.getLogger("tenuto.engine")

T = TypeVar("T")

_A_MOMENT = timedelta(milliseconds=1)
_LAST_DELIVERIES = 3.0
"""Seconds for which webhooks are still delivered when the engine stops."""
_LAST_MATCHING = 2.0
"""Seconds for which costly conditions are still evaluated when the engine stops."""
_LAST_WRITES = 10.0
"""Seconds that a store has to take what is left when the engine stops."""


class Engine:
    """Starts, feeds and stops the parts of one process: everything between API and store."""

    def __init__(  # noqa: PLR0913 - one for each port
        self,
        store: Store,
        *,
        registry: Registry,
        clock: Clock,
        ids: Ids,
        settings: Settings | None = None,
        sender: Sender | None = None,
        decide: Decide = decide,
        notes: Notes | None = None,
        executors: Executors | None = None,
        vault: Vault | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Without a `sender` webhook deliveries wait for a process that has one.

        `decide` is the core, or a wrapper of it. `notes` are where the process notes what it
        decides on; None: nowhere. `executors` do the work of built-in tasks, and are closed with
        the engine; steps of a type that has none fail. `gate` admits their requests. `vault` has
        the secrets; None: there are no keys that open them.
        """
        self.gate = gate or Gate(store, clock, ids)
        self.vault = vault or Vault(store, clock)
        self.seals = self.vault.seals
        self.executors: Executors = executors or {}
        self.settings = settings or Settings()
        self.store = store
        self.callbacks = CallbackTask(
            registry,
            sender=sender,
            clock=clock,
            seconds=self.settings.webhook_timeout,
            secret=self._callback_secret,
            origin=self._origin,
        )
        self.registry: Registry = self.callbacks
        self.clock = clock
        self.ids = ids
        shared = self.shared = Shared(
            store=store,
            registry=self.registry,
            clock=clock,
            ids=ids,
            settings=self.settings,
            died=self._loop_died,
            executors=self.executors,
        )
        self.usage = Usage(shared)
        self.document_bytes = self.usage.documents
        self.definitions = Definitions(shared, self.usage)
        self.definitions.plans.share(shared.sharing)
        self.quarantine = Quarantine(
            store=store, clock=clock, notes=notes or NoNotes(), spawn=shared.background.spawn
        )
        self.turns = Turns(shared, self.definitions, self.quarantine, decide=decide)
        self.secrets = Secrets(self.vault, self._input_misfit, self._data_source_of)
        self.effects = Effects(
            shared,
            self.definitions,
            self.turns,
            self.usage.stored_lines,
            secrets=self.secrets,
        )
        resolver = self.definitions.resolver(self.turns.report)
        self.estimate: PastEstimate = lambda *_: None
        """How long attempts of a step ran in this process, where that is measured."""
        self.events = Events(
            shared, self.definitions, self.turns, resolver, send=self.effects.mailbox.send
        )
        self.effects.connect(self.events, resolver)
        self.membership = Membership(
            shared,
            self.turns,
            self.events,
            self.effects,
            refresh=self._heard,
        )
        self.outbox = Outbox.of(
            shared,
            sender,
            publish=self.events.router.publish,
            process_id=lambda: self.process_id,
            fenced=self.membership.fenced,
        )
        self.limits = self.definitions.limits
        self.admissions = Admissions(
            shared,
            hints=self.effects.slot_hints,
            limits=self.limits,
            free=self.turns.free,
            process_id=lambda: self.process_id,
            granted=self.effects.granted,
            sent=self.effects.mail_sent,
            quarantined=self.quarantine.stopped,
        )
        self.limits.has_work = self.admissions.hint
        self.queue_rules = RuleApplication(
            shared,
            turns=self.turns,
            limits=self.limits,
            process_id=lambda: self.process_id,
            admit=self.admissions.hint,
        )
        self.load = Load(
            shared,
            self.turns,
            self.limits,
            process_id=lambda: self.process_id,
            admit=self.admissions.hint,
            attempts=lambda: self.effects.runner.before_loop,
        )
        self.calendars = self.definitions.calendars
        self.schedules = Schedules(
            shared, self.definitions, self.usage, sent=self.effects.mail_hint
        )
        self.test_runs = TestRuns(
            shared,
            self.definitions.plans,
            ask=self.ask,
            end_of=self.final_state,
            forget=self._forget,
        )
        self.upkeep = Upkeep(
            shared,
            self.definitions.plans,
            self.test_runs,
            look_for_unfinished=self.membership.look_for_unfinished,
        )
        self.turns.connect(
            AfterTurn(
                concluded=self.effects.concluded,
                all_concluded=self._concluded,
                stored=self.events.router.stored,
                hint=self.effects.hint,
                admitted=self.admissions.made,
                fenced=self.membership.fenced,
                undecided=Undecided(
                    left_alone=self.effects.left_alone,
                    leave_to_owner=self.effects.mailbox.leave_to_owner,
                    unreadable=self.effects.leave_unreadable,
                ),
            )
        )
        self.quarantine.put_aside = self._put_aside
        self.quarantine.released = self._released
        self.plans = self.definitions.plans
        self.declared_tasks = self.definitions.declared_tasks
        self.policies = self.definitions.policies
        self.loader = self.turns.loader
        self.inspector = self.events.inspector
        self.row_sizes = RowSizes()
        self.runner = self.effects.runner
        self._is_open = self._was_open = False
        self._looks_for_released = False
        self._fault: BaseException | None = None

    # -- life

    async def open(self) -> int:
        """Open the store and continue its work; returns how many instances were taken over."""
        if self._was_open and not self._is_open:
            raise StoreUnavailable(
                "an engine that has stopped stays so", advice="Make another: Tenuto(...)."
            )
        is_guest = self.settings.is_guest
        opening = self.store.open(self.process_id, self.clock.now(), is_guest=is_guest)
        self._go_on_from(await opening)
        self._is_open = self._was_open = True
        try:
            if not is_guest:
                await self.quarantine.open(self.process_id)
            return await self._begin()
        except BaseException:
            await self._end(clean=False)
            raise

    def _go_on_from(self, latest: datetime) -> None:
        """Set the clock forward to the newest moment in the store."""
        behind = (latest - self.clock.now()).total_seconds()
        if behind > 0:
            log.warning("the clock is %.3f s behind the store; time goes on from there", behind)
            self.clock.not_before(latest + _A_MOMENT)

    async def _begin(self) -> int:
        self.turns.start()
        if self.store.is_shared:
            # First of all: however long the start takes, other processes get heartbeats.
            self.membership.start_heartbeat()
            self.turns.start_watchers()
        return 0 if self.settings.is_guest else await self._begin_to_work()

    async def _begin_to_work(self) -> int:
        await self.definitions.start()
        await look_back_again(self.store)
        taken_over = await self.membership.start()
        await self.effects.start()
        self.admissions.start()
        self.queue_rules.start()
        self.load.start()
        self.turns.start_projector()
        self.outbox.start(self.shared.loops)
        self.upkeep.start()
        self.schedules.start()
        if self.store.is_shared:
            self.effects.start_sharing(self.quarantine.look)
            await self.membership.start_takeover()
        return taken_over

    async def _heard(self, heartbeat: Pulse) -> None:
        await self.definitions.refresh(heartbeat)
        self.queue_rules.beat()

    async def close(self) -> None:
        """Stop in good order: no new work, a grace period for tasks, all accepted input written.

        If cancelled, it releases the store at once.
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
        self.effects.jobs.stop()
        self.effects.mailbox.stop()
        left = await self.runner.drain(self.settings.stop_grace)
        if left:
            log.warning("%d attempts were still running; they start again next time", left)
        await self._settle()
        if self._fault is None and not self.settings.is_guest:
            await self.outbox.finish(_LAST_DELIVERIES)
        await self.effects.task_logs.finish()
        await self.shared.background.stop()

    async def _end(self, *, clean: bool) -> None:
        self._is_open = False
        await self.shared.loops.stop()
        await self.outbox.stop()
        for executor in self.executors.values():
            await executor.close()
        await self.gate.close()
        stopped = ProcessStops("the engine has stopped; what was accepted goes on later")
        await self.turns.loader.stop(stopped)
        self.quarantine.close()
        try:
            await self.store.close(self.clock.now(), clean=clean)
        finally:
            self._abandon(stopped)

    async def _settle(self) -> None:
        """Write what is left, with a time limit for an unavailable store."""
        if self._fault is not None:
            return
        leaving = self.clock.call_later(_LAST_MATCHING, self.leave_matching)
        try:
            async with asyncio.timeout(_LAST_WRITES):
                self.shared.sharing.end()
                self.effects.stop()
                await self.turns.settle()
                if self.store.is_shared:
                    # An unshared store is caught up by the next process that opens it.
                    await self.membership.caught_up()
        except TimeoutError:
            log.warning("the store did not take everything before the engine stopped")
        finally:
            leaving.cancel()

    def leave_matching(self) -> None:
        """Leave the matching of stored events that takes long to the next process.

        What else is under way is done without rests: the engine stops.
        """
        self.shared.sharing.end()
        self.membership.leave_unfinished()
        self.events.slices.end()

    def leave_long_requests(self) -> None:
        """Refuse what requests wait for and takes long, since the process stops."""
        self.leave_matching()
        self.admissions.leave()
        self.plans.leave()
        self.turns.leave_costly()

    # -- requests

    async def start(
        self,
        plan: Plan,
        started: Started,
        *,
        instance_id: str | None = None,
        key: str | None = None,
        content_hash: bytes = b"",
        tenant: str = "default",
        needs_definition: bool = False,
        is_sealed: bool = False,
    ) -> Answer:
        """Start an instance; answered once it is durable.

        NotFound where it `needs_definition`, and that was removed before. `is_sealed`: its values
        are encrypted, whatever its definition says.
        """
        self._refuse_unless_working()
        if (plan.encrypts or is_sealed) and not can_seal(self.store):
            raise no_keys()
        await self.usage.refuse_start(tenant)
        now = self.clock.now()
        chosen = instance_id or self.ids.instance_id(now)
        facts = StartFacts(
            plan=plan,
            tenant=tenant,
            key=key,
            content_hash=content_hash,
            needs_definition=needs_definition,
            is_sealed=is_sealed,
            asked_at=now,
        )
        try:
            if plan.rehearsal is not None or not self.limits.counts(plan, tenant):
                return await self.turns.ask(chosen, started, facts)
            ruled = await self.admissions.ruled(plan, started, tenant)
            facts = replace(facts, ruled=ruled)
            async with self.admissions.starting(
                plan, started, tenant, bound=self.limits.bound, ruled=ruled
            ):
                return await self.turns.ask(chosen, started, facts)
        except NotFound as error:
            if error.code != "TEN-2002":
                raise
            id, version = started.definition_id, started.definition_version
            raise await self.plans.removed(tenant, id, version) from error

    async def ask(self, instance_id: str, input: Input) -> Answer:
        """Put a command to an instance; answered once it is durable.

        A retry releases a quarantined instance, which goes on; it retries one that had failed.
        """
        self._refuse_unless_working()
        if isinstance(input, RetryAsked) and await self.quarantine.release(instance_id):
            state = (await self.loader.look_at(instance_id)).state
            if state.status is not Status.FAILED and input.edited is None:
                return Answer(instance_id=state.id, status=state.status, version=state.version)
        return await self.turns.ask(instance_id, input)

    async def index_again(self, instance_id: str) -> None:
        """Write the search terms of an instance again; returns once they are durable.

        If another process owns it, a mailbox message to that process is durable instead.
        """
        self._refuse_when_closed()
        await self.turns.ask(instance_id, IndexAgain())

    async def publish(self, event: Event) -> EventResult:
        """Store an event and record its recipients; answered once that is durable."""
        self._refuse_when_closed()
        await self.usage.admit_event(event.tenant)
        is_stored = False
        try:
            result = await self.events.router.publish(event)
            is_stored = result.outcome == "stored"
        finally:
            self.usage.settle_event(event, is_stored=is_stored)
        self.outbox.hint()
        if self.settings.is_guest and (result.resumed or result.cancelled or result.started):
            await self.effects.hinted(())
        return result

    async def state_of(self, instance_id: str) -> Held:
        """The current state of an instance, from its log."""
        return await self.loader.look_at(instance_id)

    async def final_state(self, instance_id: str) -> Held:
        """Wait until an instance has ended. Registers first, then looks: no end is missed."""
        return await self.turns.watchers.end_of(instance_id, self._refuse_when_closed)

    def listen(self, listener: Callable[[Draft], None]) -> Callable[[], None]:
        """Subscribe to every durable change made by this process; returns how to stop."""
        return self.turns.listen(listener)

    @property
    def fault(self) -> BaseException | None:
        """The error of a background loop that died."""
        return self._fault

    @property
    def is_catching_up(self) -> bool:
        """Whether events are still matched, and waits look back, that dead processes left."""
        return self.membership.is_catching_up

    async def caught_up(self) -> None:
        """Wait until that is done."""
        await self.membership.caught_up()

    def report(
        self, instance_id: str, report: TaskSucceeded | TaskFailed | AttemptLost, lease: int
    ) -> asyncio.Future[Answer]:
        """Report the result of a job under its lease; done once it is durable."""
        self._refuse_unless_working()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.turns.report(Request(instance_id, report, future=future, lease=lease))
        return future

    def spawn(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        """Run a background task that ends with the engine, not with its caller."""
        try:
            self._refuse_when_closed()
        except StoreUnavailable:
            work.close()
            raise
        return self.shared.background.spawn(work)

    @property
    def process_id(self) -> str:
        """The id under which this process owns instances; a new one after it was fenced."""
        return self.membership.process_id

    # -- wiring

    def _concluded(self, drafts: Sequence[Draft]) -> None:
        self.usage.concluded(drafts)
        self.outbox.concluded(drafts)
        self.schedules.concluded(drafts)

    async def _origin(self, instance_id: str) -> Origin:
        held = await self.loader.look_at(instance_id)
        schedule = held.state.schedule
        return Origin(
            tenant=held.tenant,
            schedule_id=None if schedule is None else schedule.id,
            at=held.state.created_at,
        )

    def _input_misfit(self, tenant: str, task_id: str, value: JSON) -> Failure | None:
        check = self.definitions.policies.of(tenant).policy(task_id).check_input
        return None if check is None else check(value).failure

    async def _data_source_of(self, tenant: str, query_id: str) -> str | None:
        found = await self.store.seen_by(tenant).data_queries.get(tenant, query_id)
        return None if found is None else found.data_source_id

    async def _callback_secret(self, tenant: str) -> str:
        return await self.schedules.callback_secret(tenant)

    def _forget(self, instance_id: str) -> None:
        self.effects.forget(instance_id)
        self.turns.forget(instance_id)

    def _put_aside(self, instance_id: str) -> None:
        """Stop the work for a quarantined instance, and look whether it was released."""
        self._forget(instance_id)
        # A store that is shared is looked at anyway.
        if not self._looks_for_released and not self.store.is_shared:
            self._looks_for_released = True
            every = self.settings.timers_every
            self.shared.loops.tick("quarantine", every, self.quarantine.look)

    def _released(self, instance_id: str) -> None:
        """Take up an instance again that was released."""
        self.effects.timekeeper.unpark(instance_id)
        self.effects.mail_hint()
        self.turns.report(Request(instance_id, TakenOver()))
        self.admissions.hint()

    def _loop_died(self, name: str, error: BaseException) -> None:
        self._fault = error
        self._abandon(TenutoError(f"the engine's loop {name} died: {error!r}"))

    def _abandon(self, error: TenutoError) -> None:
        """Refuse every open request with `error`: this process will not answer it."""
        self.turns.abandon(error)
        self.shared.background.cancel()

    def _refuse_when_closed(self) -> None:
        if not self._is_open or self._fault is not None:
            raise (ProcessStops if self._was_open else StoreUnavailable)(
                "the engine is not running",
                advice="Use `async with Tenuto(...) as app:`, or call app.open() first.",
            )

    def _refuse_unless_working(self) -> None:
        self._refuse_when_closed()
        if self.settings.is_guest:
            raise TenutoError(
                "a guest of the store can only publish events",
                code="TEN-4004",
                advice="Use an engine that is none: Settings(is_guest=False).",
            )
