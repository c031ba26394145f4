"""The record of every change and every refusal.

What is asked for is a line before anything is done, so that no change is without one wherever a
process dies; what came of it is another, with the same request id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import cast, get_args

from tenuto.access.backlog import Backlog
from tenuto.access.neighbours import counted_as
from tenuto.access.principal import Principal
from tenuto.access.redaction import recorded, storable
from tenuto.access.strangers import Strangers
from tenuto.engine.batcher import Batcher
from tenuto.model.errors import MAY_BE_WRITTEN, StoreUnavailable
from tenuto.ports import Clock, Ids
from tenuto.store.parts.audit import Audit, AuditEntry, AuditOutcome, AuditRow

log = logging.getLogger(__name__)

_NOBODY = "nobody"
_MOST = 200
"""So many lines go into one transaction."""


class AuditLog:
    """Writes lines; those that come at the same time are written together."""

    def __init__(self, store: Audit, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._together: Batcher[AuditEntry, AuditRow] = Batcher(store.append, _MOST)
        self._backlog = Backlog(store.append, clock)
        self._strangers = Strangers(clock, self._refused_more)
        self._unwaited: set[asyncio.Task[None]] = set()

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
        is_waited_for: bool = True,
    ) -> None:
        """Returns once the line is durable; StoreUnavailable where it is not known to be.

        Then it is tried again in the background, unless it says that something was asked: that
        must not be done then. What is not waited for is written a moment later. Whoever is not
        known is recorded in the tenant `default`. Secrets are left out. `details` are
        kept where there is no `after`.
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
        writing = asyncio.ensure_future(self._written(entry))
        if is_waited_for:
            # Whoever asked may have gone: what was done is recorded all the same.
            await asyncio.shield(writing)
            return
        self._unwaited.add(writing)
        writing.add_done_callback(self._came)

    async def refuse_stranger(
        self, *, code: str, action: str, target: str, source: str | None, request_id: str
    ) -> None:
        """Record that somebody was refused who is not known: of many only how many there were."""
        if self._strangers.is_first(counted_as(source or ""), code):
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
        """Write down what still waits."""
        await self.settled()
        await self._strangers.close()
        await self._backlog.close()

    async def settled(self) -> None:
        """Returns once everything that nobody waits for is written, or kept to be tried again."""
        await asyncio.gather(*self._unwaited, return_exceptions=True)

    def _came(self, writing: asyncio.Task[None]) -> None:
        self._unwaited.discard(writing)
        if not writing.cancelled() and (error := writing.exception()) is not None:
            log.warning("a line of the audit log is written later: %s", error)

    async def _written(self, entry: AuditEntry) -> None:
        try:
            await self._together.ask(entry)
        except StoreUnavailable as error:
            if entry.outcome == "asked":
                # Whether or not its line is there: what it speaks of is not done.
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
