"""Mutexes over instances: one at a time, in order, and again after a crash."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import Tenuto
from tenuto.model.json import Object

pytestmark = pytest.mark.asyncio

PRINTING: Object = {
    "id": "printing",
    "steps": [
        {
            "stepId": "print",
            "type": "TASK",
            "taskId": "printed",
            "input": "{{ctx.input.n}}",
            "mutex": "printer",
            "retry": {"maxAttempts": 1},
        }
    ],
}


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/printing.db"])
async def test_one_step_at_a_time_has_a_mutex_in_order_of_asking(url: str, tmp_path: Path) -> None:
    """`mutex`: tenant-wide, first come first served, from first dispatch to the final outcome; a
    nested request for what an enclosing node holds fails `MUTEX_SELF`."""
    inside: list[int] = []
    order: list[int] = []
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def printed(n: int) -> int:
            inside.append(n)
            assert len(inside) == 1
            await asyncio.sleep(0)
            order.append(n)
            inside.remove(n)
            if n == 1:
                raise ValueError(n)
            return n

        await app.deploy(PRINTING)
        begun = [await app.start("printing", {"n": n}) for n in range(5)]
        for each in (begun[0], *begun[2:]):
            await each.result(timeout=60)
        assert order == [0, 1, 2, 3, 4]
        assert await app.engine.store.slots.counts(["mutex:default/printer"]) in ({}, ONE_LEFT)


ONE_LEFT = {"mutex:default/printer": 1}
"""What was given back last counts until the next pass takes it back."""
