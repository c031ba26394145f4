"""Whether a simulated run kept every promise, and if not, all that is needed to see it again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from tests.kit.checker import Instance, Violation, check
from tests.kit.checker.graph import read
from tests.kit.checker.picture import FINAL
from tests.kit.simulator.allowances import is_explained
from tests.kit.simulator.places import Place
from tests.kit.simulator.scenario import Scenario, scenario_of
from tests.kit.simulator.world import Finished, World


def violations_of(finished: Finished) -> list[Violation]:
    """What was broken when all was at rest, and what was when every instance had ended."""
    ended = (finished.run, *finished.others)
    runs = (*finished.rests, *ended)
    found = [broken for run in runs for broken in check(run) if not is_explained(broken, run)]
    found += [
        Violation("I45", instance.id, 0, f"it never ended: {status}")
        for run in ended
        for instance in run.instances
        if (status := status_of(instance)) not in FINAL
    ]
    return found + [
        Violation("I38", id, 0, f"a row of {table} is left when everything is over")
        for run in ended
        for table, id in run.owed or ()
        if table in ("outbox", "webhook_deliveries")
    ]


def status_of(instance: Instance) -> str:
    """Where an instance stands by its log."""
    changes = [row for row in instance.history if row["eventType"] == "STATUS_CHANGED"]
    return str(changes[-1]["payload"]["to"]) if changes else "CREATED"


def without_owners(finished: Finished) -> Finished:
    """Who owns an instance that has ended is not the gate's to keep."""
    for run in (finished.run, *finished.others, *finished.rests):
        for instance in run.instances:
            instance.owner = None if status_of(instance) in FINAL else instance.owner
    return finished


def run_seed(seed: int, place: Place | None = None) -> Finished:
    """Run a seed; AssertionError with the shortest excerpt when a promise was broken."""
    finished = run_scenario(scenario_of(seed), place)
    assert_kept(finished, f"python -m tests.kit.simulator {seed}")
    return finished


def run_scenario(scenario: Scenario, place: Place | None = None) -> Finished:
    try:
        return World(scenario, place).run()
    except BaseException as error:
        error.add_note(f"seed {scenario.seed}")
        raise


def assert_kept(finished: Finished, again: str) -> None:
    """Fail with what shows the first broken promise, and how to see it again."""
    broken = violations_of(finished)
    if not broken:
        return
    shortest = min(broken, key=lambda violation: (len(violation.excerpt), violation.seq))
    names = ", ".join(sorted({violation.invariant for violation in broken}))
    faults = ", ".join(f"{n} {kind}" for kind, n in finished.ledgers.counts().items())
    message = f"{len(broken)} violations of {names}\n{shortest}\nfaults: {faults}\nagain: {again}"
    raise AssertionError(message)


def counts_of(finished: Finished) -> Counter[str]:
    """How often each fault, end, kind of node and request happened."""
    counts = finished.ledgers.counts()
    counts["lost to the other engine"] = finished.ledgers.shut_out
    counts["tenants"] = 1 + len(finished.others)
    for instance in finished.run.instances:
        counts[status_of(instance)] += 1
        nodes = read(instance.document).nodes
        for row in instance.history:
            if row["eventType"] == "NODE_COMPLETED":
                counts[f"completed {nodes[row['nodeId']].type}"] += 1
            else:
                counts[row["eventType"]] += 1
            if row["eventType"] == "ITERATION_ENDED":
                counts[f"iteration {row['payload'].get('status', 'success')}"] += 1
                counts["iteration in another"] += "/" in row["iteration"]
    for request in finished.run.client or ():
        counts[f"{request['op']} {request['outcome']}"] += 1
    return counts


def digest_of(finished: Finished) -> str:
    """Equal for equal runs: every history, and what clients and tasks saw."""
    run = finished.run
    seen = {
        "histories": [(instance.id, instance.history) for instance in run.instances],
        "client": run.client,
        "effects": run.effects,
        "commits": run.commits,
        "faults": run.faults,
    }
    text = json.dumps(seen, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
