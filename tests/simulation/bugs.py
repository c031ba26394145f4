"""Bugs as people make them, each in another mechanism, to see that the checker sees them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from tenuto.core import (
    InstanceState,
    cancel_trigger,
    node_entries,
    outstanding,
    snapshot,
    wait,
)
from tenuto.core.deciding import Deciding, Rejection
from tenuto.core.edges import arrive
from tenuto.core.moments import Moments
from tenuto.core.outstanding import AttemptKey
from tenuto.core.plan import Plan
from tenuto.core.state import LoopState, NodeState
from tenuto.core.task_input import GivenInput
from tenuto.core.timer import _fire
from tenuto.core.timing import SLA_TIMERS, set_timer
from tenuto.core.undo_plan import UndoPlan, plan_undo
from tenuto.engine.effects.timekeeper import Timekeeper
from tenuto.engine.events import look_back, wait_finder
from tenuto.engine.events.look_back import LookBack
from tenuto.expr import Steps
from tenuto.model.effects import Effect, OpenWait, PublishEvent, StartAttempt
from tenuto.model.events import Event
from tenuto.model.graph import Loop, Node
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.model.log import LogRow
from tenuto.model.policy import Policies, RetryPolicy
from tenuto.model.status import NodeStatus
from tenuto.model.working_time import WorkingCalendar, WorkingDuration
from tenuto.store.memory import turns
from tenuto.store.memory.disk import MemoryDisk, pack
from tenuto.store.memory.outbox import MemoryOutbox
from tenuto.store.outcomes import WON
from tenuto.store.parts.turns import InstanceWrite, Ownership, Turn, WriteResult
from tenuto.store.parts.waits import LookedBack, WaitRow

Bug = Callable[[], AbstractContextManager[Any]]


@contextmanager
def losers_write() -> Iterator[None]:
    """The gate appends whatever comes, at the end of the log."""

    def gate(disk: MemoryDisk, _: Turn, write: InstanceWrite, *__: object) -> WriteResult:
        append(disk, write.instance_id, write.rows[0])
        return WON

    def append(disk: MemoryDisk, instance_id: str, row: LogRow) -> None:
        seq = disk.log_ends.get(instance_id, 0) + 1
        disk.put(disk.log, (instance_id, seq), pack(row._replace(seq=seq)))
        disk.put(disk.log_ends, instance_id, seq)

    with patch.object(turns, "_gate", gate), patch.object(turns, "_append", append):
        yield


def fold_forgets_variables() -> AbstractContextManager[Any]:
    """Outputs do not reach the context."""
    return patch("tenuto.core.node_entries._write_variables", lambda *_: None)


def dead_edges_do_not_arrive() -> AbstractContextManager[Any]:
    """A skipped node does not tell those after it."""

    def only_taken(
        plan: Plan, state: InstanceState, key: NodeKey, handles: Collection[str]
    ) -> None:
        if handles:
            arrive(plan, state, key, handles)

    return patch("tenuto.core.node_entries.arrive", only_taken)


def cancel_rest_cancels_nothing() -> AbstractContextManager[Any]:
    return patch("tenuto.core.flow.cancel_rest", lambda _d, _key: None)


def one_attempt_too_many() -> AbstractContextManager[Any]:
    """The budget is off by one."""
    retry_of = Plan.retry_of

    def generous(self: Plan, node: Node, policies: Policies) -> RetryPolicy:
        policy = retry_of(self, node, policies)
        return replace(policy, max_attempts=policy.max_attempts + 1)

    return patch.object(Plan, "retry_of", generous)


@contextmanager
def timers_fire_early() -> Iterator[None]:
    """The clock is read wrongly, and the core does not look again."""

    async def run_once(self: Timekeeper) -> int:
        now = self._clock.now() + timedelta(seconds=20)
        is_due = self._next_row is not None and self._next_row <= now
        return self._report_near(now) + (await self._report_far(now) if is_due else 0)

    def due(d: Deciding, report: TimerDue) -> Rejection | None:
        timer = d.state.timers.get(report.key)
        if timer is None or timer.due != report.due:
            return Rejection(code="TEN-3003", message="not set")
        return _fire(d, report.key)

    with (
        patch.object(Timekeeper, "run_once", run_once),
        patch.object(Timekeeper, "_nap", lambda _self: 5.0),
        patch("tenuto.core.timer.due", due),
    ):
        yield


def poison_comes_at_four() -> AbstractContextManager[Any]:
    return patch("tenuto.core.attempt.LOSSES_UNTIL_POISON", 4)


def nobody_looks_back() -> AbstractContextManager[Any]:
    """A new wait is marked as if past events had been looked at."""

    async def look_back(self: LookBack, arms: Sequence[WaitRow]) -> bool:
        wait = arms[0]
        key = LookedBack(wait.instance_id, wait.node, wait.iteration, wait.attempt)
        await self._intake_of(wait.instance_id).looked_back(key)
        return False

    return patch.object(LookBack, "of", look_back)


def snapshots_drop_variables() -> AbstractContextManager[Any]:
    def encode(state: InstanceState) -> bytes:
        return snapshot.encode(replace(state, variables={}))

    return patch("tenuto.engine.turns.draft.encode_snapshot", encode)


@contextmanager
def recovery_forgets_attempts() -> Iterator[None]:
    """What ran in the process that is gone is left alone."""

    def without_attempts(
        plan: Plan,
        state: InstanceState,
        policies: Policies,
        besides: Collection[AttemptKey] = (),
    ) -> tuple[Effect, ...]:
        owed = outstanding(plan, state, policies, besides)
        return tuple(effect for effect in owed if not isinstance(effect, StartAttempt))

    def counted(
        plan: Plan,
        state: InstanceState,
        policies: Policies,
        besides: Collection[AttemptKey] = (),
    ) -> tuple[tuple[Effect, ...], int]:
        return without_attempts(plan, state, policies, besides), 0

    with (
        patch("tenuto.engine.turns.drafter.attempts_in_flight", lambda *_: []),
        patch("tenuto.engine.turns.drafter.outstanding_counted", counted),
        patch("tenuto.engine.effects.dispatcher.outstanding", without_attempts),
    ):
        yield


@contextmanager
def every_event_fits() -> Iterator[None]:
    """The condition of a wait is not read."""
    with (
        patch.object(wait_finder, "is_fit", lambda *_: True),
        patch.object(look_back, "is_fit", lambda *_: True),
    ):
        yield


def published_events_are_forgotten() -> AbstractContextManager[Any]:
    """What a step publishes is not written with its entry."""
    order = Deciding.order

    def forgetful(self: Deciding, effect: Effect) -> None:
        if not isinstance(effect, PublishEvent):
            order(self, effect)

    return patch.object(Deciding, "order", forgetful)


def triggers_stay_open() -> AbstractContextManager[Any]:
    """What was to cancel an instance outlives it."""
    subscriptions = cancel_trigger.subscriptions

    def opened(
        plan: Plan, state: InstanceState, *, was_listening: bool, steps: Steps
    ) -> list[Effect]:
        found = subscriptions(plan, state, was_listening=was_listening, steps=steps)
        return [effect for effect in found if isinstance(effect, OpenWait)]

    return patch("tenuto.core.deciding.subscriptions", opened)


def any_arm_takes_an_event() -> AbstractContextManager[Any]:
    """The first by name wins, and not the first listed."""
    return patch("tenuto.engine.events.recipients._first_arms", lambda waits: waits[:1])


def keys_are_shared() -> AbstractContextManager[Any]:
    """Every step of an instance has the same idempotency key."""
    return patch("tenuto.core.attempt.idempotency_key", lambda instance_id, _key: instance_id)


def owners_stay() -> AbstractContextManager[Any]:
    """The owner row outlives the work that it stands for."""
    write_ownership = turns._write_ownership

    def keep(disk: MemoryDisk, process_id: str, write: InstanceWrite) -> None:
        if write.ownership is not Ownership.RELEASE:
            write_ownership(disk, process_id, write)

    return patch.object(turns, "_write_ownership", keep)


def far_timers_are_not_written() -> AbstractContextManager[Any]:
    """What is too far away for memory has no row either."""

    def forget(disk: MemoryDisk, write: InstanceWrite) -> None:
        obligations(disk, replace(write, timers_set=()))

    obligations = turns._write_obligations
    return patch.object(turns, "_write_obligations", forget)


def loops_forget_how_far_they_are() -> AbstractContextManager[Any]:
    """After a restart the newest iteration is begun once more."""

    def encode(state: InstanceState) -> bytes:
        loops = {key: replace(loop, started=loop.started - 1) for key, loop in state.loops.items()}
        return snapshot.encode(replace(state, loops=loops))

    return patch("tenuto.engine.turns.draft.encode_snapshot", encode)


def parallel_iterations_see_each_other() -> AbstractContextManager[Any]:
    """What an iteration wrote is where the next one begins, in every mode."""
    return patch("tenuto.core.loop_entries._is_parallel", lambda _plan, _loop: False)


def failures_are_enough() -> AbstractContextManager[Any]:
    """`enough` counts iterations that ended, however they did."""

    def is_enough(_d: Deciding, _key: NodeKey, config: Loop, loop: LoopState) -> bool:
        ended = len(loop.results) + len(loop.errors)
        return isinstance(config.enough, int) and ended >= config.enough

    return patch("tenuto.core.loop._is_enough", is_enough)


def all_at_once() -> AbstractContextManager[Any]:
    """Nobody looks at `concurrency`."""
    return patch("tenuto.core.arrivals.width_of", lambda _plan, _loop: 1_000)


def no_edge_is_waited_for() -> AbstractContextManager[Any]:
    """A loop over arrivals is over as soon as nothing of it is under way."""
    return patch("tenuto.core.loop.may_arrive", lambda *_: False)


def a_last_edge_ends_no_loop() -> AbstractContextManager[Any]:
    """A loop over arrivals goes on when its last edge is dead."""
    return patch("tenuto.core.arrivals.may_arrive", lambda *_: True)


def called_off_iterations_go_on() -> AbstractContextManager[Any]:
    """A join in an iteration that is over fires when its last edge dies."""
    return patch("tenuto.core.edges._is_over", lambda _plan, _state, _key: False)


def results_come_as_they_end() -> AbstractContextManager[Any]:
    return patch("tenuto.core.loop._results", lambda loop: list(loop.results.values()))


def a_retry_leaves_what_was_withdrawn() -> AbstractContextManager[Any]:
    """Only the node that failed is re-opened; what its failure took along stays called off."""

    def is_reopened(_plan: Plan, _state: InstanceState, _key: NodeKey, node: NodeState) -> bool:
        return node.status is NodeStatus.FAILED and not node.written

    return patch("tenuto.core.reopening._is_reopened", is_reopened)


def iterations_share_a_key() -> AbstractContextManager[Any]:
    """The key of a step in a loop names no iteration."""
    return patch("tenuto.core.attempt.idempotency_key", lambda id, key: f"{id}:{key.node}")


def waits_are_not_written() -> AbstractContextManager[Any]:
    """A wait that no event finds."""
    return patch("tenuto.engine.turns.obligations.Obligations.open_wait", lambda *_: None)


def a_wait_ends_twice() -> AbstractContextManager[Any]:
    """What has ended a wait does not keep the next from ending it."""
    resolved = wait._resolved

    def twice(d: Deciding, key: NodeKey, event: Event | None, arm: str = "") -> None:
        resolved(d, key, event, arm)
        resolved(d, key, event, arm)

    return patch.object(wait, "_resolved", twice)


def the_grace_is_too_long() -> AbstractContextManager[Any]:
    """Whoever ignores a cancel is waited for, minutes longer than was told."""
    set_timer = node_entries._set_node_timer

    def later(
        state: InstanceState, kind: TimerKind, key: NodeKey, due: datetime | None, at: datetime
    ) -> None:
        if kind is TimerKind.GRACE and due is not None:
            due += timedelta(minutes=5)
        set_timer(state, kind, key, due, at)

    return patch.object(node_entries, "_set_node_timer", later)


def undone_in_the_order_in_which_it_was_done() -> AbstractContextManager[Any]:
    """What completed first is undone first."""

    def forwards(plan: Plan, state: InstanceState, steps: Steps) -> UndoPlan:
        found = plan_undo(plan, state, steps)
        return replace(found, plan=found.plan[::-1])

    return patch("tenuto.core.compensation.plan_undo", forwards)


def what_is_tried_again_stays_a_dead_letter() -> AbstractContextManager[Any]:
    """A retry leaves the letter of what failed."""
    return patch("tenuto.core.retry._drop_dead_letters", lambda _: None)


def what_undoes_is_given_something_else() -> AbstractContextManager[Any]:
    """A compensation does not see what the step that it undoes gave."""
    wrong = GivenInput({"of": "something else"})
    return patch("tenuto.core.compensation.undo_given", lambda *_: wrong)


def jobs_stay() -> AbstractContextManager[Any]:
    """What was offered to others is not taken back once it has come to its end."""
    obligations = turns._write_obligations

    def keep(disk: MemoryDisk, write: InstanceWrite) -> None:
        obligations(disk, replace(write, jobs_withdrawn=()))

    return patch.object(turns, "_write_obligations", keep)


def streams_do_not_wait() -> AbstractContextManager[Any]:
    """What follows an event of the same instance does not wait until that has arrived."""
    return patch("tenuto.store.memory.outbox._is_same_stream", lambda *_: False)


def an_outbox_that_forgets() -> AbstractContextManager[Any]:
    """Rows are taken off before what they tell is on its way."""
    drain = MemoryOutbox.drain

    async def forget(self: MemoryOutbox, numbers: Sequence[int], _: object) -> None:
        await drain(self, numbers, ())

    return patch.object(MemoryOutbox, "drain", forget)


def working_time_is_any_time() -> AbstractContextManager[Any]:
    """A calendar is named, and nobody reads it."""

    def add(_: WorkingCalendar, moment: datetime, duration: WorkingDuration) -> datetime:
        return moment + timedelta(days=duration.days) + duration.span

    return patch("tenuto.core.moments.add", add)


def calendars_are_not_recorded() -> AbstractContextManager[Any]:
    """A moment is right, and nothing says by which calendar."""
    return patch.object(Moments, "calendars", ())


def promises_are_forgotten() -> AbstractContextManager[Any]:
    """The moments of an SLA are written down, and no timer is set."""
    return patch("tenuto.core.sla_entries.set_again", lambda *_: None)


def promises_are_told_again() -> AbstractContextManager[Any]:
    """A retry sets all timers of an SLA, also of what was told."""

    def set_again(state: InstanceState, key: NodeKey, at: datetime) -> None:
        begun = state.sla.get(key)
        moments = () if begun is None else (begun.warn_at, begun.breach_at)
        for kind, due in zip(SLA_TIMERS, moments, strict=False):
            set_timer(state, TimerKey(kind, key.node, key.iteration), due, at)

    return patch("tenuto.core.reopening.set_again", set_again)
