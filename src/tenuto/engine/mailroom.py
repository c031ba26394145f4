"""Letters to instances: handed over at once where this process can, and found again where not.

A letter is a row that was written with its cause, and stays until the log of the instance it is for
has taken it: what happens here is a hint, and may happen twice. A letter that starts an instance
comes before every other one for it; until it has been taken, the others stay where they are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine

import msgspec

from tenuto.core import Rejection
from tenuto.engine.plans import Plans
from tenuto.engine.requests import LookAgain, Request, StartFacts
from tenuto.model.effects import SendMail
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import Input, Started
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.columns import DEFAULT_TENANT
from tenuto.store.protocol import Mail, Store

log = logging.getLogger("tenuto.mail")

BATCH = 500
_GONE = "TEN-3001"
_decode = msgspec.json.Decoder(Input | LookAgain).decode


class Mailroom:
    """Hands instances what others left for them."""

    def __init__(
        self,
        *,
        store: Store,
        plans: Plans,
        clock: Clock,
        report: Callable[[Request], None],
        errand: Callable[[Coroutine[None, None, None]], object],
        unreadable: Callable[[str, str], None],
        may_start: Callable[[], Collection[str]],
    ) -> None:
        """`unreadable`: a letter, to an instance, is for a process whose program can read it.

        `may_start`: instances for whom such a letter, perhaps their start, has come before.
        """
        self._store = store
        self._plans = plans
        self._clock = clock
        self._report = report
        self._errand = errand
        self._unreadable = unreadable
        self._may_start = may_start
        self._in_hand: dict[str, str | None] = {}
        """Letters that were handed over and may still be there; of a start, whom it is for."""

    def send(self, letter: SendMail, tenant: str) -> None:
        """Hand over a letter that has just become durable."""
        if not isinstance(letter.input, Started):
            self._in_hand[letter.id] = None
            self._report(Request(letter.to, letter.input, mail_id=letter.id))
            return
        self._in_hand[letter.id] = letter.to
        request = Request(letter.to, letter.input, mail_id=letter.id)
        known = self._plans.known(
            tenant, letter.input.definition_id, letter.input.definition_version
        )
        if known is None:
            self._errand(self._start_later(request, letter.input, tenant))
        else:
            request.start = StartFacts(plan=known.plan, tenant=tenant)
            self._report(request)

    async def run_once(self) -> int:
        """Fetch what is new; returns how many letters were handed over."""
        count = 0
        while True:
            letters = await self._store.mail(BATCH + len(self._in_hand))
            here = {letter.id for letter in letters}
            fresh = [letter for letter in letters if letter.id not in self._in_hand]
            self._in_hand = {id: to for id, to in self._in_hand.items() if id in here}
            await self._hand_over(fresh)
            count += len(fresh)
            if len(fresh) < BATCH:
                return count

    def let_go(self, mail_id: str) -> None:
        """Nobody was there to take a letter: it is handed over again another time."""
        self._in_hand.pop(mail_id, None)

    def let_all_go(self) -> None:
        """What this process had in hand may be another's now."""
        self._in_hand.clear()

    async def _hand_over(self, letters: list[Mail]) -> None:
        tenants = _Tenants(self._store)
        starting = {to for to in self._in_hand.values() if to is not None}
        starting.update(self._may_start())
        for letter in letters:
            self._in_hand[letter.id] = None
            try:
                input = _decode(letter.input)
            except msgspec.MsgspecError as error:
                log.warning("the letter %s to %s is left: %s", letter.id, letter.instance_id, error)
                self._in_hand[letter.id] = letter.instance_id  # for all that is known, its start
                starting.add(letter.instance_id)
                self._unreadable(letter.id, letter.instance_id)
                continue
            request = Request(letter.instance_id, input, mail_id=letter.id)
            if isinstance(input, Started):
                self._in_hand[letter.id] = letter.instance_id
                starting.add(letter.instance_id)
                tenant = await tenants.of(input)
                if tenant is None:
                    self._refuse(request, "the instance that it comes from is gone", _GONE)
                else:
                    await self._start(request, input, tenant)
            else:
                # Letters come oldest first: without its start before it, whoever is not there now
                # will never be.
                request.drops_if_gone = letter.instance_id not in starting
                self._report(request)

    async def _start_later(self, request: Request, started: Started, tenant: str) -> None:
        while True:
            try:
                await self._start(request, started, tenant)
            except StoreUnavailable:
                await self._clock.sleep(BAD_WEATHER)
            else:
                return

    async def _start(self, request: Request, started: Started, tenant: str) -> None:
        """Start an instance by letter, or have it refused where its workflow is gone."""
        try:
            deployed = await self._plans.get(
                tenant, started.definition_id, started.definition_version
            )
        except StoreUnavailable:
            raise
        except NotFound as error:
            self._refuse(request, str(error), error.code)
        except TenutoError as error:
            log.warning("the instance %s is not started here: %s", request.instance_id, error)
            if request.mail_id is not None:
                self._unreadable(request.mail_id, request.instance_id)
        else:
            request.start = StartFacts(plan=deployed.plan, tenant=tenant)
            self._report(request)

    def _refuse(self, request: Request, message: str, code: str) -> None:
        """Whoever asked for the start is told; the letter is taken off."""
        request.drops_if_gone = True
        request.refusal = Rejection(code=code, message=message)
        self._report(request)


class _Tenants:
    """Whose instances those are that letters start: whoever has the one that they come from."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str | None] = {}

    async def of(self, started: Started) -> str | None:
        """None: the instance that it comes from is gone, and nobody may have the new one."""
        source = started.parent.id if started.parent is not None else started.rerun_of
        if source is None:
            return DEFAULT_TENANT
        if source not in self._known:
            found = (await self._store.load([source])).get(source)
            self._known[source] = None if found is None else found.row.tenant
        return self._known[source]
