"""Ids that follow from the seed, unique over all processes of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SeededIds:
    """The ids port; one for the whole run, so that no two processes make the same."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._made = 0

    def instance_id(self, now: datetime) -> str:
        """In the form of a UUIDv7, with a running number where chance would be."""
        self._made += 1
        milliseconds = int((now - _EPOCH).total_seconds() * 1000)
        text = f"{milliseconds:012x}7{self._made:03x}8{self._random.getrandbits(60):015x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def short(self) -> str:
        self._made += 1
        return f"{self._made:04x}{self._random.getrandbits(48):012x}"
