"""Runs attempts that were offered to any process with their task, under leases.

A lease is extended for as long as its attempt runs. When it lapses, the process that notices
reports the attempt as lost: at once when its process is dead, and as stopped when that stopped in
good order. A report counts only under a valid lease; a late one is refused. The answer to a claim
may get lost: then the process reads its leases, and begins with those that it did not know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from math import inf

import msgspec

from tenuto.engine.loops import Loops
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.engine.turns.requests import Request
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded
from tenuto.ports import Clock
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.jobs import JobClaims, JobKey, Lapsed, Lease
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


class JobRunner:
    """The jobs that this process works on, and their leases."""

    def __init__(
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
    ) -> None:
        """`start` begins a job, if it is still owed.

        `unreadable`: the job's instance is for a process whose program can read it.
        """
        self._store = store
        self._loader = loader
        self._registry = registry
        self._clock = clock
        self._report = report
        self._start = start
        self._stop = stop
        self._unreadable = unreadable
        self._leases: dict[JobKey, int] = {}
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
        self._every = inf
        """Seconds between passes while no lease is held."""
        self._due = 0.0
        """By `ticks`: when the next pass comes, unless a lease lapses before."""

    def request_of(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> Request:
        """The request that reports a result: under its lease, if it has one."""
        if not self._leases:
            return Request(instance_id, report)
        key = JobKey(instance_id, report.node, report.iteration, report.attempt)
        token = self._leases.get(key)
        if token is not None:
            self._drop(key, token)
        return Request(instance_id, report, lease=token)

    def stop(self) -> None:
        """Claim no more: the jobs would not begin."""
        self._is_stopping = True

    def forget(self, instance_id: str) -> None:
        """Drop the leases on jobs of an instance."""
        for key, token in list(self._leases.items()):
            if key.instance_id == instance_id:
                self._drop(key, token)

    def let_all_go(self) -> None:
        """Drop all leases: they are lost."""
        self._leases.clear()
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
        if (left := self._left()) > 0:
            return left  # a lease lapses sooner than known before: only the pause changes
        pause = min(self._every, _EXTEND_EVERY) if self._leases else self._every
        due, self._due = self._clock.ticks() + pause, 0.0  # still due if the store is unavailable
        await self.extend()
        await self.run_once()
        await self._look_ahead()
        self._due = due
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

    async def _claim(self) -> JobClaims:
        room = 0 if self._is_stopping else min(BATCH, MOST_AT_ONCE - len(self._leases))
        return await self._store.jobs.claim(
            tuple(self._registry) if room > 0 else (),
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
            if self._leases.get(lease.key) != lease.token and lease not in self._let_go
        ]
        if unheard_of:
            # It may have been a while: they begin with a full lease, or not at all.
            held = await self._store.jobs.extend(unheard_of, LEASE, self._clock.now())
            self._take_on([lease for lease in unheard_of if lease in held])

    def _take_on(self, leases: list[Lease]) -> None:
        self._leases.update(leases)
        self._granted += leases

    def _drop(self, key: JobKey, token: int) -> None:
        del self._leases[key]
        self._let_go[Lease(key, token)] = self._clock.ticks()

    def _forget_lapsed(self) -> None:
        before = self._clock.ticks() - _FORGET_AFTER
        while self._let_go and next(iter(self._let_go.values())) < before:
            del self._let_go[next(iter(self._let_go))]

    async def extend(self) -> int:
        """Extend the leases of running jobs; returns how many."""
        if not self._leases:
            return 0
        leases = [Lease(key, token) for key, token in self._leases.items()]
        held = await self._store.jobs.extend(leases, LEASE, self._clock.now())
        for lost in set(leases) - held:
            # A result may have been reported, and its job withdrawn, meanwhile.
            if self._leases.get(lost.key) == lost.token:
                log.warning(
                    "instance=%s: the lease on %s is lost", lost.key.instance_id, lost.key.node
                )
                del self._leases[lost.key]
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
        ids = {lease.key.instance_id for lease in self._granted}
        loaded = await self._loader.load(sorted(ids))
        granted, self._granted = self._granted, []
        for key, token in granted:
            if self._leases.get(key) != token:
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
