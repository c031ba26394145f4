"""`python -m bench`: measure everything five times, print it, keep the raw figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime

from bench import (
    children,
    encryption,
    events,
    http_nodes,
    javascript,
    limits,
    loops,
    scenarios,
    schedules,
    service,
    web_ui,
    working_time,
)
from bench.http import reading, starting, watching
from bench.postgres import processes, scenarios as on_postgres
from bench.report import Report
from bench.restate import scenario as beside_restate

Scenario = Callable[[Report], None]

SCENARIOS: dict[str, tuple[Scenario, Scenario, int]] = {
    "linear": (scenarios.linear_throughput, scenarios.promise_linear, 5),
    "latency": (scenarios.latency, scenarios.promise_latency, 5),
    "widths": (scenarios.widths, scenarios.promise_widths, 5),
    "lengths": (scenarios.lengths, scenarios.promise_lengths, 5),
    "loops": (loops.loops, loops.promise_loops, 5),
    "children": (children.children, children.promise_children, 5),
    "tracing": (loops.tracing, loops.promise_tracing, 5),
    "waking": (events.waking, events.promise_waking, 3),
    "burst": (events.burst, events.promise_burst, 3),
    "limits": (limits.limits, limits.promise_limits, 3),
    "working-time": (working_time.working_time, working_time.promise_working_time, 5),
    "schedules": (schedules.schedules, schedules.promise_schedules, 3),
    "http-nodes": (http_nodes.http_nodes, http_nodes.promise_http_nodes, 3),
    "javascript": (javascript.javascript, javascript.promise_javascript, 5),
    "encryption": (encryption.encryption, encryption.promise_encryption, 3),
    "importing": (scenarios.importing, scenarios.promise_importing, 5),
    "sleeping": (scenarios.sleeping, scenarios.promise_sleeping, 1),
    "pulled": (service.pulled, service.promise_pulled, 5),
    "http": (starting.starting, starting.promise_starting, 5),
    "reads": (reading.reads, reading.promise_reads, 3),
    "sockets": (watching.sockets, watching.promise_sockets, 3),
    "ui": (web_ui.web_ui, web_ui.promise_web_ui, 3),
    "restate": (beside_restate.beside, beside_restate.promise_beside, 5),
    "pg-linear": (on_postgres.linear_throughput, on_postgres.promise_linear, 5),
    "pg-latency": (on_postgres.latency, on_postgres.promise_latency, 5),
    "pg-processes": (processes.side_by_side, processes.promise_side_by_side, 3),
    "pg-contended": (processes.contended, processes.promise_contended, 5),
    "pg-recovery": (processes.recovery, processes.promise_recovery, 3),
    "pg-idle": (on_postgres.idle, on_postgres.promise_idle, 1),
}


def main() -> int:
    """Run the chosen scenarios; the exit code says whether every promise was kept."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(SCENARIOS)}")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--keep", action="store_true", help="write docs/benchmarks/<date>.json")
    chosen = parser.parse_args()
    report = Report()
    for name, (measure, promise, rounds) in SCENARIOS.items():
        if chosen.names and name not in chosen.names:
            continue
        for number in range(chosen.rounds or rounds):
            print(f"{name}, round {number + 1}", flush=True)
            measure(report)
        promise(report)
    report.print()
    if chosen.keep:
        print(f"raw figures: {report.save(f'{datetime.now(UTC):%Y-%m-%d}').name}")
    return 0 if all(promise.is_kept for promise in report.promises) else 1


raise SystemExit(main())
