"""Who asks: what the service needs to be told by whoever knows credentials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from tenuto.access.principal import LOCAL, Principal
from tenuto.model.errors import Unauthenticated


class Admission(Protocol):
    """Knows people by their credentials."""

    async def admit(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        """Who it is, by the header `Authorization`; Unauthenticated.

        `tenant` is what the header `Tenuto-Tenant` names, for those few who may choose.
        """


class LocalAdmission:
    """Everybody is whoever works on this machine; a credential is none that is known here."""

    async def admit(
        self,
        authorization: str | None,
        now: datetime,  # noqa: ARG002 - nothing expires here
        *,
        tenant: str | None = None,
    ) -> Principal:
        if authorization is not None or tenant is not None:
            raise Unauthenticated("the credential is not known here", code="TEN-5011")
        return LOCAL


class Audited(Protocol):
    """Keeps who asked for what."""

    async def record(
        self,
        *,
        principal: Principal | None,
        action: str,
        target: str,
        outcome: str,
        source: str | None,
        request_id: str,
        details: Mapping[str, object],
    ) -> None:
        """Kept once this returns."""
