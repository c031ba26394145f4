"""Mishaps of a running workflow, as values that can be written down and repeated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NoReturn

from msgspec import Struct

from tenuto.model.errors import TenutoError

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""


class Kind(StrEnum):
    """All kinds of mishaps that `crash_test` injects."""

    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"
    UNANSWERED = "unanswered"
    RESULT_TWICE = "result-twice"
    RESULT_LATE = "result-late"
    EVENT_TWICE = "event-twice"
    EVENT_EARLY = "event-early"
    EVENT_LATE = "event-late"
    CANCEL = "cancel"
    CLOCK_FORWARD = "clock-forward"
    CLOCK_BACK = "clock-back"


CRASHES = (Kind.CRASH_BEFORE, Kind.CRASH_AFTER)
AT_WRITES = (
    Kind.CRASH_BEFORE,
    Kind.CRASH_AFTER,
    Kind.UNANSWERED,
    Kind.CANCEL,
    Kind.CLOCK_FORWARD,
    Kind.CLOCK_BACK,
)
AT_RESULTS = (Kind.RESULT_TWICE, Kind.RESULT_LATE)
AT_EVENTS = (Kind.EVENT_TWICE, Kind.EVENT_EARLY, Kind.EVENT_LATE)

_SAID = {
    Kind.CRASH_BEFORE: "the process dies before durable write {at}{what}; another takes over",
    Kind.CRASH_AFTER: "the process dies right after durable write {at}{what}; another takes over",
    Kind.UNANSWERED: "durable write {at}{what} is done, but its answer is lost",
    Kind.RESULT_TWICE: "result {at} of a task is reported twice",
    Kind.RESULT_LATE: "result {at} of a task comes a minute late, behind those of other tasks",
    Kind.EVENT_TWICE: "event {at} is sent twice with the same id",
    Kind.EVENT_EARLY: "event {at} comes as soon as the instance has started",
    Kind.EVENT_LATE: "event {at} comes when its wait has timed out, or after a day",
    Kind.CANCEL: "the instance is cancelled right after durable write {at}{what}",
    Kind.CLOCK_FORWARD: "the clock is put forward by an hour at durable write {at}{what}",
    Kind.CLOCK_BACK: "the clock is put back by five minutes at durable write {at}{what}",
}


class Mishap(Struct, frozen=True):
    """One thing that goes wrong, at the n-th durable write, result or event."""

    kind: Kind
    at: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.at}"

    def described(self, what: str = "") -> str:
        """A description for people; `what` names the content of the write."""
        return _SAID[self.kind].format(at=self.at, what=f" ({what})" if what else "")


def all_single(kinds: Iterable[Kind], *, writes: int, results: int, events: int) -> list[Mishap]:
    """Everything that can go wrong once in a run of this size."""
    sizes = dict.fromkeys(AT_WRITES, writes) | dict.fromkeys(AT_EVENTS, events)
    sizes |= dict.fromkeys(AT_RESULTS, results)
    return [Mishap(kind, at) for kind in kinds for at in range(1, sizes[kind] + 1)]


def spelled(mishaps: Sequence[Mishap]) -> str:
    """As `repeat` takes it."""
    return " ".join(map(str, mishaps))


def parse(text: str) -> list[Mishap]:
    """Parse the text that `spelled` wrote."""
    return [_parse(word) for word in text.split()]


def kind_of(word: str) -> Kind:
    """The kind with this name."""
    if word not in set(Kind):
        _refuse(word)
    return Kind(word)


def _parse(word: str) -> Mishap:
    kind, _, at = word.partition("@")
    if not at.isdecimal() or int(at) < 1:
        _refuse(word)
    return Mishap(kind_of(kind), int(at))


def _refuse(word: str) -> NoReturn:
    raise TenutoError(
        f"{word!r} is nothing that goes wrong",
        code="TEN-2206",
        advice=f"There are {', '.join(Kind)}; write for example crash-before@3.",
    )
