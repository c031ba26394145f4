"""The shared state of a target of requests: circuit breaker, concurrency limit, rate limit.

Pure: times are milliseconds that are handed in. Each process writes the number of its unanswered
requests, its share; a share that is not renewed expires, so that a dead process blocks nothing.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.task_definition import BreakerPolicy, TaskLimits

DEFAULT_CONCURRENCY = 50
FORGOTTEN_AFTER = 15_000
"""Milliseconds after which a share that was not renewed expires."""
_PATIENCE = 60_000
"""Milliseconds after which another probe is sent, if the one before has no outcome."""

_WANTED_FOR = 3_000
"""Milliseconds after which a process that wants a place, and does not say so again, is gone."""
_ROUNDING = 1e-6
_MILLISECOND = timedelta(milliseconds=1)

BreakerState: TypeAlias = Literal["closed", "open", "half-open"]
Obstacle: TypeAlias = Literal["breaker", "rate", "concurrency"]
"""What keeps a request from being sent."""


class Policy(Protocol):
    """The limits of a target; a declared task has them too."""

    @property
    def limits(self) -> TaskLimits: ...

    @property
    def breaker(self) -> BreakerPolicy: ...


class TargetPolicy(NamedTuple):
    """The limits of a target that is no declared task."""

    limits: TaskLimits = TaskLimits()
    breaker: BreakerPolicy = BreakerPolicy()


class Hindrance(NamedTuple):
    """Why no request may be sent now."""

    obstacle: Obstacle
    until: int | None = None
    """When one may be sent, if nothing else changes; None: not known."""


class Share(Struct, frozen=True, array_like=True):
    """The unanswered requests of one process."""

    count: int
    at: int


class Want(Struct, frozen=True, array_like=True):
    """Requests of one process that wait for others to end."""

    since: int
    """When they began to wait, or one of them was admitted last."""
    at: int


class TargetState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The shared state of a target."""

    shares: dict[str, Share] = {}
    wants: dict[str, Want] = {}
    """Processes that wait for a place."""
    tokens: float = 0.0
    """Requests that may be sent at once, where their rate is limited."""
    tokens_at: int | None = None
    failures: int = 0
    """In a row."""
    opened_at: int | None = None
    """When the breaker opened, and has not been closed since."""
    open_until: int | None = None
    probe_at: int | None = None
    """When the last probe of an open breaker was sent; it identifies the probe."""


def breaker_state(state: TargetState, now: int) -> BreakerState:
    """The state of the circuit breaker."""
    if state.open_until is None:
        return "closed"
    return "open" if now < state.open_until else "half-open"


def in_flight(state: TargetState, now: int, *, but: str = "") -> int:
    """The number of unanswered requests, without those of the process `but`."""
    return sum(
        share.count
        for process, share in state.shares.items()
        if process != but and now - share.at < FORGOTTEN_AFTER
    )


def allowed(state: TargetState, policy: Policy, process: str, mine: int, now: int) -> int:
    """How many requests a process with `mine` unanswered ones may send now."""
    room = _room(state, policy, process, mine, now)
    match breaker_state(state, now):
        case "open":
            return 0
        case "half-open":
            room = 0 if _is_probed(state, now) else min(room, 1)
        case "closed":
            pass
    rate = policy.limits.rate_per_second
    if rate is not None:
        room = min(room, int(_tokens(state, rate, now) + _ROUNDING))
    return max(room, 0)


def part_of(
    room: int, state: TargetState, policy: Policy, process: str, *, mine: int, now: int
) -> int:
    """How many of the free places a process with `mine` takes, so that others get theirs.

    While another one waits, each has an equal part of all places, and a place that is left goes to
    the one that has waited longest.
    """
    others = _others(state, process, now)
    if not others or room <= 0:
        return room
    concurrency = policy.limits.concurrency or DEFAULT_CONCURRENCY
    holders = {name for name, each in state.shares.items() if now - each.at < FORGOTTEN_AFTER}
    part = concurrency // len(holders | others.keys() | {process}) - mine
    if part > 0:
        return min(room, part)
    mine_since = state.wants[process].since if process in state.wants else math.inf
    return 1 if mine_since <= min(each.since for each in others.values()) else 0


def others_want(state: TargetState, process: str, now: int) -> bool:
    """Whether another process waits for a place."""
    return bool(_others(state, process, now))


