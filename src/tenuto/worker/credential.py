"""The credential of a worker: an API key, or a token that is read again before it expires."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

EARLY = 60.0
"""Seconds before its end at which a token is read again."""
LONGEST = 300.0
"""Seconds after which a token is read again in any case: its file may have a new one."""
_PATIENCE = 30.0
"""Seconds that a command has to print a token."""
_LONGEST_TOKEN = 16_384

Read = Callable[[], Awaitable[str]]
EndsAt = Callable[[str], float | None]
"""When a token ends, in seconds since 1970; None where it does not say so."""


class NoToken(StoreUnavailable):
    """There is no token at the moment, for any address."""


class Shown(NamedTuple):
    """A credential, as it is sent."""

    text: str
    reading: int = 0
    """The number of the read that it comes from; a later one may give another."""


class Credential(Protocol):
    """The source of the credential."""

    async def shown(self) -> Shown:
        """The credential to send now; NoToken where there is none at the moment."""
        ...

    def refused(self, shown: Shown) -> bool:
        """The server refused it: whether there may be another one."""
        ...


class Key:
    """An API key, which never changes."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def shown(self) -> Shown:
        return Shown(self._text)

    def refused(self, shown: Shown) -> bool:  # noqa: ARG002 - there is no other key
        return False


class Token:
    """A token of an identity provider, which is renewed outside of the worker."""

    def __init__(self, read: Read, clock: Clock, ends_at: EndsAt) -> None:
        self._read = read
        self._ends_at = ends_at
        self._clock = clock
        self._text = ""
        self._until = 0.0
        self._readings = 0
        self._reading = asyncio.Lock()

    async def shown(self) -> Shown:
        async with self._reading:
            if not self._text or self._clock.ticks() >= self._until:
                self._text = await self._read()
                self._readings += 1
                self._until = self._clock.ticks() + self._lasts()
            return Shown(self._text, self._readings)

    def refused(self, shown: Shown) -> bool:
        # Of requests that are refused together only the first has it read again.
        if shown.reading == self._readings:
            self._text = ""
        return True

    def _lasts(self) -> float:
        """Seconds for which it is used; one that expires very soon is read for each request."""
        end = self._ends_at(self._text)
        if end is None:
            return LONGEST
        return min(end - self._clock.now().timestamp() - EARLY, LONGEST)


def token_of_file(path: Path, clock: Clock, ends_at: EndsAt) -> Token:
    """The token in a file, which is kept up to date outside of the worker."""

    async def read() -> str:
        try:
            return _checked(await asyncio.to_thread(path.read_text, "utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise NoToken(f"the token in {path} cannot be read: {error}") from error

    return Token(read, clock, ends_at)


def token_of_command(command: Sequence[str], clock: Clock, ends_at: EndsAt) -> Token:
    """The token that a program prints; it is run without a shell."""

    async def read() -> str:
        name = command[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise NoToken(f"{name} cannot be run: {error}") from error
        try:
            async with asyncio.timeout(_PATIENCE):
                printed, _ = await process.communicate()
        except TimeoutError as error:
            raise NoToken(f"{name} printed no token in time") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise NoToken(f"{name} ended with {process.returncode}, and gave no token")
        return _checked(printed.decode("utf-8", "replace"), name)

    return Token(read, clock, ends_at)


def _checked(text: str, source: str) -> str:
    """The token, which must be one word; its text never stands in an error."""
    token = text.strip()
    is_word = token.isascii() and token.isprintable() and " " not in token
    if not token or not is_word or len(token) > _LONGEST_TOKEN:
        raise NoToken(f"what {source} has is no token")
    return token
