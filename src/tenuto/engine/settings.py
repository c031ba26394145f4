"""Settings of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tenuto.egress import Allowances
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.model.host_limits import HostLimits
from tenuto.model.load import OverloadBounds
from tenuto.model.policy import (
    DEFAULT_RETRY,
    DEFAULT_TIMEOUT,
    EVENTS_KEPT,
    Limits,
    RetryPolicy,
)
from tenuto.model.quotas import Quotas

_LONGEST = 366 * 86_400.0
_MOST = 10_000
_MOST_ATTEMPTS = 1_000_000
MOST_LANES = 16
_LONGEST_SILENCE = 3_600.0
_BEATS_IN_SILENCE = 3


class Settings(Struct, frozen=True, kw_only=True):
    """How an engine behaves; the defaults are safe."""

    retry: RetryPolicy = DEFAULT_RETRY
    limits: Limits = Limits()
    task_timeout: Annotated[float, Meta(gt=0, le=_LONGEST)] = DEFAULT_TIMEOUT.total_seconds()
    """Seconds that an attempt may take where neither its step nor its task says."""
    threads: Annotated[int, Meta(ge=1, le=_MOST)] = 32
    """The most tasks that are no coroutines and run at once in threads of the process."""
    attempts: Annotated[int, Meta(ge=1, le=_MOST_ATTEMPTS)] | None = None
    """The most attempts of tasks that run at once in the process; others wait, and have not begun.
    None: any number. Attempts in workers and built-in tasks do not count."""
    store_connections: Annotated[int, Meta(ge=1, le=_MOST)] = 4
    """The connections to a PostgreSQL server beside those of commits and heartbeats."""
    lanes: Annotated[int, Meta(ge=1, le=MOST_LANES)] = 2
    """How many turns are decided on, or committed, at once; each lane has a connection of its own
    to a PostgreSQL server."""
    heartbeat_every: Annotated[float, Meta(ge=0.01, le=_LONGEST_SILENCE)] = 3.0
    """Seconds between heartbeats of a process of a PostgreSQL server; the same in all processes."""
    dead_after: Annotated[float, Meta(ge=1, le=_LONGEST_SILENCE)] = 9.0
    """Seconds without a heartbeat after which other processes of a PostgreSQL server take over from
    one: at least three times `heartbeat_every`, and the same in all processes."""
    quotas: Quotas = Quotas()
    """How much one tenant may have stored."""
    overload: OverloadBounds = OverloadBounds()
    """From when on a service refuses starts, and then expensive reads."""
    bounds: Bounds = DEFAULT_BOUNDS
    """How much is processed at once."""
    mail_every: float = 2.0
    """Seconds between reads of the mailbox, for messages from other processes."""
    timers_every: float = 5.0
    """Seconds between reads of timers that dead processes set."""
    jobs_every: float = 2.0
    """Seconds between claims of steps that wait for a process with their task."""
    watch_every: float = 1.0
    """Seconds between checks for the ends of instances that other processes run."""
    project_every: float = 1.0
    """Seconds by which lists may lag behind running instances."""
    outbox_every: float = 2.0
    """Seconds between passes over the outbox without a hint."""
    webhook_timeout: float = 15.0
    """Seconds that a webhook has to answer."""
    disable_webhooks_after: float = 5 * 86_400.0
    """Seconds for which all deliveries to a webhook may fail until it is disabled."""
    private_webhooks: bool = False
    """Whether webhooks may have addresses of no public network, such as this machine."""
    private_targets: bool = False
    """Whether tasks may be pushed to addresses of no public network, such as this machine."""
    private_databases: Mapping[str, tuple[str, ...]] = {}
    """Hosts and networks of no public network at which data sources may be, by tenant:
    `db.internal`, `*.corp.example`, `10.2.0.0/16`. Those of `*` are for every tenant."""
    data_folder: str | None = None
    """The folder of SQLite files that data queries may read: `<data_folder>/<tenant>/<file>`; None:
    data sources are databases on servers alone."""
    private_networks: Mapping[str, tuple[str, ...]] = {}
    """Hosts and networks of no public network that http nodes, code, webhooks, callbacks and
    pushed tasks of a tenant may call: `erp.internal`, `*.corp.example`, `10.1.0.0/16`. Those of `*`
    are for every tenant."""
    host_limits: Mapping[str, HostLimits] = {}
    """Limits of the hosts that http nodes call, by name: `api.example.com`, `*.example.com`, `*`.
    They hold for each tenant by itself."""
    inbox_retention: float = EVENTS_KEPT.total_seconds()
    """Seconds for which events are kept once their recipients are recorded."""
    instance_retention: float | None = None
    """Seconds for which instances are kept after their end; None: for ever. A definition may
    override it (`options.retention`)."""
    bulk_retention: float = 30 * 86_400.0
    """Seconds for which a finished bulk operation is kept, from when it was requested."""
    prune_every: float = 3_600.0
    """Seconds between passes of retention: events, instances, bulk operations and test runs."""
    test_run_retention: float = 3_600.0
    """Seconds for which a test run is kept at least that is not stopped."""
    longest_nap: float = 30.0
    """Seconds after which timers and schedules read the clock again, since it may be set."""
    queued_every: float = 1.0
    """Seconds until it is looked whether an instance has ended for which a tick of its schedule
    waits; twice as long each time while nothing changes, up to `longest_nap`."""
    report_block_after: float = 1.0
    """Seconds that something may block the event loop before the log says where."""
    decision_timeout: float | None = None
    """Seconds of processor time that deciding on one instance may take until it is stopped, or its
    process killed, and the instance quarantined; a decision that computes nothing may take ten
    times as long. None: for ever. `serve`, `dev` and `run` have 10."""
    notes_folder: str | None = None
    """The folder in which a process of a database notes what it decides on, for the next one on
    this machine; None: one in the system's folder for temporary files. It is made if it is missing,
    and must be the process's user's and closed to others (0700). A container mounts a volume above
    it. With a file the notes are beside that."""
    stop_grace: float = 10.0
    """Seconds that running tasks have to end when the engine stops."""
    unknown_tasks: Literal["fail", "wait"] = "fail"
    """Whether a step whose task is not registered here fails, or waits for a process that has
    it."""
    task_logs: bool = True
    """Whether the lines that tasks log and print are kept: up to 64,000 bytes of an attempt
    and 1,000,000 of an instance."""
    is_guest: bool = False
    """Whether it only publishes events: it owns, runs and takes over nothing, and the effects of
    its events are left to processes that work on the store, now or later."""

    def __post_init__(self) -> None:
        wrong = [
            f"{name} is {said}"
            for name, is_right, said in (
                (
                    "task_timeout",
                    0 < self.task_timeout <= _LONGEST,
                    f"more than 0 and at most {_LONGEST:.0f} seconds",
                ),
                ("threads", 1 <= self.threads <= _MOST, f"from 1 to {_MOST}"),
                (
                    "attempts",
                    self.attempts is None or 1 <= self.attempts <= _MOST_ATTEMPTS,
                    f"from 1 to {_MOST_ATTEMPTS}, or None",
                ),
                (
                    "store_connections",
                    1 <= self.store_connections <= _MOST,
                    f"from 1 to {_MOST}",
                ),
                ("lanes", 1 <= self.lanes <= MOST_LANES, f"from 1 to {MOST_LANES}"),
                (
                    "heartbeat_every",
                    0.01 <= self.heartbeat_every <= _LONGEST_SILENCE,
                    f"from 0.01 to {_LONGEST_SILENCE:.0f} seconds",
                ),
                (
                    "dead_after",
                    1 <= self.dead_after <= _LONGEST_SILENCE,
                    f"from 1 to {_LONGEST_SILENCE:.0f} seconds",
                ),
            )
            if not is_right
        ]
        if not wrong and (rhythm := rhythm_problem(self.heartbeat_every, self.dead_after)):
            wrong.append(rhythm)
        if wrong:
            raise ValueError("; ".join(wrong))
        self.allowances()
        Allowances(self.private_databases)

    def allowances(self, *, is_all: bool = False) -> Allowances:
        """What tenants may call beside the public network; with `is_all` everything."""
        return Allowances(self.private_networks, is_all=is_all)


def rhythm_problem(heartbeat_every: float, dead_after: float) -> str | None:
    """Why living processes would be presumed dead; None: they would not."""
    least = _BEATS_IN_SILENCE * heartbeat_every
    if dead_after >= least:
        return None
    return (
        f"dead_after is at least three times heartbeat_every, {least:g} s, not {dead_after:g} s: "
        "one or two late heartbeats are no death"
    )
