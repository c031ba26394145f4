"""The sessions that block a migration, logged while it waits and reported when it gives up.

A statement that changes a table waits for every transaction that has used it, and all others wait
behind that statement. So it waits for a short time only. The server says nothing about a wait that
is over, so the blockers are read while it lasts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.address import literal
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0


class Blocker(NamedTuple):
    """A transaction that holds a lock which a session waits for."""

    pid: int
    user: str | None
    application: str | None
    state: str | None
    since: datetime | None
    """When it began, or was prepared; None if the user may not see it."""
    gid: str | None = None
    """The name of one that is prepared, which has no session."""

    @property
    def shown(self) -> str:
        if not self.pid:
            return self._shown_prepared
        named = ", ".join(
            f"{what} {name}"
            for what, name in (("application", self.application), ("user", self.user))
            if name
        )
        since = f", in a transaction since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        state = f", {self.state}" if self.state else ""
        return f"pid {self.pid} ({named or 'no name given'}{since}{state})"

    @property
    def _shown_prepared(self) -> str:
        if self.gid is None:
            return "a prepared transaction (see pg_prepared_xacts)"
        user = f"user {self.user}, " if self.user else ""
        return (
            f"the prepared transaction {self.gid} ({user}since {self.since:%Y-%m-%d %H:%M:%S} UTC)"
        )

    @property
    def end(self) -> str:
        """How to end it."""
        if self.pid:
            return f"SELECT pg_terminate_backend({self.pid});"
        # Its session is over: only its name ends it.
        return f"ROLLBACK PREPARED {literal(self.gid or 'GID')};"


class Watch:
    """The sessions that were seen to block a session."""

    def __init__(self) -> None:
        self.last: list[Blocker] = []
        self.waited = 0.0
        """Seconds for which it was seen to wait, in all."""

    @property
    def shown(self) -> str:
        return "; ".join(each.shown for each in self.last) or "another session"

    @property
    def advice(self) -> str:
        """How to get them out of the way."""
        ends = " ".join(each.end for each in self.last)
        if not self.last:
            ends = "look for long transactions in pg_stat_activity."
        return (
            "Have that transaction committed or rolled back, or end it on the server: "
            f"{ends} Then run `tenuto migrate` again. Nothing was changed."
        )


@asynccontextmanager
async def watching(server: Server, pid: int) -> AsyncIterator[Watch]:
    """Watch which sessions block the session `pid`, and log them."""
    watch, over = Watch(), asyncio.Event()
    looking = asyncio.create_task(_look(server, pid, watch, over), name="tenuto-postgres-blockers")
    try:
        yield watch
    finally:
        over.set()
        await looking


async def _look(server: Server, pid: int, watch: Watch, over: asyncio.Event) -> None:
    session = Session(server)
    logged: set[tuple[int, str | None]] = set()
    try:
        while not await _is_over(over):
            found = [Blocker(*row) for row in await session.rows("blockers", {"pid": pid})]
            # The last blockers made it give up: after that the answer is empty.
            watch.last = found or watch.last
            watch.waited += LOOK_EVERY if found else 0.0
            if (now := {(each.pid, each.gid) for each in found}) - logged:
                logged |= now
                log.warning("the migration of %s waits for %s", server.shown, watch.shown)
    except StoreUnavailable as error:
        log.debug("the sessions that block the migration cannot be read: %s", error)
    finally:
        session.abandon()


async def _is_over(over: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(over.wait(), LOOK_EVERY)
    except TimeoutError:
        return False
    return True
