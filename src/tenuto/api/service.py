"""The state that all requests to one process share."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from tenuto.access.audit import AuditLog
from tenuto.access.authenticator import Authenticator
from tenuto.access.client_network import client_network
from tenuto.access.guesses import WRONG, Guesses
from tenuto.access.key_ring import KeyRing
from tenuto.access.keys import Keys
from tenuto.access.origins import origin_of
from tenuto.access.principal import Principal
from tenuto.access.rates import RateLimiter
from tenuto.api.access_ports import AuditTrail, Authentication
from tenuto.api.config import ServiceConfig
from tenuto.api.event_tickets import event_tickets
from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.inputs import check_input
from tenuto.api.large_documents.reader import DocumentReader
from tenuto.api.operation import Operation, Size
from tenuto.api.problems import Refusal
from tenuto.api.queue_depths import QueueDepths
from tenuto.api.repeated_refusals import RepeatedRefusals
from tenuto.api.request_turns import (
    CHANGES_AT_ONCE,
    CHANGES_BESIDE_OTHERS,
    MOST_CHANGES_WAITING,
    RequestTurns,
)
from tenuto.api.schedule_tickets import (
    SCHEDULER_CALLBACK,
    VALID_FOR,
    ScheduleTicket,
    digest_of,
    leads_to,
    schedule_tickets,
    with_token,
)
from tenuto.api.untaken_answers import UntakenAnswers
from tenuto.api.widget_tickets import widget_tickets
from tenuto.app import Tenuto
from tenuto.built_in.javascript import JavaScriptExecutor
from tenuto.compose import build_caller
from tenuto.definition.json_check import MOST_BYTES
from tenuto.engine.engine import Engine
from tenuto.engine.turns.held import Held
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.live import LiveHub
from tenuto.metrics.families import of_breakers
from tenuto.metrics.metrics import Metrics
from tenuto.metrics.sandbox import of_sandbox
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import TenutoError, Unauthenticated
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.ports import Clock, Timer
from tenuto.store.parts.access import KEY
from tenuto.workspace.engine_workspace import EngineWorkspace

if TYPE_CHECKING:
    from tenuto.tracing.spans import Spans

_access_log = logging.getLogger("tenuto.access")

_ENVELOPE = 64_000
"""Bytes around a value."""
_BATCH = 32_000_000
_LOOKS = 50
"""Keys and tokens in a second, of one address that has sent too many wrong credentials."""
_LAST_LONG = 2.0
"""Seconds for which requests that take long are still worked on when the service stops."""


class Service:
    """An app with its authentication, limits and background runners."""

    def __init__(  # noqa: PLR0915 - one for each thing that requests share
        self,
        app: Tenuto,
        config: ServiceConfig,
        operations: tuple[Operation, ...],
        *,
        authentication: Authentication | None = None,
        audit: AuditTrail | None = None,
    ) -> None:
        """Without `authentication` clients are authenticated by the keys of the store, if any."""
        self.app = app
        self.config = config
        self.operations = operations
        self.clock = app.engine.clock
        self.pressure = app.engine.load.pressure
        """Refuses starts, and then expensive reads, under load."""
        self.ids = app.engine.ids
        store = app.engine.store
        self.authentication: Authentication = authentication or Authenticator(
            store.access, self.clock
        )
        self.audit: AuditTrail = audit or AuditLog(store.audit, self.clock, self.ids)
        self.keys = Keys(
            store,
            self.clock,
            self.ids,
            most=app.engine.settings.quotas.keys,
            changed=self._key_changed,
        )
        self.rates = _limiter(self.clock, config.rate, config.burst)
        self.source_rates = _limiter(self.clock, config.source_rate, config.source_burst)
        self._makers = KeyRing(store.access, self.clock)
        """The keys by which URLs for events were made."""
        guesses = _limiter(self.clock, config.guess_rate, config.guess_burst)
        looks = RateLimiter(self.clock, rate=_LOOKS, burst=_LOOKS)
        self._guesses = None if guesses is None else Guesses(guesses, looks)
        self.broker = TaskBroker(app.engine)
        """Hands out tasks to workers."""
        self.push_broker = TaskBroker(app.engine, "push")
        """Hands out tasks to be pushed, and takes their callbacks."""
        self.event_tickets = event_tickets(store, self.ids)
        """Signs the URLs by which outside services hand in events."""
        self.schedule_tickets = schedule_tickets(store, self.ids)
        """Signs the tokens by which schedules call this service back."""
        app.engine.callbacks.address = self._callback_address
        self.widget_tickets = widget_tickets(store, self.ids)
        """Signs the tokens by which pages elsewhere show values of instances."""
        self.url = config.public_url or ""
        """Its URL, for the callbacks of pushed tasks and events."""
        self.push = PushDispatcher(
            app.engine,
            self.push_broker,
            build_caller(app.engine.settings),
            lambda: self.url,
        )
        seconds = app.engine.settings.bounds.document_seconds
        self.document_process, self.input_process = Asking(seconds=seconds), Asking(seconds=seconds)
        self.answer_process = Asking(seconds=seconds)
        """Processes for what takes long in requests: none waits for what another one does."""
        self.documents = _reader(app.engine, self.document_process)
        app.engine.plans.inputs.costly = partial(check_input, self.input_process)
        self.queue_depths = QueueDepths(app.engine)
        """Samples how many tasks wait."""
        self.metrics = Metrics(app.engine)
        self.metrics.sources.append(lambda: of_breakers(self.push.breakers()))
        code = app.engine.executors.get(JavaScript)
        if isinstance(code, JavaScriptExecutor):
            self.metrics.sources.append(lambda: of_sandbox(code.figures(), code.ready))
        self.spans: Spans | None = None
        """Makes spans of requests, where tracing is on."""
        self.leaving = asyncio.Event()
        """Set first when it is about to stop, so that load balancers route elsewhere."""
        self.repeated_refusals = RepeatedRefusals(
            self.pressure,
            self.metrics.requests,
            self.ids,
            count_source=self.count_source,
            count_request=self.count_request,
            # Answers of a process that stops, and those that are traced or logged, are made there.
            is_on=lambda: (
                self.spans is None
                and not self.leaving.is_set()
                and not _access_log.isEnabledFor(logging.DEBUG)
            ),
        )
        """Refusals under load that are made without the pipeline."""
        self.stopping = asyncio.Event()
        """Set when the service stops: requests that wait are answered as they stand."""
        self._leaving_long: Timer | None = None
        self.untaken = UntakenAnswers(config.untaken_bytes, config.all_untaken_bytes)
        """Large answers that clients have not taken yet."""
        self.read_turns = RequestTurns()
        """How many lists, and other large reads, of a tenant are made at once."""
        sharing = app.engine.shared.sharing
        self.change_turns = RequestTurns(
            most_of=lambda tenant: (
                CHANGES_BESIDE_OTHERS if sharing.is_beside_others(tenant) else CHANGES_AT_ONCE
            ),
            most_waiting=MOST_CHANGES_WAITING,
        )
        """How many records a tenant changes at once."""
        self.waiting: set[asyncio.Future[Held]] = set()
        """Waits for the end of instances; cancelled when the service stops."""
        self.live = LiveHub(app.engine)
        """Live updates of instances, for sockets and streams."""
        self.bulk = app.bulk_runner
        """Runs bulk operations in the background."""
        self.sizes = _sizes(app.engine.settings.limits)
        """The most bytes of a body, by size class."""

    async def _callback_address(
        self, tenant: str, schedule_id: str, url: str, payload: JSON
    ) -> str:
        """The address of a schedule's callback; one of this service gets a token."""
        if not leads_to(url, self.url, SCHEDULER_CALLBACK):
            return url
        until = epoch_ms(self.clock.now() + VALID_FOR)
        ticket = ScheduleTicket(
            tenant=tenant, schedule_id=schedule_id, until_ms=until, digest=digest_of(payload)
        )
        return with_token(url, await self.schedule_tickets.token(ticket))

    def start(self) -> None:
        """Resume unfinished bulk operations; the app is open."""
        self.bulk.start(takes_over=True)

    async def stop(self) -> None:
        """End waiting requests and live feeds, so that clients reconnect to another process."""
        self.stopping.set()
        for end in self.waiting:
            end.cancel()
        self.broker.close()
        self._leaving_long = self.clock.call_later(_LAST_LONG, self._leave_long_requests)
        await self.live.close()
        await self.bulk.stop()

    def _leave_long_requests(self) -> None:
        """Refuse what is not read or decided on yet, and answer for events that are not matched."""
        self.app.engine.leave_long_requests()
        self.read_turns.end()
        self.change_turns.end()
        for process in (self.document_process, self.input_process, self.answer_process):
            process.refuse_all()

    def count_request(self, principal: Principal, more: int = 1) -> None:
        """Count a request of a principal, or `more` items of it; 429 where there were too many."""
        if more > 0:
            who = f"{principal.tenant} {principal.kind} {principal.identity}"
            _take(self.rates, who, more)

    def count_source(self, address: str) -> None:
        """Count a request from an address; 429 where there have been too many."""
        _take(self.source_rates, client_network(address))

    async def authenticate(self, headers: Mapping[str, str], source: str | None) -> Principal:
        """The principal of a request; 429 where its address has sent too many wrong credentials.

        A valid key or token is let in all the same: else one client behind a proxy that guesses
        would shut out the others. A wrong one is answered as one that was not looked at.
        """
        given, guesses = headers.get("authorization"), self._guesses
        if given is None or guesses is None or guesses.is_known(given):
            return await self.authenticate_again(headers)
        seconds = guesses.begin(source or "")
        if seconds > 0:
            if guesses.may_look(source or ""):
                principal = await self._unguessable(given, headers)
                if principal is not None:
                    guesses.learn(given)
                    return principal
            message = "too many wrong credentials came from this address"
            raise _too_many("TEN-5017", message, seconds)
        try:
            principal = await self.authenticate_again(headers)
        except TenutoError as error:
            guesses.end(source or "", given, error)
            raise
        guesses.end(source or "", given, None)
        return principal

    async def _unguessable(self, given: str, headers: Mapping[str, str]) -> Principal | None:
        """The principal of a valid key or token; None for anything else, and says not for what."""
        if not isinstance(self.authentication, Authenticator):
            return None
        try:
            return await self.authentication.authenticate_unguessable(
                given, self.clock.now(), tenant=headers.get("tenuto-tenant")
            )
        except Unauthenticated as error:
            if error.code != WRONG:
                raise
            return None

    async def sign_in_origins(self) -> tuple[str, ...]:
        """Where the pages may ask for tokens, beside this service: the provider, as it says."""
        sign_in, authentication = self.config.browser_sign_in, self.authentication
        if sign_in is None:
            return ()
        found = [sign_in.issuer]
        if isinstance(authentication, Authenticator):
            found += filter(None, [await authentication.token_endpoint()])
        return tuple(dict.fromkeys(filter(None, map(origin_of, found))))

    async def authenticate_again(self, headers: Mapping[str, str]) -> Principal:
        """The principal of a request that was authenticated when it came."""
        return await self.authentication.authenticate(
            headers.get("authorization"), self.clock.now(), tenant=headers.get("tenuto-tenant")
        )

    async def has_ended(self, credential: str) -> bool:
        """Whether a key has expired or was revoked, as of half a second ago or later."""
        key = await self._makers.find(credential.removeprefix(KEY))
        return key is None or key.state(self.clock.now()) != "active"

    def workspace(self, principal: Principal) -> EngineWorkspace:
        """The engine as a principal sees it."""
        app = self.app
        return EngineWorkspace(
            app.engine, app.bulk_runner, tenant=principal.tenant, actor=principal.identity
        )

    async def close(self) -> None:
        """Write the audit lines and uses of keys that are left; there are no requests any more."""
        if self._leaving_long is not None:
            self._leaving_long.cancel()
        processes = (self.document_process, self.input_process, self.answer_process)
        await asyncio.gather(*(each.close() for each in processes))
        for each in (self.authentication, self.audit):
            if isinstance(each, Authenticator | AuditLog):
                await each.close()

    def _key_changed(self, id: str) -> None:
        self._makers.forget(id)
        if isinstance(self.authentication, Authenticator):
            self.authentication.ring.forget(id)


