"""Admits requests to targets, within limits and circuit breakers that all processes share.

A request that may not be sent yet waits as a coroutine, in order of arrival. A process reserves a
share of a target's concurrency for a few requests more than it has, so that most of them are
admitted without a write; of a target with a rate limit, or with little room left, it reserves what
it sends. What others have done to the state is read once a second while a target is in use.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, OrderedDict
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.model.causes import RequestWait
from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import TenutoError
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock, Ids
from tenuto.store.protocol import Store
from tenuto.targets.names import kind_of, name_of
from tenuto.targets.state import (
    DEFAULT_CONCURRENCY,
    FORGOTTEN_AFTER,
    Hindrance,
    Policy,
    TargetState,
    allowed,
    breaker_state,
    ended,
    hindrance,
    in_flight,
    others_want,
    part_of,
    taken,
    wanting,
)
from tenuto.targets.states import LocalStates, States, TargetKey, TargetStates

log = logging.getLogger("tenuto.targets")

Place: TypeAlias = tuple[str, str, str, int]
"""The attempt that waits: instance, node, iteration, attempt."""

_READ_EVERY = 1.0
"""Seconds after which a process knows what others did to a target that it uses."""
_OPEN_READ_EVERY = 5.0
"""Seconds between reads of an open breaker of a target that is not in use."""
_POLL_EVERY = 0.2
"""Seconds until a request looks again whether others have left room for it."""
_RENEW_AFTER = FORGOTTEN_AFTER // 3
"""Milliseconds after which a share is renewed."""
_TRUSTED = FORGOTTEN_AFTER - _RENEW_AFTER
"""Milliseconds for which requests are admitted on a share that was not renewed."""
_SPARE = 32
"""The most requests that a share is larger than what is under way."""
_OF_THE_REST = 4
"""One of so many free places is reserved beyond what is needed."""
_LAST_WRITES = 3.0
"""Seconds in which a process that stops gives its shares back."""
_FORGET_AFTER = 60.0
"""Seconds after which a target that is not used is forgotten, with its failures."""


class Passage(NamedTuple):
    """A request that was admitted."""

    key: TargetKey
    sent_at: int


class NotAdmitted(NamedTuple):
    """A request that cannot be admitted in its time: the breaker is open for longer."""

    seconds: float
    """Until the target is probed again."""


class _Waiter(Struct, frozen=True, eq=False):
    answer: asyncio.Future[Passage | NotAdmitted]
    since: int
    until: float
    """Milliseconds; the request has no time after that."""
    place: Place | None


class _Outcome(NamedTuple):
    sent_at: int
    is_well: bool | None


class _Next(NamedTuple):
    """What follows from a change of the shared state, once it is made."""

    state: TargetState
    at: int
    admitted: int
    """How many requests."""
    share: int
    share_at: int


class _Target:
    """What this process knows of one target."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.known = TargetState()
        """The shared state, as this process last read it."""
        self.waiting: OrderedDict[_Waiter, None] = OrderedDict()
        """In order of arrival; each may go in the midst of a hundred thousand."""
        self.impatient: dict[_Waiter, None] = {}
        """Those of them that do not wait for ever."""
        self.under_way = 0
        self.share = 0
        """Requests that may be under way here without another change of the shared state."""
        self.share_at = 0
        self.yields = False
        """Whether other processes wait for a place: then each place is given back."""
        self.next = _Next(self.known, 0, 0, 0, 0)
        self.outcomes: list[_Outcome] = []
        self.unrecorded = 0
        """Outcomes that the shared state does not have yet, with those being written."""
        self.hindrance: Hindrance | None = None
        """What the waiters wait for."""
        self.used_at = 0.0
        """By `ticks`."""
        self.called = asyncio.Event()
        self.server: asyncio.Task[None] | None = None

    @property
    def is_in_use(self) -> bool:
        return bool(self.waiting or self.under_way or self.unrecorded)

    @property
    def most(self) -> int:
        return self.policy.limits.concurrency or DEFAULT_CONCURRENCY

    def join(self, waiter: _Waiter) -> None:
        self.waiting[waiter] = None
        if waiter.until < math.inf:
            self.impatient[waiter] = None

    def let_go(self, waiter: _Waiter) -> None:
        """It does not wait any more."""
        self.waiting.pop(waiter, None)
        self.impatient.pop(waiter, None)

    def first(self) -> _Waiter | None:
        """The first of those that wait, which waits no more; None: there is none."""
        if not self.waiting:
            return None
        waiter, _ = self.waiting.popitem(last=False)
        self.impatient.pop(waiter, None)
        return waiter

    def heard(self, outcome: _Outcome) -> None:
        self.outcomes.append(outcome)
        self.unrecorded += 1


