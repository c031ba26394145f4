"""Addresses outside that are told of events: webhooks and subscriptions."""

from __future__ import annotations

from typing import TypeVar

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.oldest_first import oldest_first
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.operations.workflows import PageQuery
from tenuto.api.shapes import Body, Moment, Page
from tenuto.workspace.values import Subscription, Webhook

T = TypeVar("T", bound=Webhook)


class WebhookRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An address that is to be told of events."""

    url: str
    patterns: tuple[str, ...]
    secret: str | None = None
    description: str | None = None


class SubscriptionRequest(
    Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """An address that is to be notified of events until it expires."""

    subscriber_id: str
    callback_url: str
    patterns: tuple[str, ...]
    filter: str | None = None
    correlation_id: str | None = None
    expiration_time: Moment | None = None
    secret: str | None = None


@operation(
    "POST",
    f"{API}/webhooks",
    summary="Tell an address of events from now on; its secret is shown this once.",
    tag="webhooks",
    permission=Permission.LISTENERS_WRITE,
    request=WebhookRequest,
    response=Webhook,
    status=201,
)
async def add_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    added = await call.workspace.webhooks.add(
        body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = recorded.listener(added)
    return added


@operation(
    "GET",
    f"{API}/webhooks",
    summary="List webhooks, and how their deliveries go.",
    tag="webhooks",
    permission=Permission.LISTENERS_READ,
    query=PageQuery,
    response=Page[Webhook],
)
async def list_webhooks(call: Call[PageQuery]) -> Page[Webhook]:
    return _page(call.query, await call.workspace.webhooks.list())


@operation(
    "GET",
    f"{API}/webhooks/{{id}}",
    summary="Look at a webhook, and at how its deliveries go.",
    tag="webhooks",
    permission=Permission.LISTENERS_READ,
    response=Webhook,
)
async def get_webhook(call: Call[NoQuery]) -> Webhook:
    return await call.workspace.webhooks.get(call.path["id"])


@operation(
    "PUT",
    f"{API}/webhooks/{{id}}",
    summary="Tell another address, or of other events, from now on; without a secret it stays.",
    tag="webhooks",
    permission=Permission.LISTENERS_WRITE,
    request=WebhookRequest,
    response=Webhook,
)
async def put_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await recorded.listener_before(webhooks, id)
    changed = await webhooks.change(
        id, body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = recorded.listener(changed)
    return changed


@operation(
    "DELETE",
    f"{API}/webhooks/{{id}}",
    summary="Tell a webhook nothing more; what was on its way is dropped.",
    tag="webhooks",
    permission=Permission.LISTENERS_WRITE,
    status=204,
)
async def remove_webhook(call: Call[NoQuery]) -> None:
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await recorded.listener_before(webhooks, id)
    await webhooks.remove(id)


@operation(
    "POST",
    f"{API}/webhooks/{{id}}/enable",
    summary="Tell a webhook again that was disabled after failing for days, from now on.",
    tag="webhooks",
    permission=Permission.LISTENERS_WRITE,
    response=Webhook,
)
async def enable_webhook(call: Call[NoQuery]) -> Webhook:
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await recorded.listener_before(webhooks, id)
    enabled = await webhooks.enable(id)
    call.after = recorded.listener(enabled)
    return enabled


@operation(
    "POST",
    f"{API}/subscriptions",
    summary="Notify an address of events until it expires; its secret is shown this once.",
    tag="subscriptions",
    permission=Permission.LISTENERS_WRITE,
    request=SubscriptionRequest,
    response=Subscription,
    status=201,
)
async def add_subscription(call: Call[NoQuery], body: SubscriptionRequest) -> Subscription:
    added = await call.workspace.subscriptions.add(
        body.callback_url,
        body.patterns,
        subscriber_id=body.subscriber_id,
        filter=body.filter,
        correlation_id=body.correlation_id,
        expiration_time=body.expiration_time,
        secret=body.secret,
    )
    call.after = recorded.listener(added)
    return added


@operation(
    "GET",
    f"{API}/subscriptions",
    summary="List subscriptions, and how their deliveries go.",
    tag="subscriptions",
    permission=Permission.LISTENERS_READ,
    query=PageQuery,
    response=Page[Subscription],
)
async def list_subscriptions(call: Call[PageQuery]) -> Page[Subscription]:
    return _page(call.query, await call.workspace.subscriptions.list())


@operation(
    "GET",
    f"{API}/subscriptions/{{id}}",
    summary="Look at a subscription, and at how its deliveries go.",
    tag="subscriptions",
    permission=Permission.LISTENERS_READ,
    response=Subscription,
)
async def get_subscription(call: Call[NoQuery]) -> Subscription:
    return await call.workspace.subscriptions.get(call.path["id"])


@operation(
    "DELETE",
    f"{API}/subscriptions/{{id}}",
    summary="End a subscription; what was on its way is dropped.",
    tag="subscriptions",
    permission=Permission.LISTENERS_WRITE,
    status=204,
)
async def remove_subscription(call: Call[NoQuery]) -> None:
    subscriptions, id = call.workspace.subscriptions, call.path["id"]
    call.before = await recorded.listener_before(subscriptions, id)
    await subscriptions.remove(id)


@operation(
    "POST",
    f"{API}/subscriptions/{{id}}/enable",
    summary="Notify an address again that was disabled after failing for days, from now on.",
    tag="subscriptions",
    permission=Permission.LISTENERS_WRITE,
    response=Subscription,
)
async def enable_subscription(call: Call[NoQuery]) -> Subscription:
    subscriptions, id = call.workspace.subscriptions, call.path["id"]
    call.before = await recorded.listener_before(subscriptions, id)
    enabled = await subscriptions.enable(id)
    call.after = recorded.listener(enabled)
    return enabled


def _page(asked: PageQuery, listeners: list[T]) -> Page[T]:
    items, cursor = oldest_first(listeners, asked.cursor, asked.limit)
    return Page(items=items, next_cursor=cursor)
