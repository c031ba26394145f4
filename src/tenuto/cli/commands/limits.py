"""`tenuto concurrency` and `tenuto queue`: their commands and options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

concurrency = typer.Typer(
    name="concurrency",
    help="Limits on how many instances run at once.",
    no_args_is_help=True,
)
queue = typer.Typer(
    name="queue",
    help="Instances that wait for a slot.",
    no_args_is_help=True,
)

QueuedId = Annotated[str, typer.Argument(metavar="ID", help="As `queue list` shows it.")]


@concurrency.command("show")
def show_them(*, store: Store = STORE, output: Output = "table") -> None:
    """Show the limits of the service and of the tenant.

    tenuto concurrency show -o json
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, show_limits
        from tenuto.cli.views.terminal import show_json

        found = await backend.space.limits.get()
        if output == "json":
            show_json(as_json(found))
        else:
            show_limits(found)
        return exits.DONE

    perform_on(store, work, output)


@concurrency.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The limits: a .json or .yaml file.")
    ],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Replace the limits; what is left out of the file is removed.

    Instances that run go on, also above a limit that was lowered.

    tenuto concurrency set limits.json
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.positions import Located
        from tenuto.cli.records import read_record
        from tenuto.cli.views.limits import as_json, show_limits
        from tenuto.cli.views.terminal import show_json
        from tenuto.model.errors import InvalidInput

        record = read_record(file)
        # A record without an id is called like its file; limits have none.
        document = record.document
        if isinstance(document, dict):
            document = {name: value for name, value in document.items() if name != "id"}
        try:
            saved = await backend.space.limits.set(document)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(as_json(saved))
        else:
            show_limits(saved)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@queue.command("list")
def list_them(
    *,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="Only instances of this one.")
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List the instances that wait for slots, in their order.

    tenuto queue list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, queue_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.limits.queue(workflow=workflow, limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=queue_table,
            item=as_json,
            nothing=f"no instance waits for a slot in {backend.described}; to see the limits",
            then=[f"tenuto concurrency show{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@queue.command("promote")
def promote(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Let a waiting instance go before those that were not promoted.

    tenuto queue promote 019b76da-a80b-700b-8bfa-7f79677734d0
    """
    _change(store, output, reason, lambda space: space.limits.promote(id), f"{id} is promoted")


@queue.command("hold")
def hold(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Keep a waiting instance from being admitted, until it is released.

    tenuto queue hold 019b76da-a80b-700b-8bfa-7f79677734d0
    """
    _change(store, output, reason, lambda space: space.limits.hold(id), f"{id} is on hold")


@queue.command("release")
def release(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Let an instance wait again that was kept back.

    tenuto queue release 019b76da-a80b-700b-8bfa-7f79677734d0
    """
    _change(store, output, reason, lambda space: space.limits.release(id), f"{id} waits again")


def _change(
    store: str,
    output: str,
    reason: str | None,
    change: Callable[[Any], Awaitable[None]],
    said: str,
) -> None:
    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import say

        await change(backend.space)
        say(said)
        return exits.DONE

    perform_on(store, work, output, reason=reason)
