"""The operation on the uses of limits: see how full they are."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.workspace.limit_values import LimitUses

USES = Resource(f"{API}/concurrency/usage", tag="limits", read=Permission.LIMITS_READ)


@USES.get()
async def get_concurrency_usage(call: Call[NoQuery]) -> LimitUses:
    """Get how full the limits are, how many wait for each, and some that hold its slots."""
    return await call.workspace.limits.uses()
