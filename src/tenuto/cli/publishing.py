"""`tenuto events send`: publish an event, and leave what follows to those who work on the store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tenuto.cli import exits
from tenuto.cli.errors import error_json, show_error
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.mailing import LOCKED, NOT_SEEN_DONE, PATIENCE
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.cli.running import engine, interruptible, space_of
from tenuto.cli.servers import connected
from tenuto.cli.stores import described, require_there, store_flag
from tenuto.cli.terminal import say, say_command, say_indented, show, show_json
from tenuto.compose import is_postgres
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock, SystemIds

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.published import Published

T = TypeVar("T")


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
    # Named here, so that one whose answer did not come can be sent again.
    id = id or SystemIds().instance_id(SystemClock().now())

    def publish(app: Tenuto) -> Coroutine[None, None, Published]:
        return space_of(app, url).publish(pattern, payload, id=id, correlation_id=correlation_id)

    def unanswered(app: Tenuto) -> StoreUnavailable:
        return _unanswered(id, is_stored=(tenant_of(url), id) in app.engine.events.router.unmatched)

    again = f"Then send it again with --id {id}: it acts once."
    published: Published | None
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            published = await client.publish(pattern, payload, id=id, correlation_id=correlation_id)
        is_worked_on = True
    else:
        published, is_worked_on = await _sent(url, publish, unanswered, again)
    if published is None:
        return exits.INTERRUPTED
    if is_json:
        show_json(view(published))
    else:
        _tell(url, pattern, published, is_worked_on=is_worked_on)
    return exits.DONE


async def send_document(url: str, document: JSON, *, is_json: bool) -> int:
    """Store the events of a document, each for itself, and tell what became of each."""

    def publish(app: Tenuto) -> Coroutine[None, None, list[Published | TenutoError]]:
        return space_of(app, url).publish_all(document)

    again = "Then send the document again: an event with an id acts once."
    unanswered = StoreUnavailable(
        "whether the events are stored is not known: the store has not answered for "
        f"{PATIENCE:g} s",
        advice="When it is back, send the document again: an event with an id acts once.",
    )
    results: list[Published | TenutoError] | None
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            results = await client.publish_all(document)
        is_worked_on = True
    else:
        results, is_worked_on = await _sent(url, publish, lambda _: unanswered, again)
    if results is None:
        return exits.INTERRUPTED
    if is_json:
        views: list[JSON] = [view(each) for each in results]
        show_json(views if isinstance(document, list) else views[0])
    elif len(results) == 1 and isinstance(results[0], TenutoError):
        raise results[0]
    else:
        show_results(results)
        if not is_worked_on and any(
            not isinstance(each, TenutoError) and _acts(each) for each in results
        ):
            _say_what_to_run(url)
    return exits.first_failure(results)


async def _sent(
    url: str,
    publish: Callable[[Tenuto], Coroutine[None, None, T]],
    unanswered: Callable[[Tenuto], StoreUnavailable],
    again: str,
) -> tuple[T | None, bool]:
    """What publishing gave, None when Ctrl-C came first; and whether anybody works on the store."""
    await require_there(url)
    is_worked_on = True
    try:
        with redirect_stdout(sys.stderr), logs_on_stderr():
            async with engine(url, is_guest=True) as app:
                published = await _patiently(publish(app), partial(unanswered, app), again)
                with suppress(StoreUnavailable):
                    is_worked_on = is_postgres(url) and await app.engine.store.members.workers() > 0
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        raise StoreUnavailable(
            f"{error.message}; only that process can take events",
            code=LOCKED,
            advice="Publish from that process (app.publish), or stop it, send the event, and start "
            "it again: nothing is lost, and the event is found when it goes on.",
        ) from None
    return published, is_worked_on


async def _patiently(
    publish: Coroutine[None, None, T], unanswered: Callable[[], StoreUnavailable], again: str
) -> T | None:
    """What became of what was sent; None when Ctrl-C came first."""
    with interruptible() as stopped:
        publishing = asyncio.ensure_future(publish)
        enough = asyncio.ensure_future(stopped.wait())
        try:
            done, _ = await asyncio.wait(
                {publishing, enough}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if publishing in done:
                return publishing.result()
            not_answered = unanswered()
        except StoreUnavailable as error:
            advice = f"{error.advice} {again}".lstrip()
            raise StoreUnavailable(error.message, code=error.code, advice=advice) from error
        finally:
            for task in (publishing, enough):
                task.cancel()
            await asyncio.gather(publishing, enough, return_exceptions=True)
    if enough not in done:
        raise not_answered
    say(f"stopped: {not_answered.message}", style="yellow")
    say_indented(not_answered.advice, 2)
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


def view(result: Published | TenutoError) -> Object:
    """What became of an event, in JSON; of a dry run also whom it would reach, and nearly."""
    if isinstance(result, TenutoError):
        return error_json(result)
    found: Object = {
        "eventId": result.event_id,
        "duplicate": result.duplicate,
        "resumed": result.resumed,
        "cancelled": result.cancelled,
        "started": result.started,
    }
    if result.is_dry:
        found["targets"] = list(result.targets)
        found["nearMisses"] = list(result.near_misses)
    return found


def show_results(
    results: Sequence[Published | TenutoError], first: int = 1, count: int | None = None
) -> None:
    """A line for each event of a document; what is wrong with one says which."""
    for number, result in enumerate(results, start=first):
        if isinstance(result, TenutoError):
            say(f"event {number} of {count or len(results)} is not sent:", style="red")
            show_error(result)
        elif result.duplicate:
            show(f"✓ {result.event_id} was sent before; nothing is done twice")
        else:
            what = done(result.resumed, result.cancelled, result.started)
            show(f"✓ {result.event_id} stored: {what or 'nobody waits for it now'}")


def _tell(url: str, pattern: str, published: Published, *, is_worked_on: bool) -> None:
    if published.duplicate:
        show(f"✓ {published.event_id} was sent before; nothing is done twice")
    elif _acts(published):
        what = done(published.resumed, published.cancelled, published.started)
        show(f"✓ {pattern} sent to {described(url)}: {what}")
        if not is_worked_on:
            _say_what_to_run(url)
    else:
        show(f"✓ {pattern} stored in {described(url)}; nobody waits for it now")
        say("  A wait that opens later looks back at it.")


def _acts(published: Published) -> bool:
    return bool(published.resumed or published.cancelled or published.started)


def _say_what_to_run(url: str) -> None:
    say("  No process works on the store now. To run the next steps:")
    say_command(f"tenuto run FILE --outstanding{store_flag(url)}")


def done(resumed: int, cancelled: int, started: int) -> str:
    """What an event has set going, in words; nothing where it did nothing."""
    counts = (
        (resumed, "wait", "resumed"),
        (cancelled, "instance", "cancelled"),
        (started, "instance", "started"),
    )
    return ", ".join(
        f"{count} {what}{'' if count == 1 else 's'} {is_done}"
        for count, what, is_done in counts
        if count
    )
