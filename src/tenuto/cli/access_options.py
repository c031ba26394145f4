"""Options of a service that say who may ask it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

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
