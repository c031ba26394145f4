"""Parts of the workspace of a store that change its records without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from tenuto.cli.backends.recorded import recorded
from tenuto.model.json import Object
from tenuto.workspace import audit_values, protocol
from tenuto.workspace.dead_letters import DeadLetters
from tenuto.workspace.webhooks import Subscriptions, Webhooks

if TYPE_CHECKING:
    from tenuto.cli.backends.store_workspace import StoreWorkspace


async def _letter_before(letters: DeadLetters, id: str) -> Object:
    return audit_values.letter(await letters.row(id))


@recorded(protocol.DeadLetters, _letter_before)
class StoreDeadLetters(DeadLetters):
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    __slots__ = ("space",)

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader.store, space.tenant, lambda id: space.at(id, is_known=True))
        self.space = space


class _OfSpace:
    """Listeners, which are made by the workspace of any store, and then given this one."""

    space: StoreWorkspace

    def of(self, space: StoreWorkspace) -> Self:
        """Itself, once it knows its workspace."""
        self.space = space
        return self


@recorded(protocol.Webhooks, audit_values.listener_before)
class StoreWebhooks(_OfSpace, Webhooks):
    """Addresses that are notified of events."""


@recorded(protocol.Subscriptions, audit_values.listener_before)
class StoreSubscriptions(_OfSpace, Subscriptions):
    """Addresses that are notified of events until they expire."""
