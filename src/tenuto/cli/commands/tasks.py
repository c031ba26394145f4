"""`tenuto tasks`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Cursor, Limit, ListOutput, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

tasks = typer.Typer(
    name="tasks", help="Tasks: where they run, and what they take.", no_args_is_help=True
)


@tasks.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List tasks: where they run, their policies and their input.

    Listed are tasks of the server that answers (RUNS: in process), of connected workers (worker),
    and declared ones (pushed, if they have an address). RETRIES, TIMEOUT and INPUT hold for steps
    that set nothing: of the declaration, else of the code. LIMITS hold for all attempts of a task
    together. WORKERS is the number of connected workers that take a task, SEEN when one was seen
    last, CODE OF the workers whose code sets something, or the address of a pushed task.

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
            nothing=f"no tasks are known in {backend.described}: a server lists those that it "
            "runs, and workers that are connected bring theirs",
            then=["tenuto dev", "tenuto worker MODULE"],
        )
        return exits.DONE

    perform_on(store, work, output)
