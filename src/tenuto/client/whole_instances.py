"""Whole instances of a server, by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.client.connection import API, Ask, Connection
from tenuto.model.json import Object
from tenuto.workspace.values import Page, in_groups


async def whole_instances(connection: Connection, ids: Sequence[str]) -> list[Object]:
    """Whole instances as JSON, in the order of `ids`; unknown ids are left out.

    The generated operation reads what all lists have: this reads all that the server says.
    """
    found: dict[str, Object] = {}
    for some in in_groups(ids):
        cursor: str | None = None
        while True:
            query = {"ids": ",".join(some), "full": True, "cursor": cursor}
            answered = await connection.send(Ask("GET", f"{API}/instances", query))
            page = connection.decoded(answered, Page[Object])
            found |= {str(each["id"]): each for each in page.items}
            cursor = page.next_cursor
            if cursor is None:
                break
    return [found[id] for id in dict.fromkeys(ids) if id in found]
