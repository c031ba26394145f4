"""`tenuto views`: its commands and options."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.commands.options import ListOutput, Output, perform

views = typer.Typer(
    name="views", help="Saved views: names for searches of `tenuto list`.", no_args_is_help=True
)
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="As `list` shows it.", autocompletion=completion.views),
]


@views.command("list")
def list_them(*, output: ListOutput = "table") -> None:
    """List saved views, and the built-in ones.

    tenuto views list
    """

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.saved_views import BUILT_IN, read_views
        from tenuto.cli.views.pages import show_page
        from tenuto.cli.views.tables import table_of
        from tenuto.model.json import Object
        from tenuto.workspace.values import Page

        found = read_views()
        rows: list[Object] = [
            {
                "name": name,
                "search": search,
                "isDefault": name == found.used,
                "isBuiltIn": name in BUILT_IN,
            }
            for name, search in found.known.items()
        ]
        show_page(
            Page(items=rows),
            output,
            table=lambda items: table_of(
                ("DEFAULT", "VIEW", "SEARCH"),
                [
                    ["*" if each["isDefault"] else "", str(each["name"]), str(each["search"])]
                    for each in items
                ],
                whole=2,
            ),
            item=lambda each: each,
            nothing="no views",
            id="name",
        )
        return exits.DONE

    perform(work, output)


@views.command("save")
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the view.")],
    search: Annotated[
        str, typer.Argument(metavar="SEARCH", help="As `-q` of `tenuto list` takes it.")
    ],
    *,
    output: Output = "table",
) -> None:
    """Save a search under a name; a view of that name is replaced.

    tenuto views save failed-orders 'status:failed workflow:order since:1d'

    tenuto list --view failed-orders
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.saved_views import read_views, refuse_name, write_views
        from tenuto.cli.search import read_search
        from tenuto.cli.views.terminal import say_command, show, show_json
        from tenuto.ports import SystemClock

        refuse_name(name)
        # A search that cannot be read is refused before it is kept.
        read_search(search, SystemClock().now())
        found = read_views()
        write_views(replace(found, views={**found.views, name: search}))
        if output == "json":
            show_json({"name": name, "search": search})
        else:
            show(f"✓ the view {name} is saved")
            say_command(f"tenuto list --view {name}")
        return exits.DONE

    perform(work, output)


@views.command("use")
def use(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="The view; none: no default.", autocompletion=completion.views
        ),
    ] = None,
    *,
    output: Output = "table",
) -> None:
    """Make a view the default of `tenuto list` in a terminal; without a name there is none.

    A list with a filter, in a pipe, or as JSON, is not changed by it.

    tenuto views use failed-orders
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.saved_views import read_views, write_views
        from tenuto.cli.views.terminal import show, show_json

        found = read_views()
        search = None if name is None else found.search(name)
        write_views(replace(found, used=name))
        if output == "json":
            show_json({"name": name, "search": search})
        else:
            show("✓ no view is the default" if name is None else f"✓ {name} is the default")
        return exits.DONE

    perform(work, output)


@views.command("remove")
def remove(name: Name, *, output: Output = "table") -> None:
    """Remove a saved view.

    tenuto views remove failed-orders
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.saved_views import read_views, refuse_name, write_views
        from tenuto.cli.views.terminal import show, show_json

        refuse_name(name)
        found = read_views()
        found.search(name)
        left = {each: search for each, search in found.views.items() if each != name}
        write_views(replace(found, views=left, used=None if found.used == name else found.used))
        if output == "json":
            show_json({"name": name, "isRemoved": True})
        else:
            show(f"✓ the view {name} is removed")
        return exits.DONE

    perform(work, output)
