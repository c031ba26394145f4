"""`tenuto migrate`: create the store, or bring its schema up to date."""

from __future__ import annotations

from typing import Final

from tenuto.cli import exits
from tenuto.cli.backends.store import described, make_room, refuse_memory
from tenuto.cli.views.terminal import show, show_json
from tenuto.compose import migrate_store as migrate, without_password

_FIRST: Final = "0001 "


async def migrate_store(url: str, *, is_json: bool) -> int:
    """Say what was done."""
    refuse_memory(url)
    make_room(url)
    done = await migrate(url)
    is_new = any(each.startswith(_FIRST) for each in done)
    if is_json:
        show_json({"store": without_password(url), "created": is_new, "applied": done})
        return exits.DONE
    name = described(url)
    if not done:
        show(f"✓ {name} is up to date")
    else:
        show(f"✓ {name} {'created' if is_new else 'brought up to date'}:")
        for each in done:
            number, _, what = each.partition(" ")
            show(f"  {number}  {what.replace('_', ' ')}")
    return exits.DONE
