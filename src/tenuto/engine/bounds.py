"""How much an engine processes at once."""

from __future__ import annotations

import sys

from msgspec import Struct

from tenuto.model.policy import MOST_ENTRIES


class Bounds(Struct, frozen=True, kw_only=True):
    """How much an engine processes at once; the defaults suit every store, tests turn them down."""

    snapshot_every: int = 100
    """A tail of the log longer than this, and than the snapshot itself in bytes and in parts, is
    folded into a new snapshot: all snapshots together cost about what the log does."""
    turn_seconds: float = 0.05
    """So long a turn decides at most: on a slow machine each lane would keep the event loop."""
    turn_rows: int = 2_000
    """With more rows of the log a turn takes no further instance."""
    turn_bytes: int = 4_000_000
    """With more bytes of the log a turn takes no further instance."""
    shared_bytes: int = 50_000
    """The same while several tenants are at work: each of them waits for the bytes of others."""
    turn_steps: int = 10_000
    """With more steps of expressions and schemas a turn takes no further instance."""
    shared_steps: int = 1_000
    """The same while several tenants are at work: each of them waits for the steps of others."""
    turn_requests: int = 2_000
    """The most inputs of a kind in one turn; results, timers and mail count together."""
    turn_share: int = 5
    """The most inputs of each tenant in one turn, about, and half of the most rows, while several
    tenants are at work: each of them waits for the turns of the others."""
    decision_entries: int = MOST_ENTRIES
    """The most entries of one decision; further decisions continue it."""
    shared_entries: int = 100
    """The same while several tenants are at work, and while the engine stops: some milliseconds."""
    large_document: int = 20_000
    """From how many bytes a value is checked in a thread, one at a time; definitions from a tenth
    of that on."""
    process_document: int = 20_000
    """From how many bytes a definition in a request is read by another process; one with schemas
    from a tenth of that on."""
    document_seconds: float = 120.0
    """Seconds after which that process is killed in the midst of a document."""
    waiting: int = 10_000
    """The most starts and commands that may wait, and the most events."""
    turn_messages: int = 1_000
    """The most mailbox messages that matchings write in one turn."""
    shared_messages: int = 50
    """The same while several tenants are at work: each of them waits for the writes of others."""
    look_back_page: int = 500
    """The most events that a wait reads at once."""
    recovery_batch: int = 500
    """The most instances, events or waits of dead processes that are claimed at once."""
    timer_batch: int = 500
    """The most due timers in hand at once."""
    mail_batch: int = 500
    """The most mailbox messages that are read at once."""
    mail_rounds: int = 100
    """The most reads of one pass over the mailbox; the rest is for the next pass."""
    unreadable_kept: int = 10_000
    """The most unreadable instances, and messages, that are remembered; then no further ones are
    claimed."""
    outbox_events: int = 200
    """The most events of one pass over the outbox, each counted for every webhook of its tenant;
    the rest follows with the next."""
    shared_outbox_events: int = 50
    """The same while several tenants are at work: each of them waits for the writes of others."""
    webhooks: int = 64
    """The most webhooks that are served at once; failing ones have slots of their own."""
    failing_webhooks: int = 16
    """The most failing webhooks that are served at once."""
    retention_batch: int = 1_000
    """The most rows that retention deletes at once: other writes wait meanwhile."""
    weighed_rows: int = 5_000
    """The most rows whose bytes are added up at once."""
    weigh_again: float = 60.0
    """Seconds for which a tenant that had its most bytes counts as full: adding up is costly."""
    schedules: int = 500
    """The most schedules that are advanced at once."""
    schedule_pass_bytes: int = 8_000_000
    """With more bytes of documents no further schedule is read at once; a single one always is."""
    schedule_starts: int = 100
    """The most ticks of one schedule that are started at once, after an outage."""
    schedule_ticks: int = 1_000
    """About the most ticks of one schedule that are kept once nothing runs for them."""
    first_retry: float = 1.0
    """Seconds until an input is retried whose consequences the store refuses; doubled each time."""


DEFAULT_BOUNDS = Bounds()
WITHOUT_THREADS = Bounds(large_document=sys.maxsize)
"""For readers without an event loop."""
