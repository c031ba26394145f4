"""The definitions part of an engine: plans, declared tasks and the resolver of sub-workflows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from tenuto.built_in.protocol import code_checker
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.definitions.declared_tasks import DeclaredTasks
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.definitions.policies import TenantPolicies
from tenuto.engine.definitions.resolver import Resolver
from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.shared import Shared
from tenuto.engine.turns.requests import Request
from tenuto.engine.usage import Usage
from tenuto.store.parts.members import Pulse


class Definitions:
    """Compiled versions, what tenants declare of their tasks, and their calendars."""

    def __init__(self, shared: Shared, usage: Usage) -> None:
        """`usage` refuses a document of so many bytes where a tenant has its most."""
        self._shared = shared
        settings = shared.settings
        self.declared_tasks = DeclaredTasks(
            shared.store,
            shared.registry,
            fails_unknown=shared.settings.unknown_tasks == "fail",
        )
        self.plans = Plans(
            shared.store,
            shared.clock,
            settings.retry,
            settings.limits,
            quotas=settings.quotas,
            listeners_changed=shared.outbox_hint.set,
            bounds=settings.bounds,
            timeout=timedelta(seconds=settings.task_timeout),
            code=code_checker(shared.executors),
        )
        self.plans.admit = usage.admit_document
        self.calendars = Calendars(shared, self.plans.values)
        quotas = settings.quotas
        usage.watch("task_bytes", self.declared_tasks.used_bytes, quotas.task_bytes)
        usage.watch("calendar_bytes", self.calendars.used_bytes, quotas.calendar_bytes)
        self.limits = KnownLimits(shared)
        self.policies = TenantPolicies(self.declared_tasks, self.calendars, self.limits)

    async def start(self) -> None:
        await self.declared_tasks.read()
        await self.calendars.read()
        await self.limits.look()

    async def refresh(self, heartbeat: Pulse) -> None:
        """Read again what other processes have changed, as the marks of a heartbeat say."""
        await self.declared_tasks.refresh(heartbeat.tasks)
        await self.calendars.heard(heartbeat.calendars)
        await self.limits.look()

    def resolver(self, report: Callable[[Request], None]) -> Resolver:
        """A resolver of sub-workflows; `report` takes its findings to instances."""
        return Resolver(
            plans=self.plans,
            clock=self._shared.clock,
            background=self._shared.background,
            report=report,
            is_missing=self._shared.is_missing,
            limits=self._shared.settings.limits,
            sharing=self._shared.sharing,
        )
