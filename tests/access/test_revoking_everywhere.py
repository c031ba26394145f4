"""A key that is revoked in one process opens nothing in another, a moment later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.access.authenticator import Authenticator
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import LOCAL
from tenuto.model.errors import Unauthenticated
from tenuto.ports import SystemIds
from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import Store
from tenuto.store.sqlite import SqliteStore
from tests.access.hand_clock import BEGIN, HandClock
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio


async def _is_revoked_everywhere(here: Store, there: Store) -> None:
    clock = HandClock()
    await here.open("p1", BEGIN)
    await there.open("p2", BEGIN)
    try:
        gates = [Authenticator(here.access, clock), Authenticator(there.access, clock)]
        keys = Keys(there, clock, SystemIds(), changed=gates[1].ring.forget)
        assert [await authenticator.authenticate(None, clock.now()) for authenticator in gates] == [
            LOCAL,
            LOCAL,
        ]
        new = await keys.create(LOCAL, KeyWish(name="build", role="viewer"))
        clock.move(0.5)
        for authenticator in gates:
            with pytest.raises(Unauthenticated):
                await authenticator.authenticate(None, clock.now())
            assert (
                await authenticator.authenticate(f"Bearer {new.text}", clock.now())
            ).name == "build"
        await keys.revoke("default", new.row.id)
        clock.move(0.5)
        for authenticator in gates:
            with pytest.raises(Unauthenticated, match="TEN-5012"):
                await authenticator.authenticate(f"Bearer {new.text}", clock.now())
            await authenticator.close()
    finally:
        await there.close(BEGIN, clean=True)
        await here.close(BEGIN, clean=True)


async def test_of_two_engines_on_one_database() -> None:
    url = await fresh_database()
    await _is_revoked_everywhere(PostgresStore(url), PostgresStore(url))


async def test_by_a_command_beside_the_engine_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    await _is_revoked_everywhere(SqliteStore(path), SqliteStore.reader(path))