def wanting(
    state: TargetState, process: str, *, is_waiting: bool, is_served: bool, now: int
) -> TargetState:
    """A process says whether requests of it wait for a place; `is_served`: some were admitted."""
    wants = _others(state, process, now)
    if is_waiting:
        before = state.wants.get(process)
        if before is None or is_served or now - before.at >= _WANTED_FOR:
            wants[process] = Want(now, now)
        else:
            renews = now - before.at >= _WANTED_FOR // 3
            wants[process] = Want(before.since, now if renews else before.at)
    return state if wants == state.wants else replace(state, wants=wants)


def hindrance(
    state: TargetState, policy: Policy, process: str, mine: int, now: int
) -> Hindrance | None:
    """Why a process with `mine` unanswered requests may send none now; None: it may."""
    match breaker_state(state, now):
        case "open":
            return Hindrance("breaker", state.open_until)
        case "half-open" if _is_probed(state, now):
            return Hindrance("breaker")
        case _:
            pass
    if _room(state, policy, process, mine, now) <= 0:
        return Hindrance("concurrency")
    rate = policy.limits.rate_per_second
    missing = 0.0 if rate is None else 1.0 - _tokens(state, rate, now)
    if rate is None or missing <= _ROUNDING:
        return None
    return Hindrance("rate", now + math.ceil(missing / rate * 1000))


def is_quiet(state: TargetState) -> bool:
    """Whether a state says no more than that of a new target."""
    return not state.shares and not state.wants and not state.failures and state.open_until is None


def taken(
    state: TargetState, policy: Policy, process: str, *, count: int, mine: int, now: int
) -> TargetState:
    """A process sends `count` requests, and has `mine` unanswered ones with them."""
    rate = policy.limits.rate_per_second
    if rate is not None:
        state = replace(state, tokens=_tokens(state, rate, now) - count, tokens_at=now)
    if count and breaker_state(state, now) == "half-open":
        state = replace(state, probe_at=now)
    return shared(state, process, mine, now)


def shared(state: TargetState, process: str, mine: int, now: int) -> TargetState:
    """A process renews its share: it has `mine` unanswered requests."""
    shares = {
        name: share for name, share in state.shares.items() if now - share.at < FORGOTTEN_AFTER
    }
    shares.pop(process, None)
    if mine:
        shares[process] = Share(mine, now)
    return replace(state, shares=shares)


def ended(
    state: TargetState, policy: Policy, *, sent_at: int, is_well: bool | None, now: int
) -> TargetState:
    """A request has ended: the breaker closes, counts a failure, or opens.

    An open breaker listens to probes only: requests that were sent before tell how the address was.
    Any successful probe closes it, however long it took; of failures the last probe's counts. With
    `is_well` None the request was cancelled, which tells nothing, and another probe may be sent.
    """
    is_last_probe = state.probe_at == sent_at
    if is_well is None:
        return replace(state, probe_at=None) if is_last_probe else state
    # An open breaker lets only probes pass: a request that was sent later is one.
    if state.open_until is not None and sent_at < state.open_until:
        return state
    if is_well:
        return replace(state, failures=0, opened_at=None, open_until=None, probe_at=None)
    if state.open_until is not None and not is_last_probe:
        return state
    failures = state.failures + 1
    if state.open_until is not None or failures >= policy.breaker.failures:
        until = now + policy.breaker.open_span // _MILLISECOND
        since = now if state.open_until is None else state.opened_at
        return replace(state, failures=failures, opened_at=since, open_until=until, probe_at=None)
    return replace(state, failures=failures)


def _others(state: TargetState, process: str, now: int) -> dict[str, Want]:
    return {
        name: each
        for name, each in state.wants.items()
        if name != process and now - each.at < _WANTED_FOR
    }


def _room(state: TargetState, policy: Policy, process: str, mine: int, now: int) -> int:
    concurrency = policy.limits.concurrency or DEFAULT_CONCURRENCY
    return concurrency - in_flight(state, now, but=process) - mine


def _is_probed(state: TargetState, now: int) -> bool:
    return state.probe_at is not None and now - state.probe_at < _PATIENCE


def _tokens(state: TargetState, rate: float, now: int) -> float:
    most = max(rate, 1.0)
    if state.tokens_at is None:
        return most
    return min(most, state.tokens + rate * (now - state.tokens_at) / 1000)
