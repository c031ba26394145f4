"""How much an engine takes on at once."""

from __future__ import annotations

from msgspec import Struct


class Bounds(Struct, frozen=True, kw_only=True):
    """How much an engine takes on at once; the defaults suit every store, tests turn them down."""

    snapshot_every: int = 100
    """A tail of the log longer than this, and than the snapshot itself in bytes and in parts, is
    folded into a new snapshot: all snapshots together cost about what the log does."""
    turn_rows: int = 2_000
    """Past so many rows of the log a turn takes on no further instance."""
    turn_bytes: int = 4_000_000
    """Past so many bytes of the log it takes on none either."""
    turn_requests: int = 2_000
    """So many of a kind are taken for one turn; but results, timers and mail all together."""
    waiting: int = 10_000
    """So many starts and commands may wait, and so many events."""
    look_back_page: int = 500
    """So many events a wait looks at with one read."""
    recovery_batch: int = 500
    """So many instances, events or waits that others have left are claimed at once."""
    timer_batch: int = 500
    """So many due timers are in hand at once."""
    mail_batch: int = 500
    """So many letters are read at once."""
    mail_rounds: int = 100
    """So many times a look into the mailbox does that; the others are for the next look."""
    unreadable_kept: int = 10_000
    """So many instances, and letters, that this program cannot read are kept in mind; past that
    nothing more is taken on."""


DEFAULT_BOUNDS = Bounds()
