"""`tenuto events`, and its options."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Output, Store, perform

events = typer.Typer(
    help="Send events to waiting workflows, and look at them.", no_args_is_help=True
)


@events.command("send")
def send(
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="For example payment.received.")
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
        bool, typer.Option("--dry-run", help="Store nothing; say what it would do, and nearly.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Publish an event to every instance that waits for it.

    tenuto events send payment.received '{"orderId": 7, "id": "p-1", "amount": 12}'

    tenuto events send --from payments.json
    """
    from tenuto.cli.sources import read_json

    _one_event_or_file(pattern, file, id or correlation_id)
    is_json = output == "json"

    async def work() -> int:
        if file is not None:
            document = read_json(file if file == "-" else f"@{file}", "--from")
            if not dry_run:
                from tenuto.cli.views.events import send_document

                return await send_document(store, document, is_json=is_json)
        else:
            value = None if payload is None else read_json(payload, "JSON")
            if not dry_run:
                from tenuto.cli.views.events import send_event

                return await send_event(
                    store, str(pattern), value, id, correlation_id, is_json=is_json
                )
            document = {"pattern": pattern, "payload": value, "id": id}
            document |= {"correlationId": correlation_id}
        from tenuto.cli.dry_running import dry_run_events

        return await dry_run_events(store, document, is_json=is_json)

    perform(work, output)


@events.command("show")
def show_event(
    id: Annotated[str, typer.Argument(metavar="ID", help="The event's id.")],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show an event, whom it resumed, cancelled and started, and whom nearly."""
    from tenuto.cli.event_showing import show_event

    perform(lambda: show_event(store, id, is_json=output == "json"), output)


def _one_event_or_file(pattern: str | None, file: str | None, said: str | None) -> None:
    """PATTERN is one event's; a file says all of its own."""
    if pattern is None and file is None:
        raise typer.BadParameter("name a PATTERN, or a file with --from", param_hint="PATTERN")
    if file is not None and (pattern is not None or said is not None):
        raise typer.BadParameter("with --from the file says what each event is, its id included")
