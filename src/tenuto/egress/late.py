"""A sender that is created for the first request."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.ports import Reply, Sender


class LateSender:
    """Creates its HTTP client for the first request, since most programs send none."""

    def __init__(self, *, may_be_private: bool = False) -> None:
        """With `may_be_private` also to private addresses, such as this machine."""
        self._may_be_private = may_be_private
        self._sender: Sender | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Reply:
        if self._sender is None:
            from tenuto.egress.http import HttpSender  # noqa: PLC0415 - aiohttp only where used

            self._sender = HttpSender(may_be_private=self._may_be_private)
        return await self._sender.post(url, headers, body, seconds)

    async def close(self) -> None:
        if self._sender is not None:
            await self._sender.close()
