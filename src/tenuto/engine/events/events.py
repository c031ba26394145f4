"""The events part of an engine: the router, look-back, triggers and the inspector."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.definitions.resolver import Resolver
from tenuto.engine.events.event_router import EventRouter
from tenuto.engine.events.inspector import Inspector
from tenuto.engine.events.look_back import LookBack
from tenuto.engine.events.slices import Slices
from tenuto.engine.events.triggers import Triggers
from tenuto.engine.shared import Shared
from tenuto.engine.turns.turns import Turns
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.store.parts.waits import WaitRow

log = logging.getLogger("tenuto.events")


class Events:
    """Brings events to waits, from both sides."""

    def __init__(
        self,
        shared: Shared,
        definitions: Definitions,
        turns: Turns,
        resolver: Resolver,
        *,
        send: Callable[[SendMail, str], None],
    ) -> None:
        """`send` hands a durable mailbox message over to an instance of this process."""
        self._shared = shared
        self.slices = slices = Slices(shared.clock, shared.sharing)
        triggers = Triggers(
            plans=definitions.plans,
            loader=turns.loader,
            refusal=resolver.refusal,
            slices=slices,
        )
        self.inspector = Inspector(shared.store, turns.loader, triggers, shared.clock, slices)
        self.past = LookBack(
            shared.store, turns.intake_of, slices, page=shared.settings.bounds.look_back_page
        )
        self.router = EventRouter(
            shared, turns.intake_of, triggers=triggers, slices=slices, send=send
        )

    def look_back(self, arms: Sequence[WaitRow]) -> None:
        """Offer past events to a new wait, given as its arms."""
        _ = self._shared.background.spawn(self._looked_back(arms))

    def match(self, number: int, event: Event) -> None:
        """Match an event that an instance has published; `number` is 0 where the id was taken."""
        if number:
            _ = self._shared.background.spawn(self.router.match_late(number, event))
        else:
            log.error("event=%s: another event has this id", event.id)

    async def _looked_back(self, arms: Sequence[WaitRow]) -> bool:
        while True:
            try:
                return await self.past.of(arms)
            except StoreUnavailable:
                await self._shared.clock.sleep(1.0)
            except TenutoError as error:
                log.warning("instance=%s: a wait did not look back: %s", arms[0].instance_id, error)
                return False
