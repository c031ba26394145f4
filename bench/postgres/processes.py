"""Several processes on one database: beside each other, against each other, after each other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from bench.postgres.cpu import busy
from bench.postgres.server import new_database
from bench.postgres.worker import STEPS
from bench.report import Report

IN_ALL = 2_000
FED = 1_000
IN_FLIGHT = 10_000


class Worker:
    """A process that plays a role of `worker`."""

    def __init__(self, url: str, role: str, *numbers: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.postgres.worker", role, url, *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def heard(self) -> dict[str, float]:
        """The next that it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a process that was measured died")
        facts: dict[str, float] = json.loads(line)
        return facts

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


Role = tuple[str, *tuple[int, ...]]


@contextmanager
def working(url: str, roles: Sequence[Role]) -> Iterator[list[Worker]]:
    """Processes, one after the other prepared; gone afterwards."""
    workers: list[Worker] = []
    try:
        for role in roles:
            workers.append(Worker(url, *role))
            assert workers[-1].heard()["ready"]
        yield workers
        for worker in workers:
            worker.process.wait(60)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()


class Measured(NamedTuple):
    """What processes did at the same time."""

    seconds: float
    """From the word to the last answer."""
    cores: dict[str, float]
    heard: list[dict[str, float]]


def _measured(roles: Sequence[Role]) -> Measured:
    with new_database() as url, working(url, roles) as workers:
        pids = {f"process {n}": each.process.pid for n, each in enumerate(workers, 1)}
        with busy(pids) as cores:
            began = time.perf_counter()
            for worker in workers:
                worker.go()
            heard = [worker.heard() for worker in workers]
            seconds = time.perf_counter() - began
        for worker in workers:
            worker.go()
    return Measured(seconds, cores, heard)


def side_by_side(report: Report) -> None:
    """As many instances in all, by one process and by several, each with its own."""
    for processes in (1, 2, 4):
        run = _measured([("run_own", IN_ALL // processes)] * processes)
        name = f"PostgreSQL, {IN_ALL:,} x {STEPS} no-op steps by {processes} process(es), steps/s"
        report.add(name, IN_ALL * STEPS / run.seconds)
        report.facts[f"PostgreSQL, cores busy with {processes} process(es)"] = run.cores


def promise_side_by_side(report: Report) -> None:
    """What several processes gain is told, not promised: it depends on the cores there are."""


def contended(report: Report) -> None:
    """Results for each step, to one process, and to two that have half of the instances each."""
    for name, processes in ((_ALONE, 1), (_BOTH, 2)):
        run = _measured([("feed", FED, mine, processes) for mine in range(processes)])
        assert sum(each["accepted"] for each in run.heard) == FED * STEPS, "each result once"
        ended = max(each["ended"] for each in run.heard)
        seconds = ended - min(each["began"] for each in run.heard)
        report.add(f"{name}, steps/s", FED * STEPS / seconds)
        report.facts[f"{name}, cores busy"] = run.cores
        for fact in ("accepted", "refused", "lost"):
            report.facts[f"{name}, {fact}"] = [each[fact] for each in run.heard]


_ALONE = "PostgreSQL, fed with results alone"
_BOTH = "PostgreSQL, two fed with the same results"


def promise_contended(report: Report) -> None:
    report.promise(
        "PostgreSQL, two fed with the same results / one alone",
        report.ratio(f"{_BOTH}, steps/s", f"{_ALONE}, steps/s"),
        at_least=0.5,
    )


def recovery(report: Report) -> None:
    """A process with many attempts under way is killed; another goes on with all of them."""
    name = f"PostgreSQL, from SIGKILL until {IN_FLIGHT:,} attempts are under way again"
    roles: list[Role] = [("hold", IN_FLIGHT), ("inherit", IN_FLIGHT)]
    with new_database() as url, working(url, roles) as (first, second):
        second.go()
        first.process.kill()
        heard = second.heard()
        second.go()
        report.add(f"{name}, s", heard["seconds"])
        report.add("PostgreSQL, from SIGKILL until the first of them is, s", heard["first"])


def promise_recovery(report: Report) -> None:
    name = f"PostgreSQL, from SIGKILL until {IN_FLIGHT:,} attempts are under way again, s"
    report.promise(name, report.median(name), at_most=20)
