"""`tenuto tasks`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Cursor, Limit, ListOutput, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

tasks = typer.Typer(
    name="tasks", help="Tasks that are declared, or registered by workers.", no_args_is_help=True
)


@tasks.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List declared tasks, with their policies and workers.

    WORKERS is the number of connected workers that take a task, SEEN when one was seen last, RUN BY
    the address of a pushed task, else the workers that registered a policy. A task that no
    declaration and no worker has a policy for is not in the list: it needs neither.

    tenuto tasks list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.tasks import task_json, tasks_table

        page = await backend.space.task_definitions.page(limit=limit, cursor=cursor)
        workers = await backend.space.workers.list(limit=1_000) if page.items else []
        show_page(
            page,
            output,
            table=lambda found: tasks_table(found, workers, backend.clock.now()),
            item=lambda each: task_json(each, workers),
            nothing=f"no declared tasks in {backend.described}: those of workers and push targets "
            "are; tasks of a process are registered in its code, and are not in this list",
            then=["tenuto worker MODULE"],
        )
        return exits.DONE

    perform_on(store, work, output)
