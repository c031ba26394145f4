"""The record of every change and every refusal: durable before anybody is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, cast

from tenuto.access.principal import Principal
from tenuto.access.redaction import recorded, storable
from tenuto.engine.together import Together
from tenuto.ports import Clock, Ids
from tenuto.store.access_protocol import AccessStore, AuditEntry, AuditOutcome, AuditRow

_NOBODY = "nobody"
_MOST = 200
"""So many lines go into one transaction."""


class AuditLog:
    """Writes lines; those that come at the same time are written together."""

    def __init__(self, store: AccessStore, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._together: Together[AuditEntry, AuditRow] = Together(store.append_audit, _MOST)

    async def record(  # noqa: PLR0913 - what there is to know of something that was done
        self,
        *,
        principal: Principal | None,
        action: str,
        target: str,
        outcome: AuditOutcome | str,
        source: str | None = None,
        request_id: str = "",
        details: Mapping[str, object] | None = None,
        before: object = None,
        after: object = None,
    ) -> None:
        """Returns once the line is durable; StoreUnavailable where it is not known to be.

        Whoever is not known is recorded in the tenant `default`. Secrets are left out. `details`
        are kept where there is no `after`.
        """
        entry = AuditEntry(
            id=self._ids.short(),
            tenant="default" if principal is None else principal.tenant,
            at=self._clock.now(),
            actor=_NOBODY if principal is None else storable(principal.name),
            kind=_NOBODY if principal is None else principal.kind,
            action=storable(action),
            target=storable(target),
            outcome=_outcome(outcome),
            source=storable(source or ""),
            request_id=storable(request_id),
            before=recorded(before),
            after=recorded(after if after is not None else details or None),
        )
        # Whoever asked may have gone: what was done is recorded all the same.
        await asyncio.shield(asyncio.ensure_future(self._together.ask(entry)))


def _outcome(text: str) -> Literal["done", "refused"]:
    if text not in ("done", "refused"):
        raise ValueError(f"an outcome is done or refused, not {text!r}")
    return cast("Literal['done', 'refused']", text)
