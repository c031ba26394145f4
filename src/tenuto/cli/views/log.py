"""`tenuto logs`: the log of an instance, and what is added to it."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec

from tenuto.cli import exits
from tenuto.cli.live_feed import first_of, unless
from tenuto.cli.local_run import interruptible
from tenuto.cli.looking import Looker, looking_at
from tenuto.cli.lookup import find_instance
from tenuto.cli.views.terminal import length, one_line, show, show_as_it_is
from tenuto.model.json import Object
from tenuto.store.protocol import InstanceRow


async def show_logs(url: str, text: str, *, follows: bool, is_json: bool) -> int:
    """Print each entry on a line of its own, in JSON with all that it says."""
    async with looking_at(url) as looker:
        row = await find_instance(looker, text)
        if not follows:
            await _show_behind(looker, row, 0, is_json=is_json)
            return exits.DONE
        with interruptible() as stopped:
            async with looker.watching(row.id, 0) as grown:
                return await _tail(looker, row, stopped, grown, is_json=is_json)


async def _tail(
    looker: Looker, row: InstanceRow, stopped: asyncio.Event, grown: asyncio.Event, *, is_json: bool
) -> int:
    """Print what there is and what comes, to the end of the instance or until it is enough."""
    held, seen = await looker.held(row.id), 0
    while True:
        seen = await _show_behind(looker, row, seen, is_json=is_json)
        # Only what was read before it had ended may have grown since.
        if held.state.has_ended:
            return exits.DONE
        if await first_of(stopped, grown):
            return exits.INTERRUPTED
        grown.clear()
        newer = await unless(stopped, looker.advanced(held))
        if newer is None:
            return exits.INTERRUPTED
        held = newer


async def _show_behind(looker: Looker, row: InstanceRow, seen: int, *, is_json: bool) -> int:
    """Print the entries behind one; the seq of the last."""
    for item in await looker.history(row.id, after=seen):
        _show(item, row.created_at, is_json=is_json)
        seen = int(str(item["seq"]))
    return seen


def _show(item: Object, start: datetime, *, is_json: bool) -> None:
    if is_json:
        show_as_it_is(msgspec.json.encode(item).decode())
        return
    after = length(datetime.fromisoformat(str(item["at"])) - start)
    iteration = f"[{item['iteration']}]" if item["iteration"] else ""
    step = f"{item['nodeId']}{iteration}" if item["nodeId"] else ""
    payload = msgspec.json.encode(item["payload"]).decode() if item["payload"] else ""
    said = one_line(str(item["errorMessage"] or payload), 100)
    show(f"{item['seq']:>4}  {after:>8}  {item['eventType']:<24}  {step}  {said}".rstrip())
