"""Performs the effects of a durable turn: attempts, timers, look-backs, children, messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, assert_never

from tenuto.core import outstanding
from tenuto.core.outstanding import AttemptKey
from tenuto.engine.effects.task_context import context_for, context_of
from tenuto.engine.effects.timekeeper import Timekeeper
from tenuto.engine.limits.slot_hints import SlotHints
from tenuto.engine.turns.draft import Draft
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
from tenuto.model.events import Event
from tenuto.model.inputs import AttemptLost, TimerDue
from tenuto.model.policy import NEAR
from tenuto.model.test_run import Mock
from tenuto.store.parts.jobs import JobKey
from tenuto.store.parts.waits import WaitRow
from tenuto.tasks.context import Facts
from tenuto.tasks.runner import Runner


class Others(NamedTuple):
    """Processes and workers that run offered attempts."""

    is_offered: Callable[[str], bool] | None
    """Whether a task waits for a process or worker that has it; None: no task does."""
    offer: Callable[[str, StartAttempt], None]
    withdraw: Callable[[JobKey], None]
    """An offered attempt is cancelled."""
    report_lost: Callable[[str, AttemptLost], None]
    """An attempt was lost with the process that ran it."""


class Send(Protocol):
    """Hands over a durable message; `is_sealed`: it is of an instance that is encrypted."""

    def __call__(self, message: SendMail, tenant: str, *, is_sealed: bool) -> None: ...


class Dispatcher:
    """Performs effects: never before they are durable, perhaps again after a crash."""

    def __init__(  # noqa: PLR0913 - what it calls
        self,
        *,
        runner: Runner,
        timekeeper: Timekeeper,
        look_back: Callable[[Sequence[WaitRow]], None],
        resolve: Callable[[str, str, ResolveChild], None],
        send: Send,
        match: Callable[[int, Event], None],
        others: Others,
        report_mock: Callable[[str, StartAttempt, Mock], None],
        slot_hints: SlotHints,
    ) -> None:
        self._runner = runner
        self._timekeeper = timekeeper
        self._look_back = look_back
        self._resolve = resolve
        self._send = send
        self._match = match
        self._others = others
        self._offers = others.is_offered
        self._report_mock = report_mock
        self._slot_hints = slot_hints

    def perform(self, draft: Draft) -> None:
        """Perform the effects of one instance's share of a turn."""
        instance_id, held = draft.instance_id, draft.held
        if held.is_fresh:
            held.is_fresh = False
            if held.owner_elsewhere is None:
                self._catch_up(draft)
        if draft.follow_ups:
            facts = context_of(held, draft.state)
            is_mine = held.owner_elsewhere is None
            for effect in draft.follow_ups:
                if is_mine and isinstance(effect, StartAttempt):
                    self._start(instance_id, draft, effect, facts)
                elif is_mine or not _is_owners_work(effect):
                    self._perform(instance_id, draft, effect, facts)
        if draft.answers:
            for request, answer in draft.answers:
                if isinstance(request.input, TimerDue):
                    self._timekeeper.decided(instance_id, request.input, answer.rejection)

    def _catch_up(self, draft: Draft) -> None:
        """Perform the effects of an instance that others have advanced, and stop obsolete ones.

        The effects of the state that this process last acted upon are under way, or reported.
        """
        held = draft.held
        policies = draft.policies
        before: tuple[Effect, ...] = ()
        elsewhere: set[AttemptKey] = set()
        """Attempts that are not begun here: after a restart these may be tens of thousands."""
        if held.performed is None:
            elsewhere = {*held.jobs, *(_place_lost(lost) for lost in draft.also_lost)}
        else:
            before = outstanding(held.plan, held.performed, policies)
        held.performed = None
        under_way = {_place(effect): effect for effect in before}
        outstanding_now = outstanding(held.plan, draft.state, policies, elsewhere)
        owed = {_place(effect): effect for effect in outstanding_now}
        for place, effect in under_way.items():
            if place not in owed or _is_cancelled(draft, effect):
                self._cancel(draft, effect)
        facts = context_of(held, draft.state)
        for lost in draft.also_lost:
            owed.pop(_place_lost(lost), None)
            self._others.report_lost(draft.instance_id, lost)
        for place, effect in owed.items() if held.is_owned else ():
            # An attempt that was cancelled before it began here ends with its grace period.
            if place in under_way or place in held.jobs or _is_cancelled(draft, effect):
                continue
            if (
                isinstance(effect, StartAttempt)
                and self._is_offered(draft, effect.task_id)
                and held.plan.mock_of(effect.node) is None
            ):
                self._others.offer(draft.instance_id, effect)
            else:
                self._perform(draft.instance_id, draft, effect, facts)

    def _is_offered(self, draft: Draft, task_id: str) -> bool:
        """Whether an attempt of a task is a job: of a task with limits it always is."""
        is_limited = task_id in draft.policies.limited
        return is_limited or (self._offers is not None and self._offers(task_id))

    def _cancel(self, draft: Draft, effect: Effect) -> None:
        if isinstance(effect, StartAttempt):
            self._stop(draft, effect)
        elif isinstance(effect, SetTimer):
            self._timekeeper.clear(draft.instance_id, effect.key)

    def _stop(
        self, draft: Draft, attempt: StartAttempt | StopAttempt, grace: float | None = None
    ) -> None:
        """Stop an attempt, here or in another process."""
        place = (attempt.node, attempt.iteration, attempt.attempt)
        self._runner.stop(draft.instance_id, *place, grace=grace)
        if place in draft.held.jobs:
            self._others.withdraw(JobKey(draft.instance_id, *place))

    def _start(self, instance_id: str, draft: Draft, order: StartAttempt, facts: Facts) -> None:
        plan = draft.held.plan
        if plan.rehearsal is not None and (mock := plan.mock_of(order.node)) is not None:
            self._report_mock(instance_id, order, mock)
        elif order.task_id not in draft.policies.limited and (
            self._offers is None or not self._offers(order.task_id)
        ):
            known = context_for(draft.held, draft.state, order, facts)
            self._runner.start(instance_id, order, known)

    def _perform(self, instance_id: str, draft: Draft, effect: Effect, facts: Facts) -> None:
        match effect:
            case StartAttempt():
                self._start(instance_id, draft, effect, facts)
            case StopAttempt():
                self._stop(draft, effect, effect.grace.total_seconds())
            case SetTimer():
                self._timekeeper.set(instance_id, effect)
            case ClearTimer():
                self._timekeeper.clear(instance_id, effect.key)
            case OpenWait():
                arms = draft.arms_opened(effect.node, effect.iteration)
                # Once for all arms: the wait takes the oldest event that matches any.
                if arms and arms[0].arm == effect.arm:
                    self._look_back(arms)
            case PublishEvent():
                self._match(draft.stored[effect.event.id].number, effect.event)
            case ResolveChild():
                self._resolve(instance_id, draft.held.tenant, effect)
            case SendMail():
                self._send(effect, draft.held.tenant, is_sealed=draft.held.is_sealed)
            case AskSlot() | ReleaseSlot():
                self._slot_hints.follow(effect, is_admitted=draft.is_admitted)
            case CloseWait() | TakeEvent() | KeepDeadLetter() | DropDeadLetters():
                pass  # rows, written with the turn
            case _:
                assert_never(effect)


def _is_cancelled(draft: Draft, effect: Effect) -> bool:
    """Whether it is an attempt of a step while the instance ends; compensations continue."""
    if draft.state.ending is None or not isinstance(effect, StartAttempt):
        return False
    return effect.node in draft.held.plan.nodes


def _is_owners_work(effect: Effect) -> bool:
    """Whether only the owner of the instance performs it, from the log."""
    if isinstance(effect, SetTimer):
        return effect.due - effect.set_at <= NEAR
    return isinstance(effect, StartAttempt | StopAttempt | ResolveChild | ClearTimer)


def _place_lost(lost: AttemptLost) -> AttemptKey:
    return lost.node, lost.iteration, lost.attempt


def _place(effect: Effect) -> tuple[object, ...]:
    """A key that tells effects of one instance apart."""
    match effect:
        case StartAttempt() | ResolveChild():
            return effect.node, effect.iteration, effect.attempt
        case SetTimer():
            return effect.key, effect.due
        case _:
            return (effect,)
