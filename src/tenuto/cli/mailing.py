"""Leaves a letter for whoever works for an instance, and waits until it was taken.

A file has at most one engine, and where a letter is left for it another process holds the lock.
A database may have any number, also none: a letter that nobody takes at once is taken by this
process, which becomes an engine for as long as that needs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, redirect_stdout
from typing import TYPE_CHECKING, Final, TypeVar

from tenuto.cli.running import engine
from tenuto.cli.stores import Reader, store_flag
from tenuto.cli.terminal import say
from tenuto.compose import is_postgres
from tenuto.model.errors import StoreUnavailable
from tenuto.store.protocol import Mail

if TYPE_CHECKING:
    from tenuto.app import Tenuto

T = TypeVar("T")
Look = Callable[[], Awaitable[T | None]]

LOCKED: Final = "TEN-4002"
TAKEN_WITHIN: Final = 10.0
"""Seconds that the engine on a file has to take a letter from its mailbox."""
_TAKEN_SOON: Final = 3.0
"""Seconds after which no engine is at work on a database: each looks for mail more often."""
_TAKEN_OVER_WITHIN: Final = 20.0
"""Seconds within which this process has taken over from one that is gone."""
_LOOK_EVERY: Final = 0.1


async def here_or_by_mail(
    url: str,
    here: Callable[[Tenuto], Awaitable[T]],
    by_mail: Callable[[], Awaitable[tuple[T, bool]]],
) -> tuple[T, bool]:
    """What came of it, and whether another process did it.

    Nobody else can be at work on a file that this process may open; on a database anybody may.
    """
    if is_postgres(url):
        return await by_mail()
    try:
        with redirect_stdout(sys.stderr):
            async with engine(url, is_brief=True) as app:
                return await here(app), False
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
    return await by_mail()


def say_how_to_run(url: str, instance_id: str) -> None:
    """What to do when nobody is there for an instance that goes on."""
    say("  No process has the store open. To run its steps:")
    say(f"    tenuto run --instance {instance_id} --tasks MODULE|FILE{store_flag(url)}")


@asynccontextmanager
async def handed_in(
    reader: Reader, mail: Mail, look: Look[T]
) -> AsyncIterator[tuple[T, Tenuto | None]]:
    """Leave `mail` and give what `look` sees once it was taken, with the engine if that is ours."""
    await reader.store.send([mail])
    if not reader.store.is_shared:
        say("left it for the process that has the store open …", style="dim")
        yield _required(await _seen(reader, look, TAKEN_WITHIN), TAKEN_WITHIN), None
        return
    await reader.store.hint([])
    seen = await _seen(reader, look, _TAKEN_SOON)
    if seen is not None:
        yield seen, None
        return
    say("no process is at work on the store: doing it here …", style="dim")
    with redirect_stdout(sys.stderr):
        async with engine(reader.url, is_brief=True) as app:
            seen = await _seen(reader, look, _TAKEN_OVER_WITHIN)
            yield _required(seen, _TAKEN_SOON + _TAKEN_OVER_WITHIN), app


async def _seen(reader: Reader, look: Look[T], seconds: float) -> T | None:
    try:
        async with asyncio.timeout(seconds):
            while (seen := await look()) is None:
                await reader.clock.sleep(_LOOK_EVERY)
            return seen
    except TimeoutError:
        return None


def _required(seen: T | None, seconds: float) -> T:
    if seen is None:
        raise StoreUnavailable(
            f"it was left, but not taken within {seconds:g} s",
            code=LOCKED,
            advice="It stays in the mailbox, and is done as soon as a process that has the store "
            "open looks there.",
        )
    return seen
