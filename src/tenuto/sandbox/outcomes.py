"""What a call of a user's code is given, and what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from tenuto.model.failure import Failure
from tenuto.model.json import JSON


class Limits(Struct, frozen=True, kw_only=True):
    """What one call may use."""

    time: timedelta = timedelta(seconds=30)
    """By the clock, from when a process has it; waiting for requests counts."""
    memory: int = 64 << 20
    """Bytes of the engine."""
    output: int = 1_000_000
    """Bytes of the result in JSON."""
    console: int = 64_000
    """Bytes of the lines that are kept."""
    fetches: int = 50
    fetches_at_once: int = 10
    answer: int = 4_000_000
    """Bytes of the answer to a request."""


class ConsoleLine(Struct, frozen=True, kw_only=True):
    """A line that the code has printed."""

    level: str
    after: timedelta
    """How long after the call had begun."""
    text: str


class Outcome(Struct, frozen=True, kw_only=True):
    """A call that has returned."""

    value: JSON
    console: tuple[ConsoleLine, ...]
    took: timedelta
    dropped: int = 0
    """Lines that found no room."""


class FailedCall(Struct, frozen=True, kw_only=True):
    """A call without a result."""

    failure: Failure
    console: tuple[ConsoleLine, ...]
    took: timedelta
    dropped: int = 0


class CodeProblem(Struct, frozen=True, kw_only=True):
    """Why code does not parse; its place counts from 1, where it is known."""

    message: str
    line: int | None
    column: int | None


class FetchRequest(Struct, frozen=True, kw_only=True):
    """A request of the code: whoever sends it decides whether it may be sent."""

    id: int
    url: str
    method: str
    headers: tuple[tuple[str, str], ...]
    body: str | None


class FetchResponse(Struct, frozen=True, kw_only=True):
    """The response to a request."""

    status: int
    url: str
    body: str
    headers: tuple[tuple[str, str], ...] = ()
    status_text: str = ""


class FetchRefused(Exception):
    """A request that is not sent, or has failed; the code sees the message in a TypeError."""


Fetch: TypeAlias = Callable[[FetchRequest], Awaitable[FetchResponse]]


class Figures(Struct, frozen=True, kw_only=True):
    """What a sandbox has done, and what it is doing."""

    calls: int = 0
    """That have ended."""
    failures: dict[str, int] = {}
    """Of these, those that failed, by code."""
    started: int = 0
    """Processes."""
    killed: int = 0
    """Processes that were killed because of their call."""
    replaced: int = 0
    """Processes that were ended since another tenant needed theirs."""
    busy: int = 0
    idle: int = 0
    spare: int = 0
    waiting: int = 0
    """Calls that wait for a process."""
    seconds: float = 0.0
    """Of all calls that have ended."""
