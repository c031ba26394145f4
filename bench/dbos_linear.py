"""The same no-op steps on DBOS Transact, with its defaults, in its own environment."""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from pathlib import Path

from dbos import DBOS, DBOSConfig  # type: ignore[import-not-found]

STEPS = 10


@DBOS.step()  # type: ignore[untyped-decorator]
def noop() -> None:
    """Does nothing."""


@DBOS.workflow()  # type: ignore[untyped-decorator]
def linear() -> None:
    """One step after the other."""
    for _ in range(STEPS):
        noop()


def main(count: int, url: str | None) -> None:
    """Print the seconds from the first start to the last result."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="dbos-bench-") as folder:
        path = Path(folder) / "dbos.sqlite"
        config: DBOSConfig = {"name": "bench", "system_database_url": url or f"sqlite:///{path}"}
        DBOS(config=config)
        DBOS.launch()
        began = time.perf_counter()
        handles = [DBOS.start_workflow(linear) for _ in range(count)]
        for handle in handles:
            handle.get_result()
        print(time.perf_counter() - began)
        DBOS.destroy()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
