"""`tenuto webhooks` and `tenuto subscriptions`: their commands and options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import ListOutput, Output, Reason, Store, perform_on

if TYPE_CHECKING:
    from datetime import datetime

    from tenuto.cli.backends.backend import Backend
    from tenuto.workspace import protocol
    from tenuto.workspace.values import Webhook

Kind = Literal["webhook", "subscription"]

webhooks = typer.Typer(
    name="webhooks", help="Webhooks: addresses that are notified of events.", no_args_is_help=True
)
subscriptions = typer.Typer(
    name="subscriptions",
    help="Subscriptions: addresses that are notified of events until they expire.",
    no_args_is_help=True,
)

Url = Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")]
Patterns = Annotated[
    list[str],
    typer.Argument(metavar="PATTERN...", help="Which events: workflow.completed, order.**."),
]
ListenerId = Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]
Secret = Annotated[
    str | None,
    typer.Option(
        "--secret",
        envvar="TENUTO_WEBHOOK_SECRET",
        metavar="whsec_...|-",
        help="The secret that signs the requests; one is made unless it is given. - reads it "
        "from stdin, so that no list of processes shows it.",
    ),
]
AllowPrivate = Annotated[
    bool,
    typer.Option(
        "--allow-private",
        help="Take an address of no public network; who sends must allow it too.",
    ),
]


@webhooks.command("add")
def add_webhook(
    url: Url,
    patterns: Patterns,
    *,
    description: Annotated[
        str | None, typer.Option("--description", help="What it is for.")
    ] = None,
    secret: Secret = None,
    allow_private: AllowPrivate = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Notify an address of every event that matches a pattern, from now on.

    Each is a POST, signed as Standard Webhooks has it, which is sent until it is answered with 2xx.
    The secret is shown once. An engine that has a SQLite file open notices it within two seconds.

    tenuto webhooks add https://example.com/hook 'workflow.*' 'order.**'
    """

    async def work(backend: Backend) -> int:
        added = await backend.space.webhooks.add(
            url, patterns, secret=_given(secret), description=description
        )
        return _show_added(added, "webhook", output)

    perform_on(store, work, output, allow_private=allow_private, reason=reason)


