"""How often a process sends a heartbeat, and after which silence it is presumed dead."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from tenuto.model.errors import TenutoError
from tenuto.store.postgres.queries import Column

DEAD_AFTER = timedelta(seconds=9)

_MILLISECOND = timedelta(milliseconds=1)
_SHORTEST_BEAT = timedelta(milliseconds=10)
_SHORTEST_SILENCE = timedelta(seconds=1)
_BEATS_IN_SILENCE = 3
_PATIENCE = 4


class Rhythm(NamedTuple):
    """Must be the same for all processes of a store: each is judged by the settings of others."""

    beat_every: timedelta
    dead_after: timedelta

    @property
    def patience(self) -> float:
        """Seconds that a heartbeat may take, a new connection included.

        Two in a row that time out are over before other processes may take over.
        """
        return self.dead_after.total_seconds() / _PATIENCE

    @property
    def last_word(self) -> float:
        """Seconds for which it makes sense to try to announce that a process stops.

        Later, its last heartbeat may be so old that others presume it dead.
        """
        return (self.dead_after - self.beat_every).total_seconds()

    @property
    def dead_after_ms(self) -> int:
        """The silence after which a process is presumed dead, for statements."""
        return self.dead_after // _MILLISECOND

    def parameters(self, process_id: str) -> dict[str, Column]:
        return {
            "process_id": process_id,
            "dead_after": self.dead_after_ms,
            # A process that misses no more than this cannot see another as dead because the server
            # was away: the other one has then been silent for this and one beat at most.
            "longest_gap": (self.dead_after // 2) // _MILLISECOND,
        }


def checked_rhythm(beat_every: timedelta, dead_after: timedelta) -> Rhythm:
    """A rhythm in which living processes are not presumed dead; TenutoError for other values."""
    if beat_every < _SHORTEST_BEAT:
        raise _refusal(
            f"a process cannot send a heartbeat every {_seconds(beat_every)}: each one is a write",
            f"Give the store a beat_every of {_seconds(_SHORTEST_BEAT)} or more.",
        )
    if dead_after < _SHORTEST_SILENCE:
        raise _refusal(
            f"a process cannot be presumed dead after {_seconds(dead_after)} without a heartbeat: "
            "a connection alone may take as long",
            f"Give the store a dead_after of {_seconds(_SHORTEST_SILENCE)} or more.",
        )
    if dead_after < _BEATS_IN_SILENCE * beat_every:
        raise _refusal(
            f"a process with a heartbeat every {_seconds(beat_every)} would be presumed dead after "
            f"{_seconds(dead_after)}, as soon as one or two heartbeats are late",
            f"Give the store a dead_after of {_seconds(_BEATS_IN_SILENCE * beat_every)} or more, "
            f"or a beat_every of {_seconds(dead_after / _BEATS_IN_SILENCE)} or less.",
        )
    return Rhythm(beat_every, dead_after)


def _refusal(message: str, advice: str) -> TenutoError:
    return TenutoError(message, code="TEN-4014", advice=advice)


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():g} s"
