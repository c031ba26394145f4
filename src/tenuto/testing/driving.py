"""Sees a workflow to its end: publishes what it waits for, and starts it again when it crashed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from tenuto.events import fits
from tenuto.model.json import JSON, Given, as_json

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine
    from tenuto.testing.instance import Instance

__tracebackhide__ = True
"""pytest shows where a test stands, and folds what is behind it."""

Scripted: TypeAlias = str | tuple[str, Given]
"""An event that a test has ready: its name, or its name and payload."""

_LONG = timedelta(days=366)
_MOST_LIVES = 100


def event_id(number: int) -> str:
    """The id that the n-th event of a test has."""
    return f"event-{number}"


class Driver:
    """One run of one workflow; events are published when a wait for them is open."""

    def __init__(self, engine: Engine, events: Sequence[Scripted]) -> None:
        self.engine = engine
        self._left: dict[str, tuple[str, JSON]] = {
            event_id(number): (each, None) if isinstance(each, str) else (each[0], as_json(each[1]))
            for number, each in enumerate(events, start=1)
        }

    @property
    def left(self) -> dict[str, tuple[str, JSON]]:
        """Events that were not published, by their ids."""
        return self._left

    def publish(self, id: str) -> None:
        """Publish one of the events now."""
        pattern, payload = self._left.pop(id)
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
        """Give an instance the event that it waits for."""
        self.publish(id)

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
        open_waits = run.waiting_for
        for id, (pattern, _) in self._left.items():
            if any(fits(wait, pattern) for wait in open_waits):
                return id
        return None
