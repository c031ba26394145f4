"""The outbox rows of a turn, for the listeners that this process knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tenuto.model.events import Event
from tenuto.store.outbox_columns import outbox_columns
from tenuto.store.parts.turns import EventResult, InstanceWrite
from tenuto.store.sqlite.session import Session


class Heard(NamedTuple):
    """What the listeners receive, kept in memory so that a turn need not read it."""

    level: int = 0
    inbox: bool = False

    def together_with(self, other: Heard) -> Heard:
        return Heard(max(self.level, other.level), self.inbox or other.inbox)


UNHEARD = Heard()


def heard(session: Session) -> Heard:
    [(level, inbox)] = session.rows("heard")
    return Heard(level, bool(inbox))


def write_stretches(session: Session, heard: Heard, won: Iterable[InstanceWrite]) -> None:
    session.insert(
        "insert_outbox",
        [(row.tenant, *row[2:6]) for row in outbox_columns(won, heard.level)],
    )


def write_events_heard(
    session: Session, events: Sequence[Event], results: Mapping[str, EventResult]
) -> None:
    """Write outbox rows for new events, without lifecycle events that Tenuto itself publishes."""
    session.insert(
        "insert_outbox_events",
        [
            (event.tenant, event.stream, results[event.id].number)
            for event in events
            if results[event.id].outcome == "stored" and not event.pattern.startswith("workflow.")
        ],
    )
