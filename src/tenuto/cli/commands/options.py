"""Options that many commands have, and how what a command does is begun."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal, NoReturn

import typer

Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="TENUTO_STORE",
        metavar="URL",
        help="The store: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/DATABASE.",
    ),
]
Output = Annotated[
    Literal["table", "json"], typer.Option("--output", "-o", help="What is printed on stdout.")
]
JsonOutput = Annotated[
    Literal["json"], typer.Option("--output", "-o", help="What is printed on stdout.")
]
ListOutput = Annotated[
    Literal["table", "json", "id"],
    typer.Option("--output", "-o", help="What is printed on stdout."),
]


def _no_secret(key: str | None) -> str | None:
    if key is not None and key.startswith("tnt_"):
        # It would be kept with the instance, for everybody to read; nor is it said here again.
        raise typer.BadParameter("that is an API key: it goes into TENUTO_KEY, or --api-key")
    return key


IdempotencyKey = Annotated[
    str | None,
    typer.Option("--key", callback=_no_secret, help="Start at most one instance under this key."),
]
Input = Annotated[
    str | None,
    typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="The workflow's input."),
]
CorrelationId = Annotated[
    str | None,
    typer.Option("--correlation-id", metavar="ID", help="What else the instance belongs to."),
]
WatchTimeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0, help="Watch no longer than this."),
]
Instance = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The instance: its id or how it begins, @last or @last-failed."
    ),
]


def perform(work: Callable[[], Coroutine[Any, Any, int]], output: str) -> NoReturn:
    """Do the work of a command, and end with its code."""
    from tenuto.cli.guard import perform as guarded

    raise typer.Exit(guarded(work, is_json=output == "json"))
