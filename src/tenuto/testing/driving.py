"""Drives a workflow to its end: publishes the events it waits for, restarts it after crashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from tenuto.app import Tenuto
from tenuto.events import fits
from tenuto.model.errors import Conflict
from tenuto.model.json import JSON, Given, as_json
from tenuto.testing.timeline import named
from tenuto.workspace.instance import InstanceRef

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine
    from tenuto.testing.instance import Instance

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""


class Decide(Struct, frozen=True, kw_only=True):
    """A decision that a test has ready, among the events: it is made when its approval is open."""

    step: str
    decision: str = "approved"
    by: str
    roles: tuple[str, ...] = ()
    form: JSON = None
    iteration: str = ""
    """In a loop, where: `"0"`, `"2/1"`."""

    async def make(self, app: Tenuto, instance_id: str) -> None:
        """Decide; where it is too early or too late, nothing comes of it."""
        with suppress(Conflict):
            await InstanceRef(app.engine, instance_id, is_known=True).decide(
                self.step,
                self.decision,
                by=self.by,
                roles=self.roles,
                form=self.form,
                iteration=self.iteration,
            )


Scripted: TypeAlias = str | tuple[str, Given] | Decide
"""An event that a test has ready: its name, or its name and payload; or a decision."""
Ready: TypeAlias = tuple[str, JSON] | Decide

_LONG = timedelta(days=366)
_MOST_LIVES = 100


def event_id(number: int) -> str:
    """The id that the n-th event of a test has."""
    return f"event-{number}"


class Driver:
    """One run of one workflow; events are published when a wait for them is open."""

    def __init__(self, engine: Engine, events: Sequence[Scripted]) -> None:
        self.engine = engine
        self._left: dict[str, Ready] = {
            event_id(number): _ready(each) for number, each in enumerate(events, start=1)
        }

    @property
    def left(self) -> dict[str, Ready]:
        """Events that were not published, and decisions that were not made, by their ids."""
        return self._left

    def send(self, run: Instance, id: str, ready: Ready) -> None:
        """Publish an event now, or make a decision."""
        if isinstance(ready, Decide):
            self.engine.lives.ask(lambda app: ready.make(app, run.id))
        else:
            pattern, payload = ready
            self.engine.publish(pattern, payload, id=id)

    def drive(self, run: Instance) -> Instance:
        """Go on until it has ended, or nothing more happens."""
        while self.reach(lambda: run.status.is_final or self._due(run) is not None, run):
            if run.status.is_final:
                break
            id = self._due(run)
            assert id is not None
            self.give(run, id)
        return run

    def give(self, run: Instance, id: str) -> None:
        """Give an instance the event, or the decision, that it waits for."""
        self.send(run, id, self._left.pop(id))

    def reach(self, is_reached: Callable[[], bool], run: Instance) -> bool:
        """Let time pass, over any crash, until something holds."""
        for _ in range(_MOST_LIVES):
            if self.engine.crashed is not None:
                self.engine.lives.recover()
                continue
            has_come = self.advance(lambda: run.exists and is_reached())
            if self.engine.crashed is None:
                return has_come
        raise AssertionError("it crashes for ever")

    def advance(self, is_reached: Callable[[], bool]) -> bool:
        """One stretch, until something holds or the process is gone."""
        return self.engine.lives.advance(is_reached, _LONG)

    def _due(self, run: Instance) -> str | None:
        open_waits, approvals = run.waiting_for, run.approvals
        for id, ready in self._left.items():
            if isinstance(ready, Decide):
                if named(ready.step, ready.iteration) in approvals:
                    return id
            elif any(fits(wait, ready[0]) for wait in open_waits):
                return id
        return None


def _ready(given: Scripted) -> Ready:
    if isinstance(given, str):
        return given, None
    return given if isinstance(given, Decide) else (given[0], as_json(given[1]))
