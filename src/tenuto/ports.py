"""The ports of the product: time, ids, outgoing requests; tests bring their own."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANDOM_BITS = 74
"""The random bits of a UUIDv7, beside its time, version and variant."""
_MICROSECONDS = [timedelta(microseconds=each) for each in range(1000)]
"""To cut off a moment's microseconds: the clock is read many times for each step."""
CLOSE_ENOUGH = timedelta(milliseconds=100)
"""So far apart clocks may be that follow the same one."""
_STEP_BITS = 40
"""How far apart two ids of one millisecond may be: too far to guess a neighbour."""


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, as everything in the product sees it."""

    def now(self) -> datetime:
        """The moment, aware, UTC, in whole milliseconds; never before one given earlier."""
        ...

    def follow(self, moment: datetime) -> None:
        """Adjust to the time of a clock that all processes share."""
        ...

    def not_before(self, moment: datetime) -> None:
        """Never return a moment before this one from now on."""
        ...

    def ticks(self) -> float:
        """Seconds since some fixed moment, for measuring; from any thread."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait for `event`, but no longer than `seconds`; whether it came."""
        ...

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        """Call `function` in the running loop after `seconds`, unless cancelled."""
        ...


class Ids(Protocol):
    """Unique ids."""

    def instance_id(self, now: datetime) -> str:
        """A UUID that sorts by `now`, and within one millisecond by when it was made."""
        ...

    def short(self) -> str:
        """Sixteen characters, random: to tell processes and turns apart."""
        ...


class Reply(NamedTuple):
    """The outcome of a request: a status, or why there is none."""

    status: int | None
    error: str | None = None


class Page(NamedTuple):
    """The outcome of a request: a status and a body, or why there is neither."""

    status: int | None
    body: bytes = b""
    error: str | None = None


class Fetcher(Protocol):
    """Fetches documents from external addresses."""

    async def get(self, url: str, *, seconds: float, most: int) -> Page:
        """Get at most so many bytes within so many seconds; it does not raise."""
        ...

    async def close(self) -> None: ...


class Caller(Protocol):
    """Sends requests to external addresses, and reads the answers."""

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
        """Post for a tenant, and read at most so many bytes within so many seconds.

        It does not raise.
        """
        ...

    async def close(self) -> None: ...


class Sender(Protocol):
    """Sends requests to external addresses, and reads only the status of the answers."""

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float, *, tenant: str
    ) -> Reply:
        """Send for a tenant, and wait for a status for so many seconds at most.

        It does not raise.
        """
        ...

    async def close(self) -> None: ...


class SystemClock:
    """The machine's time, for the running event loop."""

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._ticks = ticks
        self._latest = _EPOCH
        self._asked = ticks()
        self._ahead = timedelta()
        """How far the clock that it follows is ahead of the machine's."""

    def now(self) -> datetime:
        asked = self._ticks()
        latest = self._wall() + self._ahead
        # The machine's clock may be set back; what has been written must not lie in the future.
        # Until it has caught up time goes on at half its pace: it never stands still.
        seconds = (asked - self._asked) / 2
        if (latest - self._latest).total_seconds() < seconds:
            latest = self._latest + timedelta(seconds=seconds)
        self._latest, self._asked = latest, asked
        return latest - _MICROSECONDS[latest.microsecond % 1000]

    def follow(self, moment: datetime) -> None:
        ahead = moment - self._wall()
        # A smaller difference is the time in transit, and not the clock.
        if abs(ahead - self._ahead) > CLOSE_ENOUGH:
            self._ahead = ahead

    def not_before(self, moment: datetime) -> None:
        self._latest = max(self._latest, moment)

    def ticks(self) -> float:
        return self._ticks()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await event.wait()
        except TimeoutError:
            return False

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, function)


class Seals(Protocol):
    """Encrypts values before they reach a store."""

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """A sealed value, which is opened for the same `about` only; TenutoError: no keys."""
        ...

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """What was sealed for `about`; TenutoError: the key is missing, or it is damaged."""
        ...


class SystemIds:
    """Ids from the operating system's randomness."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = -1
        self._random = 0

    def instance_id(self, now: datetime) -> str:
        delta = now - _EPOCH
        millisecond = (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000
        with self._lock:
            if millisecond == self._millisecond:
                # Rising within a millisecond: rows made together lie together (RFC 9562, 6.2).
                self._random += 1 + _random_bits(_STEP_BITS)
                random = self._random % (1 << _RANDOM_BITS)
            else:
                # The highest bit is left out of the start, so that there is room to rise.
                random = _random_bits(_RANDOM_BITS - 1)
                self._millisecond, self._random = millisecond, random
        number = (
            (millisecond & ((1 << 48) - 1)) << 80
            | 0x7 << 76
            | (random >> 62) << 64
            | 0b10 << 62
            | (random & ((1 << 62) - 1))
        )
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def short(self) -> str:
        return os.urandom(8).hex()


def random_bytes(count: int) -> bytes:
    """Bytes that cannot be guessed, for keys and nonces."""
    return os.urandom(count)


def _random_bits(count: int) -> int:
    size = (count + 7) // 8
    return int.from_bytes(os.urandom(size), "big") >> (size * 8 - count)
