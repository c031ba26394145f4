"""Mocks of external addresses in a test: each accepts every request."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.ports import Reply


class Unsent:
    """Sends nothing, and says that it arrived."""

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float, *, tenant: str
    ) -> Reply:
        return Reply(202)

    async def close(self) -> None:
        """There is nothing to close."""
