"""Addresses outside that are told of events: they answer, say nothing, or fail for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias
from urllib.parse import unquote

from tenuto.ports import Reply
from tests.kit.checker.record import Fields

Manner: TypeAlias = Literal["answers", "is silent", "fails for a while", "is moody"]

_WAY = (0.0, 0.001, 0.05, 0.4)
"""Seconds that a request, or its answer, is under way."""
_MOODS = (200, 200, 200, 500, 404, 429, None)


@dataclass(frozen=True, slots=True)
class Ear:
    """Somebody outside who listens, and how the address answers."""

    id: str
    patterns: tuple[str, ...]
    manner: Manner = "answers"
    kind: Literal["webhook", "subscription"] = "webhook"
    filter: str | None = None
    expires_after: float | None = None
    """Seconds from the beginning of the run."""
    tenant: str = "default"
    until: float = 60.0
    """Seconds from the beginning of the run for which one fails that does so for a while."""

    @property
    def url(self) -> str:
        return f"https://outside.test/{self.id}"


class Outside:
    """All addresses; they outlive the processes that send to them.

    Whoever crashes while a request is under way does not know whether it has arrived.
    """

    def __init__(self, ears: Sequence[Ear], heard: list[Fields], random: Random) -> None:
        """What comes is written down in `heard`."""
        self._ears = {ear.url: ear for ear in ears}
        self._heard = heard
        self._random = random

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float, *, tenant: str
    ) -> Reply:
        ear = self._ears[url]
        await asyncio.sleep(self._random.choice(_WAY))
        status = self._answer(ear, asyncio.get_running_loop().time())
        self._heard.append(
            {
                "listener": ear.id,
                "id": unquote(headers["webhook-id"]),
                "body": body.decode(),
                "isAccepted": status == 200,
            }
        )
        if status is None:
            await asyncio.sleep(seconds)
            return Reply(None, f"no answer within {seconds:g} s")
        await asyncio.sleep(self._random.choice(_WAY))
        return Reply(status)

    async def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, ear: Ear, passed: float) -> int | None:
        match ear.manner:
            case "answers":
                return 200
            case "is silent":
                return None
            case "fails for a while":
                return 200 if passed >= ear.until else self._random.choice((500, 503, None))
            case "is moody":
                return self._random.choice(_MOODS)
