"""`python -m tests.kit.checker FILE`: judge a recorded run (one JSON object, or JSON lines).

In a `.jsonl` file the first line is the run without `instances`, each other line one instance.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.kit.checker.judge import violations
from tests.kit.checker.record import Instance, Run, instance_of, run_of


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m tests.kit.checker FILE", file=sys.stderr)
        return 2
    found = list(violations(_read(Path(arguments[0]))))
    if not found:
        print("every invariant holds")
        return 0
    shortest = min(found, key=lambda violation: (len(violation.excerpt), violation.seq))
    names = sorted({violation.invariant for violation in found})
    print(shortest)
    print(f"{len(found)} violations of {', '.join(names)}")
    return 1


def _read(path: Path) -> Run:
    if path.suffix != ".jsonl":
        return run_of(json.loads(path.read_text(encoding="utf-8")))
    with path.open(encoding="utf-8") as lines:
        head = json.loads(next(lines))
    run = run_of({**head, "instances": []})
    documents = {
        (entry["id"], entry.get("version", 1)): entry["document"]
        for entry in head.get("definitions") or ()
    }
    run.instances = _instances(path, documents)
    return run


def _instances(
    path: Path, documents: dict[tuple[str, int], dict[str, object]]
) -> Iterator[Instance]:
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            yield instance_of(json.loads(line), documents)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
