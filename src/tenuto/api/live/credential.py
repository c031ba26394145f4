"""Whether somebody who stays may still be there: a credential may be revoked, or expire."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal, refuse_unless
from tenuto.api.service import Service
from tenuto.model.errors import Forbidden, StoreUnavailable, TenutoError, Unauthenticated

log = logging.getLogger("tenuto.api")

CHECK_EVERY = 1.0
"""Seconds between looks at the credential of somebody who stays."""


async def refused(
    service: Service, headers: Mapping[str, str], principal: Principal, permission: Permission
) -> TenutoError:
    """Returns once whoever came with these headers may not be there any more, and why."""
    while True:
        await service.clock.sleep(CHECK_EVERY)
        try:
            now = await service.authentication.authenticate(
                headers.get("authorization"),
                service.clock.now(),
                tenant=headers.get("tenuto-tenant"),
            )
            refuse_unless(now, permission)
        except (Unauthenticated, Forbidden) as error:
            return error
        except StoreUnavailable as error:
            # Nobody can tell at the moment: who was let in stays until somebody can.
            log.warning("whether %s may still watch is seen later: %s", principal.name, error)
            continue
        if now.tenant != principal.tenant:
            return Unauthenticated("the credential is another tenant's now", code="TEN-5012")
