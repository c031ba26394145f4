"""Figures of one run: kept raw, printed as a table, with the ratios that were promised."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

import apsw

FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"


@dataclass
class Promise:
    """A ratio that must hold, and the one that was measured."""

    what: str
    measured: float
    bound: float
    at_least: bool

    @property
    def is_kept(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "kept  " if self.is_kept else "BROKEN"
        return f"{verdict} {self.what}: {self.measured:,.2f} ({sign} {self.bound:g})"


@dataclass
class Report:
    """Everything that a run measured."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    promises: list[Promise] = field(default_factory=list)

    def add(self, name: str, value: float) -> None:
        self.figures.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.figures[name])

    def ratio(self, over: str, under: str) -> float:
        """The median of the ratios of each round: both were measured under the same weather."""
        pairs = zip(self.figures[over], self.figures[under], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def promise(
        self,
        what: str,
        measured: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        bound = at_least if at_least is not None else at_most
        assert bound is not None
        self.promises.append(Promise(what, measured, bound, at_least is not None))

    def print(self) -> None:
        width = max(map(len, self.figures), default=0)
        for name, values in self.figures.items():
            spread = f"{min(values):,.3f} … {max(values):,.3f}"
            print(f"{name:<{width}}  {self.median(name):>14,.3f}   ({spread}, n={len(values)})")
        for name, fact in self.facts.items():
            print(f"{name}: {fact}")
        for promise in self.promises:
            print(promise)

    def save(self, name: str) -> Path:
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{name}.json"
        content = {
            "machine": {
                "cores": os.cpu_count(),
                "python": sys.version.split()[0],
                "platform": platform.machine(),
                "sqlite": apsw.sqlite_lib_version(),
            },
            "figures": self.figures,
            "facts": self.facts,
            "promises": [
                {"what": p.what, "measured": p.measured, "bound": p.bound, "kept": p.is_kept}
                for p in self.promises
            ],
        }
        path.write_text(json.dumps(content, indent=1, default=str) + "\n")
        return path
