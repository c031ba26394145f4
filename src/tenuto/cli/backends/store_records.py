"""Parts of the workspace of a store that change its records without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from tenuto.cli.backends.reader import make_room
from tenuto.cli.backends.recorded import recorded
from tenuto.compose import MEMORY, is_postgres, migrate_store, sqlite_path
from tenuto.model.json import Object
from tenuto.workspace import audit_values, protocol
from tenuto.workspace.dead_letters import DeadLetters
from tenuto.workspace.secret_values import Secret
from tenuto.workspace.secrets import TenantSecrets
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


@recorded(protocol.Secrets, audit_values.secret_before)
class _RecordedSecrets(TenantSecrets):
    """Secrets, of which every change is in the audit log."""

    def __init__(self, space: StoreWorkspace) -> None:
        super().__init__(space.reader, space.tenant, space.actor)
        self.space = space


class StoreSecrets(_RecordedSecrets):
    """Values that steps use and no record shows; also beside an engine that runs."""

    async def put(
        self, name: str, value: str, *, destinations: Sequence[str] | None = None
    ) -> Secret:
        """Store a secret, new or not; a file that does not exist is made."""
        url = self.space.url
        if url != MEMORY and not is_postgres(url) and not sqlite_path(url).exists():
            make_room(url)
            await migrate_store(url)
        return await super().put(name, value, destinations=destinations)
