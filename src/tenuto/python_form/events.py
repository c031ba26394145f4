"""`event(…)`: which events start or cancel a workflow."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.json import JSON, Object


class EventRule(Struct, frozen=True):
    """Events of a pattern, and what they do to a workflow."""

    pattern: str
    condition: str | None = None
    should_undo: bool = False
    reason: str | None = None
    mapping: Mapping[str, str] | None = None
    appended: JSON = None

    def where(self, condition: str) -> EventRule:
        """Only events for which this is true."""
        return replace(self, condition=condition)

    def undo(self) -> EventRule:
        """Compensate completed steps when the event cancels an instance."""
        return replace(self, should_undo=True)

    def because(self, reason: str) -> EventRule:
        """The recorded reason of the cancellation."""
        return replace(self, reason=reason)

    def giving(self, mapping: Mapping[str, str] | None = None, /, **paths: str) -> EventRule:
        """The input of an instance that is started, each part a path into the payload.

        In `wait_first`: variables of the context.
        """
        return replace(self, mapping={**(mapping or {}), **paths})

    def item(self, template: JSON) -> EventRule:
        """The item that an event appends to a loop: a template that sees `event`."""
        return replace(self, appended=template)

    def cancelling(self) -> Object:
        """As `cancellationTriggers` spells it."""
        written = self._heading()
        if self.reason is not None:
            written["reason"] = self.reason
        written["shouldCompensate"] = self.should_undo
        return written

    def starting(self) -> Object:
        """As `triggers` spells it."""
        written = self._heading()
        if self.mapping is not None:
            written["inputMapping"] = dict(self.mapping)
        return written

    def appending(self) -> Object:
        """As `more` spells it."""
        written = self._heading()
        if self.appended is not None:
            written["item"] = self.appended
        return written

    def arm(self, id: str) -> Object:
        """As `arms` spells it."""
        written: Object = {"id": id, **self._heading()}
        if self.mapping is not None:
            written["eventPayloadMapping"] = dict(self.mapping)
        return written

    def _heading(self) -> Object:
        written: Object = {"eventPattern": self.pattern}
        if self.condition is not None:
            written["eventCondition"] = self.condition
        return written


def event(pattern: str) -> EventRule:
    """Events of a pattern: `event("order.cancelled").where("…").undo()`."""
    return EventRule(pattern)
