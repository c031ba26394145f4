"""Records requests in the audit log: changes, their outcomes, and refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from tenuto.access.redaction import storable
from tenuto.api.access_ports import AuditTrail
from tenuto.api.call import Call, ClientGone
from tenuto.api.incoming import IncomingRequest
from tenuto.api.problems import BROKEN, Refusal
from tenuto.model.errors import Forbidden, TenutoError, Unauthenticated
from tenuto.model.json import Object

REASON: Final = "Tenuto-Reason"
"""The header with the reason of a change, for its lines; percent-encoded UTF-8."""
REVEALS: Final = "Tenuto-Reveals"
"""The header of a read whose client shows values that it masks otherwise: it has a line."""

_FOREIGN = frozenset({"TEN-5020", "TEN-5021"})
"""Codes of refusals for a foreign host or origin."""
_NO_ACCESS = 401
"""The status for tokens of callbacks that this service has not issued."""


class RequestAudit:
    """Writes the audit lines of requests."""

    def __init__(self, log: AuditTrail) -> None:
        self._log = log

    async def change(
        self, incoming: IncomingRequest, call: Call[Any], change: Callable[[], Awaitable[object]]
    ) -> object:
        """The result of a change; the line that it was asked for is durable before it begins."""
        assert incoming.found is not None
        reason = _reason(incoming)
        await self._record(incoming, "asked", after=reason or None)
        try:
            answer = await change()
        except (Forbidden, Unauthenticated, ClientGone):
            # A refusal has a line of its own; a client that has gone leaves an unknown outcome.
            raise
        except Exception as error:
            code = error.code if isinstance(error, TenutoError) else BROKEN
            # The error is answered as it is, whether or not the line can be written now.
            await self._record(incoming, "failed", after={"code": code}, is_waited_for=False)
            raise
        is_waited_for = not incoming.found.operation.is_frequent
        after = call.after
        if reason and isinstance(after, Mapping | None):
            after = {**reason, **(after or {})}
        await self._record(
            incoming, "done", before=call.before, after=after, is_waited_for=is_waited_for
        )
        return answer

    async def read(
        self, incoming: IncomingRequest, read: Callable[[], Awaitable[object]]
    ) -> object:
        """The result of a read; where masked values are shown, the line is durable before.

        Reads that fail, and those of the public, who would fill the log, have none.
        """
        answer = await read()
        assert incoming.found is not None
        is_public = incoming.principal is None or incoming.found.operation.is_public
        if incoming.headers.get(REVEALS.lower()) == "true" and not is_public:
            await self._record(incoming, "done", after={"revealed": True})
        return answer

    async def refusal(self, incoming: IncomingRequest, error: TenutoError) -> None:
        """Record a refusal for lack of permission or credential; invalid input is not recorded."""
        is_recorded = isinstance(error, Forbidden | Unauthenticated) or (
            isinstance(error, Refusal) and (error.status == _NO_ACCESS or error.code in _FOREIGN)
        )
        if not is_recorded:
            return
        if incoming.principal is None:
            await self._log.refuse_unauthenticated(
                code=error.code,
                action=_action(incoming),
                target=incoming.path,
                source=incoming.source,
                request_id=incoming.request_id,
            )
            return
        await self._record(incoming, "refused", after={"code": error.code})

    async def _record(
        self,
        incoming: IncomingRequest,
        outcome: str,
        *,
        before: object = None,
        after: object = None,
        is_waited_for: bool = True,
    ) -> None:
        await self._log.record(
            principal=incoming.principal,
            action=_action(incoming),
            target=incoming.path,
            outcome=outcome,
            source=incoming.source,
            request_id=incoming.request_id,
            before=before,
            after=after,
            is_waited_for=is_waited_for,
        )


def _reason(incoming: IncomingRequest) -> Object:
    """Why the client makes the change, as far as it says so."""
    said = incoming.headers.get(REASON.lower())
    return {} if said is None else {"reason": storable(unquote(said, errors="replace"))}


def _action(incoming: IncomingRequest) -> str:
    return incoming.found.operation.name if incoming.found is not None else "nothing"
