"""`tenuto webhooks` and `tenuto subscriptions`: their commands and options."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import ListOutput, Output, Store, perform

webhooks = typer.Typer(help="Addresses that are told of events.", no_args_is_help=True)
subscriptions = typer.Typer(
    help="Addresses that are notified of events until they expire.", no_args_is_help=True
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
        help="What signs the requests; one is made unless it is given. - reads it from stdin, so "
        "that no list of processes shows it.",
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
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Tell an address of every event that fits a pattern, from now on.

    Each is a POST, signed as Standard Webhooks has it, which is sent until it is answered with 2xx.
    The secret is shown once. An engine that has a SQLite file open hears of it within two seconds.

    tenuto webhooks add https://example.com/hook 'workflow.*' 'order.**'
    """
    from tenuto.cli.views.listeners import add_webhook as add_it, secret_of

    perform(
        lambda: add_it(
            store,
            url,
            patterns,
            secret=secret_of(secret),
            description=description,
            may_be_private=allow_private,
            is_json=output == "json",
        ),
        output,
    )


@subscriptions.command("add")
def add_subscription(  # noqa: PLR0913 - one for each option
    url: Url,
    patterns: Patterns,
    *,
    subscriber: Annotated[
        str, typer.Option("--subscriber", metavar="ID", help="Whoever asks for it.")
    ],
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
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Notify an address of events until it expires.

    tenuto subscriptions add https://example.com/n payment.received --subscriber shop
    --filter "event.payload.orderId === 'o-7'" --expires 2030-01-31T12:00:00Z
    """
    from tenuto.cli.views.listeners import Wish, add_subscription as add_it, secret_of

    wish = Wish(
        url=url,
        patterns=patterns,
        subscriber=subscriber,
        filter=filter_,
        correlation_id=correlation_id,
        expires=expires,
        secret=secret_of(secret),
        may_be_private=allow_private,
    )
    perform(lambda: add_it(store, wish, is_json=output == "json"), output)


def _add_commands(group: typer.Typer, kind: Literal["webhook", "subscription"]) -> None:
    """What is done in the same way with either kind."""
    removed = {
        "webhook": "Tell an address nothing more; what was on its way is dropped.",
        "subscription": "End a subscription; what was on its way is dropped.",
    }
    told = {"webhook": "Tell", "subscription": "Notify"}

    @group.command("list", help=f"List {kind}s, and how their deliveries go.")
    def list_(*, store: Store = STORE, output: ListOutput = "table") -> None:
        from tenuto.cli.views.listeners import list_them

        perform(lambda: list_them(store, kind, output), output)

    @group.command("remove", help=removed[kind])
    def remove(id: ListenerId, *, store: Store = STORE, output: Output = "table") -> None:
        from tenuto.cli.views.listeners import remove as remove_it

        perform(lambda: remove_it(store, kind, id, is_json=output == "json"), output)

    @group.command(
        "enable",
        help=f"{told[kind]} an address again that was disabled after failing for days, from now "
        "on.",
    )
    def enable(id: ListenerId, *, store: Store = STORE, output: Output = "table") -> None:
        from tenuto.cli.views.listeners import enable as enable_it

        perform(lambda: enable_it(store, kind, id, is_json=output == "json"), output)


_add_commands(webhooks, "webhook")
_add_commands(subscriptions, "subscription")
