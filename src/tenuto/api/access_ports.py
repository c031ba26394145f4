"""The ports for authentication and audit that the service needs."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from tenuto.access.principal import Principal


class Authentication(Protocol):
    """Finds the principal of a credential."""

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        """The principal of the header `Authorization`; Unauthenticated.

        `tenant` is the value of the header `Tenuto-Tenant`, for principals that may choose.
        """


class AuditTrail(Protocol):
    """Records requests."""

    async def record(  # noqa: PLR0913 - the fields of a line
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
        """Record a line; durable on return, unless it is not waited for; StoreUnavailable.

        A change whose line `asked` is not durable must not begin; other lines are written later.
        """

    async def settled(self) -> None:
        """Return once every line that was not waited for is written."""

    async def refuse_unauthenticated(
        self, *, code: str, action: str, target: str, source: str | None, request_id: str
    ) -> None:
        """Record the refusal of an unauthenticated client, or count it where there are many."""
