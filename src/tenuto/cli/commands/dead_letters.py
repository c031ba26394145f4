"""`tenuto dead-letters`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Cursor, Limit, ListOutput, Output, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

dead_letters = typer.Typer(
    name="dead-letters",
    help="Dead letters: failed tasks, poison tasks and late results.",
    no_args_is_help=True,
)

LetterId = Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]


@dead_letters.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List dead letters.

    Tasks whose failure nothing handled, poison tasks, and results that came too late.
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.dead_letters import letters_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.dead_letters.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=lambda found: letters_table(found, backend.clock.now()),
            item=lambda each: each,
            nothing=f"no dead letters in {backend.described}; what failed",
            then=[f"tenuto list --status FAILED{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@dead_letters.command("show")
def show(id: LetterId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show a dead letter, with its input and error."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.next_steps import say_letter_steps
        from tenuto.cli.views.dead_letters import letter_lines
        from tenuto.cli.views.terminal import show, show_json

        item = await backend.space.dead_letters.get(id)
        if output == "json":
            show_json(item)
        else:
            for line in letter_lines(item):
                show(line)
            await say_letter_steps(backend, item)
        return exits.DONE

    perform_on(store, work, output)


@dead_letters.command("retry")
def retry(
    id: LetterId,
    *,
    input: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="Another input for the task."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Run a dead letter again: the instance goes on where it failed."""

    async def work(backend: Backend) -> int:
        from msgspec import UNSET

        from tenuto.cli import exits
        from tenuto.cli.sources import read_json
        from tenuto.cli.views.outcome import say_how_to_run, status_line
        from tenuto.cli.views.terminal import show, show_json

        given = UNSET if input is None else read_json(input, "--input")
        status = await backend.space.dead_letters.retry(id, input=given)
        instance_id = id.partition(":")[0]
        if output == "json":
            show_json({"id": instance_id, "status": status.value})
            return exits.DONE
        show(status_line(instance_id, status))
        if not (backend.is_worked_on or status.is_final):
            say_how_to_run(instance_id, backend.flag)
        return exits.DONE

    perform_on(store, work, output)


@dead_letters.command("discard")
def discard(id: LetterId, *, store: Store = STORE, output: Output = "table") -> None:
    """Remove a dead letter; the instance stays as it is."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json

        await backend.space.dead_letters.discard(id)
        if output == "json":
            show_json({"id": id, "discarded": True})
        else:
            show(f"✓ {id} is discarded; the instance stays as it is")
        return exits.DONE

    perform_on(store, work, output)
