"""`tenuto migrate`: create the store, or bring its schema up to date."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.stores import described, exists, make_room, refuse_memory
from tenuto.cli.terminal import show, show_json
from tenuto.compose import migrate_store as migrate


async def migrate_store(url: str, *, is_json: bool) -> int:
    """Say what was done."""
    refuse_memory(url)
    make_room(url)
    was_there = exists(url)
    done = await migrate(url)
    if is_json:
        show_json({"store": url, "created": not was_there, "applied": done})
        return exits.DONE
    name = described(url)
    if not done:
        show(f"✓ {name} is up to date")
    else:
        show(f"✓ {name} {'brought up to date' if was_there else 'created'}:")
        for each in done:
            number, _, what = each.partition(" ")
            show(f"  {number}  {what.replace('_', ' ')}")
    return exits.DONE
