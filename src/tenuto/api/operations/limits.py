"""Operations on limits and the queue: how many instances run at once, and which wait."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.call import Call, NoQuery
from tenuto.api.entity_tags import version_to_change
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.problems import Refusal
from tenuto.model.errors import Conflict, Forbidden
from tenuto.model.json import JSON
from tenuto.model.slots import ANY
from tenuto.workspace.limit_values import QueuedInstance, SetLimits
from tenuto.workspace.limits import read_limits

CONCURRENCY = Resource(
    f"{API}/concurrency", tag="limits", read=Permission.LIMITS_READ, write=Permission.LIMITS_WRITE
)
QUEUE = Resource(
    f"{API}/queue",
    tag="limits",
    read=Permission.INSTANCES_READ,
    write=Permission.INSTANCES_CONTROL,
)
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


@CONCURRENCY.put(headers=IF_MATCH, other_statuses=(412,), size="value")
async def put_concurrency(call: Call[NoQuery], body: JSON) -> SetLimits:
    """Replace the limits; those that wait are looked at again at once, and nothing is ended."""
    limits = call.workspace.limits
    before = await limits.get()
    config = read_limits(body)
    if not _is_of_service(call.principal):
        asked = (config.global_max_concurrent, dict(config.tenant_limits), config.queue)
        known = _seen_by(call.principal, before)
        if asked != (known.global_max_concurrent, known.tenant_limits, known.queue):
            raise Forbidden(
                "`globalMaxConcurrent`, `tenantLimits` and `queue` are limits of the whole service",
                code="TEN-5013",
                advice="Leave them as they are, or use the admin key of the service.",
            )
        given = body if isinstance(body, dict) else {}
        # What it does not see of other tenants stays.
        body = {**given, "tenantLimits": {**before.tenant_limits}}
    only_after = version_to_change(call.headers, {"version": before.version}, "TEN-3194")
    if only_after is None and not _is_of_service(call.principal):
        # Limits of the service that were set meanwhile are not replaced by those that were read.
        only_after = before.version
    try:
        saved = await limits.set(body, only_after=only_after)
    except Conflict as error:
        raise Refusal(412, error.code, error.message, error.advice) from None
    call.before, call.after = before, saved
    call.response_headers["etag"] = f'"{saved.version}"'
    return _seen_by(call.principal, saved)


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
    """Let an instance wait again that was kept back."""
    await call.workspace.limits.release(call.path["id"])


def _is_of_service(principal: Principal) -> bool:
    """Whether it is an admin of the whole service, and not of a tenant alone."""
    return principal.kind in ("local", "system")


def _seen_by(principal: Principal, limits: SetLimits) -> SetLimits:
    """What a principal sees: of the limits of tenants its own."""
    if _is_of_service(principal):
        return limits
    own = {
        name: limit
        for name, limit in limits.tenant_limits.items()
        if name in (principal.tenant, ANY)
    }
    return replace(limits, tenant_limits=own)
