"""`tenuto bulk`: its commands and options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Limit, ListOutput, Output, Reason, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.workspace.values import BulkOperation

bulk = typer.Typer(
    name="bulk",
    help="Bulk operations: actions over many instances or dead letters.",
    no_args_is_help=True,
)

BulkId = Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]


@bulk.command("list")
def list_them(*, limit: Limit = 20, store: Store = STORE, output: ListOutput = "table") -> None:
    """List bulk operations, newest first.

    tenuto bulk list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.bulk import operation_json, operations_table
        from tenuto.cli.views.pages import show_page
        from tenuto.workspace.values import Page

        found = await backend.space.bulk.list(limit)
        show_page(
            Page(items=found, next_cursor=None),
            output,
            table=operations_table,
            item=operation_json,
            nothing=f"no bulk operations in {backend.described}",
            then=[f"tenuto cancel --workflow ID --dry-run{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@bulk.command("show")
def show(id: BulkId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show how far a bulk operation is, and what was refused.

    tenuto bulk show 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b
    """
    _show(store, output, lambda backend: backend.space.bulk.get(id))


@bulk.command("stop")
def stop(
    id: BulkId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Stop a bulk operation; what it has done stays done.

    tenuto bulk stop 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b
    """
    _show(store, output, lambda backend: backend.space.bulk.cancel(id), reason)


def _show(
    store: str,
    output: str,
    find: Callable[[Backend], Awaitable[BulkOperation]],
    reason: str | None = None,
) -> NoReturn:
    """Print the operation that `find` gives."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.bulk import show_operation

        show_operation(await find(backend), is_json=output == "json")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
