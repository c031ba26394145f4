"""Events that cancel instances, and events that start them: whom one is for, and who is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from tenuto.core.cancel_trigger import holds
from tenuto.core.payload import started_input
from tenuto.engine.definitions.plans import Deployed, Plans
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.expr import ExpressionError
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


class Starts(NamedTuple):
    """What an event starts: letters to instances to be, and what is recorded of each definition."""

    letters: list[SendMail]
    deliveries: list[Delivery]


class Triggers:
    """Knows what is behind the triggers that an event has found."""

    def __init__(
        self,
        *,
        plans: Plans,
        loader: Loader,
        refusal: Callable[[Deployed, JSON], Failure | None],
    ) -> None:
        """`refusal`: why an instance cannot be started with an input, if so."""
        self._plans = plans
        self._loader = loader
        self._refusal = refusal

    async def cancelled_by(self, event: Event, rows: Sequence[WaitRow]) -> list[WaitRow]:
        """Those of the cancellation triggers that hold now, as they are listed.

        What compares the event with anything but the input is read in the instance as it is. One
        that this program cannot read is told all the same: whoever can decides.
        """
        changing = sorted({row.instance_id for row in rows if not row.captures})
        loaded = await self._loader.load(changing) if changing else {}
        return [
            row
            for row in sorted(rows, key=_position)
            if row.captures or _may_hold(loaded.get(row.instance_id), row.position, event)
        ]

    async def started_by(self, event: Event, rows: Sequence[WaitRow], now: datetime) -> Starts:
        """What an event starts: of each definition one instance, by its first trigger that fits."""
        first: dict[str, WaitRow] = {}
        for row in sorted(rows, key=_position):
            first.setdefault(row.node, row)
        starts = Starts([], [])
        for definition_id in sorted(first):
            row = first[definition_id]
            id = triggered_id(event.received_at, row.tenant, event.id, definition_id)
            started = await self._started(event, row)
            reason = started if isinstance(started, str) else None
            place = (id, definition_id, "")
            outcome = Delivery(event.id, *place, "matched", row.arm, tenant=event.tenant)
            if reason is not None:
                outcome = outcome._replace(outcome="refused", reason=reason)
            starts.deliveries.append(outcome)
            if isinstance(started, Started):
                letter = SendMail(to=id, id=start_letter(id), at=now, input=started)
                starts.letters.append(letter)
        return starts

    async def _started(self, event: Event, row: WaitRow) -> Started | str:
        """The start, or why there is none."""
        if (problem := event.chain_problem) is not None:
            return problem
        try:
            deployed = await self._plans.get(row.tenant, row.node, row.attempt)
            trigger = deployed.plan.definition.triggers[row.position]
            input = started_input(trigger.input_mapping, event)
        except StoreUnavailable:
            raise
        except (TenutoError, ExpressionError) as error:
            return str(error)
        failure = self._refusal(deployed, input)
        if failure is not None:
            return f"{failure.code}: {failure.message}"
        return Started(
            definition_id=row.node,
            definition_version=row.attempt,
            input=input,
            correlation_id=event.correlation_id,
            cause=EventCause(event_id=event.id, trigger=row.position, tenant=event.tenant),
            chain=event.chain_of_starts,
        )


def _may_hold(found: Held | TenutoError | None, number: int, event: Event) -> bool:
    if isinstance(found, Held):
        return holds(found.plan, found.state, number, event)
    return found is not None