@subscriptions.command("add")
def add_subscription(  # noqa: PLR0913 - one for each option
    url: Url,
    patterns: Patterns,
    *,
    subscriber: Annotated[str, typer.Option("--subscriber", metavar="ID", help="The subscriber.")],
    filter_: Annotated[
        str | None,
        typer.Option("--filter", metavar="EXPRESSION", help="Only events for which it holds."),
    ] = None,
    correlation_id: Annotated[
        str | None,
        typer.Option("--correlation-id", metavar="ID", help="Only events that belong to this."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="MOMENT", help="When it ends: 2030-01-31T12:00:00Z."),
    ] = None,
    secret: Secret = None,
    allow_private: AllowPrivate = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Notify an address of events until it expires.

    tenuto subscriptions add https://example.com/n payment.received --subscriber shop
    --filter "event.payload.orderId === 'o-7'" --expires 2030-01-31T12:00:00Z
    """

    async def work(backend: Backend) -> int:
        added = await backend.space.subscriptions.add(
            url,
            patterns,
            subscriber_id=subscriber,
            filter=filter_,
            correlation_id=correlation_id,
            expiration_time=_moment(expires),
            secret=_given(secret),
        )
        return _show_added(added, "subscription", output)

    perform_on(store, work, output, allow_private=allow_private, reason=reason)


def _add_commands(group: typer.Typer, kind: Kind) -> None:  # noqa: C901, PLR0915 - one by one
    """The commands that both kinds have."""
    removed = {
        "webhook": "Remove a webhook; its pending deliveries are dropped.",
        "subscription": "End a subscription; its pending deliveries are dropped.",
    }

    added = {
        "webhook": "tenuto webhooks add URL PATTERN",
        "subscription": "tenuto subscriptions add URL PATTERN --subscriber ID",
    }

    def part(backend: Backend) -> protocol.Webhooks | protocol.Subscriptions:
        space = backend.space
        return space.webhooks if kind == "webhook" else space.subscriptions

    @group.command("list", help=f"List {kind}s, and how their deliveries go.")
    def list_(*, store: Store = STORE, output: ListOutput = "table") -> None:
        async def work(backend: Backend) -> int:
            from tenuto.cli import exits
            from tenuto.cli.views.csv_rows import show_csv
            from tenuto.cli.views.listeners import listener_json, listeners_table
            from tenuto.cli.views.pages import say_nothing
            from tenuto.cli.views.terminal import show, show_json

            found = await part(backend).list()
            if output == "json":
                items = [listener_json(each) for each in found]
                show_json({"items": items, "nextCursor": None})
            elif output == "csv":
                show_csv([listener_json(each) for each in found])
            elif output == "id":
                for each in found:
                    show(each.id)
            elif not found:
                say_nothing(f"no {kind}s in {backend.described}", [f"{added[kind]}{backend.flag}"])
            else:
                show(listeners_table(found, backend.clock.now()))
            return exits.DONE

        perform_on(store, work, output)

    @group.command("remove", help=removed[kind])
    def remove(
        id: ListenerId,
        *,
        reason: Reason = None,
        store: Store = STORE,
        output: Output = "table",
    ) -> None:
        async def work(backend: Backend) -> int:
            from tenuto.cli import exits
            from tenuto.cli.views.terminal import show, show_json

            await part(backend).remove(id)
            if output == "json":
                show_json({"id": id, "removed": True})
            else:
                show(f"✓ {id} is notified no more")
            return exits.DONE

        perform_on(store, work, output, reason=reason)

    @group.command("resend", help=f"Try at once what a {kind} was not sent because it failed.")
    def resend(
        id: ListenerId,
        *,
        reason: Reason = None,
        store: Store = STORE,
        output: Output = "table",
    ) -> None:
        async def work(backend: Backend) -> int:
            from tenuto.cli import exits
            from tenuto.cli.views.terminal import show, show_json

            count = await part(backend).resend(id)
            if output == "json":
                show_json({"id": id, "hastened": count})
            else:
                show(f"✓ {id}: {count} deliveries are tried at once")
            return exits.DONE

        perform_on(store, work, output, reason=reason)

    @group.command(
        "enable",
        help=f"Enable a {kind} that was disabled after failing for days, from now on.",
    )
    def enable(
        id: ListenerId,
        *,
        reason: Reason = None,
        store: Store = STORE,
        output: Output = "table",
    ) -> None:
        async def work(backend: Backend) -> int:
            from tenuto.cli import exits
            from tenuto.cli.views.listeners import listener_json
            from tenuto.cli.views.terminal import say, show, show_json
            from tenuto.model.durations import iso

            enabled = await part(backend).enable(id)
            if output == "json":
                show_json(listener_json(enabled))
                return exits.DONE
            show(f"✓ {id} is notified of events from now on")
            if enabled.gaps:
                gap = enabled.gaps[-1]
                until = "now" if gap.until is None else iso(gap.until)
                say(f"  It was sent nothing from {iso(gap.since)} to {until} ({gap.reason}).")
            return exits.DONE

        perform_on(store, work, output, reason=reason)


def _show_added(added: Webhook, kind: Kind, output: str) -> int:
    from tenuto.cli import exits
    from tenuto.cli.views.listeners import listener_json
    from tenuto.cli.views.terminal import say, show, show_json

    if output == "json":
        show_json({**listener_json(added), "secret": added.secret})
        return exits.DONE
    show(f"✓ {kind} {added.id}")
    show(f"  secret: {added.secret}")
    say("  It is shown this once: the receiver needs it to check signatures.")
    return exits.DONE


def _given(secret: str | None) -> str | None:
    """The secret that was given; `-` reads it from stdin."""
    return sys.stdin.readline().strip() if secret == "-" else secret  # noqa: S105


def _moment(text: str | None) -> datetime | None:
    from tenuto.model.durations import parse_moment
    from tenuto.model.errors import InvalidInput, Problem

    if text is None:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        problem = Problem(
            code="TEN-2306",
            path="$.expirationTime",
            message=str(error),
            advice="Write a moment that is to come, such as 2030-01-31T12:00:00Z.",
        )
        raise InvalidInput("the subscription cannot be kept", [problem]) from error


_add_commands(webhooks, "webhook")
_add_commands(subscriptions, "subscription")
