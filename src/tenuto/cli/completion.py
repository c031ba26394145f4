"""Values that shells complete: ids, statuses and names; silent on every error.

A shell waits for it at each key: no engine is loaded, and a place that does not answer is given up.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from tenuto.cli.backends import looked_up
from tenuto.cli.backends.place import STORE, Place
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.model.unsafe_text import escaped_line

if TYPE_CHECKING:
    from tenuto.cli.backends.reader import Reader
    from tenuto.client import Client
    from tenuto.model.json import JSON

Completed: TypeAlias = list[tuple[str, str]]
"""Values, each with what it is."""

_MOST: Final = 200
_PATIENCE: Final = 2.0
_NAMED: Final = ("eventPattern", "pattern")


def ids(ctx: typer.Context, incomplete: str) -> Completed:
    """The newest instances, and the names for the last of them."""
    named = [("@last", "the newest"), ("@last-failed", "the newest that failed")]
    return _beginning(incomplete, [*named, *_asked(ctx, _stored_ids, _served_ids)])


def statuses(incomplete: str) -> Completed:
    """Every status."""
    from tenuto.model.status import Status

    return _beginning(incomplete.upper(), [(each.value, "") for each in Status])


def workflows(ctx: typer.Context, incomplete: str) -> Completed:
    """Deployed definitions."""
    return _beginning(incomplete, _asked(ctx, _stored_workflows, _served_workflows))


def schedules(ctx: typer.Context, incomplete: str) -> Completed:
    """Saved schedules."""
    return _beginning(incomplete, _asked(ctx, _stored_schedules, _served_schedules))


def secrets(ctx: typer.Context, incomplete: str) -> Completed:
    """Names of secrets."""
    return _beginning(incomplete, _asked(ctx, _stored_secrets, _served_secrets))


def calendars(ctx: typer.Context, incomplete: str) -> Completed:
    """Saved calendars."""
    return _beginning(incomplete, _asked(ctx, _stored_calendars, _served_calendars))


def data_sources(ctx: typer.Context, incomplete: str) -> Completed:
    """Saved data sources."""
    return _beginning(incomplete, _asked(ctx, _stored_sources, _served_sources))


def data_queries(ctx: typer.Context, incomplete: str) -> Completed:
    """Saved data queries."""
    return _beginning(incomplete, _asked(ctx, _stored_queries, _served_queries))


def patterns(ctx: typer.Context, incomplete: str) -> Completed:
    """Events that deployed definitions name."""
    return _beginning(incomplete, _asked(ctx, _stored_patterns, _served_patterns))


def views(incomplete: str) -> Completed:
    """Saved views."""
    from tenuto.cli.saved_views import read_views
    from tenuto.model.errors import TenutoError

    try:
        return _beginning(incomplete, [*read_views().known.items()])
    except TenutoError:
        return []


def decisions(incomplete: str) -> Completed:
    """What can be decided."""
    return _beginning(incomplete, [("approved", ""), ("rejected", "")])


async def _stored_ids(reader: Reader) -> Completed:
    from tenuto.store.parts.instances import InstanceQuery
    from tenuto.workspace.instance_lists import instance_rows

    page = await instance_rows(reader, reader.tenant, InstanceQuery(limit=_MOST))
    return [(row.id, f"{row.status.value} {row.definition_id}") for row in page.items]


async def _served_ids(client: Client) -> Completed:
    page = await client.page(limit=_MOST)
    return [(each.id, f"{each.status.value} {each.workflow}") for each in page.items]


async def _stored_workflows(reader: Reader) -> Completed:
    from tenuto.model.test_run import is_test_run

    found = await reader.store.seen_by(reader.tenant).definitions.ids(reader.tenant)
    return [(id, "") for id in found if not is_test_run(id)]


async def _served_workflows(client: Client) -> Completed:
    return [(id, "") for id in await client.definition_ids()]


async def _stored_schedules(reader: Reader) -> Completed:
    seen = reader.store.seen_by(reader.tenant)
    return [(row.id, row.status) for row in await seen.schedules.page(reader.tenant, limit=_MOST)]


async def _served_schedules(client: Client) -> Completed:
    page = await client.schedules.page(limit=_MOST)
    return [(each.id, each.status) for each in page.items]


async def _stored_calendars(reader: Reader) -> Completed:
    seen = reader.store.seen_by(reader.tenant)
    return [(row.id, "") for row in await seen.calendars.page(reader.tenant, limit=_MOST)]


async def _served_calendars(client: Client) -> Completed:
    return [(each.id, "") for each in (await client.calendars.page(limit=_MOST)).items]


async def _stored_sources(reader: Reader) -> Completed:
    seen = reader.store.seen_by(reader.tenant)
    return [(row.id, "") for row in await seen.data_sources.page(reader.tenant, limit=_MOST)]


async def _served_sources(client: Client) -> Completed:
    found = await client.data_sources.page(limit=_MOST)
    return [(each.id, each.kind) for each in found.items]


async def _stored_queries(reader: Reader) -> Completed:
    seen = reader.store.seen_by(reader.tenant)
    rows = await seen.data_queries.page(reader.tenant, limit=_MOST)
    return [(row.id, row.data_source_id) for row in rows]


async def _served_queries(client: Client) -> Completed:
    found = await client.data_queries.page(limit=_MOST)
    return [(each.id, each.data_source_id) for each in found.items]


async def _stored_secrets(reader: Reader) -> Completed:
    seen = reader.store.seen_by(reader.tenant)
    return [(row.name, "") for row in await seen.secrets.page(reader.tenant, limit=_MOST)]


async def _served_secrets(client: Client) -> Completed:
    return [(each.name, "") for each in (await client.secrets.page(limit=_MOST)).items]


async def _stored_patterns(reader: Reader) -> Completed:
    import msgspec

    seen = reader.store.seen_by(reader.tenant)
    rows = await seen.definitions.newest(reader.tenant, after="", limit=_MOST)
    return _of_definitions({row.id: msgspec.json.decode(row.content) for row in rows})


async def _served_patterns(client: Client) -> Completed:
    found = await client.newest_definitions(_MOST)
    return _of_definitions({each.id: each.definition for each in found})


def _of_definitions(documents: dict[str, JSON]) -> Completed:
    named = {name: id for id, document in documents.items() for name in _events_in(document)}
    return sorted(named.items())


def _events_in(value: JSON) -> Iterator[str]:
    """The names of events in a definition that have no wildcards and no templates."""
    if isinstance(value, dict):
        for name in _NAMED:
            if isinstance(found := value.get(name), str) and not set(found) & set("*{ "):
                yield found
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _events_in(each)


def _asked(
    ctx: typer.Context,
    stored: Callable[[Reader], Awaitable[Completed]],
    served: Callable[[Client], Awaitable[Completed]],
) -> Completed:
    """What the place of the command line has; nothing where it does not answer."""

    async def ask() -> Completed:
        place = _place(ctx)
        async with asyncio.timeout(_PATIENCE):
            return await looked_up(place, stored, served)

    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        try:
            return asyncio.run(ask())
        except (Exception, SystemExit):  # noqa: BLE001 - a shell would print it into the line
            return []


def _place(ctx: typer.Context) -> Place:
    from tenuto.cli.backends.choice import chosen_place

    given = ctx.params
    tenant = str(given.get("tenant") or DEFAULT_TENANT)
    store, server = _given(ctx, "store", "TENUTO_STORE"), _given(ctx, "server", "TENUTO_SERVER")
    key = given.get("api_key") or os.environ.get("TENUTO_KEY")
    return chosen_place((store[0] or STORE, store[1]), server, key, tenant)


def _given(ctx: typer.Context, name: str, variable: str) -> tuple[Any, str]:
    """The value of an option and where it is from, as far as the line was parsed."""
    source = ctx.get_parameter_source(name)
    if source is not None and source.name == "COMMANDLINE":
        return ctx.params.get(name), source.name
    if found := os.environ.get(variable):
        return found, "ENVIRONMENT"
    return None, "DEFAULT"


def _beginning(incomplete: str, found: Completed) -> Completed:
    return [
        (value, escaped_line(what))
        for value, what in found
        # A shell prints what it completes, also what would control its terminal.
        if value.startswith(incomplete) and value.isprintable()
    ]
