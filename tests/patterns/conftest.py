"""Cases on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tests.kit.postgres_database import fresh_database
from tests.patterns.case import Cases


@pytest_asyncio.fixture(params=["sqlite", "postgres"])
async def cases(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cases]:
    is_postgres = request.param == "postgres"
    url = await fresh_database() if is_postgres else f"sqlite:///{tmp_path / 'tenuto.db'}"
    async with Tenuto(url) as app:
        yield Cases(app)
