"""Operations on webhooks and subscriptions."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.operations.instance_commands import NothingMore
from tenuto.api.paging import Page, PageQuery, oldest_first
from tenuto.api.shapes import Answer, Body, Moment
from tenuto.workspace import audit_values
from tenuto.workspace.values import PendingDelivery, Subscription, Webhook
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
    """A webhook to create."""

    url: str
    patterns: tuple[str, ...]
    secret: str | None = None
    description: str | None = None


class SubscriptionRequest(Body):
    """A subscription to create: an address that is notified of events until it expires."""

    subscriber_id: str
    callback_url: str
    patterns: tuple[str, ...]
    filter: str | None = None
    correlation_id: str | None = None
    expiration_time: Moment | None = None
    secret: str | None = None


class Resent(Answer):
    """What is tried at once."""

    hastened: int
    """Deliveries that were put off; more may follow them."""


@WEBHOOKS.post(status=201)
async def add_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    """Create a webhook, which is notified of events from now on; its secret is shown this once."""
    added = await call.workspace.webhooks.add(
        body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = audit_values.listener(added)
    return added


@WEBHOOKS.get()
async def list_webhooks(call: Call[PageQuery]) -> Page[Webhook]:
    """List webhooks, with the state of their deliveries."""
    return oldest_first(await call.workspace.webhooks.list(), call.query)


@WEBHOOKS.get("/{id}")
async def get_webhook(call: Call[NoQuery]) -> Webhook:
    """Get a webhook, with the state of its deliveries."""
    return await call.workspace.webhooks.get(call.path["id"])


@WEBHOOKS.put("/{id}")
async def put_webhook(call: Call[NoQuery], body: WebhookRequest) -> Webhook:
    """Change the address or events of a webhook; without a secret the secret stays."""
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await audit_values.listener_before(webhooks, id)
    changed = await webhooks.change(
        id, body.url, body.patterns, secret=body.secret, description=body.description
    )
    call.after = audit_values.listener(changed)
    return changed


@WEBHOOKS.delete("/{id}")
async def remove_webhook(call: Call[NoQuery]) -> None:
    """Remove a webhook; its undelivered notifications are dropped."""
    await _remove(call, call.workspace.webhooks)


@WEBHOOKS.post("/{id}/enable")
async def enable_webhook(call: Call[NoQuery]) -> Webhook:
    """Enable a webhook that was disabled after failing for days."""
    webhooks, id = call.workspace.webhooks, call.path["id"]
    call.before = await audit_values.listener_before(webhooks, id)
    enabled = await webhooks.enable(id)
    call.after = audit_values.listener(enabled)
    return enabled


@WEBHOOKS.get("/{id}/deliveries")
async def list_webhook_deliveries(call: Call[PageQuery]) -> Page[PendingDelivery]:
    """List what is on its way to a webhook, in the order in which it is tried."""
    return await _deliveries(call, call.workspace.webhooks)


@WEBHOOKS.post("/{id}/resend", may_be_empty=True)
async def resend_webhook(call: Call[NoQuery], _: NothingMore) -> Resent:
    """Try at once what was put off after failures."""
    return await _resend(call, call.workspace.webhooks)


@SUBSCRIPTIONS.post(status=201)
async def add_subscription(call: Call[NoQuery], body: SubscriptionRequest) -> Subscription:
    """Create a subscription, which notifies an address of events until it expires."""
    added = await call.workspace.subscriptions.add(
        body.callback_url,
        body.patterns,
        subscriber_id=body.subscriber_id,
        filter=body.filter,
        correlation_id=body.correlation_id,
        expiration_time=body.expiration_time,
        secret=body.secret,
    )
    call.after = audit_values.listener(added)
    return added


@SUBSCRIPTIONS.get()
async def list_subscriptions(call: Call[PageQuery]) -> Page[Subscription]:
    """List subscriptions, with the state of their deliveries."""
    return oldest_first(await call.workspace.subscriptions.list(), call.query)


@SUBSCRIPTIONS.get("/{id}")
async def get_subscription(call: Call[NoQuery]) -> Subscription:
    """Get a subscription, with the state of its deliveries."""
    return await call.workspace.subscriptions.get(call.path["id"])


@SUBSCRIPTIONS.delete("/{id}")
async def remove_subscription(call: Call[NoQuery]) -> None:
    """Remove a subscription; its undelivered notifications are dropped."""
    await _remove(call, call.workspace.subscriptions)


@SUBSCRIPTIONS.post("/{id}/enable")
async def enable_subscription(call: Call[NoQuery]) -> Subscription:
    """Enable a subscription that was disabled after failing for days."""
    subscriptions, id = call.workspace.subscriptions, call.path["id"]
    call.before = await audit_values.listener_before(subscriptions, id)
    enabled = await subscriptions.enable(id)
    call.after = audit_values.listener(enabled)
    return enabled


@SUBSCRIPTIONS.get("/{id}/deliveries")
async def list_subscription_deliveries(call: Call[PageQuery]) -> Page[PendingDelivery]:
    """List what is on its way to a subscription, in the order in which it is tried."""
    return await _deliveries(call, call.workspace.subscriptions)


@SUBSCRIPTIONS.post("/{id}/resend", may_be_empty=True)
async def resend_subscription(call: Call[NoQuery], _: NothingMore) -> Resent:
    """Try at once what was put off after failures."""
    return await _resend(call, call.workspace.subscriptions)


async def _deliveries(
    call: Call[PageQuery], listeners: Webhooks | Subscriptions
) -> Page[PendingDelivery]:
    asked = call.query
    found = await listeners.deliveries(call.path["id"], limit=asked.limit, cursor=asked.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


async def _resend(call: Call[NoQuery], listeners: Webhooks | Subscriptions) -> Resent:
    count = await listeners.resend(call.path["id"])
    call.after = {"hastened": count}
    return Resent(hastened=count)


async def _remove(call: Call[NoQuery], listeners: Webhooks | Subscriptions) -> None:
    call.before = await audit_values.listener_before(listeners, call.path["id"])
    await listeners.remove(call.path["id"])
