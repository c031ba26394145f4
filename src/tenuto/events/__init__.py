"""Events: patterns of names, and parsing of events from outside."""

from __future__ import annotations

from tenuto.events.documents import read_events
from tenuto.events.fields import GivenEvent, Reading
from tenuto.events.names import fits, given_id_problems, id_problems, name_problems

__all__ = [
    "GivenEvent",
    "Reading",
    "fits",
    "given_id_problems",
    "id_problems",
    "name_problems",
    "read_events",
]
