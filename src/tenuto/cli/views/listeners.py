"""`tenuto webhooks` and `tenuto subscriptions`: who is told of events, and how that goes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, cast

import msgspec
from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.backends.place import ServerUrl, tenant_of
from tenuto.cli.backends.server import connected
from tenuto.cli.backends.store import described, reading
from tenuto.cli.views.terminal import ago, one_line, say, show, show_json, table_of
from tenuto.model.durations import iso, parse_moment
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.ports import SystemClock, SystemIds
from tenuto.workspace.values import Subscription, Webhook
from tenuto.workspace.webhooks import Subscriptions, Webhooks

if TYPE_CHECKING:
    from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks

Kind = Literal["webhook", "subscription"]

_STYLES: Final = {
    "active": "green",
    "failing": "yellow",
    "disabled": "bold red",
    "unreadable": "bold red",
    "expired": "dim",
}


def secret_of(given: str | None) -> str | None:
    """The secret that was given, `-` being what stands on stdin."""
    return sys.stdin.readline().strip() if given == "-" else given


class Wish(Struct, frozen=True, kw_only=True):
    """A subscription as it is asked for."""

    url: str
    patterns: Sequence[str]
    subscriber: str
    filter: str | None
    correlation_id: str | None
    expires: str | None
    secret: str | None
    may_be_private: bool


async def add_webhook(
    url: str,
    address: str,
    patterns: Sequence[str],
    *,
    secret: str | None,
    description: str | None,
    may_be_private: bool,
    is_json: bool,
) -> int:
    """Keep a webhook, and show its secret this once."""
    async with _listeners(url, "webhook", may_be_private=may_be_private) as hooks:
        added = await cast("Webhooks | RemoteWebhooks", hooks).add(
            address, patterns, secret=secret, description=description
        )
    _show_added(added, "webhook", is_json=is_json)
    return exits.DONE


async def add_subscription(url: str, wish: Wish, *, is_json: bool) -> int:
    """Keep a subscription, and show its secret this once."""
    opened = _listeners(url, "subscription", may_be_private=wish.may_be_private)
    async with opened as subscriptions:
        added = await cast("Subscriptions | RemoteSubscriptions", subscriptions).add(
            wish.url,
            wish.patterns,
            subscriber_id=wish.subscriber,
            filter=wish.filter,
            correlation_id=wish.correlation_id,
            expiration_time=_moment(wish.expires),
            secret=wish.secret,
        )
    _show_added(added, "subscription", is_json=is_json)
    return exits.DONE


async def list_them(url: str, kind: Kind, output: str) -> int:
    """Print all of a kind as a table, as JSON or as ids."""
    async with _listeners(url, kind) as listeners:
        found: Sequence[Webhook] = await listeners.list()
        now = SystemClock().now()
    if output == "json":
        show_json({"items": [_item(each) for each in found], "nextCursor": None})
    elif output == "id":
        for each in found:
            show(each.id)
    elif not found:
        say(f"no {kind}s in {described(url)}")
    else:
        _show_table(found, now)
    return exits.DONE


async def remove(url: str, kind: Kind, id: str, *, is_json: bool) -> int:
    """Forget one."""
    async with _listeners(url, kind) as listeners:
        await listeners.remove(id)
    if is_json:
        show_json({"id": id, "removed": True})
    else:
        show(f"✓ {id} is told nothing more")
    return exits.DONE


async def enable(url: str, kind: Kind, id: str, *, is_json: bool) -> int:
    """Tell one again, and say what it has missed."""
    async with _listeners(url, kind) as listeners:
        enabled: Webhook = await listeners.enable(id)
    if is_json:
        show_json(_item(enabled))
        return exits.DONE
    show(f"✓ {id} is told of events from now on")
    if enabled.gaps:
        gap = enabled.gaps[-1]
        until = "now" if gap.until is None else iso(gap.until)
        say(f"  It was told nothing from {iso(gap.since)} to {until} ({gap.reason}).")
    return exits.DONE


@asynccontextmanager
async def _listeners(
    url: str, kind: Kind, *, may_be_private: bool = False
) -> AsyncIterator[Webhooks | Subscriptions | RemoteWebhooks | RemoteSubscriptions]:
    """Those of a store, or of a server: which addresses that one takes is its own to say."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            yield client.webhooks if kind == "webhook" else client.subscriptions
        return
    made = Webhooks if kind == "webhook" else Subscriptions
    async with reading(url) as reader:
        yield made(
            reader.store,
            reader.clock,
            SystemIds(),
            may_be_private=may_be_private,
            tenant=tenant_of(url),
        )


def _show_added(added: Webhook, kind: Kind, *, is_json: bool) -> None:
    if is_json:
        show_json({**_item(added), "secret": added.secret})
        return
    show(f"✓ {kind} {added.id}")
    show(f"  secret: {added.secret}")
    say("  It is shown this once: the receiver needs it to check signatures.")


def _show_table(found: Sequence[Webhook], now: datetime) -> None:
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            each.id,
            Text(_state(each), _STYLES[_state(each)]),
            str(each.pending),
            "-" if each.delivered_at is None else ago(each.delivered_at, now),
            each.url,
            " ".join(each.patterns),
            Text(one_line(each.last_error or "", 80), "red"),
        ]
        for each in found
    ]
    names = ("ID", "STATE", "PENDING", "DELIVERED", "URL", "PATTERNS", "ERROR")
    show(table_of(names, cells, whole=4))


def _state(shown: Webhook) -> str:
    return "expired" if isinstance(shown, Subscription) and shown.expired else shown.state


def _item(shown: Webhook) -> Object:
    item: Object = msgspec.to_builtins(shown)
    del item["secret"]
    if isinstance(shown, Subscription):
        del item["description"]
    return item


def _moment(text: str | None) -> datetime | None:
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
