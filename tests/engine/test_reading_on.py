"""An instance that moved on elsewhere is read on from where it was known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tenuto import Tenuto
from tenuto.core import InstanceState, blank
from tenuto.engine.turns.held import Cache, Held
from tenuto.model.errors import TenutoError
from tenuto.store.memory import MemoryStore
from tests.engine.situations import steps

pytestmark = pytest.mark.asyncio


def state_of(found: Held | TenutoError) -> InstanceState:
    assert isinstance(found, Held)
    return found.state


@pytest.mark.parametrize("length", [10, 400])
async def test_from_any_known_state_the_same_is_read(tmp_path: Path, length: int) -> None:
    app = Tenuto(f"sqlite:///{tmp_path / 'known.db'}")
    seen: list[InstanceState] = []

    @app.task
    async def work(input: object) -> str:
        return "x"

    async with app:
        app.engine.listen(lambda draft: seen.append(draft.state))
        await app.deploy(steps(*(f"s{n}" for n in range(length))))
        instance = await app.start("flow", None)
        await instance.result(60)
        loader = app.engine.loader
        whole = state_of((await loader.load([instance.id]))[instance.id])
        assert len(seen) > length
        for known in seen[:: len(seen) // 10]:
            version = known.version
            read_on = await loader.load([instance.id], {instance.id: known})
            assert state_of(read_on[instance.id]) == whole
            assert known.version == version, "what was known stays as it was"


async def test_reading_on_knows_how_large_the_snapshot_is() -> None:
    """Whoever thought that there was none would write the next one too soon."""
    app = Tenuto(MemoryStore())
    seen: list[InstanceState] = []

    @app.task
    async def work(input: object) -> str:
        return "x" * 50

    async with app:
        app.engine.listen(lambda draft: seen.append(draft.state))
        await app.deploy(steps(*(f"s{n}" for n in range(150))))
        instance = await app.start("flow", None)
        await instance.result(60)
        loader = app.engine.loader
        [whole] = (await loader.load([instance.id])).values()
        [read_on] = (await loader.load([instance.id], {instance.id: seen[-1]})).values()
        assert isinstance(whole, Held)
        assert isinstance(read_on, Held)
        assert read_on.snapshot_bytes == whole.snapshot_bytes > 0


async def test_the_newest_that_is_known_counts() -> None:
    def at(version: int) -> InstanceState:
        return msgspec.structs.replace(blank("a"), version=version)

    cache = Cache(resting_kept=2)
    cache.read("a", at(3))
    cache.read("a", at(5))
    assert cache.known(["a", "b"]) == {"a": at(5)}
    cache.read("b", at(1))
    cache.read("c", at(1))
    assert set(cache.known(["a", "b", "c"])) == {"b", "c"}, "there is room for two"
    cache.forget("b")
    cache.clear()
    assert not cache.known(["a", "b", "c"])
