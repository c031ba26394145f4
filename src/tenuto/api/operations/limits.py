"""Operations on limits and the queue: how many instances run at once, and which wait."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.api.shapes import Body, Query
from tenuto.model.errors import Conflict, Forbidden
from tenuto.model.json import JSON, Object
from tenuto.model.moments import spelled
from tenuto.model.slots import ANY
from tenuto.workspace.limit_values import ChangedLimits, QueuedInstance, SavedQueueRule, SetLimits
from tenuto.workspace.limits import CHANGED_MEANWHILE
from tenuto.workspace.limits_document import read_limits

CONCURRENCY = Resource(
    f"{API}/concurrency", tag="limits", read=Permission.LIMITS_READ, write=Permission.LIMITS_WRITE
)
QUEUE = Resource(
    f"{API}/queue",
    tag="limits",
    read=Permission.INSTANCES_READ,
    write=Permission.INSTANCES_CONTROL,
)
log = logging.getLogger("tenuto.limits")

_OF_SERVICE = ("globalMaxConcurrent", "tenantLimits", "resourceBasedLimits", "queue")
IF_MATCH = (("If-Match", 'The version that was changed, such as "3"; `*`: any.'),)


class QueueQuery(PageQuery):
    """Which waiting instances."""

    workflow_id: str | None = None


@CONCURRENCY.get()
async def get_concurrency(call: Call[NoQuery]) -> SetLimits:
    """Get the limits on how many instances run at once, and the order of the queue."""
    found = _seen_by(call.principal, await call.workspace.limits.get())
    call.response_headers["etag"] = f'"{found.version}"'
    return found


class PutConcurrencyQuery(Query):
    """Whether to save the limits, or only to see what they would do."""

    dry_run: bool = False
    """Save nothing: `preview` says what the change would do at once."""


@CONCURRENCY.put(headers=IF_MATCH, other_statuses=(412,), size="value")
async def put_concurrency(call: Call[PutConcurrencyQuery], body: JSON) -> ChangedLimits:
    """Replace the limits; those that wait are looked at again at once, and nothing is ended."""
    before, saved = await _changed(call, body)
    if call.query.dry_run:
        call.after = {"dryRun": True}
    else:
        # The audit log is the tenant's, also where an admin of the service acts for it: it has
        # what concerns this tenant. What the service has for others is in the log of the process.
        tenant = call.principal.tenant
        call.before, call.after = _of(tenant, before), _of(tenant, saved)
        if _is_of_service(call.principal):
            _log_change(call.principal, before, saved)
    call.response_headers["etag"] = f'"{saved.version}"'
    return _seen_by(call.principal, saved)


async def _changed(
    call: Call[PutConcurrencyQuery], body: JSON, *, tries: int = 4
) -> tuple[SetLimits, ChangedLimits]:
    """The limits before and after; 412 where another change came first.

    Without `If-Match` a tenant's limits are set again after a change of those of the service.
    """
    limits = call.workspace.limits
    before = await limits.get()
    only_after = version_to_change(call.headers, {"version": before.version}, CHANGED_MEANWHILE)
    asked, version = body, only_after
    if not _is_of_service(call.principal):
        asked = _of_tenant(call.principal, body, before)
        version = before.version if version is None else version
    try:
        saved = await limits.set(asked, only_after=version, dry_run=call.query.dry_run)
    except Conflict as error:
        if only_after is not None or tries == 0:
            raise Refusal(412, error.code, error.message, error.advice) from None
        return await _changed(call, body, tries=tries - 1)
    return before, saved


def _of_tenant(principal: Principal, body: JSON, before: SetLimits) -> JSON:
    """The document of a tenant's admin, with the limits of the service as they are.

    Forbidden where it has others.
    """
    config = read_limits(body)
    given = body if isinstance(body, dict) else {}
    known = _seen_by(principal, before)
    of_service = {
        "globalMaxConcurrent": (config.global_max_concurrent, known.global_max_concurrent),
        "tenantLimits": (dict(config.tenant_limits), known.tenant_limits),
        "resourceBasedLimits": (config.resource_based_limits, known.resource_based_limits),
        "queue": (config.queue, known.queue),
    }
    for name, (asked, present) in of_service.items():
        if name in given and asked != present:
            raise Forbidden(
                f"`{name}` is a limit of the whole service",
                code="TEN-5013",
                advice="Leave it as it is, or use the admin key of the service.",
            )
    service = cast("Object", spelled(before))
    return {**given, **{name: service[name] for name in of_service}}


@QUEUE.get()
async def list_queue(call: Call[QueueQuery]) -> Page[QueuedInstance]:
    """List the instances that wait for slots, in their order, and what each waits for."""
    query = call.query
    found = await call.workspace.limits.queue(
        workflow=query.workflow_id, limit=query.limit, cursor=query.cursor
    )
    return Page(items=found.items, next_cursor=found.next_cursor)


@QUEUE.post("/{id}/promote", other_statuses=(409,))
async def promote_queued(call: Call[NoQuery]) -> None:
    """Let a waiting instance go before those that were not promoted."""
    await call.workspace.limits.promote(call.path["id"])


@QUEUE.post("/{id}/hold", other_statuses=(409,))
async def hold_queued(call: Call[NoQuery]) -> None:
    """Keep a waiting instance from being admitted, until it is released."""
    await call.workspace.limits.hold(call.path["id"])


@QUEUE.post("/{id}/release", other_statuses=(409,))
async def release_queued(call: Call[NoQuery]) -> None:
    """Let an instance that was kept back wait again."""
    await call.workspace.limits.release(call.path["id"])


class QueueRuleRequest(Body):
    """A rule of the queue."""

    when: str
    """An expression over the instance: it sees `ctx.input` and `workflow.id`."""
    priority: int | None = None
    """The priority of those that match."""
    hold: bool = False
    """Whether those that match are held back until they are released."""
    note: str | None = None
    confirm: bool = False
    """Save it though it matches everything."""
    dry_run: bool = False
    """Save nothing: `matched` says how many of those that wait match."""


@QUEUE.get("/rules", permission=Permission.LIMITS_READ)
async def list_queue_rules(call: Call[NoQuery]) -> Page[SavedQueueRule]:
    """List the rules of the queue, oldest first."""
    return Page(items=await call.workspace.limits.rules(), next_cursor=None)


@QUEUE.post("/rules", permission=Permission.LIMITS_WRITE, other_statuses=(409,))
async def add_queue_rule(call: Call[NoQuery], body: QueueRuleRequest) -> SavedQueueRule:
    """Give a priority to instances for which an expression is true, or hold them back."""
    saved = await call.workspace.limits.add_rule(
        body.when,
        priority=body.priority,
        hold=body.hold,
        note=body.note,
        confirm=body.confirm,
        dry_run=body.dry_run,
    )
    call.after = {"dryRun": True} if body.dry_run else saved
    return saved


@QUEUE.delete("/rules/{id}", permission=Permission.LIMITS_WRITE)
async def remove_queue_rule(call: Call[NoQuery]) -> None:
    """Remove a rule of the queue; what it did to those that wait stays."""
    await call.workspace.limits.remove_rule(call.path["id"])


def _is_of_service(principal: Principal) -> bool:
    """Whether it is an admin of the whole service, and not of a tenant alone."""
    return principal.kind in ("local", "system")


def _log_change(principal: Principal, before: SetLimits, after: SetLimits) -> None:
    """The fields of the service that have changed, for its operators."""
    was, now = cast("Object", spelled(before)), cast("Object", spelled(after))
    changed = {name: (was[name], now[name]) for name in _OF_SERVICE if was[name] != now[name]}
    for name, (old, new) in changed.items():
        log.info("%s changed %s of the service from %s to %s", principal.identity, name, old, new)


Seen = TypeVar("Seen", bound=SetLimits)


def _seen_by(principal: Principal, limits: Seen) -> Seen:
    """What a principal sees: of the limits and the weights of tenants its own."""
    return limits if _is_of_service(principal) else _of(principal.tenant, limits)


def _of(tenant: str, limits: Seen) -> Seen:
    """What concerns one tenant."""

    def own(names: Mapping[str, int]) -> dict[str, int]:
        return {name: each for name, each in names.items() if name in (tenant, ANY)}

    queue = replace(limits.queue, per_tenant_share=own(limits.queue.per_tenant_share))
    return replace(limits, tenant_limits=own(limits.tenant_limits), queue=queue)