def _take(limiter: RateLimiter | None, who: str, cost: int = 1) -> None:
    seconds = 0.0 if limiter is None else limiter.take(who, cost)
    if seconds > 0:
        raise _too_many("TEN-4291", "too many requests at once", seconds)


def _too_many(code: str, message: str, seconds: float) -> Refusal:
    return Refusal(429, code, message, headers={"retry-after": str(math.ceil(seconds))})


def _limiter(clock: Clock, rate: float | None, burst: int) -> RateLimiter | None:
    return None if rate is None else RateLimiter(clock, rate=rate, burst=burst)


def _reader(engine: Engine, process: Asking) -> DocumentReader:
    return DocumentReader(
        process,
        engine.clock,
        large=engine.settings.bounds.process_document,
        events_kept=timedelta(seconds=engine.settings.inbox_retention),
    )


def _sizes(limits: Limits) -> Mapping[Size, int]:
    """The most bytes of a body, by size class."""
    return MappingProxyType(
        {
            "command": _ENVELOPE,
            "value": max(limits.input_bytes, limits.event_bytes) + _ENVELOPE,
            "outcome": limits.output_bytes + _ENVELOPE,
            "batch": max(_BATCH, limits.output_bytes + _ENVELOPE),
            "document": MOST_BYTES + _ENVELOPE,
        }
    )
