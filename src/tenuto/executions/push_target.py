"""What all processes know of an address that tasks are pushed to: breaker, bulkhead, rate.

Pure: moments are milliseconds that are handed in. Each process says how many of its requests wait
for an answer; what one has not said again for a while does not count, so that a dead one holds no
place.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.task_definition import TaskDefinition

DEFAULT_CONCURRENCY = 50
MOST_AT_ONCE = 100
"""So many tasks are claimed together at most."""
FORGOTTEN_AFTER = 15_000
"""Milliseconds after which what a process has said of itself does not count."""
_PATIENCE = 60_000
"""Milliseconds after which another probe is sent, where nothing is heard of the one before."""

BreakerState: TypeAlias = Literal["closed", "open", "half-open"]


class Share(Struct, frozen=True, array_like=True):
    """What one process has under way."""

    count: int
    at: int


class TargetState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of an address."""

    shares: dict[str, Share] = {}
    tokens: float = 0.0
    """Requests that may be sent at once, where their rate is limited."""
    tokens_at: int | None = None
    failures: int = 0
    """In a row."""
    open_until: int | None = None
    probe_at: int | None = None
    """When the last request was sent to see whether the address answers again: which one it is."""


def breaker_state(state: TargetState, now: int) -> BreakerState:
    """Whether the address is sent anything."""
    if state.open_until is None:
        return "closed"
    return "open" if now < state.open_until else "half-open"


def in_flight(state: TargetState, now: int, *, but: str = "") -> int:
    """How many requests wait for an answer, those of one process aside."""
    return sum(
        share.count
        for process, share in state.shares.items()
        if process != but and now - share.at < FORGOTTEN_AFTER
    )


def allowed(state: TargetState, task: TaskDefinition, process: str, mine: int, now: int) -> int:
    """How many requests a process that has `mine` under way may send now."""
    concurrency = task.limits.concurrency or DEFAULT_CONCURRENCY
    room = min(concurrency - in_flight(state, now, but=process) - mine, MOST_AT_ONCE)
    match breaker_state(state, now):
        case "open":
            return 0
        case "half-open":
            is_probed = state.probe_at is not None and now - state.probe_at < _PATIENCE
            room = 0 if is_probed else min(room, 1)
        case "closed":
            pass
    rate = task.limits.rate_per_second
    if rate is not None:
        room = min(room, int(_tokens(state, rate, now)))
    return max(room, 0)


def taken(
    state: TargetState, task: TaskDefinition, process: str, *, count: int, mine: int, now: int
) -> TargetState:
    """A process sends `count` requests, and has `mine` under way with them."""
    rate = task.limits.rate_per_second
    if rate is not None:
        state = replace(state, tokens=_tokens(state, rate, now) - count, tokens_at=now)
    if count and breaker_state(state, now) == "half-open":
        state = replace(state, probe_at=now)
    return shared(state, process, mine, now)


def shared(state: TargetState, process: str, mine: int, now: int) -> TargetState:
    """A process says how many requests it has under way."""
    shares = {
        name: share for name, share in state.shares.items() if now - share.at < FORGOTTEN_AFTER
    }
    shares.pop(process, None)
    if mine:
        shares[process] = Share(mine, now)
    return replace(state, shares=shares)


def ended(
    state: TargetState, task: TaskDefinition, *, sent_at: int, is_well: bool | None, now: int
) -> TargetState:
    """A request was answered, or was not: the breaker closes, counts, or opens.

    Once it has opened only probes tell how the address is: what was sent before tells how it was.
    Any of them closes it, however long it took; of failures that of the last one counts. None: it
    was called off, which tells nothing, and another probe need not wait for it.
    """
    is_last_probe = state.probe_at == sent_at
    if is_well is None:
        return replace(state, probe_at=None) if is_last_probe else state
    # Nothing is sent while it is open: what was sent later is a probe.
    if state.open_until is not None and sent_at < state.open_until:
        return state
    if is_well:
        return replace(state, failures=0, open_until=None, probe_at=None)
    if state.open_until is not None and not is_last_probe:
        return state
    failures = state.failures + 1
    if state.open_until is not None or failures >= task.breaker.failures:
        until = now + int(task.breaker.open_for)
        return replace(state, failures=failures, open_until=until, probe_at=None)
    return replace(state, failures=failures)


def _tokens(state: TargetState, rate: float, now: int) -> float:
    most = max(rate, 1.0)
    if state.tokens_at is None:
        return most
    return min(most, state.tokens + rate * (now - state.tokens_at) / 1000)
