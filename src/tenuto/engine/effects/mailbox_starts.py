"""Starts by mailbox messages: of children, and of instances that events and schedules start.

The definition is found, the origin must have room for one more, and a child that is cancelled
before it has begun is not started at all.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Coroutine

from msgspec import UNSET

from tenuto.core import Plan, Rejection
from tenuto.encryption.errors import no_keys
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.effects.families import Families, origin_of_start
from tenuto.engine.turns.requests import Request, StartFacts
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import CancelAsked, Started
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.schedules import tick_key
from tenuto.store.parts.mailbox import MailKey

log = logging.getLogger("tenuto.mail")

_NEEDLESS = Rejection(code="TEN-3043", message="it was cancelled before it had begun")


class _Start:
    """A start in hand."""

    __slots__ = ("followers", "is_handed_over", "origin", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.origin: str | None = None
        """The origin for which it was admitted."""
        self.is_handed_over = False
        self.followers: list[Request] = []
        """Later messages to the same instance, which wait until it is handed over."""


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
        may_encrypt: Callable[[], bool] = lambda: True,
    ) -> None:
        """`unreadable`: a mailbox message is for a process whose program can read it.

        `may_encrypt`: whether this process has keys for definitions that ask for encryption.
        """
        self._may_encrypt = may_encrypt
        self._plans = plans
        self._families = families
        self._clock = clock
        self._report = report
        self._spawn = spawn
        self._unreadable = unreadable
        self._begun: dict[str, _Start] = {}
        """Starts in hand, by instance."""

    def begin(self, request: Request, started: Started, tenant: str) -> None:
        """Start an instance at once where nothing has to be read for it, else later."""
        self._begun[request.instance_id] = _Start(request)
        known = self._plans.known(tenant, started.definition_id, started.definition_version)
        if (
            known is None
            or self._plans.was_hidden(tenant, started.definition_id)
            or (known.plan.encrypts and not self._may_encrypt())
        ):
            self._spawn(self._begin_later(request, started, tenant))
            return
        origin = origin_of_start(request.instance_id, started)
        is_admitted = origin is None or self._families.admits(origin)
        if is_admitted is None:
            self._spawn(self._begin_later(request, started, tenant))
        else:
            request.start = _facts(known.plan, request, started, tenant)
            self._hand_over(request, origin, is_admitted=is_admitted)

    async def _begin_now(self, request: Request, started: Started, tenant: str) -> None:
        """Start an instance, or refuse it where its definition is gone; reads what it needs."""
        # A child was promised to its parent; every other start after a removal comes too late.
        found = self._plans.for_start if started.parent is not None else self._plans.for_new
        try:
            deployed = await found(tenant, started.definition_id, started.definition_version)
            if deployed.plan.encrypts and not self._may_encrypt():
                raise no_keys()
        except StoreUnavailable:
            raise
        except NotFound as error:
            self.refuse(request, str(error), error.code)
        except TenutoError as error:
            log.warning("instance=%s is not started here: %s", request.instance_id, error)
            for follower in self._begun.pop(request.instance_id, _Start(request)).followers:
                follower.drops_if_gone = False
                self._report(follower)
            if request.mail_id is not None:
                self._unreadable(MailKey(request.mail_id, request.instance_id))
        else:
            origin = origin_of_start(request.instance_id, started)
            is_admitted = origin is None or await self._families.admit(origin)
            request.start = _facts(deployed.plan, request, started, tenant)
            self._hand_over(request, origin, is_admitted=is_admitted)

    def refuse(self, request: Request, message: str, code: str) -> None:
        """Report the refusal to the parent, and remove the message."""
        request.drops_if_gone = True
        request.refusal = Rejection(code=code, message=message)
        self._report_start(request)

    def follow(self, request: Request) -> None:
        """Hand over a message to an instance, after its start if that is in hand.

        One that is cancelled before is not started at all. Its cancellation comes after its start
        all the same: were the process to die in between, it would be started after all.
        """
        start = self._begun.get(request.instance_id)
        if start is None:
            self._report(request)
            return
        if isinstance(request.input, CancelAsked):
            start.request.refusal = start.request.refusal or _NEEDLESS
            request.drops_if_gone = True
        if start.is_handed_over:
            self._report_after(request, start.request)
        else:
            start.followers.append(request)

    def settled(self, instance_id: str, *, started: bool) -> None:
        """A start is in hand no more; `started`: whether there is such an instance now."""
        start = self._begun.pop(instance_id, None)
        if start is not None and start.origin is not None:
            self._families.settled(start.origin, added=started)

    def let_all_go(self) -> None:
        """Forget the starts in hand, which may be another process's now."""
        self._begun.clear()
        self._families.clear()

    async def _begin_later(self, request: Request, started: Started, tenant: str) -> None:
        while True:
            try:
                await self._begin_now(request, started, tenant)
            except StoreUnavailable:
                await self._clock.sleep(OUTAGE_RETRY_SECONDS)
            else:
                return

    def _hand_over(self, request: Request, origin: str | None, *, is_admitted: bool) -> None:
        start = self._begun.get(request.instance_id)
        if origin is not None and not is_admitted:
            request.refusal = request.refusal or self._families.refusal(origin)
        elif start is not None:
            start.origin = origin
        self._report_start(request)

    def _report_start(self, request: Request) -> None:
        self._report(request)
        start = self._begun.get(request.instance_id)
        if start is not None:
            start.is_handed_over = True
            for follower in start.followers:
                self._report_after(follower, request)
            start.followers.clear()

    def _report_after(self, request: Request, start: Request) -> None:
        """Into the same queue as the start, since tenants have queues of their own."""
        request.tenant = start.tenant if start.start is None else start.start.tenant
        self._report(request)


def _facts(plan: Plan, request: Request, started: Started, tenant: str) -> StartFacts:
    cause = started.schedule
    if cause is UNSET:
        is_child = started.parent is not None
        return StartFacts(
            plan=plan,
            tenant=tenant,
            needs_definition=not is_child,
            is_sealed=request.is_sealed and (is_child or started.rerun_of is not None),
        )
    key = tick_key(cause.id, cause.nominal)
    return StartFacts(
        plan=plan,
        tenant=tenant,
        key=key,
        content_hash=hashlib.sha256(key.encode()).digest(),
        needs_definition=True,
    )
