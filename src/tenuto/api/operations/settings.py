"""The operation on settings: what the process that answers is configured to do, and its store."""

from __future__ import annotations

import asyncio
import platform
from typing import Literal

from tenuto import __version__
from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.shapes import Answer
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON
from tenuto.store.parts.instances import InstanceQuery

SETTINGS = Resource(f"{API}/settings", tag="settings", read=Permission.SETTINGS_READ)

_PATIENCE = 2.0
_OF_THE_MACHINE = frozenset({"store", "listen_url", "log_to", "tasks", "dev.files"})
"""Settings that name places of the machine: an admin of one tenant is not shown them."""


class SettingView(Answer):
    """One setting."""

    name: str
    value: JSON
    """Secrets and passwords are not shown; null also where it is not shown to the caller."""
    origin: str
    """A flag, a variable, a line of a file, or `default`."""
    is_hidden: bool
    """Whether only the holder of the admin key, and users of this machine, are shown it."""


class StoreView(Answer):
    """The store, as the process that answers sees it."""

    kind: Literal["memory", "sqlite", "postgres"]
    is_shared: bool
    """Whether several processes may work on it."""
    processes: int
    """Processes that are alive and work on it."""
    is_available: bool
    milliseconds: float | None
    """How long it took to answer just now."""


class SettingsView(Answer):
    """The configuration of the process that answers."""

    version: str
    python: str
    environment: str | None
    public_url: str
    store: StoreView
    settings: list[SettingView]


@SETTINGS.get()
async def get_settings(call: Call[NoQuery]) -> SettingsView:
    """Get the settings of the service, without secrets, and the state of its store."""
    config = call.service.config
    sees_all = _is_of_the_service(call.principal)
    return SettingsView(
        version=__version__,
        python=platform.python_version(),
        environment=config.environment,
        public_url=call.service.url,
        store=await _store(call),
        settings=[
            SettingView(
                name=each.name,
                value=each.value if sees_all or each.name not in _OF_THE_MACHINE else None,
                origin=each.origin,
                is_hidden=not sees_all and each.name in _OF_THE_MACHINE,
            )
            for each in config.settings
        ],
    )


def _is_of_the_service(principal: Principal) -> bool:
    return principal.kind in ("local", "system")


async def _store(call: Call[NoQuery]) -> StoreView:
    store, clock = call.service.app.engine.store, call.service.clock
    begin = clock.ticks()
    try:
        async with asyncio.timeout(_PATIENCE):
            await store.instances.page(InstanceQuery(ids=("-",), limit=1))
            took: float | None = round((clock.ticks() - begin) * 1_000, 1)
            processes = await store.members.workers()
    except (TenutoError, TimeoutError):
        took, processes = None, 0
    kind = type(store).__module__.split(".")[2]
    assert kind in ("memory", "sqlite", "postgres")
    return StoreView(
        kind=kind,  # type: ignore[arg-type]
        is_shared=store.is_shared,
        processes=processes,
        is_available=took is not None,
        milliseconds=took,
    )
