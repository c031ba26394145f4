"""What long tests did, summed up: `python -m tests.kit.soak_figures FILE` prints it as a table.

Each round adds a line to the file that TENUTO_SOAK_FIGURES names; without the variable none does.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path


def add(store: str, **counts: int) -> None:
    """Count what one round did on a store."""
    path = os.environ.get("TENUTO_SOAK_FIGURES")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"store": store, **counts}) + "\n")


def table(lines: list[str]) -> str:
    """A row for each store and kind of count."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        counts = json.loads(line)
        sums[counts.pop("store")].update(counts)
    rows = ["| store | what | how many |", "|---|---|---|"]
    for store, counts in sorted(sums.items()):
        rows += [f"| {store} | {what} | {number:,} |" for what, number in sorted(counts.items())]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
