"""Addresses outside that are told of events: webhooks and subscriptions."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.operations import recorded
from tenuto.api.paging import Page, PageQuery, oldest_first
from tenuto.api.shapes import Body, Moment
from tenuto.workspace.values import Subscription, Webhook
from tenuto.workspace.webhooks import Subscriptions, Webhooks

WEBHOOKS = Resource(
    f"{API}/webhooks",
    tag="webhooks",
    read=Permission.LISTENERS_READ,
    write=Permission.LISTENERS_WRITE,
)
SUBSCRIPTIONS = Resource(
    f"{API}/subscriptions",
    tag="subscriptions",
    read=Permission.LISTENERS_READ,
    write=Permission.LISTENERS_WRITE,
)


class WebhookRequest(Body):
    """An address that is to be told of events."""

    url: str
    patterns: tuple[str, ...]
    secret: str | None = None
    description: str | None = None


class SubscriptionRequest(Body):
    """An address that is to be notified of events until it expires."""

    subscriber_id: str
    callback_url: str
    patterns: tuple[str, ...]
    filter: str | None = None
    correlation_id: str | None = None
    expiration_time: Moment | None = None
    secret: str | None = None


@WEBHOOKS.post(status=201)
async def add_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    """Tell an address of events from now on; its secret is shown this once."""
    added = await call.workspace.webhooks.add(
        body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = recorded.listener(added)
    return added


@WEBHOOKS.get()
async def list_webhooks(call: Call[PageQuery]) -> Page[Webhook]:
    """List webhooks, and how their deliveries go."""
    return oldest_first(await call.workspace.webhooks.list(), call.query)


@WEBHOOKS.get("/{id}")
async def get_webhook(call: Call[NoQuery]) -> Webhook:
    """Look at a webhook, and at how its deliveries go."""
    return await call.workspace.webhooks.get(call.path["id"])


@WEBHOOKS.put("/{id}")
async def put_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    """Tell another address, or of other events, from now on; without a secret it stays."""
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await recorded.listener_before(webhooks, id)
    changed = await webhooks.change(
        id, body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = recorded.listener(changed)
    return changed


@WEBHOOKS.delete("/{id}")
async def remove_webhook(call: Call[NoQuery]) -> None:
    """Tell a webhook nothing more; what was on its way is dropped."""
    await _removed(call, call.workspace.webhooks)


@WEBHOOKS.post("/{id}/enable")
async def enable_webhook(call: Call[NoQuery]) -> Webhook:
    """Tell a webhook again that was disabled after failing for days, from now on."""
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await recorded.listener_before(webhooks, id)
    enabled = await webhooks.enable(id)
    call.after = recorded.listener(enabled)
    return enabled


@SUBSCRIPTIONS.post(status=201)
async def add_subscription(call: Call[NoQuery], body: SubscriptionRequest) -> Subscription:
    """Notify an address of events until it expires; its secret is shown this once."""
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


@SUBSCRIPTIONS.get()
async def list_subscriptions(call: Call[PageQuery]) -> Page[Subscription]:
    """List subscriptions, and how their deliveries go."""
    return oldest_first(await call.workspace.subscriptions.list(), call.query)


@SUBSCRIPTIONS.get("/{id}")
async def get_subscription(call: Call[NoQuery]) -> Subscription:
    """Look at a subscription, and at how its deliveries go."""
    return await call.workspace.subscriptions.get(call.path["id"])


@SUBSCRIPTIONS.delete("/{id}")
async def remove_subscription(call: Call[NoQuery]) -> None:
    """End a subscription; what was on its way is dropped."""
    await _removed(call, call.workspace.subscriptions)


@SUBSCRIPTIONS.post("/{id}/enable")
async def enable_subscription(call: Call[NoQuery]) -> Subscription:
    """Notify an address again that was disabled after failing for days, from now on."""
    subscriptions, id = call.workspace.subscriptions, call.path["id"]
    call.before = await recorded.listener_before(subscriptions, id)
    enabled = await subscriptions.enable(id)
    call.after = recorded.listener(enabled)
    return enabled


async def _removed(call: Call[NoQuery], listeners: Webhooks | Subscriptions) -> None:
    call.before = await recorded.listener_before(listeners, call.path["id"])
    await listeners.remove(call.path["id"])
