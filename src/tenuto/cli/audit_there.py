"""`tenuto audit --server`: the record that a server keeps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from tenuto.access.shown import plain
from tenuto.cli import exits
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import connected, other_tenant
from tenuto.cli.views.terminal import say, show, show_as_it_is, show_json
from tenuto.model.codes import CATALOGUE
from tenuto.model.json import Object

Page: TypeAlias = tuple[list[Object], str | None]
"""Lines, and where the next page begins; None where there is none."""


async def pages(
    url: ServerUrl, tenant: str, query: Mapping[str, str | int | datetime | None]
) -> AsyncGenerator[Page, None]:
    """Lines, newest first, a page at a time."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        cursor = query["cursor"]
        while True:
            asked = {**query, "cursor": cursor}
            page = await client.connection.get("/audit", dict[str, Any], **asked)
            cursor = page["nextCursor"]
            yield page["items"], cursor
            if cursor is None:
                return


async def export(url: ServerUrl, tenant: str) -> int:
    """Print every line, oldest first."""
    from tenuto.client.connection import API, Ask

    async with connected(url, tenant=other_tenant(tenant)) as client:
        answered = await client.connection.send(Ask("GET", f"{API}/audit/export"))
    show_as_it_is(answered.body.decode().removesuffix("\n"))
    return exits.DONE


async def verify(url: ServerUrl, tenant: str, known: str | None, *, is_json: bool) -> int:
    """Have the chain read from its beginning; exits 1 where it is not as it was written."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        verdict = await client.connection.get("/audit/verify", dict[str, Any], known=known)
    fault = verdict["problem"]
    if is_json:
        show_json(verdict)
    elif fault is not None:
        say(f"error {fault['code']}  {fault['message']}", style="red")
        if fault["code"] in CATALOGUE:
            say(f"  {CATALOGUE[fault['code']].advice}")
    else:
        show(f"✓ {verdict['lines']:,} lines of {plain(tenant)} are as they were written")
        if verdict["lines"]:
            say(f"  To be sure of them later, note --known {verdict['lines']}:{verdict['hash']}")
    return exits.DONE if fault is None else exits.FAILED
