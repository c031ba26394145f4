"""A small tenant beside one that throws bombs, at a real service: a few of them, without a clock.

The whole corpus with its bounds of time is `python -m tests.bombs`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bombs.attacks import ATTACKS
from tests.bombs.beside import Beside
from tests.crash.services import services
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

MOST_BYTES = 1_000_000_000
_DEEP = ("recursion-tenfold", "emits-twice", "schemas", "inputs")
_MANY = ("half-open", "slow-bodies", "headers", "batches-of-starts", "expressions")


@pytest.mark.soak
@pytest.mark.parametrize("attacks", [_DEEP, _MANY], ids=["deep", "many"])
async def test_a_small_tenant_goes_on_beside_bombs_and_after_a_restart(
    attacks: Sequence[str], tmp_path: Path
) -> None:
    await _thrown(attacks, f"sqlite:///{tmp_path / 'store.db'}", tmp_path, processes=1)


@pytest.mark.soak
async def test_a_small_tenant_goes_on_beside_bombs_at_two_processes(tmp_path: Path) -> None:
    attacks = ("recursion-tenfold", "schemas", "half-open")
    await _thrown(attacks, await fresh_database("tenuto_bombs"), tmp_path, processes=2)


async def _thrown(attacks: Sequence[str], store: str, folder: Path, *, processes: int) -> None:
    with services(store, folder, processes, is_begun=False) as made:
        beside = Beside(made, folder, store)
        await beside.begin()
        small, later = beside.small(), beside.small()
        await small.deploy()
        throwing = [await beside.throw(ATTACKS[name]) for name in attacks]
        await asyncio.gather(*(each.begun() for each in throwing))
        await small.work_for(0, at_least=20)
        peak = beside.peak_bytes
        await beside.stop()
        thrown = [await each.end() for each in throwing]
        await beside.begin()
        await later.work_for(0, at_least=10)
        await beside.stop()
    assert small.wrong + later.wrong == []
    assert peak < MOST_BYTES
    assert [each.unfit for each in thrown] == [[] for _ in attacks]
    assert all(each.statuses for each, name in zip(thrown, attacks, strict=True) if _asks(name))


def _asks(name: str) -> bool:
    return ATTACKS[name].opens is None
