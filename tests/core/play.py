"""Histories as they are told: `play(draw("a>b")).start({"n": 1}).succeed("a").fail("b", "OOPS")`.

Time is virtual and moves only when it is told to. After every step the properties of
`tests.core.holding` are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from msgspec import UNSET

from tenuto.core import Decision, InstanceState, Plan, Rejection, blank, decide, snapshot
from tenuto.core.cancel_trigger import holds
from tenuto.core.deciding import GO_ON
from tenuto.core.ending import output_of
from tenuto.core.view import compensation_view, context_of, state_of
from tenuto.definition import compile_definition
from tenuto.events import fits
from tenuto.expr import ExpressionError, Steps, split_condition
from tenuto.model.approvals import Decision as Decided
from tenuto.model.codes import CATALOGUE
from tenuto.model.effects import OpenWait
from tenuto.model.entries import Entry
from tenuto.model.events import Event
from tenuto.model.failure import Failure, LastError
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import (
    Admitted,
    AttemptLost,
    CancelAsked,
    ChildReported,
    ChildResolved,
    ChildUndone,
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
)
from tenuto.model.json import JSON, Object
from tenuto.model.policy import MOST_ENTRIES, NO_POLICIES, Policies
from tenuto.model.status import Status
from tests.core.holding import check_step
from tests.core.ledger import Ledger
from tests.core.notation import line

ID = "00000000-0000-7000-8000-000000000001"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_ENTRIES = ContextVar("_MOST_ENTRIES", default=MOST_ENTRIES)


def key_of(node: str) -> NodeKey:
    """`pack`, or `pack[2/0]` in an iteration."""
    name, _, iteration = node.partition("[")
    return NodeKey(name, iteration.removesuffix("]"))


def spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node


Check = Callable[["Run", InstanceState, Decision], None]


class Told(NamedTuple):
    """What happened, when, under which policies, and how many entries followed."""

    input: Input
    now: datetime
    policies: Policies
    entries: int


class Run:
    """One instance, its log so far, and the world's side of it."""

    def __init__(
        self,
        document: JSON,
        *,
        id: str = ID,
        check: Check | None = check_step,
        policies: Policies = NO_POLICIES,
    ) -> None:
        self.document = document
        self.plan = Plan(compile_definition(document))
        self.state = blank(id)
        self.entries: list[Entry] = []
        self.policies = policies
        self.told: list[Told] = []
        """Everything that happened."""
        self.taken: list[Input] = []
        """What of it was not refused."""
        self.news: list[str] = []
        """The entries of the last step."""
        self.versions: list[int] = []
        """How long the log was after each step."""
        self.now = BEGIN
        self.worker: str | None = None
        """What runs its tasks; None: the process itself."""
        self.ledger = Ledger()
        self.rejection: Rejection | None = None
        self._events = 0
        self._check = check
        self._refusing = False

    # -- what can happen

    def tell(self, input: Input) -> Run:
        """Whatever can happen; a rejection that the test does not expect is an error."""
        before = self.state
        decision = self._decided(input)
        if self._check is not None:
            self._check(self, before, decision)
        if not self._refusing:
            assert decision.rejection is None, decision.rejection
        return self

    def set_aside(self) -> Run:
        """As the engine does with an instance that it cannot decide on."""
        self._decided(InputRefused(code="TEN-4000", message="ZeroDivisionError: by zero"))
        return self

    def _decided(self, input: Input) -> Decision:
        before, kept = self.state, snapshot.encode(self.state)
        plan = copy(self.plan)
        plan.most_entries = _MOST_ENTRIES.get()
        decision = decide(plan, before, input, self.now, self.policies)
        assert snapshot.encode(before) == kept, "a decision changes no older state"
        self.told.append(Told(input, self.now, self.policies, len(decision.entries)))
        self.taken += [input] if decision.rejection is None else []
        self.entries += decision.entries
        self.state = decision.state
        self.versions.append(self.state.version)
        self.news = [line(entry) for entry in decision.entries]
        self.rejection = decision.rejection
        self.ledger.take(decision.entries, decision.effects)
        return decision

    @contextmanager
    def refusing(self, code: str) -> Iterator[None]:
        """What is told within is refused with `code`, and nothing became true."""
        before, self._refusing = self.state, True
        yield
        self._refusing = False
        assert self.rejection is not None, f"it was taken: {self.news}"
        assert self.rejection.code == code, self.rejection
        assert code in CATALOGUE
        assert self.state is before
        assert self.news == []

    def start(self, input: JSON = None, **more: Any) -> Run:  # noqa: ANN401
        asked = Started(definition_id="w", definition_version=1, input=input, **more)
        return self.tell(asked)

    def succeed(
        self,
        node: str,
        output: JSON = None,
        *,
        handle: str = "default",
        attempt: int | None = None,
        delay: int = 0,
    ) -> Run:
        attempt = attempt or self.attempt(node)
        key = key_of(node)
        return self.tell(
            TaskSucceeded(
                node=key.node,
                iteration=key.iteration,
                attempt=attempt,
                output=output,
                handle=handle,
                delay=delay,
                worker=self.worker,
            )
        )

    def fail(
        self,
        node: str,
        code: str = "OOPS",
        *,
        retryable: bool = False,
        details: JSON = None,
        attempt: int | None = None,
    ) -> Run:
        error = Failure(
            code=code, message=f"{code} in {node}", details=details, retryable=retryable
        )
        attempt, key = attempt or self.attempt(node), key_of(node)
        return self.tell(
            TaskFailed(
                node=key.node,
                iteration=key.iteration,
                attempt=attempt,
                error=error,
                worker=self.worker,
            )
        )

    def lose(self, node: str, *, clean: bool = False, attempt: int | None = None) -> Run:
        attempt, key = attempt or self.attempt(node), key_of(node)
        return self.tell(
            AttemptLost(node=key.node, iteration=key.iteration, attempt=attempt, clean=clean)
        )

    def resolve(self, node: str, version: int = 1) -> Run:
        """The workflow that a step names is there, in this version."""
        key, attempt = key_of(node), self.attempt(node)
        return self.tell(
            ChildResolved(node=key.node, iteration=key.iteration, attempt=attempt, version=version)
        )

    def child_ends(
        self,
        node: str,
        output: JSON = None,
        *,
        status: Status = Status.COMPLETED,
        code: str | None = None,
        retryable: bool = True,
        reason: str | None = None,
        child_id: str | None = None,
        can_be_undone: bool = False,
    ) -> Run:
        """The child of a step ends; with a code it has failed."""
        key = key_of(node)
        error = code and LastError(code=code, message=f"{code} inside", step_id="x", at=self.now)
        return self.tell(
            ChildReported(
                node=key.node,
                iteration=key.iteration,
                attempt=self.attempt(node),
                child_id=child_id or self.ledger.children[key],
                status=Status.FAILED if code else status,
                output=output,
                error=error or None,
                retryable=retryable,
                reason=reason,
                can_be_undone=can_be_undone,
            )
        )

    def child_undone(
        self,
        node: str,
        status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"] = "COMPLETED",
    ) -> Run:
        """The child of a step that had completed has undone what it could."""
        key = key_of(node)
        child_id = self.state.nodes[key].child_id
        assert child_id is not None
        return self.tell(
            ChildUndone(node=key.node, iteration=key.iteration, child_id=child_id, status=status)
        )

    def later(self, **length: float) -> Run:
        """Let time pass; nothing fires by itself."""
        self.now += timedelta(**length)
        return self

    def at(self, moment: datetime) -> Run:
        """Set the clock, also back."""
        self.now = moment
        return self

    def fire(self, kind: TimerKind | None = None) -> Run:
        """Report the timers that are due, those of `kind` alone if one is named."""
        due = sorted(
            (moment, key)
            for key, moment in self.ledger.timers.items()
            if moment <= self.now and kind in (None, key.kind)
        )
        assert due, f"nothing is due: {self.ledger.timers}"
        news: list[str] = []
        for moment, key in due:
            if self.ledger.timers.get(key) == moment:
                self.tell(TimerDue(key=key, due=moment))
                news += self.news
        self.news = news
        return self

    def settle(self) -> Run:
        """Go on until nothing is left over that decisions have not come to."""
        while GO_ON in self.ledger.timers:
            self.fire(TimerKind.GO_ON)
        return self

    def skip(self) -> Run:
        """Go to the next timer and fire it."""
        self.now = max(self.now, min(self.ledger.timers.values()))
        return self.fire()

    def event(
        self,
        pattern: str,
        payload: JSON = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
    ) -> Run:
        """An event reaches every open wait that it fits."""
        self._events += 1
        event = Event(
            id=id or f"e{self._events}",
            pattern=pattern,
            payload=payload,
            received_at=self.now,
            correlation_id=correlation_id,
        )
        taking = {
            key: next((arm for arm in arms if self._fits(arm, event)), None)
            for key, arms in sorted(self.ledger.arms.items())
        }
        cancelling = [each.position for each in self.ledger.triggers if self._fits(each, event)]
        assert cancelling or any(taking.values()), f"no open wait takes {pattern} {payload}"
        news: list[str] = []
        for key, arm in taking.items():
            if arm is not None:
                self.hand(spelled(key), event, arm=arm.arm)
                news += self.news
        for number in cancelling:
            if self.ledger.triggers:  # the first that holds ends it
                self.tell(TriggerMatched(trigger=number, event=event))
                news += self.news
        self.news = news
        return self

    def hand(self, node: str, event: Event, *, by_lookback: bool = False, arm: str = "") -> Run:
        """Give an event to one wait."""
        key = key_of(node)
        known = self.state.nodes.get(key)
        return self.tell(
            EventMatched(
                node=key.node,
                iteration=key.iteration,
                attempt=1 if known is None else known.attempt,
                event=event,
                by_lookback=by_lookback,
                arm=arm,
            )
        )

    def decide(
        self,
        node: str,
        decision: Decided = "approved",
        *,
        by: str = "ann",
        roles: tuple[str, ...] = (),
        form: JSON = None,
    ) -> Run:
        """Somebody decides on an approval."""
        key = key_of(node)
        asked = DecisionAsked(
            node=key.node,
            iteration=key.iteration,
            decision=decision,
            by=by,
            roles=roles,
            form=form,
        )
        return self.tell(asked)

    def pause(self, *, until: datetime | None = None, reason: str | None = None) -> Run:
        return self.tell(PauseAsked(by="ada", until=until, reason=reason))

    def resume(self) -> Run:
        return self.tell(ResumeAsked(by="ada"))

    def admit(self, node: str = "", number: int | None = None) -> Run:
        """Grant the slot that is asked for."""
        key = key_of(node)
        order = self.ledger.slots.get(key)
        request = None if order is None else order.request
        is_rated = request is not None and request.rate is not None
        asked = self.ledger.slots[key].number if number is None else number
        at = self.now if is_rated else UNSET
        return self.tell(Admitted(number=asked, node=key.node, iteration=key.iteration, at=at))

    def skip_delay(self, node: str) -> Run:
        key = key_of(node)
        return self.tell(SkipDelayAsked(node=key.node, iteration=key.iteration, by="ada"))

    def time_out(self, node: str, *, attempt: int | None = None) -> Run:
        """A principal requests the time-out of a step."""
        key = key_of(node)
        return self.tell(
            TimeOutAsked(node=key.node, iteration=key.iteration, by="ada", attempt=attempt)
        )

    def cancel(self, reason: str | None = None, *, should_compensate: bool = True) -> Run:
        asked = CancelAsked(by="ada", reason=reason, should_compensate=should_compensate)
        return self.tell(asked)

    def retry(self) -> Run:
        return self.tell(RetryAsked(by="ada"))

    # -- what is to be seen

    @property
    def log(self) -> list[str]:
        return [line(entry) for entry in self.entries]

    @property
    def status(self) -> Status:
        return self.state.status

    @property
    def ctx(self) -> Object:
        return context_of(self.plan, self.state)

    @property
    def view(self) -> Any:  # noqa: ANN401
        return state_of(self.plan, self.state)

    @property
    def output(self) -> JSON:
        assert self.status is Status.COMPLETED
        return output_of(self.plan, self.state)

    @property
    def undoing(self) -> Any:  # noqa: ANN401
        """`compensationState`."""
        return compensation_view(self.state.compensation)

    @property
    def code(self) -> str | None:
        """The code of the instance's last error."""
        return None if self.state.last_error is None else self.state.last_error.code

    @property
    def running(self) -> list[str]:
        return sorted(map(spelled, self.ledger.running))

    @property
    def timers(self) -> dict[str, timedelta]:
        """What is set, by node (or kind, for the instance's own), and how far ahead it is."""
        return {
            key.node or key.kind.value: due - self.now for key, due in self.ledger.timers.items()
        }

    def timer(self, kind: TimerKind, node: str = "") -> datetime:
        return self.ledger.timers[TimerKey(kind, node)]

    def step(self, node: str) -> str:
        """The status of a step."""
        status: str = self.view["steps"][node]["status"]
        return status

    def attempt(self, node: str) -> int:
        """The newest attempt of a node, or of the compensation under way."""
        key, undoing = key_of(node), self.state.compensation
        place = None if undoing is None else undoing.place
        if place is not None and place[:2] == (key.node, key.iteration):
            return place[2]
        return self.state.nodes[key].attempt

    def count(self, entry: str) -> int:
        """How often the log has an entry that begins so."""
        return sum(f"{each} ".startswith(f"{entry} ") for each in self.log)

    def _fits(self, wait: OpenWait, event: Event) -> bool:
        if not fits(wait.pattern, event.pattern):
            return False
        if wait.correlation_id not in (None, event.correlation_id):
            return False
        if wait.captures is None:
            return holds(self.plan, self.state, wait.position, event, Steps())
        if wait.condition is None:
            return True
        try:
            return split_condition(wait.condition).matches(event.as_value(), wait.captures, Steps())
        except ExpressionError:
            return False


@contextmanager
def decisions_of(most: int) -> Iterator[None]:
    """Within, a decision stops after so many entries."""
    before = _MOST_ENTRIES.set(most)
    yield
    _MOST_ENTRIES.reset(before)


def play(
    document: JSON, *, check: Check | None = check_step, policies: Policies = NO_POLICIES
) -> Run:
    """An instance of `document` that has not started yet."""
    return Run(document, check=check, policies=policies)
