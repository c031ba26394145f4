"""Who asks, and what is kept of it: what the pipeline needs of whoever knows credentials."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from tenuto.access.principal import Principal


class Authentication(Protocol):
    """Knows people by their credentials."""

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        """Who it is, by the header `Authorization`; Unauthenticated.

        `tenant` is what the header `Tenuto-Tenant` names, for those few who may choose.
        """


class AuditTrail(Protocol):
    """Keeps who asked for what."""

    async def record(  # noqa: PLR0913 - what there is to know of something that was done
        self,
        *,
        principal: Principal | None,
        action: str,
        target: str,
        outcome: str,
        source: str | None,
        request_id: str,
        before: object,
        after: object,
        is_waited_for: bool = True,
    ) -> None:
        """Kept once this returns, unless it is not waited for; StoreUnavailable where it is not.

        What was `asked` and is not kept must not be done; everything else is kept later.
        """

    async def settled(self) -> None:
        """Returns once nothing is on its way that was not waited for."""

    async def refuse_unauthenticated(
        self, *, code: str, action: str, target: str, source: str | None, request_id: str
    ) -> None:
        """Keep that somebody was refused who is not known, as far as there is room."""
