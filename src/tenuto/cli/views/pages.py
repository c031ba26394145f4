"""A page of any list: a table, JSON or CSV with the names of the API, or ids alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tenuto.cli.views.advice import Advice, say_advice, with_warnings
from tenuto.cli.views.csv_rows import show_csv
from tenuto.cli.views.masking import masked_object
from tenuto.cli.views.terminal import say, say_command, show, show_json
from tenuto.model.json import Object

if TYPE_CHECKING:
    from rich.text import Text

    from tenuto.workspace.values import Page

T = TypeVar("T")


def show_page(
    page: Page[T],
    output: str,
    *,
    table: Callable[[Sequence[T]], Text],
    item: Callable[[T], Object],
    nothing: str,
    then: Sequence[str] = (),
    id: str = "id",
    warnings: Sequence[Advice] = (),
) -> None:
    """Print a page; its cursor is in the JSON, and told to people where there are more.

    An empty one is shown as `nothing`, with the commands `then` that change that.
    """
    if output == "json":
        items = [masked_object(item(each)) for each in page.items]
        view: Object = {"items": [*items], "nextCursor": page.next_cursor}
        show_json(with_warnings(view, warnings))
        return
    if output == "csv":
        show_csv([masked_object(item(each)) for each in page.items])
    elif output == "id":
        for each in page.items:
            show(str(item(each)[id]))
    elif page.items:
        show(table(page.items))
    if not page.items and output in ("table", "csv"):
        say_nothing(nothing, then)
    say_more(page)
    if output == "table":
        say_advice(warnings)


def say_nothing(nothing: str, then: Sequence[str]) -> None:
    """Tell people that a list is empty, and what to do next."""
    say(nothing)
    for command in then:
        say_command(command)


def say_more(page: Page[T]) -> None:
    """Tell people how to go on with a list."""
    if page.next_cursor is not None:
        say(f"more: --cursor {page.next_cursor}, or a larger --limit", style="dim")
