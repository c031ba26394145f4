"""Starts by mailbox messages: of children, and of instances that events start.

The definition is found, the origin must have room for one more, and a child that is cancelled
before it has begun is not started at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine

from tenuto.core import Plan, Rejection
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.effects.families import Families, origin_of_start
from tenuto.engine.turns.requests import Request, StartFacts
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import Started
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.store.parts.mailbox import MailKey

log = logging.getLogger("tenuto.mail")

_NEEDLESS = Rejection(code="TEN-3043", message="it was cancelled before it had begun")


class MailboxStarts:
    """Hands starts over to their lanes, or their refusals."""

    def __init__(
        self,
        *,
        plans: Plans,
        families: Families,
        clock: Clock,
        report: Callable[[Request], None],
        spawn: Callable[[Coroutine[None, None, None]], object],
        unreadable: Callable[[MailKey], None],
    ) -> None:
        """`unreadable`: a mailbox message is for a process whose program can read it."""
        self._plans = plans
        self._families = families
        self._clock = clock
        self._report = report
        self._spawn = spawn
        self._unreadable = unreadable
        self._begun: dict[str, tuple[Request, str | None]] = {}
        """Starts in hand by instance, and the origin for which each was admitted."""

    def begin(self, request: Request, started: Started, tenant: str) -> None:
        """Start an instance at once where nothing has to be read for it, else later."""
        self._begun[request.instance_id] = request, None
        known = self._plans.known(tenant, started.definition_id, started.definition_version)
        if known is None or self._plans.was_hidden(tenant, started.definition_id):
            self._spawn(self._begin_later(request, started, tenant))
            return
        origin = origin_of_start(request.instance_id, started)
        is_admitted = origin is None or self._families.admits(origin)
        if is_admitted is None:
            self._spawn(self._begin_later(request, started, tenant))
        else:
            request.start = _facts(known.plan, started, tenant)
            self._hand_over(request, origin, is_admitted=is_admitted)

    async def begin_known(self, request: Request, started: Started, tenant: str) -> None:
        """Start an instance, or refuse it where its definition is gone; reads what it needs."""
        self._begun[request.instance_id] = request, None
        # A child was promised to its parent; every other start after a removal comes too late.
        found = self._plans.for_start if started.parent is not None else self._plans.for_new
        try:
            deployed = await found(tenant, started.definition_id, started.definition_version)
        except StoreUnavailable:
            raise
        except NotFound as error:
            self.refuse(request, str(error), error.code)
        except TenutoError as error:
            log.warning("instance=%s is not started here: %s", request.instance_id, error)
            if request.mail_id is not None:
                self._unreadable(MailKey(request.mail_id, request.instance_id))
        else:
            origin = origin_of_start(request.instance_id, started)
            is_admitted = origin is None or await self._families.admit(origin)
            request.start = _facts(deployed.plan, started, tenant)
            self._hand_over(request, origin, is_admitted=is_admitted)

    def refuse(self, request: Request, message: str, code: str) -> None:
        """Report the refusal to the parent, and remove the message."""
        request.drops_if_gone = True
        request.refusal = Rejection(code=code, message=message)
        self._report(request)

    def withdraw(self, instance_id: str) -> bool:
        """A start is needed no more: whether it is in hand, and refused unless it is too late."""
        found = self._begun.get(instance_id)
        if found is not None and found[0].refusal is None:
            found[0].refusal = _NEEDLESS
        return found is not None

    def settled(self, instance_id: str, *, started: bool) -> None:
        """A start is in hand no more; `started`: whether there is such an instance now."""
        _, origin = self._begun.pop(instance_id, (None, None))
        if origin is not None:
            self._families.settled(origin, started=started)

    def let_all_go(self) -> None:
        """Forget the starts in hand, which may be another process's now."""
        self._begun.clear()
        self._families.clear()

    async def _begin_later(self, request: Request, started: Started, tenant: str) -> None:
        while True:
            try:
                await self.begin_known(request, started, tenant)
            except StoreUnavailable:
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
            else:
                return

    def _hand_over(self, request: Request, origin: str | None, *, is_admitted: bool) -> None:
        if origin is not None and not is_admitted:
            request.refusal = request.refusal or self._families.refusal(origin)
            origin = None
        self._begun[request.instance_id] = request, origin
        self._report(request)


def _facts(plan: Plan, started: Started, tenant: str) -> StartFacts:
    return StartFacts(plan=plan, tenant=tenant, needs_definition=started.parent is None)
