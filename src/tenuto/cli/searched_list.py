"""Lists of instances by a search or a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tenuto.cli.saved_views import ALL, read_views
from tenuto.cli.views.terminal import data, say
from tenuto.model.json import JSON
from tenuto.workspace.values import InstanceFilter, Page, Summary, in_groups

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Workspace

_PAGES: Final = 10
"""So many pages are searched for a text."""


def viewed(name: str | None, *, is_default_wanted: bool) -> str | None:
    """The search of a view; None: no view is named, and none is the default in this terminal."""
    if name is not None:
        return read_views().search(name)
    if not (is_default_wanted and data().is_terminal):
        return None
    found = read_views()
    if found.used is None or found.used == ALL:
        return None
    search = found.search(found.used)
    say(f"view {found.used}: {search}; --view {ALL} lists all", style="dim")
    return search


async def searched_page(
    space: Workspace,
    which: InstanceFilter,
    variables: Mapping[str, JSON] | None,
    *,
    limit: int,
    cursor: str | None,
) -> Page[Summary]:
    """A page of instances; one of few that have a text is filled from several."""
    items: list[Summary] = []
    for _ in range(_PAGES):
        page = await space.page(which, variables=variables, limit=limit - len(items), cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit or which.text is None:
            break
    return Page(items=items, next_cursor=cursor)


async def inputs_of(space: Workspace, found: Sequence[Summary]) -> dict[str, JSON]:
    """The inputs of instances by their ids."""
    inputs: dict[str, JSON] = {}
    for ids in in_groups([each.id for each in found]):
        inputs |= {str(each["id"]): each.get("input") for each in await space.details(ids)}
    return inputs
