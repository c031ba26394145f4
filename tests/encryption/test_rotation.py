"""Values are encrypted again with another key: while engines work, and after a run was killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto import Tenuto, WorkflowFailed
from tenuto.compose import open_reader
from tenuto.encryption.codec import Codec
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.encryption.rotation import Progress, reencrypt, status
from tenuto.ports import SystemClock, SystemIds
from tenuto.store.protocol import Store
from tests.encryption.stage import CANARY, ORDER, SHIPPING, app_on, until_at
from tests.kit.breadth import breadth
from tests.kit.postgres_database import fresh_database
from tests.kit.waits import every_wait_has_looked_back

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

OLD, NEW = new_key("old"), new_key("new")
_ORDERS = breadth(6, 200)


async def _reader(url: str, codec: Codec) -> Store:
    store = open_reader(url, codec)
    await store.open(SystemIds().short(), SystemClock().now())
    return store


async def _closed(store: Store) -> None:
    await store.close(SystemClock().now(), clean=True)


class _Killed(Exception):
    """What a run that is killed does not get to."""


async def _ended(app: Tenuto, number: int) -> str:
    """An order that is paid, signed and fails with all that it knows."""
    order = await app.start("order", {"card": f"{CANARY}-{number}"}, correlation_id=str(number))
    return order.id


async def _pay(app: Tenuto, id: str, number: int) -> None:
    order = await app.instance(id)
    paid = {"card": f"{CANARY}-{number}", "address": CANARY}
    await app.publish("payment.received", paid, id=f"paid-{number}")
    await until_at(app, id, "sign")
    await order.decide("sign", "approved", by="ann", form={"note": CANARY})
    with pytest.raises(WorkflowFailed, match=f"{CANARY}-{number}"):
        await asyncio.wait_for(order.result(), 120)


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return await fresh_database()
    return f"sqlite:///{tmp_path}/a.db"


async def test_values_are_encrypted_again_under_load_and_after_a_kill(url: str) -> None:
    async with app_on(url, KeyRing([OLD])) as app:
        await app.deploy(SHIPPING)
        await app.deploy(ORDER)
        ids = [await _ended(app, number) for number in range(_ORDERS)]
        await every_wait_has_looked_back(app)
        for number in range(_ORDERS // 3):
            await _pay(app, ids[number], number)
    both = KeyRing([NEW, OLD])
    async with app_on(url, both) as app:
        load = asyncio.gather(
            *(_pay(app, ids[number], number) for number in range(_ORDERS // 3, 2 * _ORDERS // 3))
        )
        store = await _reader(url, both)
        # Killed in the midst of it, twice; what was done is done.
        for most in (3, 8):
            seen = 0

            def told(_: Progress, most: int = most) -> None:
                nonlocal seen
                seen += 1
                if seen > most:
                    raise _Killed

            with pytest.raises(_Killed):
                await reencrypt(store, told, page=7)
        await load
        report = await reencrypt(store)
        assert set(report.by_key) == {"new"}
        assert (await status(store)).by_key == report.by_key
        assert await store.sealed.keys() == ["new"]
        await _closed(store)
    async with app_on(url, KeyRing([NEW])) as app:
        for number in range(2 * _ORDERS // 3, _ORDERS):
            await _pay(app, ids[number], number)
        for id in ids[: _ORDERS // 3]:
            details = await (await app.instance(id)).details()
            assert CANARY in str(details["lastError"])
        assert CANARY in str(await app.dead_letters.list())


async def test_what_has_no_key_here_is_counted_and_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with app_on(url, KeyRing([OLD])) as app:
        await app.deploy(SHIPPING)
        await app.deploy(ORDER)
        await _ended(app, 1)
        await every_wait_has_looked_back(app)
    store = await _reader(url, KeyRing([NEW]))
    before = (await status(store)).by_key
    report = await reencrypt(store)
    assert report.unreadable == before == {"old": before["old"]}
    assert report.resealed == 0
    assert await store.sealed.keys() == ["new", "old"]
    await _closed(store)
