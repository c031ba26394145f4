"""Every status against every input, and which transitions histories take at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import product
from typing import Final, Literal, get_args, get_type_hints

import pytest
from msgspec import Struct

from tenuto.core import decide
from tenuto.model.codes import CATALOGUE
from tenuto.model.entries import (
    Entry,
    NodeCompleted,
    NodeFailed,
    NodeSkipped,
    StatusChanged,
    TimerFired,
    WaitResolved,
)
from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.inputs import (
    Admitted,
    AttemptLost,
    CancelAsked,
    ChildReported,
    ChildResolved,
    ChildUndone,
    CompensationRetryAsked,
    DecisionAsked,
    EventMatched,
    Input,
    InputRefused,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    SkipDelayAsked,
    Started,
    TaskFailed,
    TaskSucceeded,
    TimeOutAsked,
    TimerDue,
    TimerKey,
    TimerKind,
    TriggerMatched,
    UndoAsked,
)
from tenuto.model.status import FINAL, TRANSITIONS, NodeStatus, Status
from tests.core.play import BEGIN, Run
from tests.core.situations import SHELF

DRIVEN = {
    Status.CREATED: SHELF["created"],
    Status.RUNNING: SHELF["running"],
    Status.WAITING_FOR_EVENT: SHELF["waiting"],
    Status.PAUSED: SHELF["paused"],
    Status.COMPLETED: SHELF["completed"],
    Status.FAILED: SHELF["failed"],
    Status.CANCELLED: SHELF["cancelled"],
}
"""Each status by a real history; where anything is open, it is a task, a wait and a delay."""

COMPLETED: Final = "COMPLETED"
KINDS = list(get_args(Input))
STARTED = Started(definition_id="w", definition_version=1, input=None)


def inputs(kind: type[Input], run: Run) -> list[Input]:
    """Inputs of a kind: those that fit what is or was open, and one that never fits."""
    names = ["a", "w", "x", "nobody"]
    failure = Failure(code="X", message="x", retryable=False)
    event = Event(id="e", pattern="paid", payload=None, received_at=BEGIN)
    timers = [*sorted(run.ledger.timers.items())]
    timers += [(key, BEGIN) for key, _ in timers] + [(TimerKey(TimerKind.DELAY, "nobody"), BEGIN)]
    fresh: dict[type, Callable[[], list[Input]]] = {
        Started: lambda: [STARTED],
        TaskSucceeded: lambda: [TaskSucceeded(node=n, attempt=1, output=1) for n in names],
        TaskFailed: lambda: [TaskFailed(node=n, attempt=1, error=failure) for n in names],
        AttemptLost: lambda: [
            AttemptLost(node=n, attempt=1, clean=clean) for n in names for clean in (True, False)
        ],
        TimerDue: lambda: [*map(timer_due, timers)],
        EventMatched: lambda: [EventMatched(node=n, attempt=1, event=event) for n in names],
        TriggerMatched: lambda: [TriggerMatched(trigger=n, event=event) for n in (0, 7)],
        ChildResolved: lambda: [ChildResolved(node=n, attempt=1, version=1) for n in names],
        ChildReported: lambda: [
            ChildReported(node=n, attempt=1, child_id="c", status=status)
            for n in names
            for status in FINAL
        ],
        DecisionAsked: lambda: [DecisionAsked(node=n, decision="approved", by="a") for n in names],
        CancelAsked: lambda: [CancelAsked(by="ada"), CancelAsked(by="system", source="TIMEOUT")],
        PauseAsked: lambda: [PauseAsked(by="ada"), PauseAsked(by="ada", until=BEGIN)],
        ResumeAsked: lambda: [ResumeAsked(by="ada")],
        RetryAsked: lambda: [RetryAsked(by="ada")],
        Admitted: lambda: [Admitted(number=1), Admitted(number=1, node="a")],
        SkipDelayAsked: lambda: [SkipDelayAsked(node=n, by="ada") for n in (*names, "d")],
        TimeOutAsked: lambda: [TimeOutAsked(node=n, by="ada") for n in (*names, "d")],
        UndoAsked: lambda: [UndoAsked(by="p")],
        ChildUndone: lambda: [ChildUndone(node=n, child_id="c", status=COMPLETED) for n in names],
        CompensationRetryAsked: lambda: [
            CompensationRetryAsked(by="ada", step_id=n) for n in names
        ],
        InputRefused: lambda: [
            InputRefused(code="TEN-4000", message="x", input=each)
            for each in (STARTED, UndoAsked(by="p"), None)
        ],
    }
    return fresh[kind]()


def timer_due(timer: tuple[TimerKey, datetime]) -> Input:
    return TimerDue(key=timer[0], due=timer[1])


REFUSED = "refused"
LEADS: dict[Status, dict[type[Struct], set[str]]] = {
    Status.CREATED: {
        CancelAsked: {"CANCELLED"},
        InputRefused: {REFUSED, "FAILED"},
    },
    Status.RUNNING: {
        TaskSucceeded: {REFUSED, "RUNNING"},
        TaskFailed: {REFUSED, "FAILED"},
        AttemptLost: {REFUSED, "RUNNING"},
        TimerDue: {REFUSED, "RUNNING"},
        EventMatched: {REFUSED, "RUNNING"},
        TimeOutAsked: {REFUSED, "RUNNING"},
        CancelAsked: {"RUNNING"},
        PauseAsked: {"PAUSED"},
        InputRefused: {REFUSED, "FAILED"},
    },
    Status.WAITING_FOR_EVENT: {
        TimerDue: {REFUSED, "FAILED"},
        EventMatched: {REFUSED, "WAITING_FOR_EVENT"},
        TimeOutAsked: {REFUSED, "FAILED"},
        CancelAsked: {"CANCELLED"},
        PauseAsked: {"PAUSED"},
        InputRefused: {REFUSED, "FAILED"},
    },
    Status.PAUSED: {
        TaskSucceeded: {REFUSED, "PAUSED"},
        TaskFailed: {REFUSED, "PAUSED"},
        AttemptLost: {REFUSED, "PAUSED"},
        TimerDue: {REFUSED, "PAUSED", "RUNNING"},
        EventMatched: {REFUSED, "PAUSED"},
        TimeOutAsked: {REFUSED, "PAUSED"},
        CancelAsked: {"RUNNING"},
        ResumeAsked: {"RUNNING"},
        InputRefused: {REFUSED, "FAILED"},
    },
    Status.COMPLETED: {},
    Status.FAILED: {RetryAsked: {"RUNNING"}},
    Status.CANCELLED: {CancelAsked: {"CANCELLED"}},
}
"""Where each input leads from each status; what is not here is refused, whatever it says."""


@pytest.mark.parametrize(
    ("status", "kind"),
    list(product(Status, KINDS)),
    ids=lambda value: value.value if isinstance(value, Status) else value.__name__,
)
def test_every_status_against_every_input(status: Status, kind: type[Input]) -> None:
    """CREATED cannot be paused (409)."""
    expected = LEADS[status].get(kind, {REFUSED})
    found: set[str] = set()
    for number in range(len(inputs(kind, DRIVEN[status]()))):
        run = DRIVEN[status]()
        assert run.status is status
        found.add(led_to(run.later(days=9), inputs(kind, run)[number]))
    assert found == expected


def led_to(run: Run, input: Input) -> str:
    """The status afterwards, or that it was refused and changed nothing."""
    before = run.state
    decision = decide(run.plan, before, input, run.now, run.policies)
    if decision.rejection is not None:
        assert decision.rejection.code in CATALOGUE
        assert decision.rejection.message
        assert decision.entries == ()
        assert decision.state is before
        return REFUSED
    assert before.status not in FINAL or isinstance(input, RetryAsked) or not decision.entries
    status = before.status
    for entry in decision.entries:
        if isinstance(entry, StatusChanged):
            assert (entry.from_, entry.to in TRANSITIONS[status]) == (status, True)
            status = entry.to
    assert decision.state.status is status
    if not isinstance(input, InputRefused):  # what is open then stays so in the state
        run.tell(input)
    return status.value


def changes(run: Run) -> set[tuple[Status, Status]]:
    return {(e.from_, e.to) for e in run.entries if isinstance(e, StatusChanged)}


def test_every_transition_that_can_be_taken_is_taken() -> None:
    legal = {(status, to) for status, following in TRANSITIONS.items() for to in following}
    taken = set().union(*(changes(tell()) for tell in SHELF.values()))
    assert taken == legal


def said(kind: type[Entry], field: str) -> set[str]:
    """The words that a field of an entry may hold."""
    hint = get_type_hints(kind)[field]
    assert getattr(hint, "__origin__", None) is Literal
    return set(get_args(hint))


def test_every_arm_of_fold_and_decide_is_taken() -> None:
    runs = [tell() for tell in SHELF.values()]
    entries = [entry for run in runs for entry in run.entries]
    inputs_taken = [input for run in runs for input in run.taken]
    assert {type(entry) for entry in entries} == set(get_args(Entry))
    assert {e.then for e in entries if isinstance(e, NodeFailed)} == said(NodeFailed, "then")
    assert {e.reason for e in entries if isinstance(e, NodeSkipped)} == said(NodeSkipped, "reason")
    assert {e.outcome for e in entries if isinstance(e, WaitResolved)} == said(
        WaitResolved, "outcome"
    )
    assert {e.kind for e in entries if isinstance(e, TimerFired)} == said(TimerFired, "kind")
    assert {e.status for e in entries if isinstance(e, NodeCompleted)} == said(
        NodeCompleted, "status"
    )
    assert {type(input) for input in inputs_taken} == set(KINDS)
    fired = {input.key.kind for input in inputs_taken if isinstance(input, TimerDue)}
    assert fired == set(TimerKind)
    statuses = {node.status for run in runs for node in run.state.nodes.values()}
    assert statuses >= set(NodeStatus) - {NodeStatus.PENDING, NodeStatus.RETRYING}


def test_a_created_instance_cannot_be_paused_and_can_be_cancelled() -> None:
    run = SHELF["created"]()
    with run.refusing("TEN-3002"):
        run.pause()
    assert run.cancel().news == ["CANCEL_REQUESTED API", "STATUS_CHANGED CANCELLED"]
