"""`tenuto audit --server`: the record that a server keeps."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tenuto.access.shown import plain
from tenuto.cli import exits
from tenuto.cli.places import ServerUrl
from tenuto.cli.servers import connected, other_tenant
from tenuto.cli.tables import table_of
from tenuto.cli.terminal import say, show, show_as_it_is, show_json
from tenuto.model.codes import CATALOGUE
from tenuto.model.json import Object

if TYPE_CHECKING:
    from rich.text import Text


COLOURS: Final = {"asked": "dim", "done": "green", "failed": "yellow", "refused": "red"}


async def list_lines(
    url: ServerUrl,
    tenant: str,
    *,
    query: dict[str, str | int | datetime | None],
    is_json: bool,
) -> int:
    """Print lines, newest first, as a table or as JSON."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        page = await client.connection.get("/audit", dict[str, Any], **query)
    if is_json:
        show_json(page)
    elif not page["items"]:
        say(f"nothing of {plain(tenant)} at {url}")
    else:
        show(table_of(_NAMES, [_cells(each) for each in page["items"]], whole=3))
        if page["nextCursor"] is not None:
            say("  There is more: --limit, --to or -o json")
    return exits.DONE


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


_NAMES = ("NUMBER", "AT", "OUTCOME", "ACTOR", "ACTION", "TARGET", "FROM", "REQUEST")


def _cells(line: Object) -> list[str | Text]:
    from rich.text import Text

    outcome = str(line["outcome"])
    return [
        str(line["number"]),
        str(line["at"]),
        Text(outcome, COLOURS.get(outcome, "")),
        plain(f"{line['kind']} {line['actor']}"),
        *(plain(str(line[name])) for name in ("action", "target", "source", "requestId")),
    ]
