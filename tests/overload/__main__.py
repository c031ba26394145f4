"""Once and three times the peak of a service, by turns: how much of the peak still ends.

python -m tests.overload [SECONDS] [ROUNDS] [--store sqlite|postgresql]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.postgres_server import running_server
from tests.overload.rounds import Loaded, Round, loaded

GOODPUT = 0.8
"""Of the peak, at three times the peak."""
_MORE = 1.1
"""A goodput so many times as great is a new peak."""
HEAD = (
    *("round", "offered/s", "accepted/s", "refused/s", "goodput/s", "of peak"),
    *("ended for each second of processor time", "p99 of an accepted start"),
    *("drained in", "slowest health, result, cancel"),
)


def main() -> int:
    """Print a line for each round; whether the promise was kept."""
    parser = argparse.ArgumentParser(prog="tests.overload", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--times", type=float, nargs="*", default=(1.0, 3.0))
    parser.add_argument("--peak", type=float, help="seconds of the peak")
    chosen = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |")
    print("|" + "---|" * len(HEAD), flush=True)
    is_kept = True
    with _service(chosen.store) as service:
        service.load(0, 5)
        for number in range(1, chosen.rounds + 1):
            peak, is_right = _peak(service, chosen.peak or chosen.seconds, number)
            is_kept &= is_right
            for times in chosen.times:
                found = service.load(times * peak.goodput, chosen.seconds)
                is_kept &= _shown(f"{number}, {times:g} x", found, peak.goodput)
                if times > 1 and found.goodput < GOODPUT * peak.goodput:
                    is_kept = False
                    print("    the goodput is too low", file=sys.stderr, flush=True)
    print("kept" if is_kept else "BROKEN")
    return 0 if is_kept else 1


def _peak(service: Loaded, seconds: float, number: int) -> tuple[Round, bool]:
    """The round of the greatest goodput; whether the promises were kept.

    Connections that wait for their answers may reach none: then rates, each twice what ended.
    """
    peak = service.load(0, seconds)
    is_right = _shown(f"{number}, peak", peak, peak.goodput)
    while True:
        more = service.load(2 * peak.goodput, seconds)
        is_right &= _shown(f"{number}, peak", more, peak.goodput)
        if more.goodput <= _MORE * peak.goodput:
            return max(peak, more, key=lambda each: each.goodput), is_right
        peak = more


@contextmanager
def _service(store: str) -> Iterator[Loaded]:
    with tempfile.TemporaryDirectory(prefix="tenuto-overload-") as name:
        folder = Path(name)
        if store == "sqlite":
            with loaded(f"sqlite:///{folder / 'store.db'}", folder) as service:
                yield service
        else:
            with (
                running_server(durable=True) as server,
                loaded(server.url("postgres"), folder, processes=2) as service,
            ):
                yield service


def _shown(name: str, found: Round, peak: float) -> bool:
    answers, worst = found.answers, found.others.worst
    slowest = (f"{worst.get(kind, 0) * 1e3:,.0f}" for kind in ("health", "result", "cancel"))
    cells = (
        *(name, f"{answers.sent / answers.seconds:,.0f}"),
        *(f"{count / answers.seconds:,.0f}" for count in (answers.accepted, answers.refused)),
        *(f"{found.goodput:,.0f}", f"{found.goodput / peak:.2f}", f"{found.each:,.0f}"),
        *(f"{answers.accepted_p99 * 1e3:,.0f} ms", f"{found.drained:.1f} s"),
        f"{', '.join(slowest)} ms",
    )
    print(f"| {' | '.join(cells)} |", flush=True)
    about = (
        f"    unsent {answers.unsent}, codes {answers.codes}, p50 of an accepted start "
        f"{answers.accepted_p50 * 1e3:,.0f} ms, p99 of a refusal {answers.refused_p99 * 1e3:,.0f} "
        f"ms, {found.others.made} other requests, {found.others.worst}, {found.others.degraded}"
    )
    print(about, *(f"    {line}" for line in found.broken()), sep="\n", file=sys.stderr, flush=True)
    return not found.broken()


if __name__ == "__main__":
    sys.exit(main())
