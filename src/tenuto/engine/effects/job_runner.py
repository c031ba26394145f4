"""Runs attempts that were offered to any process with their task, under leases.

A lease is extended for as long as its attempt runs. When it lapses, the process that notices
reports the attempt as lost: at once when its process is dead, and as stopped when that stopped in
good order. A report counts only under a valid lease; a late one is refused. The answer to a claim
may get lost: then the process reads its leases, and begins with those that it did not know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from math import inf

import msgspec

from tenuto.engine.effects.limited_jobs import LimitedJobs, Places
from tenuto.engine.loops import Loops
from tenuto.engine.turns.held import Held, Place
from tenuto.engine.turns.loader import Loader
from tenuto.engine.turns.requests import Request
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded
from tenuto.model.task_definition import TaskLimits
from tenuto.ports import Clock
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.jobs import (
    Hindrance,
    JobClaims,
    JobKey,
    Lapsed,
    Lease,
    LimitedClaim,
    LimitedTask,
)
from tenuto.store.protocol import Store
from tenuto.tasks.failures import cancelled, too_late, too_silent
from tenuto.tasks.registry import Registry

log = logging.getLogger("tenuto.jobs")

LEASE = timedelta(seconds=30)
_EXTEND_EVERY = LEASE.total_seconds() / 3
_FORGET_AFTER = 2 * LEASE.total_seconds()
"""Seconds after which a lease that was not extended has lapsed, whatever the clocks say."""
_A_MOMENT = 0.002
MOST_AT_ONCE = 100
"""The most offered jobs that a process works on at a time."""
BATCH = 100
_LOOK_EVERY = 30.0


class JobRunner:
    """The jobs that this process works on, and their leases."""

    def __init__(  # noqa: PLR0913 - what it calls
        self,
        *,
        store: Store,
        loader: Loader,
        registry: Registry,
        clock: Clock,
        report: Callable[[Request], None],
        start: Callable[[Held, JobKey], bool],
        stop: Callable[[JobKey], None],
        unreadable: Callable[[Lease, TenutoError], None],
        at_hand: Callable[[str], Held | None],
        limited: Callable[[str], Mapping[str, TaskLimits]],
        places: Places,
        has_limits: Callable[[], bool],
        announce: Callable[[], None],
    ) -> None:
        """`start` begins a job, if it is still owed.

        `unreadable`: the job's instance is for a process whose program can read it. `at_hand`: an
        instance that this process runs. `limited`: the tasks of a tenant that have limits.
        `places`: how many attempts of a task would begin here at once. `announce`: other processes
        may begin with jobs of tasks with limits.
        """
        self._at_hand = at_hand
        self._has_limits = has_limits
        self._announce = announce
        self._limits = LimitedJobs(registry, limited, places)
        self._store = store
        self._loader = loader
        self._registry = registry
        self._clock = clock
        self._report = report
        self._start = start
        self._stop = stop
        self._unreadable = unreadable
        self.leases: dict[JobKey, int] = {}
        self._of_limited: set[JobKey] = set()
        """Those of tasks with limits; the others are bounded together."""
        self._granted: list[Lease] = []
        """Leases whose jobs have not begun; a job that has not begun is never lost."""
        self._let_go: dict[Lease, float] = {}
        """Leases that this process is done with, and since when: their rows may stay for a
        while."""
        self._is_in_doubt = False
        """Whether a claim with an unknown outcome may have leased jobs to this process."""
        self._reported_lapsed: set[Lapsed] = set()
        self._is_stopping = False
        self._cancelled: list[JobKey] = []
        self._is_withdrawing = False
        self._lapse_at = inf
        """By `ticks`: when the next lease of a worker lapses, as far as this process knows."""
        self._hint = asyncio.Event()
        """Set when that has come nearer."""
        self._look_at = 0.0
        """By `ticks`: when to look for jobs of tasks with limits, where no task has any."""
        self._rates: set[tuple[str, str]] = set()
        """Tasks that are looked at again when their rate lets an attempt begin."""
        self._every = inf
        """Seconds between passes while no lease is held."""
        self._due = 0.0
        """By `ticks`: when the next pass comes, unless a lease lapses before."""

    def offered(self, tenant: str, task_id: str) -> None:
        """A job of a task with limits is there."""
        if self._limits.offered(tenant, task_id):
            self._hint.set()

    def freed(self, tenant: str, task_id: str) -> None:
        """A job of a task with limits has ended."""
        if self._limits.freed(tenant, task_id):
            self._hint.set()

    def look(self) -> None:
        """Jobs of tasks with limits may have ended in other processes, or the limits changed."""
        self._limits.look_at_all()
        self._hint.set()

    def has_room(self) -> None:
        """Another attempt may begin within the bounds of this process."""
        if self._limits.has_room():
            self._hint.set()

    def takes(self, task_id: str) -> bool:
        """Whether a job of a task would begin here at once."""
        return self._limits.takes(task_id)

    def request_of(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> Request:
        """The request that reports a result: under its lease, if it has one."""
        key = JobKey(instance_id, report.node, report.iteration, report.attempt)
        token = self.leases.get(key)
        if token is not None:
            self._drop(key, token)
        return Request(instance_id, report, lease=token)

    def stop(self) -> None:
        """Claim no more: the jobs would not begin."""
        self._is_stopping = True

    def forget(self, instance_id: str) -> None:
        """Drop the leases on jobs of an instance."""
        for key, token in list(self.leases.items()):
            if key.instance_id == instance_id:
                self._drop(key, token)

    def let_all_go(self) -> None:
        """Drop all leases: they are lost."""
        self.leases.clear()
        self._of_limited.clear()
        self._granted.clear()
        self._let_go.clear()
        self._is_in_doubt = False
        self._reported_lapsed.clear()

    def start(self, loops: Loops, every: float) -> None:
        """Claim and extend leases, every so many seconds."""
        self._every = every
        first = every if self._store.is_shared else 0.0
        self._due = self._clock.ticks() + first
        again = min(every, _EXTEND_EVERY)
        loops.run("jobs", self._tend, hint=self._hint, first=first, again=again)

    async def _tend(self) -> float:
        """One pass, if it is time; returns the seconds until the next one."""
        await self.run_limited()
        if (left := self._left()) > 0:
            return left  # a lease lapses sooner than known before: only the pause changes
        pause = min(self._every, _EXTEND_EVERY) if self.leases else self._every
        due, self._due = self._clock.ticks() + pause, 0.0  # still due if the store is unavailable
        await self.extend()
        await self.run_once()
        if self._has_limits() or self._clock.ticks() >= self._look_at:
            # Limits that no process knows any more may have left jobs.
            self._look_at = self._clock.ticks() + _LOOK_EVERY
            self._limits.look_at_all()
            await self.run_limited()
        await self._look_ahead()
        self._due = min(due, self._due) if self._due else due
        return self._left()

    def _left(self) -> float:
        return min(self._due, self._lapse_at) - self._clock.ticks()

    def foresee(self, seconds: float) -> None:
        """A lease lapses after so many seconds unless it is extended: run a pass then."""
        at = self._clock.ticks() + seconds + _A_MOMENT
        if at < self._lapse_at:
            self._lapse_at = at
            self._hint.set()

    def withdraw(self, key: JobKey) -> bool:
        """A job was cancelled; returns whether `withdraw_all` has to be called."""
        self._cancelled.append(key)
        return not self._is_withdrawing

    async def withdraw_all(self) -> None:
        """End cancelled jobs that have not begun; those under way have their grace period."""
        self._is_withdrawing = True
        try:
            while self._cancelled:
                keys, self._cancelled = self._cancelled, []
                taken = await self._store.jobs.take_cancelled(keys, LEASE, self._clock.now())
                for lease in taken:
                    self._let_go[lease] = self._clock.ticks()
                    self._report(_cancelled(lease))
        except StoreUnavailable as error:
            # They end with their grace period, like those under way.
            log.warning("jobs: cancelled offers were not withdrawn at once: %s", error)
        finally:
            self._is_withdrawing = False

    async def _look_ahead(self) -> None:
        """Where no other process polls often, ask when the next lease lapses."""
        if self._store.is_shared and self._clock.ticks() < self._lapse_at:
            return
        self._lapse_at = inf
        ahead = await self._store.jobs.next_lapse(self._clock.now())
        if ahead is not None:
            self.foresee(ahead.total_seconds())

    async def run_once(self) -> int:
        """Claim jobs, and report lapsed leases; returns how many jobs were claimed."""
        self._forget_lapsed()
        known = len(self._granted)
        if self._is_in_doubt:
            await self._take_up()
        self._is_in_doubt = True
        try:
            claims = await self._claim()
        except CommitUnknown:
            # The claim may still be under way: the next pass asks again.
            await self._take_up()
        else:
            self._is_in_doubt = False
            self._report_lapsed(claims.lapsed)
            self._take_on(claims.granted)
        taken_on = len(self._granted) - known
        await self._begin()
        return taken_on

    async def run_limited(self) -> int:
        """Claim jobs of tasks with limits, as many as these let; returns how many."""
        taken_on = 0
        while not self._is_stopping and self._limits.is_due:
            if self._limits.looks_at_all:
                self._limits.want(await self._store.jobs.limited_tasks())
            tasks = self._limits.take()
            if self._limits.leaves_some:
                self._limits.leaves_some = False
                self._announce()
            if not tasks:
                continue
            try:
                granted = await self._claim_limited(tasks)
            finally:
                self._limits.over(tasks)
            if granted is None:
                return taken_on
            taken_on += granted
        return taken_on

    async def _claim_limited(self, tasks: Sequence[LimitedTask]) -> int | None:
        """Claim jobs of these tasks, and begin with them; how many; None: that is not known."""
        limit = min(BATCH, sum(task.most for task in tasks))
        claim = LimitedClaim(tuple(tasks), limit, LEASE)
        try:
            found = await self._store.jobs.claim_limited(claim, self._clock.now())
        except CommitUnknown:
            # As with other claims: what was granted begins, and is looked at again.
            self._is_in_doubt = True
            self._limits.put_back(tasks)
            await self._take_up()
            await self._begin()
            return None
        except StoreUnavailable:
            self._limits.put_back(tasks)
            raise
        leases = [grant.lease for grant in found.granted]
        self._of_limited.update(lease.key for lease in leases)
        self._take_on(leases)
        self._limits.answered(tasks, granted=len(leases), limit=limit, hindered=found.hindered)
        for each in found.hindered:
            if each.seconds is not None:
                self._wait_for_rate(each)
        await self._begin()
        return len(leases)

    def _wait_for_rate(self, hindrance: Hindrance) -> None:
        pair = (hindrance.tenant, hindrance.task_id)
        if pair not in self._rates:
            self._rates.add(pair)

            def over() -> None:
                self._rates.discard(pair)
                self.freed(*pair)

            self._clock.call_later((hindrance.seconds or 0.0) + _A_MOMENT, over)

    async def _claim(self) -> JobClaims:
        most = MOST_AT_ONCE - (len(self.leases) - len(self._of_limited))
        room = 0 if self._is_stopping else min(BATCH, most)
        return await self._store.jobs.claim(
            self._limits.without_full(self._registry) if room > 0 else (),
            max(room, 0),
            LEASE,
            self._clock.now(),
            # Lapsed leases of unreadable instances stay, and must not hide others.
            lapsed=BATCH + len(self._reported_lapsed),
        )

    async def _take_up(self) -> None:
        """Begin with jobs that a claim with an unknown outcome has leased to this process."""
        if self._is_stopping:
            return  # left, as in every clean stop
        found = await self._store.jobs.leases(self._clock.now())
        unheard_of = [
            lease
            for lease in found
            if self.leases.get(lease.key) != lease.token and lease not in self._let_go
        ]
        if unheard_of:
            # It may have been a while: they begin with a full lease, or not at all.
            held = await self._store.jobs.extend(unheard_of, LEASE, self._clock.now())
            self._take_on([lease for lease in unheard_of if lease in held])

    def _take_on(self, leases: list[Lease]) -> None:
        self.leases.update(leases)
        self._granted += leases
        if leases:
            # Where a pass comes seldom, the next one would find them lapsed.
            extend_at = self._clock.ticks() + _EXTEND_EVERY
            self._due = min(self._due or inf, extend_at)

    def _drop(self, key: JobKey, token: int) -> None:
        del self.leases[key]
        self._of_limited.discard(key)
        self._let_go[Lease(key, token)] = self._clock.ticks()

    def _forget_lapsed(self) -> None:
        before = self._clock.ticks() - _FORGET_AFTER
        while self._let_go and next(iter(self._let_go.values())) < before:
            del self._let_go[next(iter(self._let_go))]

    async def extend(self) -> int:
        """Extend the leases of running jobs; returns how many."""
        if not self.leases:
            return 0
        leases = [Lease(key, token) for key, token in self.leases.items()]
        held = await self._store.jobs.extend(leases, LEASE, self._clock.now())
        for lost in set(leases) - held:
            # A result may have been reported, and its job withdrawn, meanwhile.
            if self.leases.get(lost.key) == lost.token:
                log.warning(
                    "instance=%s: the lease on %s is lost", lost.key.instance_id, lost.key.node
                )
                del self.leases[lost.key]
                self._of_limited.discard(lost.key)
                self._stop(lost.key)
        return len(held)

    def _report_lapsed(self, lapsed: Iterable[Lapsed]) -> None:
        fresh = set(lapsed) - self._reported_lapsed
        self._reported_lapsed = set(lapsed)
        for each in sorted(fresh):
            self._report(Request(each.lease.key.instance_id, _end(each), lease=each.lease.token))

    async def _begin(self) -> None:
        if not self._granted:
            return
        places: dict[str, list[Place]] = {}
        for key, _ in self._granted:
            places.setdefault(key.instance_id, []).append(key[1:])
        # One at hand may be behind the store: the turn that offered a job is durable before this
        # process has heard so.
        loaded: dict[str, Held | TenutoError] = {
            id: known
            for id, of_instance in places.items()
            if (known := self._at_hand(id)) is not None and known.has_jobs(of_instance)
        }
        if missing := sorted(places.keys() - loaded.keys()):
            loaded |= await self._loader.load(missing)
        granted, self._granted = self._granted, []
        for key, token in granted:
            if self.leases.get(key) != token:
                continue  # lost meanwhile
            held = loaded.get(key.instance_id)
            if isinstance(held, Held) and self._start(held, key):
                continue
            # A job that is not owed any more is left to lapse.
            self._drop(key, token)
            if isinstance(held, TenutoError):
                self._unreadable(Lease(key, token), held)


def _cancelled(lease: Lease) -> Request:
    key = lease.key
    ended = TaskFailed(
        node=key.node, iteration=key.iteration, attempt=key.attempt, error=cancelled()
    )
    return Request(key.instance_id, ended, lease=lease.token)


def _end(lapsed: Lapsed) -> AttemptLost | TaskFailed:
    """The report on an attempt with a lapsed lease: lost, too slow, or silent."""
    key, overrun = lapsed.lease.key, lapsed.overrun
    if overrun is None:
        return AttemptLost(
            node=key.node, iteration=key.iteration, attempt=key.attempt, clean=lapsed.clean
        )
    if overrun.cause == "timeout":
        failure = too_late(overrun.seconds)
    else:
        failure = too_silent(overrun.seconds, msgspec.json.decode(overrun.details or "null"))
    return TaskFailed(node=key.node, iteration=key.iteration, attempt=key.attempt, error=failure)
