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
Instance = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The instance: its id or how it begins, @last or @last-failed."
    ),
]
Auth = Annotated[
    Literal["auto", "required"] | None,
    typer.Option(
        "--auth",
        help="auto: a credential is asked for once there is a key, an admin key or an issuer.",
    ),
]
OidcIssuer = Annotated[
    str | None,
    typer.Option(
        "--oidc-issuer",
        metavar="URL",
        help="The identity provider whose tokens are taken.",
    ),
]
OidcAudience = Annotated[
    str | None,
    typer.Option(
        "--oidc-audience",
        metavar="NAME",
        help="What its tokens for this service have in `aud`.",
    ),
]
OidcPrivate = Annotated[
    bool | None,
    typer.Option(
        "--oidc-private/--oidc-public",
        help="The provider may have an address of no public network.",
    ),
]
AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Pages of this origin may call the service: https://ui.example.com; repeatable.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="A name that the service goes by; repeatable.",
    ),
]
RateLimit = Annotated[
    float | None,
    typer.Option(
        "--rate-limit",
        metavar="NUMBER",
        min=0.001,
        help="Requests a second that one principal may make for long.",
    ),
]
SourceRateLimit = Annotated[
    float | None,
    typer.Option(
        "--source-rate-limit",
        metavar="NUMBER",
        min=0.001,
        help="Requests a second from one address, whoever asks.",
    ),
]


def perform(work: Callable[[], Coroutine[Any, Any, int]], output: str) -> NoReturn:
    """Do the work of a command, and end with its code."""
    from tenuto.cli.guard import perform as guarded

    raise typer.Exit(guarded(work, is_json=output == "json"))
