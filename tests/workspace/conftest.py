"""One workspace over each back end: an engine in this process, and a service over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio

from tenuto import Client, Tenuto
from tenuto.workspace.protocol import Workspace
from tests.api.conftest import DOUBLE, REFUSE, WAIT, served


class Place(NamedTuple):
    """A workspace, and the app behind it."""

    workspace: Workspace
    app: Tenuto


@pytest_asyncio.fixture(params=["engine", "http"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    async with served() as caller:
        for document in (DOUBLE, WAIT, REFUSE):
            await caller.app.deploy(document)
        if request.param == "engine":
            yield Place(caller.app, caller.app)
            return
        async with Client(caller.url, patience=5) as client:
            yield Place(client, caller.app)
