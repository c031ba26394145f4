"""`tenuto keys --server`: made, listed and revoked by a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tenuto.access.shown import plain
from tenuto.cli import exits
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import connected, other_tenant
from tenuto.cli.views.terminal import ago, say, say_command, show, show_json, table_of
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock

if TYPE_CHECKING:
    from rich.text import Text

_STYLES: Final = {"active": "green", "expired": "yellow", "revoked": "red"}


async def create(
    url: ServerUrl,
    tenant: str,
    name: str,
    *,
    role: str,
    scopes: Sequence[str] | None,
    expires_at: datetime | None,
    is_json: bool,
) -> int:
    """Have a key made, and show it this once."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        new = await client.keys.create(name, role=role, scopes=scopes, expires_at=expires_at)
    if is_json:
        show_json(new)
        return exits.DONE
    show(f"✓ key {new['id']} ({plain(str(new['name']))})")
    show(f"  {new['key']}")
    say("  It is shown this once: keep it where secrets are kept.")
    if url.key is None and not _makes_keys(role, scopes):
        # The server was open, so that it took this without asking who makes it.
        say("  From now on everybody has to show a key, and this one may not make others.")
        say("  Make an admin's where the store is:", style="yellow")
        say_command("tenuto keys create NAME --role admin --store URL")
    return exits.DONE


def _makes_keys(role: str, scopes: Sequence[str] | None) -> bool:
    return role == "admin" and (scopes is None or bool({"keys:*", "keys:manage"} & {*scopes}))


async def list_them(url: ServerUrl, tenant: str, output: str) -> int:
    """Print the keys of a tenant as a table, as JSON or as ids."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        found = await client.keys.list()
    if output == "json":
        items: list[JSON] = [*found]
        show_json({"items": items, "nextCursor": None})
    elif output == "id":
        for each in found:
            show(str(each["id"]))
    elif not found:
        say(f"no keys of {plain(tenant)} at {url}")
    else:
        _show_table(found, SystemClock().now())
    return exits.DONE


async def revoke(url: ServerUrl, tenant: str, id: str, *, is_json: bool) -> int:
    """Let a key open nothing any more."""
    async with connected(url, tenant=other_tenant(tenant)) as client:
        await client.keys.revoke(id)
    if is_json:
        show_json({"id": id, "state": "revoked"})
    else:
        show(f"✓ {plain(id)} opens nothing any more")
    return exits.DONE


def _show_table(found: Sequence[Object], now: datetime) -> None:
    from rich.text import Text

    cells: list[list[str | Text]] = []
    for each in found:
        state, scopes, used = str(each["state"]), each["scopes"], each["lastUsedAt"]
        cells.append(
            [
                str(each["id"]),
                Text(state, _STYLES.get(state, "")),
                str(each["role"]),
                plain(str(each["name"])),
                " ".join(map(str, scopes)) if isinstance(scopes, list) else "all",
                "never" if used is None else ago(datetime.fromisoformat(str(used)), now),
                str(each["expiresAt"] or "never"),
                plain(str(each["createdBy"])),
            ]
        )
    names = ("ID", "STATE", "ROLE", "NAME", "SCOPES", "USED", "EXPIRES", "BY")
    show(table_of(names, cells, whole=3))
