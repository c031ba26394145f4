"""Rounds of load on one service: starts at a rate, and how many instances end meanwhile."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from prometheus_client.parser import text_string_to_metric_families as families

from tenuto import Client
from tenuto.model.json import Object
from tests.crash.services import ROOT, Service, services
from tests.overload.open_loop import Answers
from tests.overload.others import PARKED, PULLED, Others, called

CONNECTIONS = 400
"""To each process, for as many starts as it answers."""
STEPS = 10
"""As many as in the benchmarks of throughput."""
WORKFLOW: Object = {
    "id": "load",
    "steps": [
        {
            "stepId": f"s{number}",
            "type": "TASK",
            "taskId": "quick",
            **({"transitions": {"default": f"s{number + 1}"}} if number < STEPS else {}),
        }
        for number in range(1, STEPS + 1)
    ],
}
TASKS = """
from tenuto import task

@task
async def quick(input: dict) -> int:
    return 1
"""
_PATIENCE = 300.0
"""Seconds until all that was accepted has ended."""


class Round(NamedTuple):
    """What one round of load came to."""

    answers: Answers
    goodput: float
    """Instances that ended, by the seconds from the first start to the last end."""
    drained: float
    """Seconds after it until every accepted instance had ended."""
    finished: int
    """Instances that ended in this round."""
    unfinished: int
    """Accepted instances that have not ended."""
    each: float
    """Instances that ended for each second of processor time of the service, until all had."""
    others: Others
    """Requests of other kinds, a round of them in each second of the load."""

    def broken(self) -> list[str]:
        """The promises that were not kept, but for the goodput."""
        answers, others = self.answers, self.others
        found = [f"{kind} was refused" for kind in others.refused]
        found += [f"an answer {status}: {n} times" for status, n in answers.other.items()]
        if answers.without_time:
            found.append(f"{answers.without_time} refusals without Retry-After")
        if answers.lost:
            found.append(f"{answers.lost} starts without an answer")
        if self.unfinished:
            found.append(f"{self.unfinished} accepted instances have not ended")
        return found


class Loaded:
    """A service, of one process or several, that is loaded by a process of its own."""

    def __init__(self, running: Sequence[Service]) -> None:
        self._running = running
        self._connections = str(CONNECTIONS * len(running))
        self._urls = [each.url for each in running]
        for workflow in (WORKFLOW, PARKED, PULLED):
            called("POST", f"{self._urls[0]}/api/v1/workflows", workflow)

    def load(self, rate: float, seconds: float) -> Round:
        """Starts at a rate, 0: as many as it takes; until what was accepted has ended."""
        others = Others(self._urls[0])
        others.prepare(int(seconds) if rate else 0)
        begun, ended = self._counts()
        words = (",".join(self._urls), str(rate), str(seconds), self._connections)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.overload.open_loop", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        ) as client:
            assert client.stdout is not None
            client.stdout.readline()
            began, used = time.monotonic(), self._processor_seconds()
            # A line for each second; the last one says what came back.
            with others.beside() as make:
                for line in client.stdout:
                    if line.startswith(b"{"):
                        break
                    make()
        over = time.monotonic()
        answers = msgspec.json.decode(line, type=Answers)
        asyncio.run(self._all_ended())
        begun_now, ended_now = self._counts()
        drained = time.monotonic() - over
        goodput = (ended_now - ended) / (time.monotonic() - began)
        each = (ended_now - ended) / (self._processor_seconds() - used)
        assert begun_now - begun == answers.accepted, "what was refused was not started"
        finished, unfinished = ended_now - ended, begun_now - ended_now
        return Round(answers, goodput, drained, finished, unfinished, each, others)

    async def _all_ended(self) -> None:
        """Return once no instance of the load runs."""
        async with Client(self._urls, patience=_PATIENCE) as client, asyncio.timeout(_PATIENCE):
            while running := await client.instances(status=["CREATED", "RUNNING"], workflow="load"):
                for each in running:
                    await client.at(each.id).result(timeout=_PATIENCE)

    def _processor_seconds(self) -> float:
        spent = 0
        for each in self._running:
            stat = Path(f"/proc/{each.pid}/stat").read_text("ascii").rpartition(")")[2].split()
            spent += int(stat[11]) + int(stat[12])
        return spent / os.sysconf("SC_CLK_TCK")

    def _counts(self) -> tuple[int, int]:
        """Instances of the load begun, and ended."""
        found = {"started": 0.0, "completed": 0.0, "failed": 0.0}
        for url in self._urls:
            for family in families(called("GET", f"{url}/metrics")):
                name = family.name.removeprefix("workflow_instances_")
                if name in found:
                    found[name] += sum(
                        each.value
                        for each in family.samples
                        if each.name.endswith("_total") and each.labels.get("workflow") == "load"
                    )
        return round(found["started"]), round(found["completed"] + found["failed"])


@contextmanager
def loaded(store: str, folder: Path, *settings: str, processes: int = 1) -> Iterator[Loaded]:
    """A service with one workflow."""
    with services(store, folder, processes, is_begun=False) as made:
        (folder / "tasks.py").write_text(TASKS)
        for each in made:
            each.settings = settings
            each.begin()
        yield Loaded(made)
