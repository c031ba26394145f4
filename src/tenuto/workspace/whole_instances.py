"""Whole instances by their ids: folded together, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tenuto.engine.turns.held import Held
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.store.pages import cursor_after
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.instance_views import instance_view
from tenuto.workspace.large_instances import of_whole
from tenuto.workspace.portions import Portions
from tenuto.workspace.source import Source
from tenuto.workspace.values import Page, in_groups


async def whole_page(source: Source, tenant: str, query: InstanceQuery) -> Page[Object]:
    """The instances of a list, each as a whole; the page ends by bytes as well as by rows."""
    rows = await instance_rows(source, tenant, query)
    items: list[Object] = []
    portions = Portions()
    done = 0
    while wanted := portions.next(len(rows.items), done):
        some = rows.items[done : done + wanted]
        loaded = await source.loader.load([row.id for row in some], is_shown=True)
        for row in some:
            held = loaded.get(row.id)
            # One that was erased meanwhile is not there.
            if isinstance(held, TenutoError):
                raise held
            if held is not None and held.tenant == tenant:
                items.append(await of_whole(source, held, partial(_whole, row, held)))
                portions.add([held.snapshot_bytes + held.tail_bytes])
        done += len(some)
    if done < len(rows.items):
        return Page(items=items, next_cursor=cursor_after(query, rows.items[done - 1]))
    return Page(items=items, next_cursor=rows.next_after)


async def every_whole(source: Source, tenant: str, ids: Sequence[str]) -> list[Object]:
    """All of the named instances, in the order of their ids."""
    found: dict[str, Object] = {}
    for some in in_groups(ids):
        cursor: str | None = None
        while True:
            query = InstanceQuery(ids=tuple(some), limit=len(some), after=cursor)
            page = await whole_page(source, tenant, query)
            found |= {str(each["id"]): each for each in page.items}
            cursor = page.next_cursor
            if cursor is None:
                break
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def _whole(row: InstanceRow, held: Held) -> Object:
    return instance_view(held) | {"currentSteps": list(row.current_steps)}
