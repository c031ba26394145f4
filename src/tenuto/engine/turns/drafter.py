"""Makes drafts of requests: groups them by instance, and decides on each."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from tenuto.core import (
    Decision,
    InstanceState,
    Plan,
    Rejection,
    attempts_in_flight,
    blank,
    outstanding_counted,
)
from tenuto.core.attempt import refused_for_good
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.turns.draft import Draft, is_owed
from tenuto.engine.turns.held import Cache, Held, Place
from tenuto.engine.turns.loader import Loader
from tenuto.engine.turns.note import TAKING_OVER, DecisionStopped, place_of
from tenuto.engine.turns.quarantine import Quarantine
from tenuto.engine.turns.requests import (
    Answer,
    IndexAgain,
    LookAgain,
    Notice,
    OfferJob,
    Request,
    TakenOver,
)
from tenuto.model.effects import AskSlot, StartAttempt
from tenuto.model.errors import NotFound, TenutoError
from tenuto.model.graph import Definition, Graph
from tenuto.model.inputs import (
    Admitted,
    AttemptLost,
    Input,
    InputRefused,
    Started,
    TaskFailed,
    TaskSucceeded,
)
from tenuto.model.policy import Policies
from tenuto.ports import Clock
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.slot_rows import KnownRoom
from tenuto.store.parts.turns import InstanceWrite

log = logging.getLogger("tenuto.lane")

MOST_PUT_OFF = 3
"""For so many turns, instances that must be read may wait for those in memory."""

MOST_COSTLY = 1_000
"""The most tenants that are known for decisions of many steps."""

STRETCHES = 3
"""The stretches of time by which the row of an instance may lag."""
_SHOWN_AFTER = STRETCHES - 1
"""The stretches after which an instance that advances updates its row."""

_DUE_SHARE = 5
"""A turn updates the rows of at most a fifth as many resting instances as it writes entries."""

NO_PLAN = Plan(Definition(id="", graph=Graph(nodes=(), edges=(), starts=())))
"""The plan of a missing instance: the only effect is the removal of its mailbox messages."""


LEASE_LOST = Rejection(code="TEN-3012", message="the lease under which this was done is over")


Decide: TypeAlias = Callable[[Plan, InstanceState, Input, datetime, Policies], Decision]
"""The core's `decide`, or a wrapper of it."""

_instance_id = attrgetter("instance_id")


class Core(NamedTuple):
    """How instances are decided on."""

    decide: Decide
    policies: Callable[[str], Policies]
    """The current policies of a tenant's tasks."""
    quarantine: Quarantine
    """The instances that are not decided on, and the note of the one that is."""
    free: FreeSlots | None = None
    """The limits with room; None: no slot is taken without asking."""


class Undecided(NamedTuple):
    """The handlers of requests that are not decided on here."""

    left_alone: Callable[[Request], None]
    """There is no such instance: the request stays where it came from."""
    leave_to_owner: Callable[[Request], None]
    """A mailbox message is for the process that owns its instance."""
    unreadable: Callable[[Orphan, Sequence[Request], TenutoError], None]
    """This program cannot read the instance: it is given back, with its requests."""


