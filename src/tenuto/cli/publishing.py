"""`tenuto events send`: publish an event, and leave what follows to those who work on the store."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from tenuto.cli import exits
from tenuto.cli.mailing import LOCKED
from tenuto.cli.running import engine
from tenuto.cli.stores import described, require_there, store_flag
from tenuto.cli.terminal import say, show, show_json
from tenuto.compose import is_postgres
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import JSON

if TYPE_CHECKING:
    from tenuto.app import Published


async def send_event(
    url: str,
    pattern: str,
    payload: JSON,
    id: str | None,
    correlation_id: str | None,
    *,
    is_json: bool,
) -> int:
    """Store the event and tell how many waits took it, and whom it cancels and starts."""
    await require_there(url)
    try:
        with redirect_stdout(sys.stderr):
            async with engine(url, is_guest=True) as app:
                published = await app.publish(
                    pattern, payload, id=id, correlation_id=correlation_id
                )
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        raise StoreUnavailable(
            f"{error.message}; only that process can take events",
            code=LOCKED,
            advice="Publish from that process (app.publish), or stop it, send the event, and start "
            "it again: nothing is lost, and the event is found when it goes on.",
        ) from None
    if is_json:
        show_json(
            {
                "eventId": published.event_id,
                "duplicate": published.duplicate,
                "resumed": published.resumed,
                "cancelled": published.cancelled,
                "started": published.started,
            }
        )
        return exits.DONE
    if published.duplicate:
        show(f"✓ {published.event_id} was sent before; nothing is done twice")
    elif published.resumed or published.cancelled or published.started:
        show(f"✓ {pattern} sent to {described(url)}: {_done(published)}")
        if not is_postgres(url):
            say(f"  Their next steps run with: tenuto run FILE --outstanding{store_flag(url)}")
    else:
        show(f"✓ {pattern} stored in {described(url)}; nobody waits for it now")
        say("  A wait that opens later looks back at it.")
    return exits.DONE


def _done(published: Published) -> str:
    """What an event has set going, in words."""
    counts = (
        (published.resumed, "wait", "resumed"),
        (published.cancelled, "instance", "cancelled"),
        (published.started, "instance", "started"),
    )
    return ", ".join(
        f"{count} {what}{'' if count == 1 else 's'} {done}" for count, what, done in counts if count
    )
