"""`tenuto keys` and `tenuto audit`, and their options."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import JsonOutput, ListOutput, Output, Store, perform

keys = typer.Typer(help="API keys: who may ask the service for what.", no_args_is_help=True)
audit = typer.Typer(help="What was done and refused, by whom.", no_args_is_help=True)

Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose.")]


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    *,
    role: Annotated[
        Literal["viewer", "operator", "editor", "admin"],
        typer.Option("--role", help="What it may do."),
    ],
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Only this of what its role may, such as instances:read or events:*; repeatable.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="MOMENT", help="When it ends: 2030-01-31T12:00:00Z, or P90D."
        ),
    ] = None,
    tenant: Tenant = "default",
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Make an API key, and show it this once.

    From then on whoever asks the service has to show who they are.

    tenuto keys create build --role operator --scope 'instances:*' --scope workflows:read
    """
    from tenuto.cli.views.keys import Wish, create

    wish = Wish(name=name, role=role, scopes=scopes, expires=expires, tenant=tenant)
    perform(lambda: create(store, wish, is_json=output == "json"), output)


@keys.command("list")
def list_keys(
    *, tenant: Tenant = "default", store: Store = STORE, output: ListOutput = "table"
) -> None:
    """List the keys of a tenant, also those that open nothing any more."""
    from tenuto.cli.views.keys import list_them

    perform(lambda: list_them(store, tenant, output), output)


@keys.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")],
    *,
    tenant: Tenant = "default",
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Let a key open nothing any more, in every process, within a second."""
    from tenuto.cli.views.keys import revoke

    perform(lambda: revoke(store, tenant, id, is_json=output == "json"), output)


@audit.command("list")
def list_audit(  # noqa: PLR0913 - one for each option
    *,
    actor: Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Who.")] = None,
    action: Annotated[str | None, typer.Option("--action", metavar="NAME", help="What.")] = None,
    target: Annotated[str | None, typer.Option("--target", metavar="ID", help="To what.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="MOMENT", help="2030-01-31T12:00:00Z or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="MOMENT", help="Before then.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 50,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="CURSOR", help="Go on where another list ended."),
    ] = None,
    is_all: Annotated[bool, typer.Option("--all", help="All of them, --limit at a time.")] = False,
    tenant: Tenant = "default",
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """List what was done and refused, newest first."""
    from tenuto.cli.views.audit import Asked, list_lines

    asked = Asked(
        tenant=tenant,
        actor=actor,
        action=action,
        target=target,
        since=since,
        until=until,
        limit=limit,
        cursor=cursor,
        is_all=is_all,
    )
    perform(lambda: list_lines(store, asked, is_json=output == "json"), output)


@audit.command("export")
def export_audit(
    *, tenant: Tenant = "default", store: Store = STORE, output: JsonOutput = "json"
) -> None:
    """Write the whole log to stdout, oldest first: JSON, a line each, with its hash."""
    from tenuto.cli.views.audit import export

    perform(lambda: export(store, tenant), output)


@audit.command("verify")
def verify_audit(
    *,
    known: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="NUMBER:HASH",
            help="A line as it was before: what `verify` or an export said then.",
        ),
    ] = None,
    tenant: Tenant = "default",
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Prove that the log is as it was written.

    Each line's hash covers the one before it. Who can write to the store can write a whole new
    chain: a line that was noted elsewhere tells that too.
    """
    from tenuto.cli.views.audit import verify

    perform(lambda: verify(store, tenant, known, is_json=output == "json"), output)