class Drafter:
    """Decides on the newest state of instances, and keeps that state from turn to turn."""

    def __init__(
        self,
        *,
        loader: Loader,
        cache: Cache,
        clock: Clock,
        undecided: Undecided,
        core: Core,
        bounds: Bounds = DEFAULT_BOUNDS,
        is_offered: Callable[[str], bool] | None = None,
        is_shared: bool = False,
    ) -> None:
        self._free = core.free
        self._loader = loader
        self._cache = cache
        self._clock = clock
        self._undecided = undecided
        self._core = core
        self._quarantine = core.quarantine
        self._note = core.quarantine.note
        self._bounds = bounds
        self._is_offered = is_offered
        self._is_shared = is_shared
        self._unprojected: dict[str, int] = {}
        """Instances whose rows lag, and since which stretch of time; the first to lag first."""
        self._due: OrderedDict[str, None] = OrderedDict()
        """Instances whose rows the next turn updates, also if nothing else happens to them."""
        self._stretch = STRETCHES
        """Time passes in stretches, of which the permitted lag has `STRETCHES`."""
        self._put_off_for = 0
        """For how many turns instances that must be read have been waiting."""
        self._costly: dict[str, None] = {}
        """Tenants whose newest decision was long, or took many steps; the newest of them last."""
        self._is_turn_of_costly = False
        self._most_entries = bounds.decision_entries
        self.began = 0.0
        """When the decisions of the newest turn began."""
        self._owners_to_hint: set[str] = set()

    # -- before the commit

    def project(self) -> int:
        """Let the next turn update all rows; returns how many lag."""
        self._due.update(dict.fromkeys(self._unprojected))
        return len(self._unprojected)

    def next_stretch(self) -> int:
        """A part of the permitted lag has passed; returns how many rows have to be written.

        An instance that advances updates its row, if that has nearly the permitted lag: an update
        costs more than the entries of a step. One that stood still has a write of its own.
        """
        self._stretch += 1
        last = self._stretch - STRETCHES
        due = [id for id, _ in takewhile(lambda each: each[1] <= last, self._unprojected.items())]
        self._due.update(dict.fromkeys(due))
        return len(due)

    @property
    def is_service_full(self) -> bool:
        """Whether the limit of the whole service has no room, as far as is known."""
        return self._free is not None and self._free.is_service_full

    @property
    def costly(self) -> Collection[str]:
        """The tenants whose newest decision was long."""
        return self._costly.keys()

    @property
    def has_work(self) -> bool:
        """Whether a turn is due without any request."""
        return bool(self._due)

    def _add_due(self, grouped: dict[str, list[Request]], most: int) -> None:
        """Add instances whose rows lag: some in each turn, their updates are no rows of a log."""
        added = 0
        while self._due and added < max(most, 1):
            instance_id, _ = self._due.popitem(last=False)
            if instance_id in self._unprojected:
                grouped.setdefault(instance_id, [])
                added += 1

    async def draft(
        self,
        requests: Sequence[Request],
        *,
        most_rows: int,
        most_steps: int,
        most_bytes: int,
        most_seconds: float,
        most_entries: int,
    ) -> tuple[list[Draft], list[Request]]:
        """Decide on as many requests as fit a turn; returns the drafts, and the requests left over.

        With more than `most_rows` rows or `most_bytes` of the log, or `most_steps` of expressions
        and schemas, it takes no further instance; nor where decisions have taken `most_seconds`.
        A decision that makes `most_entries` is continued by others, in later turns.
        Nothing is awaited between the first decision and the last.
        """
        grouped, left = _grouped(requests)
        self._add_due(grouped, most_rows // _DUE_SHARE)
        if self._quarantine.held:
            self._leave_quarantined(grouped)
        held = self._at_hand(grouped)
        if self._is_shared:
            self._refuse_what_is_over(grouped, held)
            left = self._put_off(grouped, held) + left
        missing = [instance_id for instance_id in grouped if instance_id not in held]
        if missing:
            held |= await self._read(missing, grouped)
        self._most_entries = most_entries
        self.began = self._clock.ticks()
        now, end = self._clock.now(), self.began + most_seconds
        drafts: list[Draft] = []
        rows = size = steps = 0
        policies: dict[str, Policies] = {}
        others = self._with_another_turn(held) if self._costly else frozenset[str]()
        for instance_id, requested in grouped.items():
            found = held.get(instance_id)
            waiting = requested
            if found is None:
                self._unprojected.pop(instance_id, None)
                continue
            if found.owner_elsewhere is not None:
                waiting = self._not_left_to_owner(waiting, found.owner_elsewhere)
                if not waiting:
                    self._unprojected.pop(instance_id, None)
                    continue
            is_full = rows > most_rows or size > most_bytes or steps > most_steps
            is_full = is_full or (bool(drafts) and self._clock.ticks() > end)
            if is_full or found.tenant in others:
                left += waiting
                continue
            try:
                draft = self._drafted(instance_id, found, waiting, now, policies)
            except DecisionStopped:
                if not self._is_refused_instead(instance_id, waiting):
                    continue
                draft = self._drafted(instance_id, found, waiting, now, policies)
            drafts.append(draft)
            rows += len(draft.rows)
            size += draft.size
            steps += draft.steps
        drafts.sort(key=_instance_id)
        return drafts, left

    def _drafted(
        self,
        instance_id: str,
        found: Held,
        waiting: Sequence[Request],
        now: datetime,
        policies: dict[str, Policies],
    ) -> Draft:
        """The decisions on what waits for one instance.

        `policies`: those of the tenants that this turn has met.
        """
        known = policies.get(found.tenant)
        if known is None:
            known = self._core.policies(found.tenant)
            if self._most_entries < known.most_entries:
                known = replace(known, most_entries=self._most_entries)
            policies[found.tenant] = known
        bounds, state = self._bounds, found.state
        draft = Draft(
            instance_id,
            found,
            state,
            state,
            policies=known,
            is_offered=self._is_offered,
            is_shared=self._is_shared,
            snapshot_every=bounds.snapshot_every,
            is_shown=found.shown_in <= self._stretch - _SHOWN_AFTER
            and found.owner_elsewhere is None,
            free=self._free,
        )
        is_new_here = found.is_fresh and found.is_owned and found.performed is None
        if is_new_here and not any(each.refusal for each in waiting):
            self._take_over(draft, now)
        for request in waiting:
            self._decide(draft, request, now)
        is_long = len(draft.rows) >= bounds.shared_entries
        if is_long or draft.steps > bounds.shared_steps or draft.size > bounds.shared_bytes:
            draft.is_costly = True
            self._is_costly(found.tenant)
        elif self._costly:
            self._costly.pop(found.tenant, None)
        return draft

    def _is_costly(self, tenant: str) -> None:
        """Remember a tenant; not for ever, if it decides on nothing any more."""
        self._costly.pop(tenant, None)
        self._costly[tenant] = None
        if len(self._costly) > MOST_COSTLY:
            del self._costly[next(iter(self._costly))]

    def _decide(self, draft: Draft, request: Request, now: datetime) -> None:
        input, refusal = request.input, request.refusal
        if isinstance(input, Notice):
            self._take_note(draft, request, now)
            return
        if (request.lease is not None or draft.held.jobs) and not _is_leased(draft, request):
            draft.note(request, LEASE_LOST)
            step = getattr(input, "node", "")
            log.warning("instance=%s: the lease of step=%s is lost", draft.instance_id, step)
            return
        try:
            self._take(draft, request, input if refusal is None else _refused(input, refusal), now)
        except Exception as error:  # one faulty instance must not stop the others
            log.exception("instance=%s cannot be decided on", draft.instance_id)
            because = Rejection(code="TEN-4000", message=f"{type(error).__name__}: {error}")
            self._take(draft, request, _refused(input, because), now)

    def _take(self, draft: Draft, request: Request, input: Input, now: datetime) -> None:
        note = self._note
        place = place_of(input)
        note.on(draft.instance_id, place)
        try:
            policies = draft.policies
            if isinstance(input, Started):
                ruled = None if request.start is None else request.start.ruled
                policies = draft.policies_for(input, ruled)
            decision = self._core.decide(draft.held.plan, draft.state, input, now, policies)
            if decision.steps:
                draft.steps += decision.steps
            draft.take(request, decision)
            while draft.admitted and (order := draft.next_admitted()) is not None:
                self._admit(draft, request, order, now)
        finally:
            note.off()
            if draft.reserved is not None:
                draft.drop_reserved()
        if self._quarantine.suspects:
            self._quarantine.survived(draft.instance_id, place)

    def _admit(self, draft: Draft, request: Request, order: AskSlot, now: datetime) -> None:
        """Go on at once with an instance that takes a slot; one that cannot has to ask."""
        granted = Admitted(number=order.number, node=order.node, iteration=order.iteration)
        try:
            decision = self._core.decide(draft.held.plan, draft.state, granted, now, draft.policies)
            draft.steps += decision.steps
            if decision.rejection is None:
                draft.admit(request, decision)
                return
        except Exception:
            # It is decided on again once a pass has granted the slot, and refused there.
            log.exception("instance=%s cannot take its slot", draft.instance_id)
        draft.ask_instead(order)

    def _with_another_turn(self, held: dict[str, Held]) -> frozenset[str]:
        """The tenants that have no part in this turn: one with many steps delays nothing but them.

        While costly and other tenants are at work, each kind has every second turn.
        """
        tenants = frozenset(each.tenant for each in held.values())
        costly = tenants & self._costly.keys()
        if not costly or costly == tenants:
            return frozenset()
        self._is_turn_of_costly = not self._is_turn_of_costly
        return tenants - costly if self._is_turn_of_costly else costly

    def _take_note(self, draft: Draft, request: Request, now: datetime) -> None:
        """An input for the owner of the instance, not for the core."""
        if request.refusal is not None:
            self._take(draft, request, _refused(None, request.refusal), now)
        elif isinstance(request.input, OfferJob):
            draft.offer(request, request.input)
        elif isinstance(request.input, IndexAgain):
            draft.index_again(request, now)
        else:
            draft.note(request)

    def _take_over(self, draft: Draft, now: datetime) -> None:
        """Attempts that should be running were lost with the process that ran them.

        This process is the owner and has performed no effects of the instance yet. The notice of
        the takeover may still be on its way. Of very many, the others are reported one by one.
        """
        held = draft.held
        self._note.on(draft.instance_id, TAKING_OVER)
        try:
            running = attempts_in_flight(held.plan, draft.state)
            owed, steps = outstanding_counted(
                held.plan, draft.state, draft.policies, besides={*running}
            )
            draft.steps += steps
        finally:
            self._note.off()
        if self._quarantine.suspects:
            self._quarantine.survived(draft.instance_id, TAKING_OVER)
        undoing = [_place(effect) for effect in owed if isinstance(effect, StartAttempt)]
        for place in [*undoing, *running]:
            if place not in held.jobs:
                node, iteration, attempt = place
                lost = AttemptLost(
                    node=node, iteration=iteration, attempt=attempt, clean=held.was_left_clean
                )
                if len(draft.rows) < draft.policies.most_entries:
                    self._decide(draft, Request(draft.instance_id, lost), now)
                else:
                    draft.also_lost.append(lost)

    def _leave_quarantined(self, grouped: dict[str, list[Request]]) -> None:
        """Leave instances that must not be decided on; their rows stay until they are released."""
        for instance_id in grouped.keys() & self._quarantine.held.keys():
            if self._refuse_start(grouped[instance_id], self._quarantine.held[instance_id].reason):
                continue
            self._unprojected.pop(instance_id, None)
            for request in grouped.pop(instance_id):
                request.refuse(self._quarantine.refusal(instance_id))
                self._undecided.left_alone(request)

    def _refuse_start(self, requests: Sequence[Request], reason: str) -> bool:
        """Refuse a start by a mailbox message; whether it is one.

        There is no such instance, so that none could be found or released. Who caused the start is
        told instead: a parent, or the record of an event.
        """
        first = requests[0] if requests else None
        if first is None or first.start is None or first.mail_id is None:
            return False
        message = f"it cannot be started: {reason}"
        first.refusal = first.refusal or Rejection(code="TEN-4000", message=message)
        return True

    def _is_refused_instead(self, instance_id: str, requests: list[Request]) -> bool:
        """A decision took too long; whether it was a start that is refused, and decided again."""
        self._note.off()
        if self._refuse_start(requests, "deciding on it did not end"):
            return True
        self._stopped(instance_id, requests)
        return False

    def _stopped(self, instance_id: str, requests: list[Request]) -> None:
        """A decision took too long, and nothing of it was written."""
        if any(each.start is not None and each.is_new for each in requests):
            # There is no such instance: nothing is left that could be decided on.
            error = TenutoError("the decision on the start did not end", code="TEN-4000")
            for request in requests:
                request.refuse(error)
            return
        self._quarantine.stopped(instance_id, self._note.place)
        self._leave_quarantined({instance_id: requests})

    def _at_hand(self, grouped: dict[str, list[Request]]) -> dict[str, Held]:
        """The requested instances that need not be read."""
        held: dict[str, Held] = {}
        for instance_id, requests in grouped.items():
            start = requests[0].start if requests else None
            if start is not None:
                held[instance_id] = new = Held(blank(instance_id), start.plan, start.tenant)
                new.is_sealed = start.plan.encrypts or start.is_sealed
                new.shown_in = self._stretch
                continue
            found = self._cache.get(instance_id)
            if found is None:
                continue
            if _is_behind(found, requests):
                self._cache.drop(instance_id)
            else:
                held[instance_id] = found
        return held

    def _refuse_what_is_over(
        self, grouped: dict[str, list[Request]], held: dict[str, Held]
    ) -> None:
        """Refuse reports that were late already when their instances were last read.

        Where the same results reach several processes, most come second, time and again.
        """
        asked = [id for id, requests in grouped.items() if requests and id not in held]
        for instance_id, state in self._cache.known(asked).items():
            waiting: list[Request] = []
            for request in grouped[instance_id]:
                refusal = _refused_for_good(state, request)
                if refusal is None:
                    waiting.append(request)
                else:
                    request.answer(
                        Answer(
                            instance_id=instance_id,
                            status=state.status,
                            version=state.version,
                            rejection=refusal,
                        )
                    )
            grouped[instance_id] = waiting
            if not waiting:
                del grouped[instance_id]

    def _put_off(self, grouped: dict[str, list[Request]], held: dict[str, Held]) -> list[Request]:
        """Leave instances that must be read to another turn, or, when they have waited, the others.

        Instances of other processes must be read. By then the owner may have done what was
        requested, and a lost write takes no instance in memory along.
        """
        if not held or len(held) == len(grouped):
            return []
        if self._put_off_for < MOST_PUT_OFF:
            self._put_off_for += 1
            later = [id for id in grouped if id not in held]
        else:
            self._put_off_for = 0
            later = list(held)
        put_off: list[Request] = []
        for instance_id in later:
            put_off += grouped.pop(instance_id)
            held.pop(instance_id, None)
        return put_off

    async def _read(self, missing: list[str], grouped: dict[str, list[Request]]) -> dict[str, Held]:
        held: dict[str, Held] = {}
        loaded = await self._loader.load(missing, self._cache.known(missing))
        for instance_id in missing:
            found_or_error = loaded.get(instance_id)
            if isinstance(found_or_error, Held):
                self._cache.reread(instance_id, found_or_error)
                held[instance_id] = found_or_error
                continue
            if found_or_error is not None:
                self._leave_unread(instance_id, grouped[instance_id], found_or_error)
                continue
            dropped = [each for each in grouped[instance_id] if each.drops_if_gone]
            others = [each for each in grouped[instance_id] if each not in dropped]
            self._refuse_all(others, instance_id)
            if dropped:
                grouped[instance_id] = dropped
                held[instance_id] = Held(blank(instance_id), NO_PLAN, "")
        return held

    def _not_left_to_owner(self, requests: list[Request], owner: str) -> list[Request]:
        """Leave mailbox messages to the process that owns the instance.

        Every other request is decided here and now: its sender waits for the answer.
        """
        left = [each for each in requests if each.mail_id is not None]
        for request in left:
            self._undecided.leave_to_owner(request)
            self._owners_to_hint.add(owner)
        return [each for each in requests if each.mail_id is None]

    def _refuse_all(self, requests: list[Request], instance_id: str) -> None:
        for request in requests:
            request.refuse(NotFound(f"there is no instance {instance_id}"))
            self._undecided.left_alone(request)

    def _leave_unread(self, instance_id: str, requests: list[Request], error: TenutoError) -> None:
        """Leave an instance that a newer program has written to.

        Its work here is stopped in good order. If it was only just taken over, the store knows how
        its former owner left it.
        """
        for request in requests:
            request.refuse(error)
        clean = self._cache.is_at_work_for(instance_id)
        self._cache.forget(instance_id)
        self._undecided.unreadable(Orphan(instance_id, clean), requests, error)

    # -- after it

    def won(self, draft: Draft) -> None:
        """The write is durable: the instance advances."""
        draft.committed()
        if draft.owed is not None and self._free is not None:
            self._free.won(draft.slots_taken, draft.slots_released)
        held = draft.held
        if held.state.version == 0:
            # A rejected start: there is no such instance.
            self._quarantine.never_began(draft.instance_id)
            return
        if held.owner_elsewhere is not None:
            # It advances without this process.
            self._unprojected.pop(draft.instance_id, None)
            self._cache.read(draft.instance_id, held.state)
            if draft.rows:
                self._owners_to_hint.add(held.owner_elsewhere)
            return
        self._cache.put(draft.instance_id, held)
        if held.is_projected or (not held.is_owned and held.state.has_ended):
            held.shown_in = self._stretch
            self._unprojected.pop(draft.instance_id, None)
        else:
            self._unprojected.setdefault(draft.instance_id, self._stretch)

    def lost(self, draft: Draft) -> None:
        """Another writer was first: the instance is read again."""
        self.not_taken(draft)
        if draft.before.version:
            self._cache.drop(draft.instance_id)

    def full(self, draft: Draft) -> None:
        """There was no room for a slot that it takes: it is decided on again, and asks."""
        self.not_taken(draft)
        if self._free is not None:
            self._free.refused(draft.slots_taken)

    def not_taken(self, draft: Draft) -> None:
        """Its slots are as free as before."""
        if self._free is not None:
            self._free.not_won(draft.slots_taken)

    def room(self, writes: Sequence[InstanceWrite]) -> KnownRoom | None:
        """The limits of slots that a turn takes, or parks requests on; None: it does neither."""
        if self._free is None:
            return None
        taken = [slot for write in writes for slot in write.slots_taken]
        parked = [slot for write in writes for slot in write.slots_asked if slot.blocked_on]
        return self._free.room(taken, parked) if taken or parked else None

    def owners_to_hint(self) -> set[str]:
        """Other processes with new input for their instances; reset by the call."""
        owners, self._owners_to_hint = self._owners_to_hint, set()
        return owners

    def forget_all(self) -> None:
        """Forget all instances: the process does not own them any more."""
        self._cache.clear()
        self._unprojected.clear()

    def forget(self, drafts: Sequence[Draft]) -> None:
        """The write failed: these instances are read again."""
        for draft in drafts:
            self.not_taken(draft)
            self._cache.drop(draft.instance_id)
            self._unprojected.setdefault(draft.instance_id, self._stretch)


def _grouped(requests: Sequence[Request]) -> tuple[dict[str, list[Request]], list[Request]]:
    """Requests by instance, and those that wait for a turn of their own."""
    grouped: dict[str, list[Request]] = {}
    left: list[Request] = []
    for request in requests:
        together = grouped.setdefault(request.instance_id, [])
        # A start is checked by the store's gate alone: it may be a repeat.
        if together and (request.start is not None or together[0].start is not None):
            left.append(request)
        else:
            together.append(request)
    return grouped, left


def _refused(input: Input | None, because: Rejection) -> InputRefused:
    occurrence = input.input if isinstance(input, InputRefused) else input
    return InputRefused(code=because.code, message=because.message, input=occurrence)


def _refused_for_good(state: InstanceState, request: Request) -> Rejection | None:
    if request.mail_id is not None or request.lease is not None:
        return None
    if not isinstance(request.input, TaskSucceeded | TaskFailed):
        return None
    return refused_for_good(state, request.input)


def _is_leased(draft: Draft, request: Request) -> bool:
    """Whether a report about a job may count; the store has the last word.

    Only a state that was just read shows for sure that it may not.
    """
    if not isinstance(request.input, TaskSucceeded | TaskFailed | AttemptLost):
        return True
    place = _place(request.input)
    if request.lease is None:
        return place not in draft.held.jobs
    if not is_owed(draft.state, place):
        return True  # the core refuses it, and keeps late results
    if draft.held.is_fresh and draft.held.jobs.get(place) != request.lease:
        return False
    draft.under(place, request.lease)
    return True


def _place(of: StartAttempt | TaskSucceeded | TaskFailed | AttemptLost) -> Place:
    return (of.node, of.iteration, of.attempt)


def _is_behind(held: Held, requests: list[Request]) -> bool:
    """Whether an instance has advanced, or changed its owner, since it was read.

    A decision on an old state loses, and has to be repeated.
    """
    for request in requests:
        if not isinstance(request.input, Notice):
            continue
        match request.input:
            case LookAgain(version) if version > held.state.version:
                return True
            case TakenOver() if not held.is_owned:
                return True
            case _:
                pass
    return False
