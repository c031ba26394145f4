"""Sees a workflow to its end while the planned mishaps happen to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tenuto.app import Tenuto
from tenuto.model.entries import EventType
from tenuto.model.errors import Conflict
from tenuto.model.json import Given
from tenuto.testing.driving import Decide, Driver, Scripted, event_id
from tenuto.testing.fault_plan import Fault
from tenuto.testing.mishaps import Kind, Mishap
from tenuto.workspace.instance import InstanceRef

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine, Workflow
    from tenuto.testing.instance import Instance

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

_FAULTS: Final = {
    Kind.CRASH_BEFORE: Fault.CRASH_BEFORE,
    Kind.CRASH_AFTER: Fault.CRASH_AFTER,
    Kind.UNANSWERED: Fault.ACK_LOST,
    Kind.RESULT_TWICE: Fault.DUPLICATE,
    Kind.RESULT_LATE: Fault.REORDER,
}
_CLOCK: Final = {
    Kind.CLOCK_FORWARD: timedelta(hours=1),
    Kind.CLOCK_BACK: timedelta(minutes=-5),
}
_CANCELLED: Final = EventType.CANCEL_REQUESTED
_ID: Final = "019b76da-a800-7000-8000-000000000001"
"""Chosen beforehand, so that an instance can be cancelled before its start is answered."""


def resting(engine: Engine) -> list[Instance]:
    """The instances that have not ended."""
    return [each for each in engine.instances if not each.status.is_final]


class MishapDriver(Driver):
    """One run with mishaps; `struck` are those that happened."""

    def __init__(
        self, engine: Engine, events: Sequence[Scripted], mishaps: Sequence[Mishap]
    ) -> None:
        super().__init__(engine, events)
        self.struck: list[Mishap] = []
        self._at_events = {(each.kind, event_id(each.at)): each for each in mishaps}
        for mishap in mishaps:
            self._plan(mishap)

    def play(self, workflow: Workflow, input: Given) -> Instance:
        """Start it and see it to its end, and all that came of it."""
        run = self.drive(self.engine.start(workflow, input, instance_id=_ID))
        self.reach(lambda: not resting(self.engine), run)
        return run

    def give(self, run: Instance, id: str) -> None:
        ready = self.left.pop(id)
        late = self._at_events.get((Kind.EVENT_LATE, id))
        if late is not None:
            self.struck.append(late)
            waits = _open_in(run)
            if not self.reach(lambda: _open_in(run) != waits or run.status.is_final, run):
                self.engine.lives.skip(timedelta(days=1))
            if self.engine.crashed is not None:
                self.engine.lives.recover()
        self.send(run, id, ready)
        twice = self._at_events.get((Kind.EVENT_TWICE, id))
        if twice is not None:
            self.struck.append(twice)
            if self.engine.crashed is not None:
                self.engine.lives.recover()
            self.send(run, id, ready)

    def _plan(self, mishap: Mishap) -> None:
        unrest = self.engine.world.unrest
        match mishap.kind:
            case Kind.CRASH_BEFORE | Kind.CRASH_AFTER | Kind.UNANSWERED:
                unrest.strike(mishap.at, _FAULTS[mishap.kind])
                unrest.call(mishap.at, lambda: self.struck.append(mishap))
            case Kind.RESULT_TWICE | Kind.RESULT_LATE:
                fault = _FAULTS[mishap.kind]
                unrest.strike_report(mishap.at, fault, lambda: self.struck.append(mishap))
            case Kind.CANCEL:
                unrest.call(mishap.at, lambda: self._cancel(mishap))
            case Kind.CLOCK_FORWARD | Kind.CLOCK_BACK:
                unrest.call(mishap.at, lambda: self._set_clock(mishap))
            case Kind.EVENT_EARLY if event_id(mishap.at) in self.left:
                unrest.call(1, lambda: self._publish_early(mishap))
            case _:
                pass  # seen to when the event is due

    def _cancel(self, mishap: Mishap) -> None:
        reason = f"cancelled at durable write {mishap.at}"

        async def cancel(app: Tenuto) -> None:
            with suppress(Conflict):  # it has ended
                await InstanceRef(app.engine, _ID, is_known=True).cancel(reason)
            if mishap not in self.struck and self._is_cancelled(reason):
                self.struck.append(mishap)

        self.engine.lives.ask_meanwhile(cancel)

    def _is_cancelled(self, reason: str) -> bool:
        """Whether it was this that cancelled it, and not something before."""
        history = self.engine.lives.reader.history(_ID)
        asked = [row["payload"] for row in history if row["eventType"] == _CANCELLED]
        return any(isinstance(each, dict) and each.get("reason") == reason for each in asked)

    def _set_clock(self, mishap: Mishap) -> None:
        self.struck.append(mishap)
        self.engine.world.wall.set(_CLOCK[mishap.kind].total_seconds())

    def _publish_early(self, mishap: Mishap) -> None:
        self.struck.append(mishap)
        id = event_id(mishap.at)
        ready = self.left[id]
        if isinstance(ready, Decide):
            # A decision that comes too early is refused, and made again once it is asked for.
            self.engine.lives.ask_meanwhile(lambda app: ready.make(app, _ID))
            return
        pattern, payload = ready
        del self.left[id]
        self.engine.lives.ask_meanwhile(lambda app: app.publish(pattern, payload, id=id))


def _open_in(run: Instance) -> list[str]:
    """The events and decisions that an instance waits for."""
    return [*run.waiting_for, *run.approvals]
