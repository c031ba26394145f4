"""One instance's share of a turn: decisions made one after the other, gathered into one write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import assert_never

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tenuto.core import Decision, InstanceState, Rejection
from tenuto.core.ending import output_of
from tenuto.core.searchable import FoundBy, found_by
from tenuto.core.slots import wanted as slot_wanted
from tenuto.core.snapshot import encode as encode_snapshot
from tenuto.core.view import cancellation_view, current_steps, error_view
from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.turns.held import Held, Place
from tenuto.engine.turns.obligations import Obligations
from tenuto.engine.turns.requests import (
    Answer,
    IndexAgain,
    LookAgain,
    OfferJob,
    Request,
    RuledRequest,
)
from tenuto.engine.turns.slot_rows import Counted, SlotFacts, counted_at_start, slot_row
from tenuto.expr import Steps
from tenuto.model.effects import (
    AskSlot,
    ClearTimer,
    CloseWait,
    DropDeadLetters,
    Effect,
    KeepDeadLetter,
    OpenWait,
    PublishEvent,
    ReleaseSlot,
    ResolveChild,
    SendMail,
    SetTimer,
    StartAttempt,
    StopAttempt,
    TakeEvent,
)
from tenuto.model.entries import CompensationFailed, NodeFailed
from tenuto.model.failure import Failure
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import (
    AttemptLost,
    EventMatched,
    Started,
    TaskSucceeded,
    TimerDue,
    TriggerMatched,
)
from tenuto.model.lifecycle import level_of
from tenuto.model.log import LogRow, to_rows
from tenuto.model.policy import NEAR, NO_POLICIES, Policies
from tenuto.model.slots import SlotRequest, SlotRules
from tenuto.model.status import Status
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.outbox import Lifecycle
from tenuto.store.parts.slot_rows import SlotKey, SlotRow
from tenuto.store.parts.turns import (
    EventResult,
    InstanceUpdate,
    InstanceWrite,
    NewInstance,
    Ownership,
    Searchable,
    Snapshot,
)
from tenuto.store.parts.upkeep import ROW_BYTES
from tenuto.store.parts.waits import WaitRow

_encode = msgspec.json.Encoder().encode


def size_of_rows(rows: Iterable[LogRow]) -> int:
    """Bytes of rows of the log, about."""
    size = 0
    for row in rows:
        payload = row[7]
        size += ROW_BYTES if payload is None else ROW_BYTES + len(payload)
    return size


def is_owed(state: InstanceState, place: Place) -> bool:
    """Whether an attempt should be running."""
    node_id, iteration, attempt = place
    undoing = state.compensation
    if undoing is not None and undoing.is_in_flight:
        return undoing.place == place
    node = state.nodes.get(NodeKey(node_id, iteration))
    return (
        node is not None
        and node.is_in_flight
        and node.attempt == attempt
        and not state.status.is_final
    )


def _failure(request: Request, decision: Decision) -> Failure | None:
    """Why an attempt failed although its task had succeeded."""
    if isinstance(request.input, TaskSucceeded) and decision.entries:
        first = decision.entries[0]
        if isinstance(first, NodeFailed | CompensationFailed):
            return first.error
    return None


def _first_steps(state: InstanceState) -> tuple[str, ...]:
    # Most instances have moved on, or ended, before a list is read: see the projector.
    return () if state.needs_owner else tuple(current_steps(state))


class Draft(Struct, eq=False):
    """The rows that a turn will write for one instance, and the effects that follow."""

    instance_id: str
    held: Held
    before: InstanceState
    state: InstanceState
    rows: list[LogRow] = []
    requests: list[Request] = []
    answers: list[tuple[Request, Answer]] = []
    """The answers to requests with waiting senders; decisions would keep states alive."""
    follow_ups: list[Effect] = []
    """The effects to perform once the turn is durable."""
    policies: Policies = NO_POLICIES
    """The policies of its tasks, for every decision of this turn."""
    is_offered: Callable[[str], bool] | None = None
    """Whether the attempts of a task are offered to other processes; None: of no task."""
    is_shared: bool = False
    """Whether other processes may have advanced it since it was read."""
    snapshot_every: int = DEFAULT_BOUNDS.snapshot_every
    size: int = 0
    """Bytes that it adds to the log, about."""
    steps: int = 0
    """The steps that the expressions of its decisions have taken."""
    is_costly: bool = False
    """Whether those, or its entries or bytes, were many."""
    is_shown: bool = False
    """Whether its row is updated with this write, since it lags."""
    refused_start: Rejection | None = None
    """Why a tick of a schedule does not start it."""
    free: FreeSlots | None = None
    """The limits with room; None: it takes no slot without asking."""
    stored: Mapping[str, EventResult] = {}
    """The results of the events of its turn, also of those that it published."""
    is_admitted: bool = False
    """Whether no pass has to follow for the slots that it asks for or gives back."""
    _needs_owner: bool = False
    """Whether the state that is written does; worked out once, with the write."""
    _shows_in_lists: bool = False
    """Whether its row is up to date with this write; worked out once, too."""
    owed: Obligations | None = None
    """What it writes beside entries: waits, events, timers, messages; None: nothing."""
    reserved: Counted | None = None
    """The limits of a slot that the decision under way may take."""
    also_lost: list[AttemptLost] = []
    """Attempts that were lost as well, where a takeover finds too many for one turn."""
    _asked_at: datetime | None = None
    """When the request for its start arrived, where it is this turn that starts it."""
    admitted: list[AskSlot] = []
    """Requests for slots that are taken, to be decided on."""
    _create: NewInstance | None = None
    _snapshot: Snapshot | None = None
    _found_by: FoundBy | None = None
    """Its search terms once the write is durable, where they were computed."""
    _orders: dict[Place, int] | None = None
    """When it orders attempts; made for the first who asks."""

    @property
    def jobs_offered(self) -> Sequence[JobRow]:
        """The attempts that it offers to other processes."""
        return () if self.owed is None else self.owed.jobs

    @property
    def jobs_ended(self) -> Sequence[JobKey]:
        """The attempts among those that were offered that have ended with it."""
        return () if self.owed is None else self.owed.jobs_withdrawn

    @property
    def mail_taken(self) -> Sequence[str]:
        """The mailbox messages that the instance's log takes with it."""
        return () if self.owed is None else self.owed.mail_taken

    @property
    def waits_opened(self) -> int:
        """How many waits it opens, without those that it closes again."""
        return 0 if self.owed is None else len(self.owed.opened)

    @property
    def events_published(self) -> int:
        """How many events it publishes."""
        return 0 if self.owed is None else len(self.owed.events)

    def arms_opened(self, node: str, iteration: str) -> list[WaitRow]:
        """The rows of a wait that this turn opens and does not close again, as they are listed."""
        return [] if self.owed is None else self.owed.arms_opened(node, iteration)

    def ordered_at(self, ended: LogRow) -> int | None:
        """When this write orders the attempt that a row of it ends; None: it does not.

        In milliseconds, and asked once it is durable: thousands may end with one write.
        """
        if self._orders is None:
            self._orders = {
                (row.node_id or "", row.iteration, row.attempt): row.at_ms
                for row in self.rows
                if row.event_type == "NODE_DISPATCHED"
            }
        return self._orders.get((ended.node_id or "", ended.iteration, ended.attempt))

    def note(self, request: Request, refusal: Rejection | None = None) -> None:
        """Take a mailbox message without a decision, or a report that does not count."""
        self.requests.append(request)
        if request.future is not None:
            self.answers.append((request, self._answer(request, self.state, refusal)))
        if request.mail_id is not None:
            self._obligations.mail_taken.append(request.mail_id)

    def index_again(self, request: Request, now: datetime) -> None:
        """Write the search terms; where another process owns the instance, that process does."""
        self.note(request)
        owed = self._obligations  # with any there is a write
        if self.held.owner_elsewhere is not None:
            owed.mail_sent.append(
                Mail(
                    id=f"index/{self.instance_id}",
                    instance_id=self.instance_id,
                    input=_encode(IndexAgain()),
                    created_at=now,
                    for_owner=True,
                )
            )

    def offer(self, request: Request, order: OfferJob) -> None:
        """Offer an attempt to other processes, if it is still owed."""
        self.requests.append(request)
        place = (order.node, order.iteration, order.attempt)
        if is_owed(self.state, place) and place not in self.held.jobs:
            is_limited = order.task_id in self.policies.limited
            self._obligations.offer(order, self.state.updated_at, is_limited=is_limited)

    def under(self, place: Place, token: int) -> None:
        """Make the write conditional on a lease."""
        self._obligations.under(place, token)

    def take(self, request: Request, decision: Decision) -> None:
        """Add a decision; its entries follow those of the decisions before it."""
        # First the parts that may fail: until then nothing is changed.
        rows = to_rows(self.state.version + 1, decision.entries)
        self.requests.append(request)
        if request.future is not None or isinstance(request.input, TimerDue):
            failure = _failure(request, decision)
            answer = self._answer(request, decision.state, decision.rejection, failure)
            self.answers.append((request, answer))
        if request.start is not None:
            self._asked_at = request.start.asked_at
        self._add(decision, rows)
        if request.mail_id is not None:
            self._obligations.mail_taken.append(request.mail_id)
        if decision.rejection is not None:
            self._rejected(request, decision.rejection)
        elif request.start is not None:
            self._create = self._new_instance(request)
            if isinstance(request.input, Started) and request.input.cause is not None:
                self._obligations.start_by_event(request.input, None)

    def admit(self, request: Request, decision: Decision) -> None:
        """Add the decision on a slot that the request asked for, and that is taken at once."""
        self._add(decision, to_rows(self.state.version + 1, decision.entries))
        state = self.state
        if self.answers and self.answers[-1][0] is request:
            answer = replace(self.answers[-1][1], status=state.status, version=state.version)
            self.answers[-1] = (request, answer)
        if self._create is not None:
            self._create = replace(
                self._create,
                status=state.status,
                started_at=state.started_at,
                current_steps=_first_steps(state),
            )

    def _add(self, decision: Decision, rows: Sequence[LogRow]) -> None:
        if rows:
            self.rows.extend(rows)
            self.size += size_of_rows(rows)
            self.state = decision.state
        for effect in decision.effects:
            self._effect(effect)

    def _answer(
        self,
        request: Request,
        state: InstanceState,
        rejection: Rejection | None,
        failure: Failure | None = None,
    ) -> Answer:
        listens = False
        if isinstance(report := request.input, EventMatched):
            node = state.nodes.get(NodeKey(report.node, report.iteration))
            listens = node is not None and node.is_open and node.listens
        return Answer(
            instance_id=self.instance_id,
            status=state.status,
            version=state.version,
            rejection=rejection,
            failure=failure,
            listens=listens,
        )

    def write(self) -> InstanceWrite | None:
        """The write, or None when nothing changes."""
        held = self.held
        if held.jobs:
            self._withdraw_jobs()
        state, rows, owed = self.state, self.rows, self.owed
        before = self.before
        self._needs_owner = needs_owner = state.needs_owner
        ownership = Ownership.KEEP if needs_owner == held.is_owned else self._ownership
        # Lists show a new status at once, and the open steps of a running instance later.
        self._shows_in_lists = shows = not needs_owner or (
            self._create is None and (self.is_shown or state.status is not before.status)
        )
        shows_all = held.is_projected or held.owner_elsewhere is not None
        if not rows and owed is None and shows_all and ownership is Ownership.KEEP:
            return self._confirmation()
        if held.owner_elsewhere is not None and rows:
            owed = self._obligations
            owed.mail_sent.append(self._message_to_owner())
        if rows and held.tail_entries + len(rows) >= self.snapshot_every:
            self._snapshot = self._new_snapshot(ownership)
        may_be_gone = self._may_be_gone
        is_found = held.plan.is_found or state.rerun_of is not None
        searchable = self._searchable() if is_found else None
        if owed is None:
            return InstanceWrite(
                instance_id=self.instance_id,
                version=before.version,
                rows=tuple(rows),
                create=self._create,
                update=self._update() if shows or not rows else None,
                searchable=searchable,
                snapshot=self._snapshot,
                ownership=ownership,
                lifecycle=self._lifecycle,
                may_be_gone=may_be_gone,
                is_sealed=held.is_sealed,
                is_log_alone=searchable is None,
            )
        return InstanceWrite(
            instance_id=self.instance_id,
            version=self.before.version,
            rows=tuple(self.rows),
            create=self._create,
            update=self._update(),
            searchable=searchable,
            snapshot=self._snapshot,
            timers_set=tuple(row for row in owed.timers.values() if row is not None),
            timers_cleared=tuple(key for key, row in owed.timers.items() if row is None),
            waits_opened=tuple(row for arms in owed.opened.values() for row in arms.values())
            if owed.opened
            else (),
            waits_closed=tuple(owed.closed),
            deliveries=tuple(owed.deliveries),
            mail_taken=tuple(owed.mail_taken),
            mail_sent=tuple(owed.mail_sent),
            dead_letters=tuple(owed.dead_letters),
            dead_letters_dropped=tuple(owed.dead_letters_dropped),
            jobs_offered=tuple(job for job in owed.jobs if is_owed(self.state, job.key[1:]))
            if owed.jobs
            else (),
            jobs_withdrawn=tuple(owed.jobs_withdrawn),
            jobs_cancelled=tuple(owed.jobs_cancelled),
            leases=tuple(owed.leases),
            slots_asked=tuple(row for row in owed.slots.values() if row is not None)
            if owed.slots
            else (),
            slots_taken=tuple(owed.slots_taken.values()),
            slots_released=tuple(key for key, row in owed.slots.items() if row is None)
            if owed.slots
            else (),
            events=tuple(owed.events),
            ownership=ownership,
            lifecycle=self._lifecycle,
            may_be_gone=may_be_gone,
            is_sealed=held.is_sealed,
        )

    @property
    def _lifecycle(self) -> Lifecycle | None:
        """The lifecycle events that its entries may cause."""
        if not self.rows or self.held.plan.rehearsal is not None:
            return None
        return Lifecycle(level_of(self.rows), self.before.status, self.held.tenant)

    def _confirmation(self) -> InstanceWrite | None:
        """Where other processes write too, an empty decision also needs the newest state."""
        is_newest = self.held.is_fresh or not self.before.version
        if not self.is_shared or is_newest or not self.requests:
            return None
        return InstanceWrite(
            instance_id=self.instance_id,
            version=self.before.version,
            may_be_gone=self._may_be_gone,
        )

    @property
    def _may_be_gone(self) -> bool:
        """Whether it may be erased meanwhile: what this process owns ends by its turns alone."""
        before = self.before
        return before.version > 0 and (before.status.is_final or not self.held.is_owned)

    def committed(self) -> None:
        """The write is durable: the held instance advances."""
        held = self.held
        held.is_projected = not self.rows or self._shows_in_lists
        held.state = self.state
        if self._found_by is not None:
            held.found_by = self._found_by
        if held.jobs or (self.owed is not None and self.owed.jobs):
            self._keep_jobs()
        held.is_owned = self._needs_owner and held.owner_elsewhere is None
        if self._snapshot is None:
            held.tail_entries += len(self.rows)
            held.tail_bytes += self.size
        else:
            held.tail_entries = held.tail_bytes = 0
            held.snapshot_bytes = len(self._snapshot.state)

    def _withdraw_jobs(self) -> None:
        """Withdraw the jobs of attempts that have ended."""
        over = [place for place in self.held.jobs if not is_owed(self.state, place)]
        if over:
            self._obligations.withdraw(over)

    def _keep_jobs(self) -> None:
        jobs = self.held.jobs
        if self.owed is not None:
            jobs |= {job.key[1:]: 0 for job in self.owed.jobs}
        self.held.jobs = {place: jobs[place] for place in jobs if is_owed(self.state, place)}

    @property
    def _ownership(self) -> Ownership:
        held = self.held
        if held.owner_elsewhere is not None or self._needs_owner == held.is_owned:
            return Ownership.KEEP
        return Ownership.RELEASE if held.is_owned else Ownership.TAKE

    def _message_to_owner(self) -> Mail:
        """The owner, another process, has to perform the effects."""
        return Mail(
            id=f"look/{self.instance_id}/{self.state.version}",
            instance_id=self.instance_id,
            input=_encode(LookAgain(self.state.version)),
            created_at=self.state.updated_at,
            for_owner=True,
        )

    @property
    def _obligations(self) -> Obligations:
        if self.owed is None:
            held = self.held
            self.owed = Obligations(
                instance_id=self.instance_id,
                tenant=held.tenant,
                inbox=held.inbox,
                is_sealed=held.is_sealed,
            )
        return self.owed

    def _effect(self, effect: Effect) -> None:  # noqa: C901 - one arm each
        follow_ups = self.follow_ups
        match effect:
            case StartAttempt():
                if self.is_offered is not None or self.policies.limited:
                    self._offer(effect)
                follow_ups.append(effect)
            case StopAttempt():
                if self.held.jobs or self.jobs_offered:
                    self._obligations.cancel_attempt(effect)
                follow_ups.append(effect)
            case ResolveChild():
                follow_ups.append(effect)
            case SetTimer():
                if effect.due - effect.set_at > NEAR:
                    self._obligations.set_timer(effect)
                follow_ups.append(effect)
            case ClearTimer():
                if effect.due - effect.set_at > NEAR:
                    self._obligations.clear_timer(effect.key)
                else:
                    follow_ups.append(effect)
            case OpenWait():
                self._obligations.open_wait(effect, self.state.updated_at)
                if effect.looks_back:
                    follow_ups.append(effect)
            case PublishEvent():
                # The core does not know the tenant of an instance: it is added here.
                event = replace(effect.event, tenant=self.held.inbox)
                self._obligations.events.append(event)
                follow_ups.append(PublishEvent(event=event))
            case CloseWait():
                self._obligations.close_wait(effect)
            case TakeEvent():
                self._obligations.take_event(effect)
            case SendMail():
                self._obligations.send(effect)
                follow_ups.append(effect)
            case KeepDeadLetter() if self.held.plan.rehearsal is not None:
                pass  # A test run is watched by its author: no dead letter.
            case KeepDeadLetter():
                at = self.state.updated_at
                self._obligations.keep_dead_letter(effect, self.state.version, at)
            case DropDeadLetters():
                self._obligations.drop_dead_letters(effect)
            case AskSlot():
                self._ask_slot(effect)
            case ReleaseSlot():
                self._obligations.release_slot(effect)
                follow_ups.append(effect)
            case _:
                assert_never(effect)

    def _ask_slot(self, order: AskSlot) -> None:
        facts = SlotFacts(
            self.held.tenant, self.state, self.policies.slots, self._asked_at_of(order)
        )
        slot = slot_row(order, facts, self.reserved if order.is_taken else None)
        owed = self._obligations
        is_mine = self.held.owner_elsewhere is None and not slot.is_held_up
        if order.is_taken:
            owed.slots_taken[slot.slot_key] = slot
            self.reserved = None
        elif is_mine and self.free is not None and owed.may_take(slot) and self.free.take(slot):
            owed.slots_taken[slot.slot_key] = slot
            self.admitted.append(order)
        else:
            full = "" if self.free is None else self.free.full_for(slot)
            owed.ask_slot(replace(slot, blocked_on=full) if full else slot)
            self.follow_ups.append(order)

    def _asked_at_of(self, order: AskSlot) -> datetime:
        """When a slot was asked for: its place in the queue.

        Lanes decide on starts of one moment one after the other: these are ordered by when they
        arrived. The time of a debounced one is counted from its turn on: while turns take longer
        than its period, each of a burst would begin by itself.
        """
        at = self.state.updated_at
        request = order.request
        if self._asked_at is None or request is None or request.debounce is not None:
            return at
        return at if order.is_taken or order.is_woken else min(self._asked_at, at)

    def policies_for(self, input: Started, ruled: RuledRequest | None = None) -> Policies:
        """The policies of a decision: a start for whose slot there is room takes it at once.

        `ruled`: what it asks for by rules of the queue, which may be others by now.
        """
        if self.free is None:
            return self.policies
        if ruled is not None and ruled.rules is self.policies.slots:
            wanted = ruled.request
        else:
            taken = Steps()
            wanted = slot_wanted(self.held.plan, self.policies, input, taken)
            self.steps += taken.taken
        if not isinstance(wanted, SlotRequest):
            return self.policies
        has_room = False
        if not wanted.is_held_up:
            counted = counted_at_start(self.held.tenant, input, wanted)
            if has_room := self.free.take(counted):
                self.reserved = counted
        # Its keys and the rules of the queue may take long: the decision does not evaluate them.
        rules = self.policies.slots or SlotRules()
        return replace(self.policies, slots=replace(rules, has_room=has_room, wanted=wanted))

    def drop_reserved(self) -> None:
        """The decision did not take the slot for which there was room."""
        if self.reserved is not None and self.free is not None:
            self.free.not_won([self.reserved])
            self.reserved = None

    def next_admitted(self) -> AskSlot | None:
        """A request for a slot that is taken at once, and not decided on yet."""
        while self.admitted:
            order = self.admitted.pop(0)
            key = SlotKey(self.instance_id, order.node, order.iteration)
            if key not in self._obligations.slots:
                return order
        return None

    def ask_instead(self, order: AskSlot) -> None:
        """Ask for a slot that was to be taken."""
        owed = self._obligations
        slot = owed.slots_taken[SlotKey(self.instance_id, order.node, order.iteration)]
        owed.ask_instead(slot)
        self.follow_ups.append(order)
        if self.free is not None:
            self.free.not_won([slot])

    @property
    def slots_taken(self) -> Collection[SlotRow]:
        """The slots that it takes without asking."""
        return () if self.owed is None else self.owed.slots_taken.values()

    @property
    def slots_released(self) -> Collection[SlotKey]:
        """The slots that it gives back."""
        return () if self.owed is None else self.owed.slots

    def _offer(self, effect: StartAttempt) -> None:
        is_mine = self.held.owner_elsewhere is None
        if self.held.plan.mock_of(effect.node) is not None:
            return
        is_limited = effect.task_id in self.policies.limited
        if is_mine and (is_limited or (self.is_offered and self.is_offered(effect.task_id))):
            self._obligations.offer(effect, self.state.updated_at, is_limited=is_limited)

    def _rejected(self, request: Request, because: Rejection) -> None:
        match request.input:
            case EventMatched() as report:
                place = (report.node, report.iteration, report.arm)
                self._obligations.discard_event(place, report.event)
            case TriggerMatched() as report:
                self._obligations.discard_event(("", "", str(report.trigger)), report.event)
            case Started() as started if started.cause is not None and not self.state.version:
                self._obligations.start_by_event(started, because.message)
            case Started() as started if started.schedule is not UNSET and not self.state.version:
                self.refused_start = because
            case TimerDue() as report if report.key not in self.state.timers:
                self._obligations.forget_timer(report.key)
            case _:
                pass

    def _new_instance(self, request: Request) -> NewInstance:
        assert request.start is not None
        state = self.state
        return NewInstance(
            definition_id=state.definition_id,
            definition_version=state.definition_version,
            status=state.status,
            correlation_id=state.correlation_id,
            priority=state.priority,
            deadline=state.deadline,
            created_at=state.created_at,
            started_at=state.started_at,
            current_steps=_first_steps(state),
            parent_id=state.parent.id if state.parent else None,
            root_id=state.parent.root_id if state.parent else None,
            rerun_of=state.rerun_of,
            origin_id=None if (origin := state.led_to_by) == state.id else origin,
            tenant=request.start.tenant,
            key=request.start.key,
            content_hash=request.start.content_hash,
            needs_definition=request.start.needs_definition,
        )

    def _update(self) -> InstanceUpdate | None:
        state = self.state
        if self.rows and not self._shows_in_lists:
            return None
        if self._create is not None and not state.status.is_final:
            return None
        completed = state.status is Status.COMPLETED
        return InstanceUpdate(
            status=state.status,
            updated_at=state.updated_at,
            started_at=state.started_at,
            completed_at=state.completed_at,
            current_steps=() if state.status.is_final else tuple(current_steps(state)),
            output=_encode(output_of(self.held.plan, state)) if completed else None,
            last_error=_encode(error_view(state.last_error)) if state.last_error else None,
            cancellation=(
                _encode(cancellation_view(state.cancellation)) if state.cancellation else None
            ),
            keeps_status=self._create is None
            and state.status is self.before.status
            and state.completed_at == self.before.completed_at,
        )

    def _searchable(self) -> Searchable | None:
        """The search terms are written with the row; unchanged ones are not."""
        state = self.state
        if not state.version or (self.rows and not self._shows_in_lists):
            return None
        if self.held.owner_elsewhere is not None and not self.rows:
            return None  # the owner is not told that another process wrote
        known = self.held.found_by
        self._found_by = found_by(self.held.plan, state, known)
        if known is not None and self._found_by[1:] == known[1:]:
            return None
        # Values that its definition does not encrypt are encrypted all the same, as its parent's.
        is_parents = self.held.is_sealed and not self.held.plan.encrypts
        return Searchable(
            tenant=self.held.tenant,
            definition_id=state.definition_id,
            created_at=state.created_at,
            terms=() if is_parents else self._found_by.terms,
            marks=self._found_by.marks,
        )

    def _new_snapshot(self, ownership: Ownership) -> Snapshot | None:
        """A snapshot, where the log is long enough for one, and it is worth while."""
        held = self.held
        if held.tail_entries + len(self.rows) < self.state.weight:
            return None
        # An instance at rest will be read again to continue; one that has ended, seldom.
        is_resting = ownership is Ownership.RELEASE and not self.state.has_ended
        if held.tail_bytes + self.size < held.snapshot_bytes and not is_resting:
            return None
        return Snapshot(version=self.state.version, state=encode_snapshot(self.state))
