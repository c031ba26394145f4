"""A rotation in a process of its own is killed again and again while instances go on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tenuto import WorkflowFailed
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.encryption.rotation import status
from tests.encryption.stage import CANARY, ORDER, SHIPPING, app_on, found_in, tables_of, until_at
from tests.kit.postgres_database import fresh_database
from tests.kit.waits import every_wait_has_looked_back

ORDERS = 60
KILLS = 5


async def _rotating(url: str, keys: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tenuto", "encryption", "reencrypt", "--store", url),
        env={**os.environ, "TENUTO_ENCRYPTION_KEYS": keys},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _rotated_under_kills(url: str, random: Random) -> None:
    keys = [new_key("old")]
    async with app_on(url, KeyRing(keys)) as app:
        await app.deploy(SHIPPING)
        await app.deploy(ORDER)
        ids = [
            (await app.start("order", {"card": f"{CANARY}-{number}"})).id
            for number in range(ORDERS)
        ]
        await every_wait_has_looked_back(app)
    keys.insert(0, new_key("new"))
    ring = KeyRing(keys)
    async with app_on(url, ring) as app:

        async def paid(number: int) -> None:
            order = await app.instance(ids[number])
            event = {"card": f"{CANARY}-{number}", "address": CANARY}
            await app.publish("payment.received", event)
            await until_at(app, ids[number], "sign")
            await order.decide("sign", "approved", by="ann")
            with pytest.raises(WorkflowFailed, match=f"{CANARY}-{number}"):
                await order.result(120)

        text = ",".join(key.text for key in keys)
        load = asyncio.gather(*(paid(number) for number in range(ORDERS)))
        for _ in range(KILLS):
            process = await _rotating(url, text)
            store = app.engine.store
            while process.returncode is None and "new" not in await store.sealed.keys():
                await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=0.02)
            for _ in range(random.randint(1, 60)):
                await store.sealed.keys()
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()
        await load
        process = await _rotating(url, text)
        assert await process.wait() == 0
        assert set((await status(app.engine.store)).by_key) == {"new"}
    async with app_on(url, KeyRing(keys[:1])) as app:
        for id in ids:
            details = await (await app.instance(id)).details()
            assert CANARY in str(details["lastError"])


@pytest.mark.soak
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_value_is_lost_or_in_clear_after_kills(
    store: str, tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()

        async def run(folder: Path = folder, seed: int = seed) -> None:
            if store == "sqlite":
                await _rotated_under_kills(f"sqlite:///{folder}/a.db", Random(seed))
                assert found_in((folder / "a.db").read_bytes()) == []
                return
            url = await fresh_database()
            await _rotated_under_kills(url, Random(seed))
            assert found_in(await tables_of(url)) == []

        asyncio.run(run())
