"""`tenuto data-queries`: its commands and options."""

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

data_queries = typer.Typer(
    name="data-queries",
    help="Statements with named parameters, which workflows run.",
    no_args_is_help=True,
)

QueryId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="As `list` shows it.", autocompletion=completion.data_queries
    ),
]


@data_queries.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List data queries.

    tenuto data-queries list -o id
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.data_sources import as_json, queries_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.data_queries.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=queries_table,
            item=as_json,
            nothing=f"no data queries in {backend.described}; to make one",
            then=[f"tenuto data-queries set FILE{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@data_queries.command("show")
def show(id: QueryId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show a data query, and the workflows that run it.

    tenuto data-queries show by-sku
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.data_sources import as_json, show_query
        from tenuto.cli.views.terminal import show_json

        part = backend.space.data_queries
        found, uses = await part.get(id), await part.uses(id)
        if output == "json":
            show_json({**as_json(found), "usedBy": as_json(uses)})
        else:
            show_query(found, uses)
        return exits.DONE

    perform_on(store, work, output)


@data_queries.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The data query: a .json or .yaml file.")
    ],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save a data query, new or not; without an id it is called like its file.

    Its parameters are written `:name` in the statement.

    tenuto data-queries set by-sku.yaml
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
            saved = await backend.space.data_queries.save(record.document)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(as_json(saved))
        else:
            shown(f"✓ data query {saved.id}@{saved.version}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@data_queries.command("run")
def run(
    id: QueryId,
    *,
    args: Annotated[
        list[str] | None,
        typer.Option(
            "--args",
            "-a",
            metavar="JSON|@FILE|-|NAME=VALUE",
            help="The arguments; or one of them, several times: its value is JSON, else text.",
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Try a data query, and show its rows.

    tenuto data-queries run by-sku --args sku=A-1
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.sources import read_input
        from tenuto.cli.views.data_sources import as_json, show_error, show_run
        from tenuto.cli.views.terminal import show_json

        ran = await backend.space.data_queries.run(id, read_input(args, "--args"))
        if output == "json":
            show_json(as_json(ran))
        elif ran.error is not None:
            show_error(ran.error)
        else:
            show_run(ran)
        return exits.DONE if ran.error is None else exits.FAILED

    perform_on(store, work, output)


@data_queries.command("remove")
def remove(
    id: QueryId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Remove a data query that no workflow runs.

    tenuto data-queries remove by-sku
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show as shown, show_json

        await backend.space.data_queries.remove(id)
        if output == "json":
            show_json({"id": id, "removed": True})
        else:
            shown(f"✓ {id} is removed")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
