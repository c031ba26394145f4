"""Leaves a message in the mailbox of an instance, and waits until an engine has taken it.

As long as a process is alive that takes messages, it is waited for, also if it is slow: the store
knows of it. Where there is none, this process becomes an engine for as long as that needs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    redirect_stdout,
    suppress,
)
from typing import TYPE_CHECKING, Final, TypeVar

from tenuto.cli.backends.engine import LOCKED, engine
from tenuto.cli.backends.reader import Reader, store_flag
from tenuto.cli.views.terminal import say, say_command
from tenuto.compose import is_postgres
from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.mailbox import Mail

if TYPE_CHECKING:
    from tenuto.app import Tenuto

T = TypeVar("T")
Look = Callable[[], Awaitable[T | None]]

NOT_SEEN_DONE: Final = "TEN-4015"
PATIENCE: Final = 30.0
"""Seconds that live processes have to take a message from the mailbox."""
_ASK_EVERY: Final = 1.0
"""Seconds between checks that they are still alive."""
_TAKEN_OVER_WITHIN: Final = 20.0
"""Seconds within which this process has taken over from one that is gone."""
_LOOK_EVERY: Final = 0.1


async def here_or_by_message(
    url: str,
    here: Callable[[Tenuto], Awaitable[T]],
    by_message: Callable[[], Awaitable[tuple[T, bool]]],
) -> tuple[T, bool]:
    """The result, and whether another process did it.

    No other process is at work on a file that this one may open; on a database any may be.
    """
    if is_postgres(url):
        return await by_message()
    try:
        with redirect_stdout(sys.stderr):
            async with engine(url, is_brief=True) as app:
                return await here(app), False
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
    return await by_message()


@asynccontextmanager
async def handed_in(
    reader: Reader, mail: Mail, look: Look[T]
) -> AsyncIterator[tuple[T, Tenuto | None]]:
    """Leave `mail`; yields what `look` returns once it was taken, and the engine if it is ours."""
    await _send(reader, mail)
    to_look = f"tenuto show {mail.instance_id}{store_flag(reader.url)}"
    with _stored(to_look):
        # Processes at work poll their mailbox too, only later.
        with suppress(StoreUnavailable):
            await reader.store.members.hint([])
        seen = await _taken(reader, look)
    if seen is not None:
        yield seen, None
        return
    say("no process is at work on the store: doing it here …", style="dim")
    with redirect_stdout(sys.stderr):
        async with AsyncExitStack() as stack:
            with _stored(to_look):
                app = await stack.enter_async_context(engine(reader.url, is_brief=True))
                seen = await _seen(reader, look, _TAKEN_OVER_WITHIN)
                if seen is None:
                    raise _not_taken("this process", _TAKEN_OVER_WITHIN)
            yield seen, app


async def _send(reader: Reader, mail: Mail) -> None:
    try:
        await reader.store.mailbox.send([mail])
    except StoreUnavailable as error:
        if not reader.store.is_shared:
            raise
        # The connection may have broken after the server had it.
        raise StoreUnavailable(
            f"whether the command was stored is not known: {error.message}",
            code=error.code,
            advice=f"{error.advice} Before asking again, see "
            f"`tenuto show {mail.instance_id}{store_flag(reader.url)}`.",
        ) from error


@contextmanager
def _stored(to_look: str) -> Iterator[None]:
    """The command is stored: an error in here says so, beside what went wrong."""
    try:
        yield
    except StoreUnavailable as error:
        if error.code == NOT_SEEN_DONE:
            raise StoreUnavailable(
                error.message,
                code=error.code,
                advice=f"{error.advice} What became of it: `{to_look}`.",
            ) from None
        raise StoreUnavailable(
            f"the command is stored, and what came of it was not seen: {error.message}",
            code=NOT_SEEN_DONE,
            advice="It is done once the store is back and a process works on it: do not ask again. "
            f"What became of it: `{to_look}`.",
        ) from error
    except asyncio.CancelledError:
        say("the command is stored, and is done as soon as a process takes it", style="yellow")
        say("  What became of it:")
        say_command(to_look)
        raise


async def _taken(reader: Reader, look: Look[T]) -> T | None:
    """What `look` returns once a live process took the message; None where there is no process."""
    since = reader.clock.ticks()
    has_said = False
    while workers := await reader.store.members.workers():
        seen = await _seen(reader, look, min(_ASK_EVERY, PATIENCE))
        if seen is not None:
            return seen
        waited = reader.clock.ticks() - since
        others = "the process" if workers == 1 else f"the {workers} processes"
        if waited >= PATIENCE:
            raise _not_taken(f"{others} at work on the store", PATIENCE)
        if not has_said:
            has_said = True
            say(f"left it for {others} at work on the store, and waiting …", style="dim")
    # It may have been taken by one that has just stopped.
    return await look()


async def _seen(reader: Reader, look: Look[T], seconds: float) -> T | None:
    """What `look` returns within about so long: one that is slow is waited for."""
    until = reader.clock.ticks() + seconds
    while (seen := await look()) is None and reader.clock.ticks() < until:
        await reader.clock.sleep(_LOOK_EVERY)
    return seen


def _not_taken(by: str, seconds: float) -> StoreUnavailable:
    return StoreUnavailable(
        f"it was left in the mailbox, but not taken by {by} within {seconds:g} s",
        code=NOT_SEEN_DONE,
        advice="It stays there, and is done as soon as a process takes it: do not ask again. See "
        "whether that process is busy, stuck or stopped (its log says).",
    )
