"""The effects part of an engine: tasks, timers, jobs and mailbox messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress

from tenuto.core import claimed, outstanding_attempt
from tenuto.encryption.store import can_seal
from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.definitions.resolver import Resolver
from tenuto.engine.effects.dispatcher import Dispatcher, Others
from tenuto.engine.effects.families import Families
from tenuto.engine.effects.job_runner import JobRunner
from tenuto.engine.effects.mailbox_delivery import MailboxDelivery
from tenuto.engine.effects.mailbox_starts import MailboxStarts
from tenuto.engine.effects.task_context import context_for, context_of
from tenuto.engine.effects.task_log_recorder import TaskLogRecorder
from tenuto.engine.effects.timekeeper import Timekeeper
from tenuto.engine.effects.unreadable import Unreadable
from tenuto.engine.events.events import Events
from tenuto.engine.limits.slot_hints import SlotHints
from tenuto.engine.secrets.secrets import Secrets
from tenuto.engine.shared import Shared
from tenuto.engine.test_runs.mocks import mocked
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import OfferJob, Request
from tenuto.engine.turns.turns import Turns
from tenuto.model.effects import SendMail, StartAttempt
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded, TimerDue
from tenuto.model.test_run import Mock
from tenuto.store.parts.jobs import JobKey, Lease
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.slot_rows import Grant
from tenuto.tasks.runner import Runner

_SELDOM = 30.0
"""Seconds between passes over jobs in a store that no other process shares."""


class Effects:
    """Performs the effects of durable turns, and reports their results as inputs."""

    def __init__(
        self,
        shared: Shared,
        definitions: Definitions,
        turns: Turns,
        stored_lines: Callable[[str, int], None],
        *,
        secrets: Secrets,
    ) -> None:
        """`stored_lines` is called with the bytes of lines that a tenant has more."""
        self._shared = shared
        self._definitions = definitions
        self._turns = turns
        store, clock, settings = shared.store, shared.clock, shared.settings
        self.task_logs = TaskLogRecorder(store, clock, shared.background.spawn, stored_lines)
        self.runner = Runner(
            shared.registry,
            clock,
            self.reported,
            limits=settings.limits,
            max_threads=settings.threads,
            max_attempts=settings.attempts,
            lines=self.task_logs.keep if settings.task_logs else None,
            executors=shared.executors,
            secrets=secrets,
        )
        self.timekeeper = Timekeeper(
            store,
            clock,
            turns.report,
            longest_nap=settings.longest_nap,
            batch=settings.bounds.timer_batch,
        )
        self.unreadable = Unreadable(
            store=store,
            clock=clock,
            outage=shared.outage,
            spawn=shared.background.spawn,
            given_back=self._given_back,
            most=settings.bounds.unreadable_kept,
        )
        self._families = Families(shared)
        self.mailbox = MailboxDelivery(
            store=store,
            starts=MailboxStarts(
                plans=definitions.plans,
                families=self._families,
                clock=clock,
                report=turns.report,
                spawn=shared.background.spawn,
                unreadable=self._unreadable_message,
                may_encrypt=lambda: can_seal(store),
            ),
            unreadable=self._unreadable_message,
            may_start=lambda: self.unreadable.instances_of_messages,
            waiting=turns.promised,
            bounds=settings.bounds,
        )
        self.jobs = JobRunner(
            store=store,
            loader=turns.loader,
            registry=shared.registry,
            clock=clock,
            report=turns.report,
            start=self._start_job,
            stop=lambda key: self.runner.stop(*key),
            unreadable=self.unreadable_job,
            at_hand=turns.at_hand,
            limited=lambda tenant: definitions.policies.of(tenant).limited,
            places=self.runner,
            has_limits=lambda: definitions.declared_tasks.has_limits,
            announce=self._announce,
        )
        self.runner.on_room(self.jobs.has_room)
        definitions.declared_tasks.changed = self._limits_changed
        self.task_freed: list[Callable[[str, str], None]] = []
        """Called when an attempt of a task with limits has ended in this process."""
        self.tasks_freed: list[Callable[[], None]] = []
        """Called when attempts of any task with limits may have ended, or limits were changed."""
        self._is_announcing = self._is_stopped = False
        self._mail_hint = asyncio.Event()
        self.slot_hints = SlotHints()

    def connect(self, events: Events, resolver: Resolver) -> None:
        """Make the dispatcher, once the parts are there that it calls."""
        self.dispatcher = Dispatcher(
            runner=self.runner,
            timekeeper=self.timekeeper,
            look_back=events.look_back,
            resolve=resolver.ask,
            send=self.mailbox.send,
            match=events.match,
            others=Others(self._shared.offers, self._offer, self._withdraw_job, self._report_lost),
            report_mock=self._report_mock,
            slot_hints=self.slot_hints,
        )

    async def start(self) -> None:
        """Fetch mailbox messages and jobs once, then repeatedly; begin to report timers."""
        loops, settings, store = self._shared.loops, self._shared.settings, self._shared.store
        if await self.mailbox.begin():
            self._mail_hint.set()
        self.timekeeper.start(loops)
        loops.tick("mailbox", settings.mail_every, self.mailbox.run_once, hint=self._mail_hint)
        await self.jobs.run_once()
        every = max(settings.jobs_every if store.is_shared else _SELDOM, settings.jobs_every)
        self.jobs.start(loops, every)

    def stop(self) -> None:
        """Report no more timers and mocks: instances that go on by them would never be at rest."""
        self._is_stopped = True
        self.timekeeper.stop()

    def start_sharing(self, look: Callable[[], Awaitable[None]]) -> None:
        """Look for timers of other processes, and retry data that could not be read.

        First, `look` at what else other processes left.
        """

        async def look_at_others() -> None:
            await look()
            await self._look_at_timers()

        every = self._shared.settings.timers_every
        self._shared.loops.tick("timers of others", every, look_at_others)

    # -- turns

    def concluded(self, draft: Draft) -> None:
        """Perform the effects of one instance's share of a turn."""
        state, owed = draft.state, draft.owed
        if owed is not None and owed.mail_taken:
            started = state.version > 0
            self.mailbox.taken(draft.instance_id, owed.mail_taken, started=started)
        if state.status.is_final and not draft.before.status.is_final:
            self._families.ended(state.led_to_by)
        self.dispatcher.perform(draft)
        if owed is not None and draft.policies.limited:
            self._tend_limited(draft)

    def left_alone(self, request: Request) -> None:
        """Keep the timer, or the mailbox message, of an instance that does not exist here."""
        if isinstance(request.input, TimerDue):
            self.timekeeper.park(request.instance_id, request.input)
        self.mailbox.let_go(request)

    def leave_unreadable(
        self, orphan: Orphan, requests: Sequence[Request], error: TenutoError
    ) -> None:
        """Give an instance that this program cannot read back to processes that can."""
        if not self._shared.store.is_shared:
            # No other process can take it: it waits for the next program that opens the store.
            for request in requests:
                self.left_alone(request)
            return
        self.forget(orphan.instance_id)
        self._turns.watchers.cannot_see(orphan.instance_id, error)
        for request in requests:
            if request.mail_id is not None:
                self.mailbox.given_back(MailKey(request.mail_id, request.instance_id))
        self.unreadable.instance(orphan, requests, error)

    def unreadable_job(self, lease: Lease, error: TenutoError) -> None:
        """Give a job back whose instance this program cannot read."""
        if self._shared.store.is_shared:
            self.unreadable.job(lease, error)

    def unreadable_jobs(self, leases: Sequence[Lease], error: TenutoError) -> None:
        """Give jobs back whose instance this program cannot read."""
        for lease in leases:
            self.unreadable_job(lease, error)

    def reported(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        """Take the result of an attempt that ran in this process."""
        jobs = self.jobs
        request = (
            jobs.request_of(instance_id, report) if jobs.leases else Request(instance_id, report)
        )
        self._turns.report(request)

    # -- limits of tasks

    def _tend_limited(self, draft: Draft) -> None:
        """Claim jobs of tasks with limits that are there, or may begin, since this turn."""
        for job in draft.jobs_offered:
            if job.is_limited:
                self.jobs.offered(job.tenant, job.task_id)
        limited, plan = draft.policies.limited, draft.held.plan
        for key in draft.jobs_ended:
            task_id = plan.task_of(key.node)
            if task_id is not None and task_id in limited:
                self.freed(draft.held.tenant, task_id)

    def freed(self, tenant: str, task_id: str) -> None:
        """An attempt of a task with limits has ended: the next one may begin, anywhere."""
        self.jobs.freed(tenant, task_id)
        for heard in self.task_freed:
            heard(tenant, task_id)
        if not self.jobs.takes(task_id):
            self._announce()

    def _announce(self) -> None:
        """Send a hint to other processes, which may have workers or room for the next attempt."""
        if self._shared.store.is_shared and not self._is_announcing:
            self._is_announcing = True
            _ = self._shared.background.spawn(self._announced())

    async def _announced(self) -> None:
        # What ends from now on is announced anew.
        self._is_announcing = False
        with suppress(StoreUnavailable):
            await self._shared.store.members.hint(())

    def _limits_changed(self) -> None:
        self.jobs.look()
        for heard in self.tasks_freed:
            heard()

    def freed_elsewhere(self) -> None:
        """Another process sent a hint: perhaps attempts of tasks with limits have ended."""
        if self._definitions.declared_tasks.has_limits:
            self._limits_changed()

    # -- other processes

    def hint(self, owners: Collection[str]) -> None:
        """Notify other processes of input for instances that they own."""
        _ = self._shared.background.spawn(self.hinted(owners))

    async def hinted(self, owners: Collection[str]) -> None:
        # They poll too, only later.
        with suppress(StoreUnavailable):
            await self.mailbox.put_back()
            await self._shared.store.members.hint(owners)

    def mail_hint(self) -> None:
        """There may be mailbox messages."""
        self._mail_hint.set()

    def granted(self, grant: Grant) -> bool:
        """Hand the message of a pass over to its instance; False: it is not for this process."""
        if self._shared.store.is_shared and grant.owner != self._turns.process_id:
            return False
        message = SendMail(id=grant.mail_id, to=grant.instance_id, input=grant.input, at=grant.at)
        self.mailbox.send(message, grant.tenant)
        return True

    def mail_sent(self, owners: Collection[str]) -> None:
        """There are mailbox messages for instances of these processes, or of none."""
        self._mail_hint.set()
        others = set(owners) - {self._turns.process_id}
        if others:
            self.hint(others)

    def inherited(self) -> None:
        """Look at the rows that dead processes left."""
        self.timekeeper.look()
        self._mail_hint.set()
        self.slot_hints.asked()
        self.jobs.look()

    def forget(self, instance_id: str) -> None:
        """Stop all work on an instance here."""
        self.runner.abandon(instance_id)
        self.timekeeper.forget(instance_id)
        self.jobs.forget(instance_id)

    def let_all_go(self) -> int:
        """Stop all work under a process id that was declared dead; returns the lost attempts."""
        self.timekeeper.let_all_go()
        self.mailbox.let_all_go()
        self.jobs.let_all_go()
        return self.runner.abandon()

    # -- callbacks of the parts

    async def _look_at_timers(self) -> None:
        await self.unreadable.run_once()
        self.timekeeper.look()

    def _offer(self, instance_id: str, order: StartAttempt) -> None:
        offer = OfferJob(
            order.node,
            order.iteration,
            order.attempt,
            order.task_id,
            order.timeout,
            order.heartbeat_timeout,
        )
        self._turns.report(Request(instance_id, offer))

    def _report_lost(self, instance_id: str, lost: AttemptLost) -> None:
        self._turns.report(Request(instance_id, lost))

    def _report_mock(self, instance_id: str, order: StartAttempt, mock: Mock) -> None:
        if self._is_stopped:
            return  # the next process gives it
        report = mocked(order, mock)
        # Like any other result it comes after the turn, never from within it.
        loop = asyncio.get_running_loop()
        loop.call_soon(self._turns.report, Request(instance_id, report))

    def _withdraw_job(self, key: JobKey) -> None:
        if self.jobs.withdraw(key):
            _ = self._shared.background.spawn(self.jobs.withdraw_all())

    def _start_job(self, held: Held, key: JobKey) -> bool:
        policies = self._definitions.policies.of(held.tenant)
        order = outstanding_attempt(held.plan, held.state, policies, key[1:])
        if order is None:
            return False
        context = context_for(held, held.state, order, context_of(held))
        now = self._shared.clock.now()
        self.runner.start(held.state.id, claimed(held.plan, order, policies, now), context)
        return True

    def _unreadable_message(self, message: MailKey) -> None:
        if self._shared.store.is_shared:
            self.mailbox.given_back(message)
            self.unreadable.message(message)

    def _given_back(self, request: Request) -> None:
        if isinstance(request.input, TimerDue):
            self.timekeeper.let_go(request.instance_id, request.input)
