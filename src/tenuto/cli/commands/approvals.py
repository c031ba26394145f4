"""`tenuto approvals`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Cursor, Limit, ListOutput, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

approvals = typer.Typer(
    name="approvals", help="Decisions that instances wait for.", no_args_is_help=True
)


@approvals.command("list")
def list_them(
    *,
    mine: Annotated[
        bool, typer.Option("--mine", help="Only those on which you may decide.")
    ] = False,
    overdue: Annotated[
        bool, typer.Option("--overdue", help="Only those that were reminded of, or escalated.")
    ] = False,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Only those that name this user."),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option("--role", metavar="NAME", help="Only those that name this role."),
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List open approvals: those of the newest instances first.

    With -o id the ids of their instances. To decide: tenuto decide INSTANCE STEP approved --by NAME

    tenuto approvals list --role finance

    tenuto approvals list --overdue -o csv
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.approvals import approval_json, approvals_table, say_decision
        from tenuto.cli.views.pages import show_page
        from tenuto.workspace.values import ANY_APPROVAL, ApprovalFilter

        which = ApprovalFilter(is_mine=mine, is_overdue=overdue, user=user, role=role)
        page = await backend.space.approvals.page(which, limit=limit, cursor=cursor)
        like_that = "" if which == ANY_APPROVAL else " like that"
        show_page(
            page,
            output,
            table=lambda found: approvals_table(found, backend.clock.now()),
            item=approval_json,
            nothing=f"no instance waits for a decision{like_that} in {backend.described}",
            then=[f"tenuto approvals list{backend.flag}"]
            if like_that
            else [f"tenuto list -q status:waiting{backend.flag}"],
            id="instanceId",
        )
        if output == "table" and page.items:
            say_decision(page.items[0], backend.flag)
        return exits.DONE

    perform_on(store, work, output)
