"""The product's core on a virtual clock, without engine and store: entries go to a list.

Just enough to let the checker and the oracle judge real decisions. What an engine adds (turns,
stores, recovery) is simulated elsewhere.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from tenuto.core import Decision, Plan, blank, decide
from tenuto.core.ending import output_of
from tenuto.definition import compile_definition
from tenuto.model.durations import epoch_ms, from_epoch_ms
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
from tenuto.model.failure import Failure
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import (
    Admitted,
    AttemptLost,
    CancelAsked,
    DecisionAsked,
    EventMatched,
    Input,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    Started,
    TaskFailed,
    TaskSucceeded,
    TimerDue,
    TimerKey,
)
from tenuto.model.log import LogRow, to_row
from tenuto.model.policy import Policies
from tests.checker.history import Fields
from tests.kit.checker import Instance, Run
from tests.kit.checker.expression import evaluate, truthy
from tests.kit.checker.patterns import fits
from tests.kit.oracle.model import BEGIN_MS
from tests.kit.simulator.collect import history_item
from tests.kit.workload import (
    Action,
    Behaviour,
    Behaviours,
    Cancel,
    Decide,
    Document,
    Pause,
    Publish,
    Retry,
    behaviour_of,
)
from tests.kit.workload.business import HALVES

_POLICIES = Policies(calendars=HALVES)


class CoreDriver:
    """One instance, from its start until nothing is due any more."""

    def __init__(
        self,
        document: Document,
        input: Document,
        behaviours: Behaviours,
        *,
        id: str = "i-1",
        losing_percent: int = 0,
    ) -> None:
        self.id = id
        self.document = document
        self.plan = Plan(compile_definition(document))
        self.state = blank(id)
        self.rows: list[LogRow] = []
        self._input = input
        self._behaviours = behaviours
        self._losing_percent = losing_percent
        self._random = random.Random(id)
        self._now = BEGIN_MS
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._count = itertools.count()
        self._tries: Counter[NodeKey] = Counter()
        self._calls: dict[tuple[NodeKey, int], Fields] = {}
        self._told: set[tuple[NodeKey, int]] = set()
        """Calls that were told to stop: whatever they do is no try."""
        self._waits: dict[NodeKey, OpenWait] = {}
        self._timers: dict[TimerKey, int] = {}
        self._events: dict[str, Event] = {}
        self._letters: list[Fields] = []
        self._faults: list[Fields] = []
        self._client: list[Fields] = []

    def run(self, actions: Sequence[Action] = ()) -> Run:
        start = {"op": "start", "outcome": "ok", "instance": self.id, "input": self._input}
        self._client.append(start)
        self._feed(Started(definition_id="d", definition_version=1, input=self._input))
        for action in actions:
            self._at(BEGIN_MS + action.at_ms, partial(self._act, action))
        while self._agenda:
            at, _, happen = heapq.heappop(self._agenda)
            self._now = max(self._now, at)
            happen()
        return self._record()

    def _at(self, moment: int, happen: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (moment, next(self._count), happen))

    def _feed(self, input: Input) -> Decision:
        decision = decide(self.plan, self.state, input, from_epoch_ms(self._now), _POLICIES)
        for entry in decision.entries:
            self.rows.append(to_row(len(self.rows) + 1, entry))
        self.state = decision.state
        for effect in decision.effects:
            self._do(effect)
        return decision

    def _do(self, effect: Effect) -> None:  # noqa: C901 - one arm each
        match effect:
            case StartAttempt():
                self._start(effect)
            case StopAttempt():
                self._told.add((_key(effect), effect.attempt))
                if self._behaviour(_key(effect)).obeys:
                    self._at(self._now + 1, partial(self._obey, effect))
            case SetTimer():
                self._timers[effect.key] = due = epoch_ms(effect.due)
                self._at(due, lambda: self._feed(TimerDue(key=effect.key, due=effect.due)))
            case ClearTimer():
                self._timers.pop(effect.key, None)
            case OpenWait():
                self._waits[_key(effect)] = effect
                self._at(self._now, partial(self._look_back, _key(effect)))
            case CloseWait():
                self._waits.pop(_key(effect), None)
            case KeepDeadLetter():
                letter = {"kind": str(effect.kind), "node": effect.node, "attempt": effect.attempt}
                place = {"iteration": effect.iteration}
                self._letters.append({"id": str(len(self._letters)), **letter, **place})
            case DropDeadLetters():
                again = effect.node, effect.iteration
                self._letters = [
                    each
                    for each in self._letters
                    if each["kind"] == "late-result" or (each["node"], each["iteration"]) != again
                ]
            case AskSlot():
                granted = Admitted(
                    number=effect.number, node=effect.node, iteration=effect.iteration
                )
                self._at(self._now, lambda: self._feed(granted))
            case PublishEvent() | TakeEvent() | ReleaseSlot():
                pass
            case ResolveChild() | SendMail():
                raise AssertionError("one instance alone has no children")

    def _start(self, order: StartAttempt) -> None:
        behaviour = self._behaviour(_key(order))
        place: Fields = {"instance": self.id, "node": order.node, "iteration": order.iteration}
        place["attempt"] = order.attempt
        call = {"key": order.idempotency_key, **place, "at": self._now, "outcome": "running"}
        self._calls[_key(order), order.attempt] = call
        limit = int(order.timeout.total_seconds() * 1000)
        ends = self._now + min(behaviour.takes_ms, limit)
        if self._random.randrange(100) < self._losing_percent:
            self._at(self._now + behaviour.takes_ms // 2, partial(self._lose, order))
        elif behaviour.takes_ms > limit:
            failure = Failure(code="TIMEOUT", message="it took too long")
            self._at(ends, partial(self._fail, order, failure))
        else:
            self._at(ends, partial(self._report, order, behaviour))

    def _behaviour(self, key: NodeKey) -> Behaviour:
        return behaviour_of(self._behaviours, key.node, self._tries[key], key.iteration)

    def _ends(self, order: StartAttempt | StopAttempt, outcome: str) -> bool:
        """Whether the call was still going on; it now has its outcome."""
        call = self._calls[_key(order), order.attempt]
        if call["outcome"] != "running":
            return False
        call["outcome"] = outcome
        is_told = (_key(order), order.attempt) in self._told
        self._tries[_key(order)] += outcome in ("completed", "failed") and not is_told
        return True

    def _report(self, order: StartAttempt, behaviour: Behaviour) -> None:
        if behaviour.does == "fail":
            failure = Failure(
                code=behaviour.code, message="as scripted", retryable=behaviour.retryable
            )
            self._fail(order, failure)
        elif self._ends(order, "completed"):
            self._calls[_key(order), order.attempt]["output"] = behaviour.value
            self._feed(
                TaskSucceeded(
                    node=order.node,
                    iteration=order.iteration,
                    attempt=order.attempt,
                    output=behaviour.value,
                    handle=behaviour.handle,
                    delay=behaviour.delay_ms,
                )
            )

    def _fail(self, order: StartAttempt, failure: Failure) -> None:
        if self._ends(order, "failed"):
            node, iteration = order.node, order.iteration
            self._feed(
                TaskFailed(node=node, iteration=iteration, attempt=order.attempt, error=failure)
            )

    def _lose(self, order: StartAttempt) -> None:
        if self._ends(order, "lost"):
            clean = self._random.randrange(5) == 0
            self._faults.append({"kind": "stop" if clean else "crash"})
            place = {"node": order.node, "iteration": order.iteration}
            self._feed(AttemptLost(**place, attempt=order.attempt, clean=clean))

    def _obey(self, order: StopAttempt) -> None:
        if self._ends(order, "cancelled"):
            failure = Failure(code="CANCELLED", message="told to stop", retryable=False)
            node, iteration = order.node, order.iteration
            self._feed(
                TaskFailed(node=node, iteration=iteration, attempt=order.attempt, error=failure)
            )

    def _act(self, action: Action) -> None:
        if isinstance(action, Publish):
            self._publish(action)
            return
        if isinstance(action, Decide):
            self._decide(action)
            return
        asked: Input
        if isinstance(action, Cancel):
            asked = CancelAsked(by="client", reason=action.reason)
        elif isinstance(action, Pause):
            until = action.until_ms
            moment = None if until is None else from_epoch_ms(BEGIN_MS + until)
            asked = PauseAsked(by="client", until=moment)
        elif isinstance(action, Retry):
            asked = RetryAsked(by="client")
        else:
            asked = ResumeAsked(by="client")
        refused = self._feed(asked).rejection is not None
        answer = {"outcome": "refused" if refused else "ok", "instance": self.id}
        self._client.append({"op": type(action).__name__.lower(), **answer})

    def _decide(self, action: Decide) -> None:
        """In every iteration in which it is open; where it is nowhere, all the same."""
        keys = [key for key in self.state.open_nodes() if key.node == action.step]
        for key in sorted(keys) or [NodeKey(action.step)]:
            asked = DecisionAsked(
                node=key.node,
                iteration=key.iteration,
                decision=action.decision,
                by=action.by,
                roles=action.roles,
            )
            refused = self._feed(asked).rejection is not None
            answer = {"outcome": "refused" if refused else "ok", "instance": self.id}
            said = {"node": key.node, "iteration": key.iteration, "decision": action.decision}
            who = {"by": action.by, "roles": list(action.roles)}
            self._client.append({"op": "decide", **answer, **said, **who})

    def _publish(self, action: Publish) -> None:
        request = {"op": "publish", "outcome": "ok", "event": action.id}
        self._client.append({**request, "payload": action.payload})
        if action.id in self._events:
            return
        received = from_epoch_ms(self._now)
        event = Event(
            id=action.id, pattern=action.pattern, payload=action.payload, received_at=received
        )
        self._events[action.id] = event
        for key in list(self._waits):
            self._offer(key, event, by_lookback=False)

    def _look_back(self, key: NodeKey) -> None:
        for event in list(self._events.values()):
            self._offer(key, event, by_lookback=True)

    def _offer(self, key: NodeKey, event: Event, *, by_lookback: bool) -> None:
        wait = self._waits.get(key)
        if wait is None or not fits(wait.pattern, event.pattern) or event.received_at < wait.since:
            return
        scope = {"event": {"payload": event.payload}, "workflow": {"input": self._input}}
        if wait.condition is None or truthy(evaluate(wait.condition, scope)):
            place = {"node": key.node, "iteration": key.iteration}
            self._feed(
                EventMatched(**place, attempt=wait.attempt, event=event, by_lookback=by_lookback)
            )

    def _record(self) -> Run:
        final = self.state.status.is_final
        row: Fields = {"status": str(self.state.status), "version": len(self.rows)}
        if self.state.status == "COMPLETED":
            row["output"] = output_of(self.plan, self.state)
        instance = Instance(
            id=self.id,
            document=self.document,
            history=[history_item(found) for found in self.rows],
            row=row,
            waits=[{"node": key.node, "iteration": key.iteration} for key in self._waits],
            timers=[
                {"kind": str(key.kind), "node": key.node, "iteration": key.iteration, "due": due}
                for key, due in self._timers.items()
            ],
            mail=[],
            dead_letters=self._letters,
            owner=None if final else "the driver",
        )
        events = [
            {"id": event.id, "pattern": event.pattern, "payload": event.payload}
            | {"receivedAt": epoch_ms(event.received_at)}
            for event in self._events.values()
        ]
        return Run(
            instances=[instance],
            events=events,
            effects=list(self._calls.values()),
            client=self._client,
            faults=self._faults,
            now=self._now,
        )


def _key(effect: StartAttempt | StopAttempt | OpenWait | CloseWait) -> NodeKey:
    return NodeKey(effect.node, effect.iteration)
