"""The loop that admits instances: a pass after each turn that asks for slots or gives some back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from tenuto.core import Plan
from tenuto.core.deciding import Rejection
from tenuto.core.slots import key_of, wanted, wanted_in_parts
from tenuto.engine.events.slices import Slices
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.limits.pace import Pace
from tenuto.engine.limits.queue_bound import QueueBound
from tenuto.engine.limits.slot_hints import SlotHints
from tenuto.engine.meters import Histogram
from tenuto.engine.shared import Shared
from tenuto.engine.turns.quarantine import QUEUED
from tenuto.engine.turns.requests import RuledRequest
from tenuto.engine.turns.slot_rows import Counted, counted_at_start
from tenuto.expr import Steps
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import Overloaded
from tenuto.model.inputs import Started
from tenuto.model.policy import Policies
from tenuto.model.slots import SlotRequest, own_key
from tenuto.store.errors import DataRefused
from tenuto.store.parts.slot_rows import Admission, Grant

MOST_SECONDS = 300
"""The longest time after which a refused start is to be tried again."""
WAITS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1_800.0, 3_600.0, 86_400.0)
"""Bounds of waiting times in seconds: from a pass to a day."""
COUNTED_EVERY = 0.25
"""Seconds after which slots that were given back are counted, where no row waits for them."""
COUNTED_AT = 250
"""So many of them are counted at once."""


class Admissions:
    """Grants slots while there are some, whichever process asked for them or gave them back."""

    def __init__(
        self,
        shared: Shared,
        *,
        hints: SlotHints,
        limits: KnownLimits,
        free: FreeSlots,
        process_id: Callable[[], str],
        granted: Callable[[Grant], bool],
        sent: Callable[[Collection[str]], None],
        quarantined: Callable[[str, str, str], None],
    ) -> None:
        """`granted` hands a grant over; False where its message has to be read first.

        `quarantined` sets an instance aside, with the place and the reason.
        `sent` is called when there are messages to read, with the owners of their instances.
        """
        self._shared = shared
        self._store = shared.store
        self._hints = hints
        self._limits = limits
        self._free = free
        self._process_id = process_id
        self._granted = granted
        self._sent = sent
        self._quarantined = quarantined
        self._released = 0
        """How many slots were given back since the pass before."""
        self._passed_at = -math.inf
        self._is_more = True
        """Whether the pass before has left something; at first, what was left when the store was
        last open."""
        self._next_at: int | None = None
        """When something can begin that waits for its time, in milliseconds."""
        self._has_kept = False
        """Whether the pass before has kept slots for tenants with less than their share."""
        self.granted = 0
        """How many slots this process has granted."""
        self.waits: dict[str, Histogram] = {}
        """How long those had waited, in seconds, by the kind of the limit that was full."""
        self._slices = Slices(shared.clock, shared.sharing)
        """In which rules of the queue are evaluated."""
        self._begun = Counter[str]()
        """Starts that take their slots with their turns: how many of each limit."""
        self._pace = Pace(shared.clock)
        """Of instances that get their slots."""
        self._bound = QueueBound(
            shared.clock,
            shared.store.slots,
            admit=self._admit_now,
            refuse=self._queue_is_full,
        )

    def leave(self) -> None:
        """Refuse starts whose rules take long to evaluate: the process stops."""
        self._slices.end()

    def start(self) -> None:
        """Begin with what was left when the store was last open."""
        if not self._shared.settings.is_guest:
            loops = self._shared.loops
            loops.run("admission", self._run_and_rest, hint=self._hints.event, first=None)

    async def ruled(self, plan: Plan, started: Started, tenant: str) -> RuledRequest | None:
        """What a start asks for where the queue has rules; its turn does not evaluate them again.

        Rules may take some ten milliseconds, and a batch has a thousand starts: each rule is
        evaluated in a slice of its tenant.
        """
        rules = self._limits.rules(tenant)
        if rules is None or not rules.rules:
            return None
        slices, steps, before = self._slices.of(tenant), Steps(), 0
        parts = wanted_in_parts(plan, Policies(slots=rules), started, steps)
        with self._slices.for_answer():
            while True:
                await slices.turn()
                try:
                    next(parts)
                except StopIteration as end:
                    return RuledRequest(rules, end.value)
                finally:
                    slices.steps.taken += steps.taken - before
                    before = steps.taken

    @asynccontextmanager
    async def starting(
        self,
        plan: Plan,
        started: Started,
        tenant: str,
        *,
        bound: int | None,
        ruled: RuledRequest | None = None,
    ) -> AsyncIterator[None]:
        """The time of a start that needs a slot; Overloaded, with the time to try again after.

        Its definition may refuse starts beyond its limit, and the queue may have a bound.
        """
        await self._refuse_beyond_own_limit(plan, started, tenant)
        if bound is None:
            yield
            return
        counted = await self._counted(plan, started, tenant, ruled)
        if counted is not None and self._free.has_room(counted, beside=self._begun):
            # It takes its slot with its turn. Those that do so at the same time count as if they
            # had taken theirs.
            self._begun.update(counted.keys)
            try:
                yield
            finally:
                self._begun -= Counter(counted.keys)
            return
        async with self._bound.place(bound, tenant):
            yield

    async def _refuse_beyond_own_limit(self, plan: Plan, started: Started, tenant: str) -> None:
        """Where the limit is full; one that passes and is too late ends as REJECTED."""
        own = plan.definition.options.concurrency
        if own is None or own.on_full != "reject":
            return
        value = key_of(plan, "concurrency", own.key, started.input, self._slices.of(tenant).steps)
        if isinstance(value, Rejection):
            return  # the decision refuses it
        key = own_key(tenant, started.definition_id, value)
        if await self._store.slots.of_key(key, own.limit) >= own.limit:
            message = f"as many instances run as may: limit {key} {own.limit}"
            error = Overloaded(message, code="TEN-2837")
            error.retry_after = self.seconds_for(1)
            raise error

    async def _counted(
        self, plan: Plan, started: Started, tenant: str, ruled: RuledRequest | None
    ) -> Counted | None:
        """The limits that a start counts for; None: it waits for more than room under them.

        Starts of a batch come together, and the key of each may take some milliseconds.
        """
        if ruled is None:
            slices = self._slices.of(tenant)
            with self._slices.for_answer():
                await slices.turn()
            policies = Policies(slots=self._limits.rules(tenant))
            request = wanted(plan, policies, started, slices.steps)
        else:
            request = ruled.request
        if not isinstance(request, SlotRequest) or request.is_held_up:
            return None
        return counted_at_start(tenant, started, request)

    def _queue_is_full(self, bound: int) -> Overloaded:
        error = Overloaded(f"the queue is full: its bound is {bound:,}", code="TEN-2836")
        error.retry_after = self.seconds_for(max(1, bound // 10))
        return error

    def seconds_for(self, count: int) -> int:
        """How long it takes until so many are admitted, at the pace of the last minutes."""
        self._pace.seen(self.granted + self._free.taken)
        return max(1, min(MOST_SECONDS, math.ceil(self._pace.seconds_for(count))))

    def hint(self) -> None:
        """There may be slots to grant."""
        self._hints.asked()

    async def _run_and_rest(self) -> float | None:
        """One pass, and a rest until the next where slots are kept for other tenants.

        These take them by turns, which wait for the lock that passes hold. A request ends the rest:
        it may be one that found no kept slot.
        """
        clock = self._shared.clock
        began, before = clock.ticks(), self._passed_at
        seconds = await self.run_once()
        rest = 0.0
        if self._has_kept and self._passed_at != before:
            rest = self._shared.sharing.rest_after(clock.ticks() - began)
        self._hints.rest(is_resting=rest > 0)
        return rest or seconds

    async def run_once(self) -> float | None:
        """Grant what fits; returns the seconds until the next pass; None: the next hint.

        Where debounced requests wait, or some wait for a rate, it waits no longer than they do.
        """
        is_asked, released = self._hints.take()
        self._released += released
        is_due = self._seconds_to_next() == 0
        if not (is_asked or is_due or self._is_more):
            if self._has_kept and not self._released:
                return self._seconds_to_next()
            # Where no row waits, slots that were given back are counted together, a little later.
            soon = self._passed_at + COUNTED_EVERY - self._shared.clock.ticks()
            is_soon = self._released < COUNTED_AT and soon > 0
            if is_soon and not await self._store.slots.are_waited_for():
                then = self._seconds_to_next()
                return soon if then is None else min(soon, then)
        self._released = 0
        now, process_id = self._shared.clock.now(), self._process_id()
        # Where the store is away, what was asked for is left to the pass after that.
        self._is_more = True
        keeps_slots = self._shared.sharing.was_shared_lately
        try:
            admission = await self._store.slots.admit(
                now, process_id=process_id, keeps_slots=keeps_slots
            )
        except DataRefused as error:
            if not await self._set_aside(error):
                raise
            return 0.0
        self._follow(admission)
        if admission.changes != self._limits.changes:
            await self._limits.read()
        self._is_more = not admission.is_done
        return 0.0 if self._is_more else self._seconds_to_next()

    async def _set_aside(self, error: DataRefused) -> bool:
        """Quarantine the instance whose row the store refuses; False: it is no row of one.

        What smaller passes have granted is found in the mailbox.
        """
        slots, now = self._store.slots, self._shared.clock.now()
        row = await slots.admit_apart(now, process_id=self._process_id())
        self._sent(())
        if row is None:
            return True
        if row.node or not await slots.hold(row.tenant, row.instance_id):
            return False
        self._quarantined(row.instance_id, QUEUED, f"the store refuses its slot: {error}")
        return True

    def made(self, admission: Admission) -> None:
        """A pass was made with a turn; the loop does what that has left."""
        before = self._next_at
        self._follow(admission)
        if not admission.is_done or admission.changes != self._limits.changes:
            self.hint()
        elif self._next_at != before:
            self._hints.event.set()

    def _follow(self, admission: Admission) -> None:
        self._passed_at = self._shared.clock.ticks()
        self._free.counted(admission.counts)
        self._free.keep(admission.kept, admission.behind)
        self._has_kept = admission.kept > 0
        self.granted += admission.granted
        for kind, milliseconds in admission.waits:
            self.waits.setdefault(kind, Histogram(WAITS)).add(milliseconds / 1_000)
        self._pace.seen(self.granted + self._free.taken)
        unread = [grant for grant in admission.grants if not self._granted(grant)]
        if unread or admission.has_mail:
            self._sent(admission.owners)
        self._next_at = admission.next_at

    def _seconds_to_next(self) -> float | None:
        """How long it is until something can begin that waits for its time; None: nothing does."""
        if self._next_at is None:
            return None
        return max(0.0, (self._next_at - epoch_ms(self._shared.clock.now())) / 1_000)

    async def _admit_now(self) -> None:
        """A pass for a start that finds the queue full."""
        if await self.run_once() is not None:
            self.hint()
