"""Makes events of documents that clients publish, after checking them."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.engine.definitions.start_checks import json_problems
from tenuto.events import GivenEvent, Reading, read_events
from tenuto.model.errors import InvalidInput, Problem, TenutoError
from tenuto.model.events import Event
from tenuto.model.ids import is_of_an_instance
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.ports import Clock, Ids


class EventIntake:
    """Knows how large an event may be, what time it is, and what to call one without a name."""

    def __init__(self, clock: Clock, ids: Ids, limits: Limits, tenant: str = "default") -> None:
        """`tenant`: the tenant of the events."""
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._tenant = tenant

    def checked_all(self, document: JSON) -> list[GivenEvent | TenutoError]:
        """The events of a document, or the problems of each; InvalidInput if it has none."""
        form = "$[{}]" if isinstance(document, list) else "$"
        checked: list[GivenEvent | TenutoError] = []
        for index, reading in enumerate(read_events(document)):
            try:
                checked.append(self.checked(reading, form.format(index)))
            except TenutoError as error:
                checked.append(error)
        return checked

    def checked(
        self, reading: Reading, path: str = "$", *, problems: Sequence[Problem] = ()
    ) -> GivenEvent:
        """An event that can be received; InvalidInput with all of its problems."""
        if not isinstance(reading, GivenEvent):
            raise InvalidInput("the event cannot be taken", reading)
        too_large = json_problems(reading.payload, self._limits.event_bytes, f"{path}.payload")
        not_theirs = _id_problems(reading.id, f"{path}.id")
        if too_large or not_theirs or problems:
            raise InvalidInput("the event cannot be taken", [*too_large, *not_theirs, *problems])
        return reading

    def received(self, given: GivenEvent) -> Event:
        """The event, received now."""
        now = self._clock.now()
        return Event(
            id=given.id or self._ids.instance_id(now),
            pattern=given.pattern,
            payload=given.payload,
            received_at=now,
            timestamp=given.timestamp,
            correlation_id=given.correlation_id,
            tenant=self._tenant,
        )


def _id_problems(id: str | None, path: str) -> list[Problem]:
    """Clients must not take the id of an event that an instance may publish later."""
    if id is None or not is_of_an_instance(id):
        return []
    return [
        Problem(
            code="TEN-2013",
            path=path,
            message=f"{id!r} is an id that only the instance of that name gives",
            advice="Give the event another id, or leave it out.",
        )
    ]
