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
ListOutput = Annotated[
    Literal["table", "json", "id"],
    typer.Option("--output", "-o", help="What is printed on stdout."),
]


def perform(work: Callable[[], Coroutine[Any, Any, int]], output: str) -> NoReturn:
    """Do what a command does, and end with its exit code."""
    from tenuto.cli import guard

    raise typer.Exit(guard.perform(work, is_json=output == "json"))
