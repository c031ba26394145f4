"""Options that several commands have, and how the work of a command is started."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from tenuto.cli import completion

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

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
    Literal["table", "json"],
    typer.Option("--output", "-o", help="Output format."),
]
RowsOutput = Annotated[
    Literal["table", "json", "csv"],
    typer.Option("--output", "-o", help="Output format."),
]
JsonOutput = Annotated[Literal["json"], typer.Option("--output", "-o", help="Output format.")]
ListOutput = Annotated[
    Literal["table", "json", "csv", "id"],
    typer.Option("--output", "-o", help="Output format."),
]

Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=1000, help="At most so many.")
]
Cursor = Annotated[
    str | None,
    typer.Option("--cursor", metavar="CURSOR", help="Go on where another list ended."),
]


def _no_secret(key: str | None) -> str | None:
    if key is not None and key.startswith("tnt_"):
        # It would be stored with the instance, for all to read; nor is it printed here.
        raise typer.BadParameter("that is an API key: it goes into TENUTO_KEY, or --api-key")
    return key


IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        callback=_no_secret,
        help="Start at most one instance under this key.",
    ),
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="JSON|@FILE|-|NAME=VALUE",
        help="The workflow's input; or a field of it, several times: its value is JSON, else text.",
    ),
]
CorrelationId = Annotated[
    str | None,
    typer.Option("--correlation-id", metavar="ID", help="The correlation id of the instance."),
]
WatchTimeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0, help="Watch no longer than this."),
]
Instance = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="The instance: its id or how it begins, @last or @last-failed.",
        autocompletion=completion.ids,
    ),
]
Instances = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID",
        help="Instances: ids or how they begin, @last or @last-failed; - reads ids from stdin.",
        autocompletion=completion.ids,
    ),
]
OfStatus = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help="All of this status; may be given several times.",
        autocompletion=completion.statuses,
    ),
]
OfWorkflow = Annotated[
    str | None,
    typer.Option(
        "--workflow",
        metavar="ID",
        help="All of this definition.",
        autocompletion=completion.workflows,
    ),
]
OfCorrelation = Annotated[
    str | None,
    typer.Option("--correlation-id", metavar="ID", help="All of this correlation id."),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        "-q",
        metavar="SEARCH",
        help="Those that a search finds, as in the web UI: 'status:failed workflow:order'.",
    ),
]
Reveal = Annotated[
    bool,
    typer.Option("--reveal", help="Show values that are masked by their names."),
]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the log.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be done.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before acting on what a filter finds.")
]

# -- a service

Host = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="0 takes one that is free."),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks", metavar="MODULE|FILE", help="Where tasks are; may be given several times."
    ),
]
ServedStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/DATABASE.",
    ),
]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option("--log-format", help="How lines are written.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings in TOML; else tenuto.toml, if it is there."
    ),
]
Chosen = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting, such as engine.jobs_every=1; may be given several times.",
    ),
]

# -- access to a service

Auth = Annotated[
    Literal["auto", "required"] | None,
    typer.Option(
        "--auth",
        help="auto: a credential is required once there is a key, an admin key or an issuer.",
    ),
]
OidcIssuer = Annotated[
    str | None,
    typer.Option(
        "--oidc-issuer",
        metavar="URL",
        help="The identity provider whose tokens are accepted.",
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
        help="The provider may have an address of a private network.",
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
        help="A host name of the service; repeatable.",
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
        help="Requests a second from one address, of all principals.",
    ),
]


def perform(work: Callable[[], Coroutine[Any, Any, int]], output: str) -> NoReturn:
    """Do the work of a command, and end with its exit code."""
    from tenuto.cli.exits import perform as guarded

    raise typer.Exit(guarded(work, is_json=output == "json"))


def perform_on(
    place: str,
    work: Callable[[Backend], Coroutine[Any, Any, int]],
    output: str,
    *,
    allow_private: bool = False,
    reveals: bool = False,
    reason: str | None = None,
) -> NoReturn:
    """Do the work of a command on the store or the server that was given.

    `reveals`: whether values are shown that are masked by their names. `reason`: why changes are
    made, for the audit log.
    """

    async def opened_work() -> int:
        from tenuto.cli.backends import opened
        from tenuto.cli.backends.said import saying_place, store_instead
        from tenuto.model.errors import StoreUnavailable

        try:
            async with opened(place, allow_private=allow_private) as backend:
                backend.because(reason)
                with saying_place(place, backend, output):
                    return await work(backend)
        except StoreUnavailable as error:
            store = store_instead(place, error)
            if store is None:
                raise
        async with opened(store) as backend:
            backend.because(reason)
            return await work(backend)

    from tenuto.cli.views.masking import revealing

    with revealing(is_asked=reveals):
        perform(opened_work, output)
