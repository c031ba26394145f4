"""How many functions are called for a step that does nothing: speed is a feature."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

from tenuto import Settings, Tenuto
from tenuto.store.sqlite import Inline, SqliteStore
from tests.engine.situations import steps

INSTANCES = 20
FEW, MANY = 5, 25

MOST_CALLS = 118
"""For one step, in the loop and in the thread that writes together."""

ADVICE = """\
A step that does nothing takes {calls:.1f} calls of Python functions, and may take {most}. What is
done for every step can be done once: for the drafts of a turn together, for a definition (a field
of its plan), or only where a feature is in use (a flag that is worked out beforehand).
`python -m bench linear` shows what a step costs. Calls for one step:
{table}"""

Calls = Counter[CodeType]


@contextmanager
def counted() -> Iterator[Calls]:
    """The calls of functions in this thread, by function."""
    calls: Calls = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(previous)


async def calls_of_a_run(folder: Path, length: int) -> Calls:
    """The calls while instances with so many steps run, all at once."""
    # Inline: the store writes in this thread, so that turns do not depend on how fast it is.
    store = SqliteStore(folder / f"{length}.db", threads=Inline)
    app = Tenuto(store, settings=Settings(project_every=3600))

    @app.task
    async def work(input: object) -> None:
        """Does nothing."""

    async def run() -> None:
        await (await app.start("flow", {"n": 1})).result(60)

    async with app:
        await app.deploy(steps(*(f"s{n}" for n in range(length))))
        await run()
        with counted() as calls:
            await asyncio.gather(*(run() for _ in range(INSTANCES)))
    return calls


@pytest.mark.asyncio
async def test_a_step_that_does_nothing_takes_few_calls(tmp_path: Path) -> None:
    few, many = await calls_of_a_run(tmp_path, FEW), await calls_of_a_run(tmp_path, MANY)
    many.subtract(few)
    step = INSTANCES * (MANY - FEW)
    calls = many.total() / step
    rows = [
        f"{number / step:6.2f}  {Path(code.co_filename).name} {code.co_qualname}"
        for code, number in many.most_common(60)
    ]
    assert calls <= MOST_CALLS, ADVICE.format(calls=calls, most=MOST_CALLS, table="\n".join(rows))
