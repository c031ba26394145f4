"""The audit log: a line for every change and every refusal.

The line that a change was asked for is durable before the change begins, so that no change is
without one wherever a process dies; its outcome is a second line with the same request id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import cast, get_args

from tenuto.access.audit_backlog import AuditBacklog
from tenuto.access.client_network import client_network
from tenuto.access.principal import Principal
from tenuto.access.redaction import recorded, storable
from tenuto.access.unauthenticated import MOST_SOURCES, UnauthenticatedRefusals
from tenuto.engine.batcher import Batcher
from tenuto.model.errors import MAY_BE_WRITTEN, StoreUnavailable
from tenuto.ports import Clock, Ids
from tenuto.store.parts.audit import Audit, AuditEntry, AuditOutcome, AuditRow

log = logging.getLogger(__name__)

_UNKNOWN = "nobody"
"""The actor of a refusal whose client is not authenticated, as it stands in the log."""
_MOST = 200
"""Lines in one transaction."""
_PATIENCE = 0.02
"""Seconds for which a line that is not waited for waits for one that is: their transactions would
delay the turns of instances twice."""


class AuditLog:
    """Writes lines, in batches of those that come at the same time."""

    def __init__(
        self, store: Audit, clock: Clock, ids: Ids, *, most_sources: int = MOST_SOURCES
    ) -> None:
        """`most_sources`: addresses whose refusals are counted apart."""
        self._clock = clock
        self._ids = ids
        self._together: Batcher[AuditEntry, AuditRow] = Batcher(store.append, _MOST)
        self._backlog = AuditBacklog(store.append, clock)
        self._refusals = UnauthenticatedRefusals(clock, self._refused_more, most_sources)
        self._unwaited: set[asyncio.Task[None]] = set()
        self._is_patient = False
        """Whether lines that are not waited for are written after a moment."""

    async def record(  # noqa: PLR0913 - the fields of a line
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
        is_waited_for: bool = True,
    ) -> None:
        """Return once the line is durable; StoreUnavailable where it is not known to be.

        A line that could not be written is written later, unless its outcome is `asked`: then the
        change must not begin. A line that is not waited for is written in the background. Without a
        principal the line belongs to the tenant `default`. Secrets are left out. `details` are kept
        where there is no `after`.
        """
        entry = AuditEntry(
            id=self._ids.short(),
            tenant="default" if principal is None else principal.tenant,
            at=self._clock.now(),
            actor=_UNKNOWN if principal is None else storable(principal.name),
            kind=_UNKNOWN if principal is None else principal.kind,
            credential=None if principal is None else storable(principal.identity),
            action=storable(action),
            target=storable(target),
            outcome=_outcome(outcome),
            source=storable(source or ""),
            request_id=storable(request_id),
            before=recorded(before),
            after=recorded(after if after is not None else details or None),
        )
        joined = self._together.join(entry, has_time=not is_waited_for)
        writing = asyncio.ensure_future(self._written(entry, joined))
        if is_waited_for:
            # The client may disconnect: the line is written all the same.
            await asyncio.shield(writing)
            return
        if not self._is_patient:
            self._is_patient = True
            self._clock.call_later(_PATIENCE, self._hurry)
        self._unwaited.add(writing)
        writing.add_done_callback(self._written_later)

    async def refuse_unauthenticated(
        self, *, code: str, action: str, target: str, source: str | None, request_id: str
    ) -> None:
        """Record the refusal of an unauthenticated client: of many only their number."""
        if self._refusals.is_first(client_network(source or ""), code):
            await self.record(
                principal=None,
                action=action,
                target=target,
                outcome="refused",
                source=source,
                request_id=request_id,
                details={"code": code},
            )

    async def close(self) -> None:
        """Write all lines that are not written yet."""
        await self.settled()
        await self._refusals.close()
        await self._backlog.close()

    async def settled(self) -> None:
        """Return once every line that is not waited for is written, or kept in the backlog."""
        self._together.hurry()
        await asyncio.gather(*self._unwaited, return_exceptions=True)

    def _hurry(self) -> None:
        # Lines that come while these are being written wait anew.
        self._is_patient = False
        self._together.hurry()

    def _written_later(self, writing: asyncio.Task[None]) -> None:
        self._unwaited.discard(writing)
        if not writing.cancelled() and (error := writing.exception()) is not None:
            log.warning("audit: a line is written later: %s", error)

    async def _written(self, entry: AuditEntry, joined: asyncio.Future[AuditRow]) -> None:
        try:
            await joined
        except StoreUnavailable as error:
            if entry.outcome == "asked":
                # Whether or not the line is there: the change does not begin.
                raise StoreUnavailable(
                    error.message,
                    code=StoreUnavailable.code if error.code == MAY_BE_WRITTEN else error.code,
                    advice=error.advice,
                ) from error
            self._backlog.keep(entry)
            raise StoreUnavailable(
                "what was asked may have been done, and the record of it is not durable yet",
                code="TEN-5030",
            ) from error

    async def _refused_more(self, source: str, details: Mapping[str, object]) -> None:
        await self.record(
            principal=None,
            action="refusals",
            target="",
            outcome="refused",
            source=source,
            details=details,
        )


def _outcome(text: str) -> AuditOutcome:
    if text not in get_args(AuditOutcome):
        raise ValueError(f"an outcome is one of {', '.join(get_args(AuditOutcome))}, not {text!r}")
    return cast("AuditOutcome", text)
