"""`tenuto workers`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Cursor, Limit, ListOutput, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

workers = typer.Typer(
    name="workers", help="Workers that claim tasks of a service.", no_args_is_help=True
)


@workers.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List the workers of the last hour, with the tasks that they take and hold.

    A worker is connected if it claimed tasks or sent a heartbeat within the last minute. Tasks that
    a service runs itself (`serve --tasks`) need no worker.

    tenuto workers list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.workers import worker_json, workers_table

        page = await backend.space.workers.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=lambda found: workers_table(found, backend.clock.now()),
            item=worker_json,
            nothing=f"no worker has claimed a task in {backend.described} within the last hour",
            then=["tenuto worker MODULE"],
            id="workerId",
        )
        return exits.DONE

    perform_on(store, work, output)
