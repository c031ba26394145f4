"""Retry back-off of deliveries, and the time for which they were really tried.

Only time in which a process tried counts: neither an event that waited while no process ran, nor an
endpoint that was not tried meanwhile, is given up for its age.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from msgspec.structs import replace

from tenuto.engine.outbox.endpoints import Health
from tenuto.store.parts.outbox import Posting

_FIRST, _FACTOR, _LONGEST = 5.0, 3.0, 6 * 3600.0
"""Seconds until the second try, growth factor of the pause, and its maximum."""
_LEAST_TRIES = 10
"""Pauses are short enough for so many tries before an event is given up."""
_SPREAD = 1.2
"""Jitter: by how much a pause may be longer."""


def pause(posting: Posting, attempts: int, give_up_after: timedelta) -> timedelta:
    """The pause after so many tries: growing, bounded, with jitter."""
    seconds = min(_longest(give_up_after), _FIRST * _FACTOR ** min(attempts, 20))
    key = f"{posting.listener_id}:{posting.event_id}:{attempts}"
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    share = int.from_bytes(digest) / 2**64
    return timedelta(seconds=seconds * (1 + share * (_SPREAD - 1)))


def is_hopeless(posting: Posting, now: datetime, give_up_after: timedelta) -> bool:
    """Whether an event that has failed again was tried for that long.

    The sum of its pauses is the time for which it was tried.
    """
    if now - posting.created_at < give_up_after:
        return False
    tried_for = timedelta()
    for attempts in range(posting.attempts):
        tried_for += pause(posting, attempts, give_up_after)
        if tried_for >= give_up_after:
            return True
    return False


def failed_again(health: Health, now: datetime, give_up_after: timedelta) -> Health:
    """An endpoint has failed again; disabled where that has gone on for too long."""
    if health.failing_since is None or health.tried_at is None:
        since = health.failing_since or now
        return replace(health, failing_since=since, tried_at=now, failing_seconds=0.0)
    passed = (now - health.tried_at).total_seconds()
    # Time beyond the longest pause passed without tries.
    counted = max(0.0, min(passed, _longest(give_up_after) * _SPREAD))
    seconds = health.failing_seconds + counted
    is_over = seconds >= give_up_after.total_seconds()
    disabled_at = now if is_over else health.disabled_at
    return replace(health, tried_at=now, failing_seconds=seconds, disabled_at=disabled_at)


def arrived(health: Health, now: datetime) -> Health:
    """An endpoint has accepted an event: earlier failures are forgotten."""
    return replace(
        health,
        delivered_at=now,
        failing_since=None,
        tried_at=None,
        failing_seconds=0.0,
        last_error=None,
    )


def _longest(give_up_after: timedelta) -> float:
    return min(_LONGEST, give_up_after.total_seconds() / _LEAST_TRIES)
