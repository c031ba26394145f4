"""The simulator runs the engine that is shipped, and nearly all of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "src" / "tenuto" / "engine"
LEAST = 90.0
ANSWERS = (
    *("turns/approvals", "events/event_views", "events/explainer", "events/inspector"),
    *("events/near_misses", "outbox/signatures", "events/event_intake"),
    *("upkeep/instance_retention", "meters", "test_runs/test_runs", "test_runs/mocks"),
    "tenancy",
)
"""Modules that answer who asks, measure, or forget what is over: nothing is lost in them."""

OUTSIDE = ("membership/note_files", "membership/watchdog", "membership/watchdog_process")
"""Modules for files and processes of the system, of which the simulator has its own."""


@pytest.mark.soak
def test_seeds_reach_nearly_every_line_of_the_engine(tmp_path: Path) -> None:
    """ "a test fails when its coverage of the engine is below 90 %"."""
    data, report = tmp_path / "data", tmp_path / "report.json"
    worlds = [
        ("tests.kit.simulator", "--digest", "0", "22"),
        ("tests.kit.simulator", "--two", "0", "3"),
        # Programs of two versions, and addresses outside, are no seeds, but stories in the same
        # virtual time.
        (
            "pytest",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "tests/engine/test_look_back_index.py",
            "tests/engine/test_confirmed_write.py",
            "tests/engine/test_poison.py",
            "tests/engine/test_poisonous_starts.py",
            "tests/engine/test_turns_of_notifications.py",
            "tests/simulation/test_poison.py::test_a_hang_costs_the_process_that_the_watchdog_kills",
            "tests/simulation/test_found_by_values.py",
            "tests/engine/test_rolling_upgrades.py",
            "tests/engine/test_notifications.py",
            "tests/engine/test_undelivered.py",
            "tests/engine/test_mailbox_messages.py",
            "tests/engine/test_unmatched_events.py",
            "tests/engine/schedules/test_asked_ticks.py",
            "tests/engine/schedules/test_calendars.py",
            "tests/engine/schedules/test_firing.py",
            "tests/engine/schedules/test_overlaps.py",
            "tests/engine/schedules/test_pauses.py",
            "tests/engine/schedules/test_refusals.py",
            "tests/engine/schedules/test_saving.py",
            "tests/engine/schedules/test_targets.py",
            "tests/executions/test_declared_tasks.py",
            "tests/executions/test_simulated_workers.py",
        ),
    ]
    for world in worlds:
        _coverage(
            "run",
            "--append",
            f"--data-file={data}",
            f"--include={ENGINE}/**",
            "--omit=" + ",".join(f"{ENGINE / name}.py" for name in ANSWERS + OUTSIDE),
            *("-m", *world),
        )
    _coverage("json", f"--data-file={data}", "-o", str(report))
    covered = json.loads(report.read_text(encoding="utf-8"))
    missing = {
        name.rpartition("/")[2]: facts["missing_lines"] for name, facts in covered["files"].items()
    }
    share = covered["totals"]["percent_covered"]
    assert len(missing) >= 10, "vacuous: the engine's files were not measured"
    assert share >= LEAST, f"{share:.1f} % of the engine: {missing}"


def _coverage(command: str, *arguments: str) -> None:
    # Whoever measures this test must not measure what it measures.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    full = [sys.executable, "-m", "coverage", command, "--rcfile=/dev/null", *arguments]
    subprocess.run(full, cwd=ROOT, env=env, check=True, capture_output=True)
