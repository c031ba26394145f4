"""What the core has ordered of the world and not called off: the other side of `outstanding`."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

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
from tenuto.model.entries import (
    ChildStarted,
    CompensationCompleted,
    CompensationEnded,
    CompensationFailed,
    Entry,
    NodeCancelled,
    NodeCompleted,
    NodeFailed,
    TimerSet,
    WaitOpened,
)
from tenuto.model.events import Event
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, Started, TimerKey

_ENDS = (NodeCompleted, NodeFailed, NodeCancelled, CompensationCompleted, CompensationFailed)


def _attempt(effect: StopAttempt | ResolveChild) -> tuple[str, str, int]:
    return effect.node, effect.iteration, effect.attempt


class Ledger:
    """Attempts in flight, timers set, waits open, letters kept: from effects and entries alone."""

    def __init__(self) -> None:
        self.running: dict[NodeKey, StartAttempt] = {}
        self.told_to_stop: set[NodeKey] = set()
        self.timers: dict[TimerKey, datetime] = {}
        self.held_back: dict[TimerKey, datetime] = {}
        """Timers that came due and were put off: they wait for the instance, not for the clock."""
        self.waits: dict[NodeKey, OpenWait] = {}
        """Of those that have several arms the first."""
        self.arms: dict[NodeKey, list[OpenWait]] = {}
        self.triggers: list[OpenWait] = []
        """For events that cancel the instance."""
        self.published: list[Event] = []
        self.approvals: set[NodeKey] = set()
        """Decisions that are waited for: of these the world knows nothing but the log."""
        self.dead_letters: list[KeepDeadLetter] = []
        self.resolving: dict[NodeKey, ResolveChild] = {}
        """Children whose version is being looked for."""
        self.children: dict[NodeKey, str] = {}
        """Children that were started and whose end is waited for."""
        self.mail: list[SendMail] = []
        self.slots: dict[NodeKey, AskSlot] = {}
        """Slots that are held or asked for; without a node that of the instance."""

    def take(self, entries: tuple[Entry, ...], effects: tuple[Effect, ...]) -> None:
        broken_off: set[tuple[str, str, int]] = set()
        if any(isinstance(entry, CompensationEnded) for entry in entries):
            broken_off = {
                (each.node, each.iteration, each.attempt) for each in self.running.values()
            }
            self.running.clear()
        for entry in entries:
            if isinstance(entry, TimerSet) and entry.held is not None:
                self.running.pop(entry.key, None)
            if isinstance(entry, _ENDS):
                self.running.pop(entry.key, None)
                self.told_to_stop.discard(entry.key)
                self.resolving.pop(entry.key, None)
                self.children.pop(entry.key, None)
                self.approvals.discard(entry.key)
            if isinstance(entry, WaitOpened) and entry.approval is not None:
                self.approvals.add(entry.key)
            if isinstance(entry, ChildStarted):
                self.resolving.pop(entry.key, None)
                self.children[entry.key] = entry.child_id
        ended = broken_off | {
            (entry.node, entry.iteration, entry.attempt)
            for entry in entries
            if isinstance(entry, NodeCompleted | NodeCancelled | NodeFailed | CompensationFailed)
        }
        for effect in effects:
            # A deadline that passed tells an attempt to stop whose result then comes in, a child
            # that is looked for may be called off at once, and a time-out may be asked for.
            is_moot = isinstance(effect, StopAttempt | ResolveChild) and _attempt(effect) in ended
            if not is_moot:
                self._take(effect, put_off=not entries)

    def _take(self, effect: Effect, *, put_off: bool) -> None:  # noqa: C901 - one arm each
        match effect:
            case StartAttempt():
                key = NodeKey(effect.node, effect.iteration)
                assert key not in self.running, f"two attempts of {key} at once"
                self.running[key] = effect
            case StopAttempt():
                key = NodeKey(effect.node, effect.iteration)
                assert self.running[key].attempt == effect.attempt
                self.told_to_stop.add(key)
            case SetTimer():
                assert effect.key not in self.timers, f"{effect.key} is set already"
                self.timers[effect.key] = effect.due
            case ClearTimer():
                self._clear(effect, put_off=put_off)
            case OpenWait(node=""):
                assert effect.arm not in {each.arm for each in self.triggers}
                self.triggers.append(effect)
            case OpenWait():
                key = NodeKey(effect.node, effect.iteration)
                self.waits.setdefault(key, effect)
                self.arms.setdefault(key, []).append(effect)
            case CloseWait(node=""):
                self.triggers.clear()
            case CloseWait():
                del self.waits[NodeKey(effect.node, effect.iteration)]
                del self.arms[NodeKey(effect.node, effect.iteration)]
            case TakeEvent():
                assert NodeKey(effect.node, effect.iteration) in self.waits
            case PublishEvent():
                assert effect.event.id not in {sent.id for sent in self.published}
                self.published.append(effect.event)
            case KeepDeadLetter():
                self.dead_letters.append(effect)
            case DropDeadLetters():
                place = (effect.node, effect.iteration)
                self.dead_letters = [
                    each
                    for each in self.dead_letters
                    if each.kind == "late-result" or (each.node, each.iteration) != place
                ]
            case ResolveChild():
                key = NodeKey(effect.node, effect.iteration)
                assert key not in self.resolving, f"{key} is looked for twice"
                self.resolving[key] = effect
            case SendMail():
                assert effect.id not in {sent.id for sent in self.mail}, f"{effect.id} sent twice"
                self.mail.append(effect)
            case AskSlot():
                self.slots[NodeKey(effect.node, effect.iteration)] = effect
            case ReleaseSlot():
                self.slots.pop(NodeKey(effect.node, effect.iteration), None)
            case _:
                assert_never(effect)

    def _clear(self, effect: ClearTimer, *, put_off: bool) -> None:
        due = self.timers.pop(effect.key, None)
        if due is None:
            assert self.held_back.pop(effect.key) == effect.due
        else:
            assert due == effect.due
            if put_off:
                self.held_back[effect.key] = due

    def starts(self) -> list[Started]:
        """What children were started with, oldest first."""
        return [sent.input for sent in self.mail if isinstance(sent.input, Started)]

    def ends(self) -> dict[str, CancelAsked]:
        """The children that were told to end, and how."""
        return {sent.to: sent.input for sent in self.mail if isinstance(sent.input, CancelAsked)}
