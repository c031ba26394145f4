"""`tenuto concurrency` and `tenuto queue`: their commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

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

concurrency = typer.Typer(
    name="concurrency",
    help="Limits on how many instances run at once.",
    no_args_is_help=True,
)
queue = typer.Typer(
    name="queue",
    help="Instances that wait for a slot.",
    no_args_is_help=True,
)

QueuedId = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `queue list` shows it, the beginning of it, or @last."),
]


@concurrency.command("show")
def show_them(*, store: Store = STORE, output: Output = "table") -> None:
    """Show the limits of the service and of the tenant.

    tenuto concurrency show -o json
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, show_limits
        from tenuto.cli.views.terminal import show_json

        found = await backend.space.limits.get()
        if output == "json":
            show_json(as_json(found))
        else:
            show_limits(found)
        return exits.DONE

    perform_on(store, work, output)


@concurrency.command("usage")
def usage(*, store: Store = STORE, output: Output = "table") -> None:
    """Show how full the limits are, how many wait for each, and what holds its slots.

    tenuto concurrency usage
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, uses_table
        from tenuto.cli.views.pages import say_nothing
        from tenuto.cli.views.terminal import show, show_json

        found = await backend.space.limits.uses()
        if output == "json":
            show_json(as_json(found))
        elif found.items:
            show(uses_table(found.items))
        else:
            nothing = (
                "no limit is set, and nothing waits for one of a definition, in "
                f"{backend.described}; to set some"
            )
            say_nothing(nothing, [f"tenuto concurrency set limits.json{backend.flag}"])
        return exits.DONE

    perform_on(store, work, output)


@concurrency.command("set")
def set_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The limits: a .json or .yaml file.")
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what the change would do at once.")
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Replace the limits; what is left out of the file is removed.

    Instances that run go on, also above a limit that was lowered.

    tenuto concurrency set limits.json --dry-run
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.positions import Located
        from tenuto.cli.records import read_record
        from tenuto.cli.views.limits import as_json, show_change
        from tenuto.cli.views.terminal import show_json
        from tenuto.model.errors import InvalidInput

        record = read_record(file)
        # A record without an id is called like its file; limits have none.
        document = record.document
        if isinstance(document, dict):
            document = {name: value for name, value in document.items() if name != "id"}
        try:
            saved = await backend.space.limits.set(document, dry_run=dry_run)
        except InvalidInput as error:
            raise Located(error, record.positions) from None
        if output == "json":
            show_json(as_json(saved))
        else:
            show_change(saved)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@queue.command("list")
def list_them(
    *,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="Only instances of this one.")
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List the instances that wait for slots, in their order.

    tenuto queue list
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import refuse_unknown_workflow
        from tenuto.cli.views.limits import as_json, queue_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.limits.queue(workflow=workflow, limit=limit, cursor=cursor)
        if not page.items:
            await refuse_unknown_workflow(backend.space, workflow)
        show_page(
            page,
            output,
            table=queue_table,
            item=as_json,
            nothing=f"no instance waits for a slot in {backend.described}; to see the limits",
            then=[f"tenuto concurrency show{backend.flag}"],
            id="instanceId",
        )
        return exits.DONE

    perform_on(store, work, output)


@queue.command("promote")
def promote(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Let a waiting instance go before those that were not promoted.

    tenuto queue promote @last
    """
    _change(id, "promote", store=store, output=output, reason=reason)


@queue.command("hold")
def hold(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Keep a waiting instance from being admitted, until it is released.

    tenuto queue hold @last
    """
    _change(id, "hold", store=store, output=output, reason=reason)


@queue.command("release")
def release(
    id: QueuedId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """Let an instance that was kept back wait again.

    tenuto queue release @last
    """
    _change(id, "release", store=store, output=output, reason=reason)


_SAID = {"promote": "is promoted", "hold": "is on hold", "release": "waits again"}


@queue.command("rules")
def rules(*, store: Store = STORE, output: ListOutput = "table") -> None:
    """List the rules of the queue, oldest first.

    tenuto queue rules
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, rule_table
        from tenuto.cli.views.pages import show_page
        from tenuto.workspace.values import Page

        show_page(
            Page(items=await backend.space.limits.rules(), next_cursor=None),
            output,
            table=rule_table,
            item=as_json,
            nothing=f"the queue has no rule in {backend.described}; to see what waits",
            then=[f"tenuto queue list{backend.flag}"],
        )
        return exits.DONE

    perform_on(store, work, output)


@queue.command("add-rule")
def add_rule(  # noqa: PLR0913 - one for each option
    when: Annotated[
        str,
        typer.Argument(metavar="WHEN", help="An expression over `ctx.input` and `workflow.id`."),
    ],
    *,
    priority: Annotated[
        int | None, typer.Option("--priority", help="The priority of those that match.")
    ] = None,
    hold: Annotated[
        bool, typer.Option("--hold", help="Keep those that match back, until they are released.")
    ] = False,
    note: Annotated[str | None, typer.Option("--note", help="What the rule is for.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Save it also if it matches everything.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count how many of those that wait match.")
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Give a priority to instances for which an expression is true, or hold them back.

    The rule applies at once to those that wait, and to new ones until it is removed.

    tenuto queue add-rule "ctx.input.tier === 'gold'" --priority 10 --dry-run
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.limits import as_json, show_rule
        from tenuto.cli.views.terminal import show_json

        saved = await backend.space.limits.add_rule(
            when, priority=priority, hold=hold, note=note, confirm=yes, dry_run=dry_run
        )
        if output == "json":
            show_json(as_json(saved))
        else:
            show_rule(saved, is_saved=not dry_run)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@queue.command("remove-rule")
def remove_rule(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `queue rules` shows it.")],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Remove a rule; what it did to those that wait stays.

    tenuto queue remove-rule 6f1c0a4be2d79a55
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import say, show_json

        await backend.space.limits.remove_rule(id)
        if output == "json":
            show_json({"id": id, "action": "remove"})
        else:
            say(f"rule {id} is removed")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def _change(
    id: str,
    action: Literal["promote", "hold", "release"],
    *,
    store: str,
    output: str,
    reason: str | None,
) -> None:
    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.views.terminal import say, show_json

        found = (await find_instance(backend.space, id)).id
        limits = backend.space.limits
        change = {"promote": limits.promote, "hold": limits.hold, "release": limits.release}
        await change[action](found)
        if output == "json":
            show_json({"instanceId": found, "action": action})
        else:
            say(f"{found} {_SAID[action]}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