class Gate:
    """Admits the requests of one process."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        states = TargetStates(store, clock, ids)
        self._states: States = states if store.is_shared else LocalStates(states)
        self._ids = ids
        self._targets: dict[TargetKey, _Target] = {}

    @cached_property
    def _name(self) -> str:
        """The name of this process's shares; made when there is one."""
        return f"gate-{self._ids.short()}"

    async def enter(
        self,
        key: TargetKey,
        policy: Policy,
        *,
        place: Place | None = None,
        seconds: float = math.inf,
    ) -> Passage | NotAdmitted:
        """Wait until a request may be sent; `leave` says how it ended.

        A request whose target's breaker stays open for longer than `seconds` is not admitted.
        """
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = _Target(policy)
        target.policy, target.used_at = policy, self._clock.ticks()
        now = self._now()
        if not target.waiting and self._may_go(target, now):
            target.under_way += 1
            return Passage(key, now)
        answer: asyncio.Future[Passage | NotAdmitted] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(answer, now, now + seconds * 1000, place)
        target.join(waiter)
        self._call(key, target)
        try:
            return await answer
        except asyncio.CancelledError:
            # It may have been admitted, or left out, in the same moment.
            if answer.cancelled():
                target.let_go(waiter)
            elif isinstance(admitted := answer.result(), Passage):
                self.leave(admitted, is_well=None)
            raise

    def leave(self, passage: Passage, *, is_well: bool | None) -> None:
        """A request has ended; `is_well`: whether the target works, None: not known."""
        target = self._targets.get(passage.key)
        if target is None:
            return  # the gate was closed meanwhile
        target.under_way -= 1
        target.used_at = self._clock.ticks()
        if _is_news(target.known, passage.sent_at, is_well=is_well):
            target.heard(_Outcome(passage.sent_at, is_well))
            self._call(passage.key, target)
            return
        now = self._now()
        while target.waiting and self._may_go(target, now):
            self._admit(passage.key, target, now)
        if target.waiting or target.share - target.under_way > target.most // 2:
            # Others may wait for the places; a few are given back with the next pass.
            self._call(passage.key, target)

    def waits(self, instance_id: str) -> dict[tuple[str, str, int], RequestWait]:
        """Node, iteration and attempt → what requests of an instance wait for in this process."""
        return {
            waiter.place[1:]: RequestWait(
                target=name_of(key),
                obstacle=held.obstacle,
                since=from_epoch_ms(waiter.since),
                until=None if held.until is None else from_epoch_ms(held.until),
            )
            for key, target in self._targets.items()
            if (held := target.hindrance) is not None
            for waiter in target.waiting
            if waiter.place is not None and waiter.place[0] == instance_id
        }

    def breakers(self) -> Counter[tuple[str, ...]]:
        """Kind of target and state of its breaker → how many, as far as this process knows."""
        now = self._now()
        return Counter(
            (kind_of(key), breaker_state(target.known, now))
            for key, target in self._targets.items()
        )

    def waiting(self) -> Counter[tuple[str, ...]]:
        """Kind of target and obstacle → how many requests of this process wait."""
        found = Counter[tuple[str, ...]]()
        for key, target in self._targets.items():
            if target.waiting and target.hindrance is not None:
                found[kind_of(key), target.hindrance.obstacle] += len(target.waiting)
        return found

    def under_way(self) -> Counter[tuple[str, ...]]:
        """Kind of target → how many requests of this process are under way."""
        found = Counter[tuple[str, ...]]()
        for key, target in self._targets.items():
            found[kind_of(key),] += target.under_way
        return found

    def open_breakers(self, tenant: str) -> dict[str, TargetState]:
        """The targets of a tenant whose breaker is not closed, as far as this process knows."""
        now = self._now()
        return {
            name: target.known
            for (owner, name), target in self._targets.items()
            if owner == tenant and breaker_state(target.known, now) != "closed"
        }

    async def close(self) -> None:
        """Give back the shares; waiting requests have ended with their attempts."""
        targets, self._targets = self._targets, {}
        servers = [each.server for each in targets.values() if each.server is not None]
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
        try:
            async with asyncio.timeout(_LAST_WRITES):
                for key, target in targets.items():
                    target.waiting.clear()
                    target.impatient.clear()
                    target.under_way, target.used_at = 0, -math.inf
                    await self._pass(key, target)
                    await self._states.drop(key)
        except (TenutoError, TimeoutError) as error:
            # They expire.
            log.info("targets: shares not given back: %s", error)

    # -- one request

    def _may_go(self, target: _Target, now: int) -> bool:
        """Whether a request may be sent without a change of the shared state."""
        return (
            target.under_way < target.share
            and not target.unrecorded
            and not target.yields
            and now - target.share_at < _TRUSTED
            and target.policy.limits.rate_per_second is None
            and target.known.open_until is None
        )

    def _admit(self, key: TargetKey, target: _Target, sent_at: int) -> bool:
        """Admit the first request that was not cancelled; False if there is none."""
        while (waiter := target.first()) is not None:
            if not waiter.answer.done():
                target.under_way += 1
                waiter.answer.set_result(Passage(key, sent_at))
                return True
        return False

    # -- the shared state

    def _call(self, key: TargetKey, target: _Target) -> None:
        target.called.set()
        if target.server is None and self._targets.get(key) is target:
            target.server = asyncio.get_running_loop().create_task(
                self._serve(key, target), name=f"target {key[1]}"
            )
            target.server.add_done_callback(partial(self._ended, target))

    def _ended(self, target: _Target, server: asyncio.Task[None]) -> None:
        target.server = None
        if not server.cancelled() and (error := server.exception()) is not None:
            log.error("targets: a target is not served: %s", error, exc_info=error)
            while (waiter := target.first()) is not None:
                if not waiter.answer.done():
                    waiter.answer.set_exception(error)

    async def _serve(self, key: TargetKey, target: _Target) -> None:
        """Change the shared state as requests come and go, until the target is forgotten."""
        while True:
            target.called.clear()
            try:
                await self._pass(key, target)
                if self._is_forgotten(target):
                    await self._states.drop(key)
                    if not target.is_in_use:
                        self._targets.pop(key, None)
                        return
                pause = self._pause(target)
            except TenutoError as error:
                log.warning("targets: state not changed target=%s: %s", key[1], error)
                pause = OUTAGE_RETRY_SECONDS
            await self._clock.wait(target.called, pause)

    async def _pass(self, key: TargetKey, target: _Target) -> None:
        """Record outcomes, reserve a share, and admit requests."""
        outcomes, target.outcomes = target.outcomes, []
        try:
            await self._states.change(key, partial(self._changed, target, outcomes))
        except BaseException:
            target.outcomes[:0] = outcomes
            raise
        target.unrecorded -= len(outcomes)
        found = target.next
        target.known, target.share, target.share_at = found.state, found.share, found.share_at
        admitted = 0
        while admitted < found.admitted and self._admit(key, target, found.at):
            admitted += 1
        if found.admitted > admitted == 0 and found.state.probe_at == found.at:
            # The request that would have been the probe was cancelled.
            target.heard(_Outcome(found.at, None))
            target.called.set()
        self._look_at_waiters(target)

    def _changed(
        self, target: _Target, outcomes: list[_Outcome], state: TargetState
    ) -> TargetState:
        now, policy, me = self._now(), target.policy, self._name
        for sent_at, is_well in outcomes:
            state = ended(state, policy, sent_at=sent_at, is_well=is_well, now=now)
        if self._is_forgotten(target) and not in_flight(state, now, but=me):
            state = TargetState()
        room = allowed(state, policy, me, target.under_way, now)
        is_closed = state.open_until is None
        if is_closed:
            room = part_of(room, state, policy, me, mine=target.under_way, now=now)
        count = min(len(target.waiting), room)
        is_waiting = is_closed and len(target.waiting) > count
        state = wanting(state, me, is_waiting=is_waiting, is_served=count > 0, now=now)
        target.yields = others_want(state, me, now)
        share = self._share(target, state, count, now)
        mine = state.shares.get(me)
        if mine is not None and mine.count == share and now - mine.at < _RENEW_AFTER:
            share_at = mine.at
        else:
            share_at = now if share or mine is not None else 0
        if share_at == now or (count and not _is_free(state, policy)):
            state = taken(state, policy, me, count=count, mine=share, now=now)
            share_at = now
        target.next = _Next(state, now, count, share, share_at)
        # Until the change is made, no more requests may go than fit into both shares.
        target.share = min(target.share, share - count)
        return state

    def _share(self, target: _Target, state: TargetState, count: int, now: int) -> int:
        """How many requests of this process to reserve: a few more than it has, if it is in use."""
        needed = target.under_way + count
        is_free = _is_free(state, target.policy) and not target.yields
        if not is_free or self._idle(target) > _READ_EVERY:
            return needed
        free = target.most - in_flight(state, now, but=self._name) - needed
        spare = max(min(_SPARE, free // _OF_THE_REST), 0)
        mine = state.shares.get(self._name)
        if mine is not None and needed <= mine.count <= needed + 2 * spare:
            return mine.count
        return needed + spare

    def _look_at_waiters(self, target: _Target) -> None:
        """Say what waiters wait for, and refuse those that have no time for it."""
        if not target.waiting:
            target.hindrance = None
            return
        now = self._now()
        found = hindrance(target.known, target.policy, self._name, target.under_way, now)
        target.hindrance = found
        if found is None or found.obstacle != "breaker" or found.until is None:
            return
        for waiter in list(target.impatient):
            if waiter.until < found.until:
                target.let_go(waiter)
                if not waiter.answer.done():
                    waiter.answer.set_result(NotAdmitted((found.until - now) / 1000))

    def _pause(self, target: _Target) -> float:
        """Seconds until the next pass, if nothing happens before."""
        held = target.hindrance
        if target.waiting:
            if held is None or held.until is None:
                return _POLL_EVERY
            return min(max((held.until - self._now()) / 1000, 0.001), _READ_EVERY)
        if target.under_way or target.share:
            return _READ_EVERY
        if target.known.open_until is not None:
            return _OPEN_READ_EVERY
        return max(_FORGET_AFTER - self._idle(target), _READ_EVERY)

    def _idle(self, target: _Target) -> float:
        """Seconds for which a target was not used."""
        return 0.0 if target.is_in_use else self._clock.ticks() - target.used_at

    def _is_forgotten(self, target: _Target) -> bool:
        open_until = target.known.open_until
        return self._idle(target) >= _FORGET_AFTER and (
            open_until is None or self._now() >= open_until + _FORGET_AFTER * 1000
        )

    def _now(self) -> int:
        return epoch_ms(self._clock.now())


def _is_free(state: TargetState, policy: Policy) -> bool:
    """Whether requests are limited by concurrency alone."""
    return policy.limits.rate_per_second is None and state.open_until is None


def _is_news(state: TargetState, sent_at: int, *, is_well: bool | None) -> bool:
    """Whether the outcome of a request changes the state of a target."""
    if is_well is None:
        return state.probe_at == sent_at
    return not is_well or state.failures > 0 or state.open_until is not None
