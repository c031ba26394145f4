"""A decision in the making: the state so far, its entries, and the effects they call for.

Each entry is folded as it is made, so that the next thought rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from datetime import datetime

from msgspec import Struct

from tenuto.core.cancel_trigger import listens, subscriptions
from tenuto.core.fold import fold_into
from tenuto.core.plan import Plan
from tenuto.core.scope import scope_of
from tenuto.core.state import InstanceState, Timer, Variable
from tenuto.core.timing import APPROVAL_TIMERS, NODE_TIMERS, SLA_TIMERS
from tenuto.core.watching import changed_for
from tenuto.expr import CountedScope, Steps
from tenuto.model.effects import ClearTimer, CloseWait, Effect, ReleaseSlot, SetTimer
from tenuto.model.entries import (
    CompensationEnded,
    Entry,
    IterationStarted,
    NodeEntry,
    RetryRequested,
)
from tenuto.model.failure import Failure
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.policy import MOST_STEPS, Check, Policies
from tenuto.model.slots import SLOT

NO_SUCH_INSTANCE = "TEN-3001"
NOT_THIS_STATUS = "TEN-3002"
STALE = "TEN-3003"
LATE = "TEN-3005"
EVENT_TAKEN = "TEN-3007"
CANNOT_GO_ON = "TEN-3009"
DOES_NOT_HOLD = "TEN-3030"

GO_ON = TimerKey(TimerKind.GO_ON)
"""The timer of whatever a decision left over."""
_NONE: frozenset[NodeKey] = frozenset()
_ALL_NODE_TIMERS = NODE_TIMERS + APPROVAL_TIMERS + SLA_TIMERS
_INSTANCE_TIMERS = tuple(
    TimerKey(kind) for kind in (TimerKind.DEADLINE, TimerKind.RESUME, *SLA_TIMERS)
)


class Rejection(Struct, frozen=True, gc=False, kw_only=True):
    """Why an input was not taken: nothing became true of the instance."""

    code: str
    message: str
    path: str = "$"
    """Where the reason is: in the input, or in the definition."""


class Decision(Struct, frozen=True, gc=False, kw_only=True):
    """The new log entries, the effects to perform, and the state after both."""

    state: InstanceState
    entries: tuple[Entry, ...] = ()
    effects: tuple[Effect, ...] = ()
    rejection: Rejection | None = None
    steps: int = 0
    """The steps that its expressions, and the schemas of tasks, have taken."""


class Deciding(Steps):
    """Collects entries and effects; private to one call of `decide`.

    It counts the steps of the expressions that were evaluated, and of values that were checked by a
    schema.
    """

    __slots__ = (
        "_goes_on",
        "_most",
        "_was_left",
        "_was_listening",
        "effects",
        "entries",
        "gathered",
        "now",
        "plan",
        "policies",
        "state",
        "to_read",
    )

    def __init__(
        self,
        plan: Plan,
        state: InstanceState,
        now: datetime,
        policies: Policies,
        *,
        goes_on: bool = False,
    ) -> None:
        """`goes_on`: it takes on what an earlier decision left over. Any other leaves that be."""
        self.taken = 0
        self.plan = plan
        self.policies = policies
        self.state = state.copied()
        self._goes_on = goes_on
        self._was_left = was_left = state.is_unsettled
        self._was_listening = plan.has_triggers and listens(plan, state)
        most = min(plan.most_entries, policies.most_entries)
        self._most = 0 if was_left and not goes_on else most
        # A log's times never go back, whatever the clock does.
        self.now = max(now, state.updated_at)
        self.entries: list[Entry] = []
        self.effects: list[Effect] = []
        self.gathered: dict[NodeKey, tuple[int, list[JSON]]] = {}
        """Results of loops, in the order of their ends, and how many: gathered once."""
        self.to_read: AbstractSet[NodeKey] = _NONE
        """Loops whose `enough` names something that has changed."""

    def emit(self, entry: Entry) -> None:
        """Make `entry` true, and set or clear the timers that this changes."""
        plan, state = self.plan, self.state
        timers = state.timers
        if plan.looks_at_entries:
            self._fold_and_look(entry)
        else:
            fold_into(plan, state, entry)
        self.entries.append(entry)
        if state.timers is not timers:
            self._timers_changed(timers, entry)

    def _fold_and_look(self, entry: Entry) -> None:
        """Make `entry` true where the plan has mutexes, or loops that something else ends."""
        heard = self.plan.hearing and self._hears(entry)
        locked = self.plan.has_mutexes and self._has_mutex(entry)
        fold_into(self.plan, self.state, entry)
        if locked and not self._has_mutex(entry):
            assert isinstance(entry, NodeEntry)
            self.order(ReleaseSlot(node=entry.node, iteration=entry.iteration))
        if heard and not self._hears(entry):
            assert isinstance(entry, NodeEntry)
            self.order(CloseWait(node=entry.node, iteration=entry.iteration, event_id=None))
        if self.plan.watching:
            self.to_read |= changed_for(self.plan, self.state, entry)

    def _hears(self, entry: Entry) -> bool:
        """Whether an entry is about a loop under way to which events append items."""
        if not isinstance(entry, NodeEntry) or isinstance(entry, IterationStarted):
            return False
        node = self.state.nodes.get(entry.key)
        return node is not None and node.hears and node.is_open

    def _has_mutex(self, entry: Entry) -> bool:
        """Whether an entry is about an open node that has a mutex, or waits for it."""
        if not isinstance(entry, NodeEntry) or isinstance(entry, IterationStarted):
            return False
        node = self.state.nodes.get(entry.key)
        return node is not None and node.mutex is not None and node.is_open

    @property
    def has_room(self) -> bool:
        """Whether more may follow here; what does not is left to a decision of its own."""
        return len(self.entries) < self._most and self.taken < MOST_STEPS

    def order(self, effect: Effect) -> None:
        """Ask something of the world."""
        self.effects.append(effect)

    def scope(
        self,
        key: NodeKey,
        names: Mapping[str, JSON] | None = None,
        variables: Mapping[str, Variable] | None = None,
        event: Object | None = None,
    ) -> CountedScope:
        """What expressions of a node see now; `names` are further ones in `ctx`."""
        return scope_of(
            self.plan,
            self.state,
            key,
            steps=self,
            names=names,
            variables=variables,
            event=event,
        )

    def misfit(self, check: Check | None, value: JSON) -> Failure | None:
        """Why a value cannot be taken, if it cannot; finding that out counts as steps."""
        if check is None:
            return None
        verdict = check(value)
        self.taken += verdict.steps
        return verdict.failure

    def done(self) -> Decision:
        """The whole decision, with a timer that continues it if it is not complete."""
        plan, state = self.plan, self.state
        was_left, is_left = self._was_left, state.is_unsettled
        if was_left or is_left:
            moment = state.created_at  # long since past
            if was_left and (self._goes_on or not is_left):
                self.order(ClearTimer(key=GO_ON, due=moment, set_at=moment))
            if is_left and (self._goes_on or not was_left):
                self.order(SetTimer(key=GO_ON, due=moment, set_at=moment))
        if state.status.is_final:
            self._give_slots_back()
        if plan.has_triggers:
            self.effects += subscriptions(
                plan, state, was_listening=self._was_listening, steps=self
            )
        return Decision(
            state=state,
            entries=tuple(self.entries),
            effects=tuple(self.effects),
            steps=self.taken,
        )

    def _give_slots_back(self) -> None:
        """Release what the instance has at its end."""
        state = self.state
        if state.system and SLOT in state.system:
            self.order(ReleaseSlot())
        if self.plan.has_mutexes:
            # Of one that was quarantined: what was open stays so.
            for key in state.open_nodes():
                if state.nodes[key].mutex is not None:
                    self.order(ReleaseSlot(node=key.node, iteration=key.iteration))

    def _timers_changed(self, before: Mapping[TimerKey, Timer], entry: Entry) -> None:
        node = entry.loop if isinstance(entry, IterationStarted) else getattr(entry, "key", None)
        keys: Iterable[TimerKey]
        if isinstance(entry, RetryRequested | CompensationEnded):
            keys = sorted({*before, *self.state.timers})
        elif node is None:
            keys = _INSTANCE_TIMERS
        else:
            keys = tuple(TimerKey(kind, node.node, node.iteration) for kind in _ALL_NODE_TIMERS)
        for key in keys:
            was, is_now = before.get(key), self.state.timers.get(key)
            if was == is_now:
                continue
            if was is not None:
                self.order(ClearTimer(key=key, due=was.due, set_at=was.set_at))
            if is_now is not None:
                self.order(SetTimer(key=key, due=is_now.due, set_at=is_now.set_at))
