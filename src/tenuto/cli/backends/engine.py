"""An engine in this process, for as long as a command needs one."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from tenuto.cli.backends.encryption import encryption_settings
from tenuto.cli.backends.reader import listen_url
from tenuto.cli.loading import end_loading
from tenuto.cli.served_address import IN_USE, with_address
from tenuto.cli.views.terminal import say
from tenuto.compose import MEMORY
from tenuto.model.errors import StoreUnavailable

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.engine.turns.draft import Draft

GRACE: Final = 3.0
"""Seconds that running tasks have when the command ends."""
DECISION_TIMEOUT: Final = 10.0
"""Seconds that a decision may take."""
LOCKED: Final = IN_USE


@asynccontextmanager
async def engine(
    store: str,
    *,
    is_brief: bool = False,
    is_guest: bool = False,
    listener: Callable[[Draft], None] | None = None,
    needs_store: str | None = None,
) -> AsyncIterator[Tenuto]:
    """An engine that leaves steps alone whose tasks it does not know: another process has them.

    `needs_store`: the advice where another process has the file, of what a service cannot do.
    """
    from tenuto.app import Tenuto
    from tenuto.config.sources import read_config
    from tenuto.engine.settings import Settings

    # Which hosts steps may call, and how often, is the same in all processes.
    configured = read_config({}, os.environ).config.engine
    app = Tenuto(
        None if store == MEMORY else store,
        listen_url=listen_url(store),
        encryption=encryption_settings(),
        settings=Settings(
            unknown_tasks="wait",
            stop_grace=GRACE,
            mail_every=0.5,
            is_guest=is_guest,
            decision_timeout=None if is_brief else DECISION_TIMEOUT,
            # The user of the command has the store itself: no tenant chooses addresses for them.
            private_databases={"*": ("0.0.0.0/0", "::/0")},
            data_folder=configured.data_folder,
            private_networks=configured.private_networks,
            host_limits=configured.host_limits,
        ),
    )
    if listener is not None:
        app.engine.listen(listener)
    end_loading()
    with unlocked(store, sys.argv[1:], needs_store):
        taken_over = await app.open()
    if taken_over and not is_brief:
        several = "an instance" if taken_over == 1 else f"{taken_over} instances"
        say(f"continuing {several} of an earlier process", style="dim")
    try:
        yield app
    finally:
        await close(app)


async def close(app: Tenuto) -> None:
    """Stop; a store that is unavailable is reported, and is no failure of the command."""
    try:
        await app.close()
    except StoreUnavailable as error:
        # What the command did is durable, or was refused, whether or not the store can be closed.
        say(
            f"warning: stopped without the store, which is unavailable: {error.message}",
            style="yellow",
        )
        say("  The instances of this process are taken over by the others, or the next one.")


@contextmanager
def unlocked(store: str, words: Sequence[str], needs_store: str | None = None) -> Iterator[None]:
    """Where another process has the file, say with which command it is asked instead."""
    try:
        yield
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        if needs_store is not None:
            raise StoreUnavailable(error.message, code=LOCKED, advice=needs_store) from None
        raise with_address(
            StoreUnavailable(
                error.message,
                code=LOCKED,
                advice="Do it in the program that has the store, or stop it first.",
            ),
            store,
            words,
        ) from None
