"""The same load on a service with a fixed limit, and with one that follows the load.

python -m tests.overload.adaptive [ROUNDS]

Tasks that compute in the event loop: each instance that runs makes every other one, and every
request, wait for longer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families as families

from tenuto.model.json import Object
from tests.crash.services import services
from tests.overload.others import called

INSTANCES, STEPS = 600, 5
MOST = 500
"""Instances that may run at once."""
TARGET_MS = 100
FIXED: Object = {"globalMaxConcurrent": MOST}
ADAPTIVE: Object = {
    **FIXED,
    "resourceBasedLimits": {
        "enabled": True,
        "min": 5,
        "max": MOST,
        "targets": {"loopLagMs": TARGET_MS, "commitMs": 1_000},
    },
}
WORKFLOW: Object = {
    "id": "heavy",
    "steps": [
        {
            "stepId": f"s{number}",
            "type": "TASK",
            "taskId": "compute",
            **({"transitions": {"default": f"s{number + 1}"}} if number < STEPS else {}),
        }
        for number in range(1, STEPS + 1)
    ],
}
TASKS = """
from hashlib import sha256
from tenuto import task

@task
async def compute(input: dict) -> str:
    value = b""
    for _ in range(6_000):  # some milliseconds of the event loop
        value = sha256(value).digest()
    return value.hex()
"""


class Outcome(NamedTuple):
    """What one load came to."""

    seconds: float
    request_p99: float
    """Of requests for one record, made one after the other during the load."""
    step_p99: float
    """At most: from the order of an attempt to its beginning."""
    limit: int
    """The limit that was in force at the end."""
    ended: int


def run(limits: Object) -> Outcome:
    """Start all instances at once, and wait until they have ended."""
    with tempfile.TemporaryDirectory(prefix="tenuto-adaptive-") as name:
        folder = Path(name)
        store = f"sqlite:///{folder / 'store.db'}"
        with services(store, folder, 1, is_begun=False) as [service]:
            (folder / "tasks.py").write_text(TASKS)
            # Nothing is refused: what is compared are the limits.
            service.settings = ("engine.overload.loop_lag_ms=", "engine.overload.intake_ms=")
            service.begin()
            api = f"{service.url}/api/v1"
            called("POST", f"{api}/workflows", WORKFLOW)
            called("PUT", f"{api}/concurrency", limits)
            items = [{"workflowId": "heavy", "input": {}}] * INSTANCES
            began = time.monotonic()
            batch = called("POST", f"{api}/instances/batch", {"items": items})
            first = batch["results"][0]["instanceId"]
            took, ended, step_p99 = list[float](), 0, 0.0
            while ended < INSTANCES:
                for _ in range(10):
                    asked = time.monotonic()
                    called("GET", f"{api}/instances/{first}")
                    took.append(time.monotonic() - asked)
                ended, step_p99 = _read(service.url)
            effective = called("GET", f"{api}/concurrency").get("effective")
            return Outcome(
                time.monotonic() - began,
                sorted(took)[int(len(took) * 0.99)],
                step_p99,
                MOST if effective is None else effective["limit"],
                ended,
            )


def _read(url: str) -> tuple[int, float]:
    """Instances that have ended, and the p99 of the time that attempts waited to begin."""
    ended, buckets = 0.0, Counter[float]()
    for family in families(called("GET", f"{url}/metrics")):
        for each in family.samples:
            if each.name == "workflow_instances_completed_total":
                ended += each.value
            elif each.name == "workflow_step_queue_time_seconds_bucket":
                buckets[float(each.labels["le"])] += round(each.value)
    most = max(buckets.values(), default=0)
    return round(ended), next(
        (bound for bound in sorted(buckets) if buckets[bound] >= 0.99 * most), 0.0
    )


def main(rounds: int) -> None:
    """Print a line for each load."""
    print(
        "| round | limit | p99 of a request | p99 of the wait of a step | limit at the end | all |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    for number in range(1, rounds + 1):
        for name, limits in (("fixed", FIXED), ("adaptive", ADAPTIVE)):
            found = run(limits)
            print(
                f"| {number} | {name} | {found.request_p99 * 1e3:,.0f} ms "
                f"| at most {found.step_p99:g} s | {found.limit} | {found.seconds:.0f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3)
