"""`tenuto workflows`: its commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    JsonOutput,
    Limit,
    ListOutput,
    Output,
    Reason,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.json import Object

workflows = typer.Typer(
    name="workflows",
    help="Deployed definitions: list, show, export, compare, remove.",
    no_args_is_help=True,
)

WorkflowId = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW", help="As `list` shows it.", autocompletion=completion.workflows
    ),
]


@workflows.command("list")
def list_them(
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List deployed definitions, each with its newest version.

    tenuto workflows list -o id
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.definitions import definitions_table
        from tenuto.cli.views.pages import show_page

        page = await backend.space.definition_page(limit=limit, cursor=cursor)
        show_page(
            page,
            output,
            table=lambda found: definitions_table(found, backend.clock.now()),
            item=lambda each: each,
            nothing=f"no workflows in {backend.described}; to deploy one, or to make an example",
            then=[f"tenuto deploy FILE{backend.flag}", "tenuto init"],
        )
        return exits.DONE

    perform_on(store, work, output)


@workflows.command("show")
def show(
    workflow: WorkflowId,
    *,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version than the newest."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show a deployed definition: its steps, or with -o json the document as it was saved.

    tenuto workflows show order -o json
    """

    async def work(backend: Backend) -> int:
        import msgspec

        from tenuto.cli import exits
        from tenuto.cli.views.definition import show_graph
        from tenuto.cli.views.terminal import show_json

        found = await backend.space.definition(workflow, version)
        if output == "json":
            show_json(msgspec.to_builtins(found))
        else:
            show_graph(found.definition, f"{found.id}@{found.version}")
        return exits.DONE

    perform_on(store, work, output)


@workflows.command("export")
def export(
    workflow: WorkflowId,
    *,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version than the newest."),
    ] = None,
    store: Store = STORE,
    output: JsonOutput = "json",
) -> None:
    """Print the document of a definition alone: deployed again, it makes no new version.

    tenuto workflows export order > order.json
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show_json

        show_json((await backend.space.definition(workflow, version)).definition)
        return exits.DONE

    perform_on(store, work, output)


@workflows.command("diff")
def diff(
    workflow: WorkflowId,
    first: Annotated[
        int | None,
        typer.Argument(metavar="[FROM]", min=1, help="A version; else the one before the newest."),
    ] = None,
    second: Annotated[
        int | None, typer.Argument(metavar="[TO]", min=1, help="Another one; else the newest.")
    ] = None,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="Compare with the definition in a file instead of TO."
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show what differs between two versions: steps, edges and settings.

    Steps are compared by their ids, in whichever form a version is written. With --file, what a
    deployment of the file would change.

    tenuto workflows diff order 3 4

    tenuto workflows diff order --file order.json
    """
    if file is not None and second is not None:
        raise typer.BadParameter("a version is compared with a file, or with TO", param_hint="TO")

    async def work(backend: Backend) -> int:
        import msgspec

        from tenuto.cli import exits
        from tenuto.cli.definition_diff import diff_definitions
        from tenuto.cli.sources import read_source
        from tenuto.cli.views.definition_diff import show_diff
        from tenuto.cli.views.terminal import show_json

        space = backend.space
        if file is None:
            new = await space.definition(workflow, second)
            old = await space.definition(workflow, first or max(new.version - 1, 1))
            after, name = new.definition, f"{workflow}@{new.version}"
            view: Object = {"id": workflow, "from": old.version, "to": new.version}
        else:
            source = read_source(file)
            source.checked()
            old = await space.definition(workflow, first)
            after, name = source.as_object, str(file)
            view = {"id": workflow, "from": old.version, "to": name}
        found = diff_definitions(old.definition, after)
        if output == "json":
            show_json({**view, **msgspec.to_builtins(found)})
        else:
            show_diff(found, f"{workflow}@{old.version}", name)
        return exits.DONE

    perform_on(store, work, output)


@workflows.command("remove")
def remove(
    workflow: WorkflowId,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also while instances of it run: they are cancelled.")
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Remove a deployed definition: nothing starts of it any more.

    tenuto workflows remove order --reason "replaced by orders"
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json

        stopped = await backend.space.remove_definition(workflow, force=force)
        if output == "json":
            show_json({"id": workflow, "removed": True, "schedulesStopped": stopped})
        else:
            several = "1 schedule starts" if stopped == 1 else f"{stopped:,} schedules start"
            and_so = f"; {several} nothing any more" if stopped else ""
            show(f"✓ {workflow} is removed; instances that have ended stay{and_so}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
