"""Triggers: the instances that an event cancels, and the ones that it starts."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import UNSET

from tenuto.core.cancel_trigger import holds
from tenuto.core.payload import started_input
from tenuto.engine.definitions.plans import Deployed, Plans
from tenuto.engine.events.slices import Slices
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.expr import ExpressionError, Steps
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.family import triggered_id
from tenuto.model.ids import start_letter
from tenuto.model.inputs import EventCause, Started
from tenuto.model.json import JSON
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.waits import WaitRow

_position = attrgetter("position")
_CODE: Final = re.compile("[A-Z][A-Z0-9_-]*")
_HIDDEN: Final = "the start was refused; the reason may have values in it that are encrypted"


class Starts(NamedTuple):
    """Mailbox messages that start instances, and the deliveries recorded for each definition."""

    messages: list[SendMail]
    deliveries: list[Delivery]
    sealed: frozenset[str] = frozenset()
    """The instances among them whose values are encrypted."""


class Triggers:
    """Evaluates the triggers that an event matches."""

    def __init__(
        self,
        *,
        plans: Plans,
        loader: Loader,
        refusal: Callable[[Deployed, JSON, str], Awaitable[Failure | None]],
        slices: Slices,
    ) -> None:
        """`refusal`: the reason why a tenant's instance cannot be started with an input, if any."""
        self._plans = plans
        self._loader = loader
        self._refusal = refusal
        self._slices = slices

    async def cancelled_by(self, event: Event, rows: Sequence[WaitRow]) -> list[WaitRow]:
        """The cancellation triggers whose conditions hold now, in their listed order.

        A condition that compares the event with more than the input is evaluated on the current
        state. An instance that this program cannot read gets the event: a process that can read it
        decides.
        """
        changing = sorted({row.instance_id for row in rows if not row.captures})
        loaded = await self._loader.load(changing) if changing else {}
        slices = self._slices.of(event.tenant)
        found: list[WaitRow] = []
        for row in sorted(rows, key=_position):
            if row.captures:
                found.append(row)
                continue
            await slices.turn()
            if _may_hold(loaded.get(row.instance_id), row.position, event, slices.steps):
                found.append(row)
        return found

    async def started_by(self, event: Event, rows: Sequence[WaitRow], now: datetime) -> Starts:
        """The starts: one instance of each definition, by its first matching trigger."""
        first: dict[str, WaitRow] = {}
        for row in sorted(rows, key=_position):
            first.setdefault(row.node, row)
        starts = Starts([], [])
        sealed: set[str] = set()
        for definition_id in sorted(first):
            row = first[definition_id]
            id = triggered_id(event.received_at, row.tenant, event.id, definition_id)
            started = await self._started(event, row)
            if isinstance(started, Started) and await self._encrypts(row):
                sealed.add(id)
            reason = await self._reason(started, row) if isinstance(started, str) else None
            place = (id, definition_id, "")
            outcome = Delivery(event.id, *place, "matched", row.arm, tenant=event.tenant)
            if reason is not None:
                outcome = outcome._replace(outcome="refused", reason=reason)
            starts.deliveries.append(outcome)
            if isinstance(started, Started):
                message = SendMail(to=id, id=start_letter(id), at=now, input=started)
                starts.messages.append(message)
        return starts._replace(sealed=frozenset(sealed))

    async def _reason(self, refused: str, row: WaitRow) -> str:
        """Why there is no start, as it is stored: in clear, since there is no instance."""
        try:
            is_shown = not await self._encrypts(row)
        except StoreUnavailable:
            raise
        except TenutoError:
            is_shown = True  # it says why the definition cannot be read
        if is_shown:
            return refused
        code = refused.partition(":")[0]
        return f"{code if _CODE.fullmatch(code) else 'refused'}: {_HIDDEN}"

    async def _encrypts(self, row: WaitRow) -> bool:
        return (await self._plans.get(row.tenant, row.node, row.attempt)).plan.encrypts

    async def _started(self, event: Event, row: WaitRow) -> Started | str:
        """The start, or the reason why there is none."""
        if (problem := event.chain_problem) is not None:
            return problem
        try:
            deployed = await self._plans.get(row.tenant, row.node, row.attempt)
            trigger = deployed.plan.definition.triggers[row.position]
            slices = self._slices.of(event.tenant)
            await slices.turn()
            input = started_input(trigger.input_mapping, event, slices.steps)
        except StoreUnavailable:
            raise
        except (TenutoError, ExpressionError) as error:
            return str(error)
        failure = await self._refusal(deployed, input, row.tenant)
        if failure is not None:
            return f"{failure.code}: {failure.message}"
        return Started(
            definition_id=row.node,
            definition_version=row.attempt,
            input=input,
            correlation_id=event.correlation_id,
            cause=EventCause(event_id=event.id, trigger=row.position, tenant=event.tenant),
            chain=event.chain_of_starts,
            origin=UNSET if event.origin is None else event.origin,
        )


def _may_hold(found: Held | TenutoError | None, number: int, event: Event, steps: Steps) -> bool:
    if isinstance(found, Held):
        return holds(found.plan, found.state, number, event, steps)
    return found is not None
