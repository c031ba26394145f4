"""Writes `requirements/worker.txt`: what workers and clients need, with the hashes of `dev.txt`."""

from __future__ import annotations

import sys

from tests.supply.constraints import at_run_time
from tests.supply.run_pins import with_hashes

ROOTS = ("aiohttp", "jsonschema-rs", "msgspec", "pyjwt", "rich", "typer", "uvloop", "whenever")
"""What the modules of `tenuto worker` and `tenuto.Client` import, and the fast event loop."""
_HEAD = """\
# What `tenuto worker` and `tenuto.Client` need, without the packages of the server and the stores:
#     pip install --requirement worker.txt && pip install --no-deps tenuto
# Made from requirements/dev.txt by `python -m tests.supply.worker_pins`.
"""


def worker_pins() -> str:
    """The pins of development that workers and clients need, each with its hashes."""
    return _HEAD + with_hashes(at_run_time(frozenset(), ROOTS) | set(ROOTS))


if __name__ == "__main__":
    sys.stdout.write(worker_pins())
