"""The operation on settings: what the process that answers is configured to do, and its store."""

from __future__ import annotations

import asyncio
import platform
import re
from typing import Literal, TypeAlias

from tenuto import __version__
from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.call import Call, NoQuery
from tenuto.api.config import ShownSetting
from tenuto.api.operation import API, Resource
from tenuto.api.shapes import Answer
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON
from tenuto.store.parts.instances import InstanceQuery

SETTINGS = Resource(f"{API}/settings", tag="settings", read=Permission.SETTINGS_READ)

_PATIENCE = 2.0
_SHOWN = frozenset(
    {
        "port",
        "public_url",
        "environment",
        "allow_host",
        "allow_origin",
        "rate_limit",
        "burst",
        "source_rate_limit",
        "linger_seconds",
        "drain_seconds",
        "auth",
        "oidc_issuer",
        "oidc_audience",
        "oidc_client_id",
        "oidc_scopes",
        "oidc_private",
        "oidc_tenant_claim",
        "oidc_role_claims",
        "oidc_name_claim",
        "log_format",
        "log_level",
        "log_attempts",
        "traces",
        "engine.task_timeout",
        "engine.threads",
        "engine.attempts",
        "engine.store_connections",
        "engine.lanes",
        "engine.heartbeat_every",
        "engine.dead_after",
        "engine.mail_every",
        "engine.timers_every",
        "engine.jobs_every",
        "engine.watch_every",
        "engine.project_every",
        "engine.outbox_every",
        "engine.webhook_timeout",
        "engine.disable_webhooks_after",
        "engine.private_webhooks",
        "engine.private_targets",
        "engine.host_limits",
        "engine.inbox_retention",
        "engine.instance_retention",
        "engine.bulk_retention",
        "engine.prune_every",
        "engine.test_run_retention",
        "engine.longest_nap",
        "engine.report_block_after",
        "engine.decision_timeout",
        "engine.stop_grace",
        "engine.unknown_tasks",
        "engine.task_logs",
    }
)
"""Settings that admins of tenants are shown; a new one is not shown until it is listed."""
_SHOWN_GROUPS = ("engine.retry.", "engine.limits.", "engine.quotas.", "engine.bounds.")
_OF_THE_MACHINE = frozenset(
    {
        "store",
        "listen_url",
        "host",
        "log_to",
        "tasks",
        "dev.files",
        "engine.notes_folder",
        "engine.data_folder",
        "engine.private_databases",
        "engine.private_networks",
    }
)
"""Settings that name places of the machine, or tenants: an admin of one is not shown them."""
_USER = re.compile(r"(?<=://)\S*@")
_PASSWORD = re.compile(r"(?<=://)([^\s:@/]*):\S*@")

Origin: TypeAlias = Literal["flag", "variable", "file", "default"]


class SettingView(Answer):
    """One setting."""

    name: str
    value: JSON
    """Secrets and passwords are not shown; null also where it is not shown to the caller."""
    origin: Origin
    is_hidden: bool
    """Whether it is not shown to the caller; `tenuto config show` shows it on the machine."""


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
        public_url=_USER.sub("", call.service.url),
        store=await _store(call),
        settings=[_view(each, sees_all=sees_all) for each in config.settings],
    )


def _view(setting: ShownSetting, *, sees_all: bool) -> SettingView:
    name = setting.name
    is_shown = name in _SHOWN or name.startswith(_SHOWN_GROUPS)
    is_shown = is_shown or (sees_all and name in _OF_THE_MACHINE)
    return SettingView(
        name=name,
        value=_without_passwords(name, setting.value) if is_shown else None,
        origin=_kind(setting.origin),
        is_hidden=not is_shown,
    )


def _without_passwords(name: str, value: JSON) -> JSON:
    if isinstance(value, str):
        # The user of a database is no secret; that of another address may be a token.
        is_store = name in ("store", "listen_url")
        return _PASSWORD.sub(r"\1@", value) if is_store else _USER.sub("", value)
    if isinstance(value, list):
        return [_without_passwords(name, each) for each in value]
    return value


def _kind(origin: str) -> Origin:
    """The kind alone: the place itself may name a folder of the machine."""
    if origin == "default":
        return "default"
    if origin.startswith("--"):
        return "flag"
    return "variable" if origin.startswith("TENUTO_") else "file"


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
