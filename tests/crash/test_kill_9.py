"""Real processes on a real file, really killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.aftermath import judged
from tests.crash.gauge import Gauge, Reading
from tests.crash.load import read
from tests.kit import soak_figures
from tests.kit.command_forks import ForkedCommand
from tests.kit.patience import PATIENCE

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("TENUTO_KILLS", "5"))
KILLS_OF_A_SEED = 20
INSTANCES_A_KILL = 50
LEAST_IN_FLIGHT = 20
MOST_WORK = 10
FATAL_EXIT = 9


def start(folder: Path, instances: int, *more: str) -> ForkedCommand:
    words = [str(folder), str(instances), *more]
    return ForkedCommand(words, module="tests.crash.load", cwd=ROOT, env=os.environ)


def kill_when_busy(process: ForkedCommand, gauge: Gauge) -> Reading | None:
    """Kill it in the middle of a commit with many attempts in flight; None when it ended first."""
    while process.poll() is None:
        now = gauge.read()
        if now.in_flight < LEAST_IN_FLIGHT or not now.committing:
            time.sleep(0.0005)
            continue
        # Stopped, it cannot get away between the look and the blow.
        process.send_signal(signal.SIGSTOP)
        _stands_still(process.pid)
        now = gauge.read()
        if now.in_flight >= LEAST_IN_FLIGHT and now.committing:
            process.kill()
            process.wait()
            return now
        process.send_signal(signal.SIGCONT)
    return None


def _stands_still(pid: int) -> None:
    """Return once the system has stopped all threads of the process."""
    with suppress(FileNotFoundError):  # it has ended
        while any(_state(thread) not in "TZ" for thread in Path(f"/proc/{pid}/task").iterdir()):
            time.sleep(0.0005)


def _state(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"  # it has just ended


def _let_it_work(process: ForkedCommand, gauge: Gauge, attempts: int) -> None:
    """Until so many attempts are done that what the last kill hit is recorded, or it is poison."""
    while process.poll() is None and gauge.read().completed < attempts:
        time.sleep(0.001)


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    """ "Real `kill -9` of real processes under load: nothing accepted is lost, no step recorded
    twice, idempotency keys stable across attempts and distinct otherwise. A kill counts only if at
    least 20 attempts were in flight and a commit was under way."
    """
    assert _kill_under_load(tmp_path, KILLS, random.Random(9)) >= 5 * KILLS, (
        "vacuous: the kills hardly hit anything"
    )


@pytest.mark.soak
def test_nothing_is_lost_however_often_a_process_is_killed(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        lost = _kill_under_load(folder, KILLS_OF_A_SEED, random.Random(seed))
        soak_figures.add(
            "SQLite",
            kills=KILLS_OF_A_SEED,
            workflows=KILLS_OF_A_SEED * INSTANCES_A_KILL,
            lost_attempts=lost,
        )
        shutil.rmtree(folder)


def _kill_under_load(folder: Path, kills: int, chance: random.Random) -> int:
    """Returns how many calls were lost on the way."""
    count = kills * INSTANCES_A_KILL
    readings: list[Reading] = []
    gauge = Gauge(folder / "gauge")
    while len(readings) < kills:
        gauge.reset()
        process = start(folder, count)
        hit = readings[-1].in_flight if readings else 0
        _let_it_work(process, gauge, 2 * hit + chance.randrange(60, 160))
        reading = kill_when_busy(process, gauge)
        if reading is not None:
            readings.append(reading)
            continue
        # On a busy machine the one that looks may come too late each time: it gets more work.
        assert process.wait(PATIENCE) == 0
        count += INSTANCES_A_KILL
        assert count < MOST_WORK * kills * INSTANCES_A_KILL, f"only {len(readings)} kills"
    assert start(folder, count).wait(PATIENCE) == 0

    run = judged(folder, kills=len(readings))
    instances = list(run.instances)
    statuses = Counter(str((instance.row or {})["status"]) for instance in instances)
    lost = sum(1 for effect in run.effects or () if effect["outcome"] == "lost")
    print(f"{len(readings)} kills; in flight: {[reading.in_flight for reading in readings]}")
    print(f"{len(instances)} instances, {lost} calls lost, {statuses}")
    assert statuses == {"COMPLETED": count}
    assert len(read(folder / "client")) == count
    return lost


@pytest.mark.slow
def test_a_task_that_ends_its_process_is_poison(tmp_path: Path) -> None:
    """ "one that ends the whole process (after restart the others go on, it is POISON at the fifth
    loss)".
    """
    deaths = 0
    while (code := start(tmp_path, 30, "with a deadly one").wait(PATIENCE)) == FATAL_EXIT:
        deaths += 1
        assert deaths <= 5
    assert (code, deaths) == (0, 5)
    run = judged(tmp_path, kills=deaths)
    by_workflow = {instance.document["id"]: instance for instance in run.instances}
    failures = [
        row["payload"]["error"]["code"]
        for row in by_workflow["deadly"].history
        if row["eventType"] == "NODE_FAILED"
    ]
    assert failures == ["LOST"] * 4 + ["POISON"]
    statuses = Counter(str((instance.row or {})["status"]) for instance in run.instances)
    assert statuses == {"COMPLETED": 30, "FAILED": 1}
