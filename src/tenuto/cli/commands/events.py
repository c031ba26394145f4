"""`tenuto events`, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    Limit,
    ListOutput,
    Output,
    Reason,
    Reveal,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.views.advice import Advice
    from tenuto.model.json import JSON
    from tenuto.workspace.values import Published

events = typer.Typer(
    name="events",
    help="Events: send them to waiting workflows, list and show them.",
    no_args_is_help=True,
)


@events.command("send")
def send(  # noqa: PLR0913 - one for each option
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="PATTERN",
            help="For example payment.received.",
            autocompletion=completion.patterns,
        ),
    ] = None,
    payload: Annotated[
        str | None, typer.Argument(metavar="JSON|@FILE|-", help="What the event carries.")
    ] = None,
    *,
    id: Annotated[
        str | None, typer.Option("--id", help="The event's id; the same id twice acts once.")
    ] = None,
    correlation_id: Annotated[
        str | None, typer.Option("--correlation-id", metavar="ID", help="What it belongs to.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE|-", help="One event, up to 1,000 in an array, or CloudEvents."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Store nothing; show what it would do, and near misses."),
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Publish an event to every instance that waits for it.

    tenuto events send payment.received '{"orderId": 7, "id": "p-1", "amount": 12}'

    tenuto events send --from payments.json
    """
    _one_event_or_file(pattern, file, id or correlation_id)

    async def work(backend: Backend) -> int:
        from tenuto.cli.sources import read_json

        if file is not None:
            document = read_json(file if file == "-" else f"@{file}", "--from")
        else:
            value = None if payload is None else read_json(payload, "the payload")
            if not dry_run:
                return await _send_one(backend, str(pattern), value, id, correlation_id, output)
            document = {"pattern": pattern, "payload": value, "id": id}
            document |= {"correlationId": correlation_id}
        return await _send_all(backend, document, output, dry_run=dry_run)

    perform_on(store, work, output, reason=reason)


async def _send_one(  # noqa: PLR0917 - one for each option
    backend: Backend,
    pattern: str,
    payload: JSON,
    id: str | None,
    correlation_id: str | None,
    output: str,
) -> int:
    from tenuto.cli import exits
    from tenuto.cli.views.advice import say_advice, with_warnings
    from tenuto.cli.views.events import (
        counted,
        nearly_json,
        published_json,
        show_hint,
        show_nearly_reached,
        show_published,
    )
    from tenuto.cli.views.outcome import if_not_worked_on
    from tenuto.cli.views.terminal import show_json

    published = await backend.space.publish(pattern, payload, id=id, correlation_id=correlation_id)
    would, warnings = None, list["Advice"]()
    if counted(published):
        warnings = if_not_worked_on(backend)
    elif not published.duplicate:
        would = await _would(backend, pattern, payload, correlation_id)
    if output == "json":
        view = {**published_json(published), **nearly_json(would)}
        show_json(with_warnings(view, warnings))
    else:
        show_published(pattern, published, backend.described)
        show_nearly_reached(() if would is None else would.near_misses)
        say_advice(warnings)
    show_hint(None if would is None else would.hint)
    return exits.DONE


async def _would(
    backend: Backend, pattern: str, payload: JSON, correlation_id: str | None
) -> Published | None:
    """What may be wrong with an event that nothing took; only a dry run looks."""
    from contextlib import suppress

    from tenuto.model.errors import TenutoError

    with suppress(TenutoError):
        return await backend.space.publish(
            pattern, payload, correlation_id=correlation_id, dry_run=True
        )
    return None


async def _send_all(backend: Backend, document: JSON, output: str, *, dry_run: bool) -> int:
    from tenuto.cli import exits
    from tenuto.cli.views.advice import say_advice
    from tenuto.cli.views.events import (
        counted,
        published_json,
        show_all_published,
        show_dry_run,
    )
    from tenuto.cli.views.outcome import if_not_worked_on
    from tenuto.cli.views.terminal import say, show_json
    from tenuto.model.errors import TenutoError

    results = await backend.space.publish_all(document, dry_run=dry_run)
    if output == "json":
        views = [published_json(each) for each in results]
        show_json(views if isinstance(document, list) else views[0])
    elif len(results) == 1 and isinstance(results[0], TenutoError):
        raise results[0]
    elif dry_run:
        show_dry_run(document, results)
    else:
        say(f"in {backend.described}", style="dim")
        show_all_published(results)
        if any(not isinstance(each, TenutoError) and counted(each) for each in results):
            say_advice(if_not_worked_on(backend))
    return exits.first_failure(results)


@events.command("list")
def list_them(
    *,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="NAME",
            help="Only events of this name.",
            autocompletion=completion.patterns,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only those received since then: a moment such as 2026-11-16T20:31Z, or how long "
            "ago, such as 2h; else those of the last 24 hours.",
        ),
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    reveal: Reveal = False,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List events of the inbox, newest first.

    tenuto events list --pattern payment.received --since P2D
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import moment_or_ago
        from tenuto.cli.views.events import events_table
        from tenuto.cli.views.pages import show_page

        if reveal:
            await backend.reveal("list_events", "")
        now = backend.clock.now()
        page = await backend.space.event_page(
            pattern=pattern,
            since=None if since is None else moment_or_ago(since, now, "--since"),
            limit=limit,
            cursor=cursor,
        )
        like_that = " like that" if pattern is not None else ""
        when = "of the last 24 hours" if since is None else f"since {since}"
        show_page(
            page,
            output,
            table=lambda found: events_table(found, now),
            item=lambda each: each,
            nothing=f"no events{like_that} {when} in {backend.described}",
            then=[f"tenuto events send PATTERN JSON{backend.flag}"],
            id="eventId",
        )
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


@events.command("show")
def show_event(
    id: Annotated[str, typer.Argument(metavar="ID", help="The event's id.")],
    *,
    reveal: Reveal = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show an event, the instances that it resumed, cancelled and started, and near misses."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views import events as views
        from tenuto.cli.views.masking import masked
        from tenuto.cli.views.terminal import show_json

        if reveal:
            await backend.reveal("get_event", id)
        event = await backend.space.event(id)
        if output == "json":
            show_json(masked(event))
        else:
            views.show_event(event, backend.clock.now())
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


def _one_event_or_file(pattern: str | None, file: str | None, said: str | None) -> None:
    """PATTERN is one event's; a file says all of its own."""
    if pattern is None and file is None:
        raise typer.BadParameter("name a PATTERN, or a file with --from", param_hint="PATTERN")
    if file is not None and (pattern is not None or said is not None):
        raise typer.BadParameter("with --from the file says what each event is, its id included")
