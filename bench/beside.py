"""`python -m bench.beside TREE [names …]`: this tree and another checkout, by turns in one run.

The other checkout has its own environment (`make setup` in it). Each round measures both, one after
the other, so that a noisy machine is noisy for both; the ratio of the medians is what counts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import median

_FIGURE = re.compile(r"(\S.*?)\s{2,}([\d.,]+)\s+\(")
_HERE = Path(__file__).parents[1]


def measured(tree: Path, names: list[str]) -> dict[str, float]:
    """One round of the scenarios in a tree: each figure by its name."""
    command = [".venv/bin/python", "-m", "bench", *names, "--rounds", "1"]
    shown = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).stdout
    return {
        found.group(1): float(found.group(2).replace(",", ""))
        for line in shown.splitlines()
        if (found := _FIGURE.match(line))
    }


def main() -> None:
    """Print the medians of both trees, and their ratio."""
    parser = argparse.ArgumentParser(prog="bench.beside", description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout")
    parser.add_argument("names", nargs="*", help="scenarios; see `python -m bench --help`")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    trees = (chosen.tree, _HERE)
    figures: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for _ in range(chosen.rounds):
        for place, tree in enumerate(trees):
            for name, value in measured(tree, chosen.names).items():
                figures[name][place].append(value)
    print(f"{'':60} {'there':>12} {'here':>12} {'here/there':>11}")
    for name, (there, here) in figures.items():
        if there and here:
            ratio = median(here) / median(there)
            print(f"{name[:60]:60} {median(there):12,.2f} {median(here):12,.2f} {ratio:11.2f}")


if __name__ == "__main__":
    main()
