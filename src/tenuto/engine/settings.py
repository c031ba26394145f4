"""How an engine behaves, as far as a program can choose."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.model.policy import DEFAULT_RETRY, EVENTS_KEPT, Limits, RetryPolicy


class Settings(Struct, frozen=True, kw_only=True):
    """How an engine behaves; the defaults are safe."""

    retry: RetryPolicy = DEFAULT_RETRY
    limits: Limits = Limits()
    bounds: Bounds = DEFAULT_BOUNDS
    """How much is taken on at once."""
    mail_every: float = 2.0
    """Seconds between looks into the mailbox, for what other processes left there."""
    timers_every: float = 5.0
    """Seconds between looks for timers that other processes set and did not live to see."""
    jobs_every: float = 2.0
    """Seconds between looks for steps that were left to whoever has their task."""
    watch_every: float = 1.0
    """Seconds between looks for the ends of instances that somebody waits for and others run."""
    project_every: float = 1.0
    """Seconds by which lists may lag behind running instances."""
    outbox_every: float = 2.0
    """Seconds between looks for what there is to tell, where nothing hinted at it."""
    webhook_timeout: float = 15.0
    """Seconds that an address outside has to answer."""
    disable_webhooks_after: float = 5 * 86_400.0
    """Seconds for which nothing may arrive at an address until it is disabled."""
    private_webhooks: bool = False
    """Whether events may be sent to addresses of no public network, such as this machine."""
    private_targets: bool = False
    """Whether tasks may be pushed to addresses of no public network, such as this machine."""
    inbox_retention: float = EVENTS_KEPT.total_seconds()
    """Seconds for which events are kept once it is recorded whom they were for."""
    instance_retention: float | None = None
    """Seconds for which instances are kept after their end; None: for ever. A definition may say
    otherwise (`options.retention`)."""
    bulk_retention: float = 30 * 86_400.0
    """Seconds for which an action over many things is kept, from when it was asked for, once it is
    over."""
    prune_every: float = 3_600.0
    """Seconds between looks for what is kept no longer: events, instances, actions over many things
    and test runs."""
    test_run_retention: float = 3_600.0
    """Seconds for which a test run is kept at least that nobody stops."""
    longest_nap: float = 30.0
    """Seconds after which timers look at the clock again, since it may be set."""
    report_block_after: float = 1.0
    """Seconds that something may block the event loop before the log says where."""
    stop_grace: float = 10.0
    """Seconds that running tasks have to end when the engine stops."""
    unknown_tasks: Literal["fail", "wait"] = "fail"
    """Whether a step whose task is not registered here fails, or waits for whoever has it."""
    is_guest: bool = False
    """Whether it only publishes events: it owns, runs and takes over nothing, and what its events
    set going is done by those who work on the store, now or later."""
