"""The command line with bugs in it: deciding on instances of some workflows is deadly.

`python -m tests.crash.poisoned_service WORD…`. The id of a workflow says which bug it has.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tenuto.cli import main
from tenuto.core import Decision, InstanceState, Plan, decide
from tenuto.engine.engine import Engine
from tenuto.model.inputs import Input
from tenuto.model.policy import Policies
from tenuto.store.postgres import PostgresStore


def _spins() -> None:
    while True:
        pass


def _matches() -> None:
    """In C, which looks at signals now and then, and lets no thread run."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def _is_deaf() -> None:
    """In C, which looks at nothing."""
    deque(itertools.repeat(None), maxlen=0)


def _waits() -> None:
    """Without computing: it is found by time alone, much later."""
    threading.Event().wait()


KINDS: dict[str, Callable[[], None]] = {
    "waits": _waits,
    "python": _spins,
    "regex": _matches,
    "deaf": _is_deaf,
    "abort": os.abort,
}


def poisoned(
    plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
) -> Decision:
    # Whatever happens to it once it is there.
    if state.version and (kill := KINDS.get(state.definition_id)) is not None:
        kill()
    return decide(plan, state, input, now, policies)


def plant(constructor: Any, **defaults: object) -> None:  # noqa: ANN401 - a method has no type
    """Change what it takes where nothing is said."""
    constructor.__kwdefaults__.update(defaults)


if __name__ == "__main__":
    plant(Engine.__init__, decide=poisoned)
    # One that dies is soon known to be dead.
    plant(
        PostgresStore.__init__,
        beat_every=timedelta(seconds=0.5),
        dead_after=timedelta(seconds=2),
    )
    main()
