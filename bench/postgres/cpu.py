"""Who was busy: CPU seconds of processes, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.postgres.server import server

_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def busy(pids: Mapping[str, int]) -> Iterator[dict[str, float]]:
    """Cores that each of these processes kept busy meanwhile, and the server, and everybody."""
    shares: dict[str, float] = {}
    began, before = time.perf_counter(), _readings(pids)
    yield shares
    seconds, after = time.perf_counter() - began, _readings(pids)
    shares |= {name: round((after[name] - before[name]) / seconds, 2) for name in before}


def _readings(pids: Mapping[str, int]) -> dict[str, float]:
    return {
        **{name: _seconds(pid) for name, pid in pids.items()},
        "server": _seconds(server().pid, and_gone=True) + sum(map(_seconds, _backends())),
        "everybody": _everybody(),
    }


def _backends() -> list[int]:
    listed = Path(f"/proc/{server().pid}/task/{server().pid}/children").read_text().split()
    return [int(pid) for pid in listed]


def _seconds(pid: int, *, and_gone: bool = False) -> float:
    """User and system time of a process; `and_gone`: also of its children that have ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return 0.0
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if and_gone else 13])) / _TICKS


def _everybody() -> float:
    user, nice, system, *_ = Path("/proc/stat").read_text().split()[1:]
    return (int(user) + int(nice) + int(system)) / _TICKS
