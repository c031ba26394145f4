"""The backend over a server: instances are folded here from the log that it gives."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from tenuto.cli.backends.place import ServerUrl, tenant_flag, tenant_of
from tenuto.model.errors import (
    Forbidden,
    NotFound,
    StoreUnavailable,
    TenutoError,
    Unauthenticated,
)
from tenuto.model.json import JSON, Object
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.ports import Clock, SystemClock
from tenuto.workspace.values import InstanceFilter

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Finding
    from tenuto.cli.local_run import RunOptions
    from tenuto.cli.test_runs import TestRunOptions
    from tenuto.client import Client
    from tenuto.client.connection import Answered
    from tenuto.engine.events.inspector import NearEvents
    from tenuto.engine.events.near_misses import NearEvent
    from tenuto.engine.turns.held import Held

PATIENCE = 5.0
"""Seconds for which a command waits for a server that does not answer."""
DEAD_AFTER = 0.8
"""The same where no connection can be made: nothing listens there, or nothing is there."""

FOLLOWING: Final = 90.0
"""The same for a command that follows an instance already: a restarted service comes back."""


@asynccontextmanager
async def connected(url: ServerUrl) -> AsyncIterator[ServerBackend]:
    """The server that was named."""
    from tenuto.client import Client
    from tenuto.client.connection import NO_SERVER

    # A key belongs to a tenant: only another one has to be named.
    tenant = None if tenant_of(url) == DEFAULT_TENANT else tenant_of(url)
    async with Client(url.addresses, url.key, tenant=tenant, patience=PATIENCE) as client:
        client.connection.dead_after = client.connection.connect_within = DEAD_AFTER
        try:
            yield ServerBackend(url, client)
        except Unauthenticated as error:
            # A server speaks of headers; at a terminal there are none.
            advice = "Put an API key into TENUTO_KEY, or give one with --api-key."
            if url.key is not None:
                advice = "See whether the key in TENUTO_KEY, or behind --api-key, is the right one."
            raise Unauthenticated(error.message, code=error.code, advice=advice) from error
        except StoreUnavailable as error:
            if error.code != NO_SERVER or url.store is None:
                raise
            advice = _what_holds(url.store)
            raise StoreUnavailable(error.message, code=error.code, advice=advice) from error


def _what_holds(store: str) -> str:
    """What to do where the service that was found beside its store does not listen any more."""
    from tenuto.cli.served_address import find_served

    found = find_served(store)
    if found is None:
        return "It has ended meanwhile: give the command again, and it acts on the store."
    return (
        f"Process {found.process} is about to serve there, or to end: until then it holds the "
        f"store. Give the command again in some seconds, or end it: kill {found.process}"
    )


class ServerBackend:
    """A server, asked over HTTP."""

    is_worked_on = True

    def __init__(self, url: ServerUrl, client: Client) -> None:
        self.url = url
        self.space = client
        self.clock: Clock = SystemClock()
        self.tenant = tenant_of(url)
        self.environment: str | None = None
        """What its answers call it: `production`."""

    @property
    def described(self) -> str:
        """Its addresses, and its environment as soon as that is known."""
        return str(self.url) if self.environment is None else f"{self.url} ({self.environment})"

    @contextmanager
    def once_known(self, tell: Callable[[], None]) -> Iterator[None]:
        """With the first answer, which names the environment; at the end if there was none."""
        connection = self.space.connection

        def hear(answered: Answered) -> None:
            name = answered.headers.get("tenuto-environment")
            if name is None and answered.status >= 300:
                # Refused before it knew who asks; it may be asked again.
                return
            connection.answered = None
            self.environment = None if name is None else unquote(name)
            tell()

        connection.answered = hear
        try:
            yield
        finally:
            if connection.answered is not None:
                connection.answered = None
                tell()

    @property
    def flag(self) -> str:
        """The options that name it in a command; empty where the environment does."""
        is_default = self.url.is_found or self.url == os.environ.get("TENUTO_SERVER")
        named = "" if is_default else f" --server {shlex.quote(self.url)}"
        return f"{named}{tenant_flag(self.url)}"

    @property
    def is_anonymous(self) -> bool:
        """Whether no key is shown."""
        return self.url.key is None

    async def has_process(self) -> bool:
        """The server itself."""
        return True

    def because(self, reason: str | None) -> None:
        """Have the audit log keep a reason with the changes that follow."""
        self.space.connection.because(reason)

    async def reveal(self, action: str, target: str) -> None:  # noqa: ARG002 - it knows both
        """Have the audit log keep that masked values are shown by the reads that follow."""
        self.space.connection.reveal()

    def kept_open(self) -> AbstractAsyncContextManager[object]:
        """The connection is open anyway."""
        return nullcontext()

    async def held(self, id: str) -> Held:
        """An instance, as the server has folded it; NotFound."""
        blank = await self._blank(id)
        try:
            found = await self.space.operations.get_snapshot(id)
        except NotFound:
            # An older server has logs alone.
            return await self.advanced(blank)
        return _from_snapshot(blank, found)

    async def held_with_log(self, id: str) -> tuple[Held, list[Object]]:
        """The same, folded here from its log, and the entries of that."""
        return await self._grown(await self._blank(id))

    async def _blank(self, id: str) -> Held:
        """An instance of which nothing but its definition is known; NotFound."""
        from tenuto.core import Plan, blank
        from tenuto.definition import compile_definition
        from tenuto.engine.turns.held import Held

        page = await self.space.page(InstanceFilter(ids=(id,)), limit=1)
        if not page.items:
            raise NotFound(f"there is no instance {id}")
        found = page.items[0]
        try:
            version = await self.space.definition(found.workflow, found.version)
        except Forbidden as error:
            raise Forbidden(
                error.message,
                code=error.code,
                advice="An instance is drawn with its definition: let the key have the scope "
                "workflows:read beside instances:read.",
            ) from error
        plan = Plan(compile_definition(version.definition))
        return Held(blank(id), plan, found.tenant)

    async def advanced(self, held: Held) -> Held:
        """The same instance with what was recorded since."""
        return (await self._grown(held))[0]

    async def _grown(self, held: Held) -> tuple[Held, list[Object]]:
        from tenuto.cli.backends.log_rows import log_row
        from tenuto.core import fold_all
        from tenuto.engine.turns.held import Held
        from tenuto.model.log import UnknownEntry, from_row

        rows = await self.space.at(held.state.id).history(after=held.state.version)
        try:
            state = fold_all(held.plan, held.state, [from_row(log_row(each)) for each in rows])
        except UnknownEntry as error:
            raise _newer(error) from None
        return Held(state, held.plan, held.tenant), rows

    async def near_events(self, held: Held) -> NearEvents:
        """The events that its open waits did not take."""
        from tenuto.store.parts.waits import WaitKey

        found: NearEvents = {}
        for wait in await self.space.at(held.state.id).waits() if held.state.open_waits else ():
            assert isinstance(wait, dict)
            names = (str(wait.get(name, "")) for name in ("stepId", "iteration", "armId"))
            misses = wait.get("nearMisses", [])
            assert isinstance(misses, list)
            found[WaitKey(held.state.id, *names)] = [
                _near(each, str(wait.get("eventPattern"))) for each in misses
            ]
        return found

    @asynccontextmanager
    async def watching(self, id: str, after: int) -> AsyncIterator[asyncio.Event]:
        """An event that is set when the server reports something new."""
        from tenuto.cli.live_feed import set_by

        connection = self.space.connection
        before = connection.patience, connection.dead_after
        connection.patience, connection.dead_after = FOLLOWING, None
        # It has answered and was shown: the store would show the same once more.
        self.url.store = None
        try:
            async with set_by(self.space.at(id).changes(after)) as grown:
                yield grown
        finally:
            connection.patience, connection.dead_after = before

    async def run(self, options: RunOptions) -> int:
        """Deploy and start there, or find an instance, and follow it."""
        from tenuto.cli.follower import run_elsewhere

        return await run_elsewhere(self, options)

    async def run_outstanding(self, options: RunOptions) -> int:  # noqa: ARG002
        """Refused: a server does that by itself."""
        import typer

        raise typer.BadParameter("a server goes on with all that has not ended by itself")

    async def run_test(self, options: TestRunOptions) -> int:
        """Run it there, and follow it."""
        from tenuto.cli.test_runs import run_test_elsewhere

        return await run_test_elsewhere(self, options)

    def findings(self) -> AsyncIterator[Finding]:
        """Its version, clock and access."""
        from tenuto.cli.doctor import server_findings

        return server_findings(self)


def _from_snapshot(blank: Held, found: Object) -> Held:
    import msgspec

    from tenuto.cli.backends.log_rows import log_row
    from tenuto.core.snapshot import decode
    from tenuto.engine.turns.held import Held
    from tenuto.model.log import UnknownEntry, from_row

    entries = found["entries"]
    assert isinstance(entries, list)
    rows = [log_row(each) for each in entries if isinstance(each, dict)]
    try:
        kept = {row.seq: from_row(row) for row in rows}
        state = decode(msgspec.json.encode(found["snapshot"]), kept)
    except (UnknownEntry, msgspec.MsgspecError) as error:
        raise _newer(error) from None
    return Held(state, blank.plan, blank.tenant)


def _newer(error: Exception) -> TenutoError:
    return TenutoError(
        f"the server is newer than this program, which cannot read {error}", code="TEN-4005"
    )


def _near(view: JSON, pattern: str) -> NearEvent:
    from tenuto.engine.events.near_misses import NearEvent
    from tenuto.expr import Miss
    from tenuto.model.events import Event

    assert isinstance(view, dict)
    failed = view["failed"]
    assert isinstance(failed, list)
    at = datetime.fromisoformat(str(view["at"]))
    event = Event(id=str(view["eventId"]), pattern=pattern, payload=None, received_at=at)
    misses: list[Miss] = []
    for each in failed:
        assert isinstance(each, dict)
        error = each.get("error")
        said = None if error is None else str(error)
        misses.append(Miss(str(each["expression"]), each.get("left"), each.get("right"), said))
    return NearEvent(event, misses)
