"""Live updates: how many arrive at 200 sockets in a second, and how late."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import NamedTuple

from bench.http.load import API, Caller, calling
from bench.http.processes import Served, served
from bench.http.sockets import Watchers, watching
from bench.postgres.server import new_database
from bench.report import Report
from bench.workflows import awaited
from tenuto.cli.event_loop import fast_loop
from tenuto.model.json import Object

SOCKETS = 200
STEPS = 50
_ONE = f"one instance, watched by {SOCKETS} sockets"
_EACH = f"{SOCKETS} instances, one socket each"


class Watched(NamedTuple):
    """What arrived at the sockets, from the event that set the instances going."""

    updates: int
    seconds: float
    lags: list[float]
    """Seconds from the time that an entry has in the log until its update was there."""


def sockets(report: Report) -> None:
    """As fast as it goes, and then at half of that rate, for how late they are."""
    with (
        asyncio.Runner(loop_factory=fast_loop()) as runner,
        new_database() as store,
        served(store) as service,
    ):
        for name, instances in ((_ONE, 1), (_EACH, SOCKETS)):
            runner.run(_watched(service, instances, pause=0))
            peak = runner.run(_watched(service, instances, pause=0))
            report.add(f"{name}: updates/s", peak.updates / peak.seconds)
            # A step has two updates, for each of those that watch it.
            pause = 2 * 2 * SOCKETS * peak.seconds / peak.updates
            half = runner.run(_watched(service, instances, pause=pause))
            report.add(f"{name}: updates/s when paced", half.updates / half.seconds)
            lags = sorted(half.lags)
            for share in (50, 99):
                lag = lags[len(lags) * share // 100]
                report.add(f"{name}: lag from log to socket when paced, p{share} ms", lag * 1000)


def promise_sockets(report: Report) -> None:
    """None was made; every update arrived at every socket, which each run holds."""
    for name in (_ONE, _EACH):
        report.facts[f"{name}: paced / as fast as it goes"] = round(
            report.ratio(f"{name}: updates/s when paced", f"{name}: updates/s"), 2
        )


async def _watched(service: Served, instances: int, pause: float) -> Watched:
    """Instances that begin once everybody watches."""
    async with calling(service.url) as caller:
        await caller.deploy(awaited(STEPS))
        started = await caller.start_many("awaited", 0, instances, {"pause": pause})
        ids = [started[n % instances] for n in range(SOCKETS)]
        async with watching(service.url, ids) as watchers:
            began = time.perf_counter()
            await caller.post(f"{API}/events", {"pattern": "bench.go", "payload": {}})
            await watchers.all_ended()
            seconds = time.perf_counter() - began
        lags = await _lags(caller, watchers, started)
    return Watched(watchers.updates, seconds, lags)


async def _lags(caller: Caller, watchers: Watchers, ids: list[str]) -> list[float]:
    """For each update at each socket; an entry's time is whole milliseconds, before its commit."""
    lags = []
    for id in ids:
        page = await caller.get(f"{API}/instances/{id}/history?limit=1000")
        items = page["items"]
        assert isinstance(items, list)
        at = {_seq(each): _at(each) for each in items if isinstance(each, dict)}
        lags += [max(when - at[seq], 0.0) for seq, when in watchers.arrived[id]]
    return lags


def _seq(entry: Object) -> int:
    return int(str(entry["seq"]))


def _at(entry: Object) -> float:
    return datetime.fromisoformat(str(entry["at"])).timestamp()
