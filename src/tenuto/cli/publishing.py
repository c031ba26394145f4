"""`tenuto events send`: publish an event, and leave what follows to those who work on the store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

from tenuto.cli import exits
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.mailing import LOCKED, NOT_SEEN_DONE, PATIENCE
from tenuto.cli.running import engine, interruptible
from tenuto.cli.stores import described, require_there, store_flag
from tenuto.cli.terminal import say, say_command, say_indented, show, show_json
from tenuto.compose import is_postgres
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import JSON
from tenuto.ports import SystemClock, SystemIds

if TYPE_CHECKING:
    from tenuto.app import Published, Tenuto


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
    # Named here, so that one whose answer did not come can be sent again.
    id = id or SystemIds().instance_id(SystemClock().now())
    is_worked_on = True
    try:
        with redirect_stdout(sys.stderr), logs_on_stderr():
            async with engine(url, is_guest=True) as app:
                published = await _patiently(
                    app, id, app.publish(pattern, payload, id=id, correlation_id=correlation_id)
                )
                with suppress(StoreUnavailable):
                    is_worked_on = is_postgres(url) and await app.engine.store.workers() > 0
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        raise StoreUnavailable(
            f"{error.message}; only that process can take events",
            code=LOCKED,
            advice="Publish from that process (app.publish), or stop it, send the event, and start "
            "it again: nothing is lost, and the event is found when it goes on.",
        ) from None
    if published is None:
        return exits.INTERRUPTED
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
    else:
        _tell(url, pattern, published, is_worked_on=is_worked_on)
    return exits.DONE


async def _patiently(
    app: Tenuto, id: str, publish: Coroutine[None, None, Published]
) -> Published | None:
    """What became of the event; None when Ctrl-C came first."""
    with interruptible() as stopped:
        publishing = asyncio.ensure_future(publish)
        enough = asyncio.ensure_future(stopped.wait())
        try:
            done, _ = await asyncio.wait(
                {publishing, enough}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if publishing in done:
                return publishing.result()
            unanswered = _unanswered(id, is_stored=id in app.engine.postmaster.unmatched)
        except StoreUnavailable as error:
            again = f"Then send it again with --id {id}: it acts once."
            advice = f"{error.advice} {again}".lstrip()
            raise StoreUnavailable(error.message, code=error.code, advice=advice) from error
        finally:
            for task in (publishing, enough):
                task.cancel()
            await asyncio.gather(publishing, enough, return_exceptions=True)
    if enough not in done:
        raise unanswered
    say(f"stopped: {unanswered.message}", style="yellow")
    say_indented(unanswered.advice, 2)
    return None


def _unanswered(id: str, *, is_stored: bool) -> StoreUnavailable:
    if is_stored:
        return StoreUnavailable(
            f"the event {id} is stored, but not yet for whom it is: the store is away",
            code=NOT_SEEN_DONE,
            advice="Whoever waits for it gets it once the store is back and a process works on it: "
            "there is no need to send it again.",
        )
    return StoreUnavailable(
        f"whether the event is stored is not known: the store has not answered for {PATIENCE:g} s",
        advice=f"When it is back, send the event again with --id {id}: it acts once.",
    )


def _tell(url: str, pattern: str, published: Published, *, is_worked_on: bool) -> None:
    if published.duplicate:
        show(f"✓ {published.event_id} was sent before; nothing is done twice")
    elif published.resumed or published.cancelled or published.started:
        show(f"✓ {pattern} sent to {described(url)}: {_done(published)}")
        if not is_worked_on:
            say("  No process works on the store now. To run the next steps:")
            say_command(f"tenuto run FILE --outstanding{store_flag(url)}")
    else:
        show(f"✓ {pattern} stored in {described(url)}; nobody waits for it now")
        say("  A wait that opens later looks back at it.")


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
