"""What one tenant sends to a service in order to harm the others, and how it may be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tenuto.model.json import JSON, Object

CLOSED = 0
"""Stands for the status of a request whose connection was closed without an answer."""


BUSY = frozenset({429, 503})
"""Refusals of what would be taken at another time."""
TOO_LARGE = BUSY | {400, 409, 413, 422}
"""Refusals of what is too large, too deep or too costly."""


class Ask(NamedTuple):
    """One request."""

    method: str
    path: str
    """Below `/api/v1`, with its query."""
    body: JSON | bytes = None
    """Bytes are sent as they are."""
    headers: Mapping[str, str] = {}


class Lines(NamedTuple):
    """Connections that send something and then nearly nothing more, and read nothing."""

    connections: int
    says: bytes
    """`{key}` stands for the key of the one who attacks."""
    drips: bytes = b""
    """Sent on each of them, again and again."""


class Joins(NamedTuple):
    """WebSockets, each of which joins the newest instances of a workflow."""

    sockets: int
    workflow: str


class Deaf(NamedTuple):
    """A port of this machine at which connections are taken, and nothing is ever answered."""

    port: int


DOUBLE: Object = {"type": "TASK", "taskId": "double"}
"""A step of the small tenant, unless an attack is aimed at another kind."""


class Attack(NamedTuple):
    """A bomb for a service."""

    name: str
    asks: Callable[[], Iterable[Ask]] = tuple
    """Large bodies are made only when they are sent."""
    refusals: frozenset[int] = frozenset()
    """The statuses that may answer it beside those of success."""
    before: Callable[[], Iterable[Ask]] = tuple
    """Sent once, before the rest; each of them has to be accepted."""
    rounds: int = 1_000_000
    """How often it is thrown at most."""
    at_once: int = 4
    """How many requests are under way at the same time."""
    opens: Lines | Joins | Deaf | None = None
    """What stays open meanwhile."""
    small_step: Object = DOUBLE
    """What the steps of the small tenant do; its input has a `number`."""
