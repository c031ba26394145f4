"""`tenuto logs`: the log of an instance, and what is added to it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenuto.cli import exits
from tenuto.cli.finding import find_instance
from tenuto.cli.looking import looking_at
from tenuto.cli.moments import length
from tenuto.cli.running import interruptible
from tenuto.cli.terminal import one_line, show, show_as_it_is
from tenuto.model.json import Object

_LOOK_EVERY = 0.3
"""Seconds between looks."""


async def show_logs(url: str, text: str, *, follows: bool, is_json: bool) -> int:
    """Print each entry on a line of its own, in JSON with all that it says."""
    async with looking_at(url) as looker:
        row = await find_instance(looker, text)
        seen = 0
        with interruptible() as stopped:
            while True:
                held = await looker.held(row.id) if follows else None
                for item in await looker.history(row.id, after=seen):
                    _show(item, row.created_at, is_json=is_json)
                    seen = int(str(item["seq"]))
                # Only what was read before it had ended may have grown since.
                if held is None or held.state.has_ended:
                    return exits.DONE
                if await looker.clock.wait(stopped, _LOOK_EVERY):
                    return exits.INTERRUPTED


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
