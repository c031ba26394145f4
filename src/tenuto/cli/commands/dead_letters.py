"""`tenuto dead-letters`: its commands and options."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import ListOutput, Output, Store, perform

dead_letters = typer.Typer(help="What could not be done.", no_args_is_help=True)

LetterId = Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]


@dead_letters.command("list")
def list_them(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 20,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List what could not be done.

    Tasks whose failure nothing handled, poison, and results that came too late.
    """
    from tenuto.cli.views.dead_letters import list_dead_letters

    perform(lambda: list_dead_letters(store, limit, output), output)


@dead_letters.command("show")
def show(id: LetterId, *, store: Store = STORE, output: Output = "table") -> None:
    """Show what could not be done, with its input and error."""
    from tenuto.cli.views.dead_letters import show_dead_letter

    perform(lambda: show_dead_letter(store, id, is_json=output == "json"), output)


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
    """Try again what could not be done: the instance goes on where it failed."""
    from msgspec import UNSET

    from tenuto.cli.sources import read_json
    from tenuto.cli.views.dead_letters import retry_dead_letter

    perform(
        lambda: retry_dead_letter(
            store,
            id,
            input=UNSET if input is None else read_json(input, "--input"),
            is_json=output == "json",
        ),
        output,
    )


@dead_letters.command("discard")
def discard(id: LetterId, *, store: Store = STORE, output: Output = "table") -> None:
    """Forget it; the instance stays as it is."""
    from tenuto.cli.views.dead_letters import discard_dead_letter

    perform(lambda: discard_dead_letter(store, id, is_json=output == "json"), output)
