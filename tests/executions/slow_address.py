"""An address that takes its time, by the clock on the wall."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tenuto.ports import Page
from tests.executions.test_push_dispatcher import DONE


class Address:
    """Answers after a moment."""

    def __init__(self) -> None:
        self.at_once = 0
        self.most_at_once = 0
        self.count = 0

    async def call(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        tenant: str,
        seconds: float,
        most: int,
    ) -> Page:
        self.at_once += 1
        self.count += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.1)
        self.at_once -= 1
        return DONE

    async def close(self) -> None: ...
