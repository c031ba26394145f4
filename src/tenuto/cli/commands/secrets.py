"""`tenuto secrets`: its commands and options."""

from __future__ import annotations

import sys
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

secrets = typer.Typer(
    name="secrets",
    help="Secrets: values that steps use and no record shows.",
    no_args_is_help=True,
)

SecretName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="As in {{secrets.NAME}}.", autocompletion=completion.secrets
    ),
]


@secrets.command("list")
def list_them(
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List secrets: when they were changed, by whom, and what uses them; never a value.

    tenuto secrets list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.secrets import as_json, secrets_table

        page = await backend.space.secrets.page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=secrets_table,
            item=as_json,
            nothing=f"no secrets in {backend.described}; to store one",
            then=[f"tenuto secrets set NAME{backend.flag}"],
            id="name",
        )
        return exits.DONE

    perform_on(store, work, output)


@secrets.command("set")
def set_(
    name: SecretName,
    *,
    destination: Annotated[
        list[str] | None,
        typer.Option(
            "--destination",
            "-d",
            metavar="HOST|SOURCE",
            help="A host or a data source that it may be sent to; may be given several times. "
            "Without it the secret may stand in the input of every step.",
        ),
    ] = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Store a secret, new or not: its value is read from stdin, or asked for without echo.

    tenuto secrets set STRIPE_KEY --destination api.stripe.com < key.txt
    """
    # Never an argument: those are in the history of the shell, and in lists of processes.
    value = _read_value(name)

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.secrets import as_json
        from tenuto.cli.views.terminal import show, show_json

        saved = await backend.space.secrets.put(name, value, destinations=destination)
        if output == "json":
            show_json(as_json(saved))
        else:
            to = "" if saved.destinations is None else f", for {', '.join(saved.destinations)}"
            show(f"✓ secret {saved.name}{to}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@secrets.command("remove")
def remove(
    name: SecretName,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also while a workflow or a data source names it.")
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Remove a secret that nothing uses.

    tenuto secrets remove STRIPE_KEY
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json

        await backend.space.secrets.remove(name, force=force)
        if output == "json":
            show_json({"name": name, "removed": True})
        else:
            show(f"✓ {name} is removed")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def _read_value(name: str) -> str:
    """What is on stdin, without the end of its last line; a terminal is asked, without echo."""
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, err=True))
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
