"""`tenuto data-sources`: its commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    Limit,
    ListOutput,
    Output,
    Reason,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

data_sources = typer.Typer(
    name="data-sources",
    help="Databases that data queries read.",
    no_args_is_help=True,
)

SourceId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="As `list` shows it.", autocompletion=completion.data_sources
    ),
]


@data_sources.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List data sources.

    tenuto data-sources list -o id
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.data_sources import as_json, sources_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.data_sources.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=sources_table,
            item=as_json,
            nothing=f"no data sources in {backend.described}; to make one",
            then=[f"tenuto data-sources set FILE{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@data_sources.command("show")
def show(id: SourceId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show a data source, and the data queries that use it.

    tenuto data-sources show stock
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.data_sources import as_json, show_source
        from tenuto.cli.views.terminal import show_json

        part = backend.space.data_sources
        found, uses = await part.get(id), await part.uses(id)
        if output == "json":
            show_json({**as_json(found), "usedBy": as_json(uses)})
        else:
            show_source(found, uses)
        return exits.DONE

    perform_on(store, work, output)


@data_sources.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The data source: a .json or .yaml file.")
    ],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save a data source, new or not; without an id it is called like its file.

    It has no password in it, but the name of a secret, `secretRef`.

    tenuto data-sources set stock.yaml
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.positions import Located
        from tenuto.cli.records import read_record
        from tenuto.cli.views.data_sources import as_json
        from tenuto.cli.views.terminal import show as shown, show_json
        from tenuto.model.errors import InvalidInput

        record = read_record(file)
        try:
            saved = await backend.space.data_sources.save(record.document)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(as_json(saved))
        else:
            shown(f"✓ data source {saved.id}@{saved.version}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@data_sources.command("test")
def try_(id: SourceId, *, store: Store = STORE, output: Output = "table") -> None:
    """Connect to the database of a data source.

    tenuto data-sources test stock
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.data_sources import as_json, show_error
        from tenuto.cli.views.terminal import show as shown, show_json

        tested = await backend.space.data_sources.test(id)
        if output == "json":
            show_json(as_json(tested))
        elif tested.error is not None:
            show_error(tested.error)
        else:
            shown(f"✓ {tested.server} in {tested.duration_ms} ms")
        return exits.DONE if tested.ok else exits.FAILED

    perform_on(store, work, output)


@data_sources.command("remove")
def remove(
    id: SourceId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Remove a data source that no data query names.

    tenuto data-sources remove stock
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show as shown, show_json

        await backend.space.data_sources.remove(id)
        if output == "json":
            show_json({"id": id, "removed": True})
        else:
            shown(f"✓ {id} is removed")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
