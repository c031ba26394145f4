"""A page of any list: a table, JSON with the names of the API, or ids alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tenuto.cli.views.terminal import say, say_command, show, show_json
from tenuto.model.json import Object

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.workspace.values import Page

T = TypeVar("T")


def show_page(
    page: Page[T],
    output: str,
    *,
    table: Callable[[Sequence[T]], Table],
    item: Callable[[T], Object],
    nothing: str,
    then: Sequence[str] = (),
    id: str = "id",
) -> None:
    """Print a page; its cursor is in the JSON, and told to people where there are more.

    An empty one is shown as `nothing`, with the commands `then` that change that.
    """
    if output == "json":
        show_json({"items": [item(each) for each in page.items], "nextCursor": page.next_cursor})
        return
    if output == "id":
        for each in page.items:
            show(str(item(each)[id]))
    elif not page.items:
        say_nothing(nothing, then)
    else:
        show(table(page.items))
    say_more(page)


def say_nothing(nothing: str, then: Sequence[str]) -> None:
    """Tell people that a list is empty, and what to do next."""
    say(nothing)
    for command in then:
        say_command(command)


def say_more(page: Page[T]) -> None:
    """Tell people how to go on with a list."""
    if page.next_cursor is not None:
        say(f"more: --cursor {page.next_cursor}, or a larger --limit", style="dim")
