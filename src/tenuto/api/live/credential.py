"""Checks the credential of open sockets and streams, which may be revoked or expire."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal, refuse_unless
from tenuto.api.service import Service
from tenuto.model.errors import Forbidden, StoreUnavailable, TenutoError, Unauthenticated

log = logging.getLogger("tenuto.api")


async def refused(
    service: Service, headers: Mapping[str, str], principal: Principal, permission: Permission
) -> TenutoError:
    """Return the reason once the credential in these headers is not valid any more."""
    while True:
        await service.clock.sleep(service.config.live.credential_seconds)
        try:
            now = await service.authenticate_again(headers)
            refuse_unless(now, permission)
        except (Unauthenticated, Forbidden) as error:
            return error
        except StoreUnavailable as error:
            # It cannot be checked now: the connection stays open until it can.
            log.warning("live: credential not checked actor=%s: %s", principal.name, error)
            continue
        if now.tenant != principal.tenant:
            return Unauthenticated("the credential is another tenant's now", code="TEN-5012")
