"""`python -m tests.kit.simulator SEED` shows one seed; `--digest FIRST LAST` hashes some.

`--two FIRST LAST` does so with two engines, of which now and then one is presumed dead.
"""

from __future__ import annotations

import logging
import sys

from tests.kit.checker.record import row_of
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import scenario_of, two_engines
from tests.kit.simulator.verdict import assert_kept, digest_of, run_scenario


def main(arguments: list[str]) -> int:
    logging.disable(logging.CRITICAL)
    if arguments[:1] == ["--digest"]:
        first, last = map(int, arguments[1:])
        for seed in range(first, last):
            print(seed, digest_of(run_scenario(scenario_of(seed))))
        return 0
    if arguments[:1] == ["--two"]:
        first, last = map(int, arguments[1:])
        for seed in range(first, last):
            print(seed, digest_of(run_scenario(two_engines(seed), InMemory(shared=True))))
        return 0
    [seed] = map(int, arguments)
    finished = run_scenario(scenario_of(seed))
    for instance in finished.run.instances:
        print(instance.id, instance.document["id"])
        for item in instance.history:
            print(f"  {row_of(item)}")
    for fault in finished.run.faults or ():
        print(fault)
    print(f"{finished.processes} processes, {finished.steps} steps")
    assert_kept(finished, f"python -m tests.kit.simulator {seed}")
    print("every promise was kept")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
