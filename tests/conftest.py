"""What all tests share: how Hypothesis searches, and how long a soak test goes on."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.kit import soak_figures
from tests.kit.folders import have_files_in_memory

have_files_in_memory()

pytest_plugins = ["tests.kit.postgres_plugin", "tests.kit.patience"]

# A busy machine makes an example slow, not wrong; a failure prints what reproduces it elsewhere.
settings.register_profile("tenuto", deadline=None, print_blob=True)
settings.load_profile("tenuto")

# A job in the background of a script ignores Ctrl-C, and so would every process that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _fixtures_of(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> Iterator[int]:
    """Seeds that no other test draws, for this test's share of TENUTO_SOAK_MINUTES."""
    soaking = [item for item in request.session.items if "seeds" in _fixtures_of(item)]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    minutes = float(os.environ.get("TENUTO_SOAK_MINUTES", "1"))
    end = time.monotonic() + 60 * minutes * min(1.0, workers / len(soaking))
    first = 1_000_000 * (1 + soaking.index(request.node))

    def drawn() -> Iterator[int]:
        for seed in itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(first)):
            yield seed
            if "simulation" in request.path.parts:
                soak_figures.add("simulated", seeds=1)

    return drawn()
