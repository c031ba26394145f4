"""What decisions on instances of a tenant are handed: its declared tasks and its calendars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tenuto.engine.definitions.declared_tasks import DeclaredTasks
from tenuto.model.policy import Policies
from tenuto.model.slots import SlotRules
from tenuto.model.working_time import WorkingCalendar


class KnownCalendars(Protocol):
    """The calendars of all tenants, as this process knows them."""

    def known(self, tenant: str) -> Mapping[str, WorkingCalendar]:
        """Those of a tenant, by id: another value whenever one has changed."""

    def digest(self, tenant: str) -> str:
        """Of the versions of all of them; empty where there is none."""


class KnownLimits(Protocol):
    """The limits that count instances of tenants, as this process knows them."""

    def rules(self, tenant: str) -> SlotRules | None:
        """How instances of a tenant wait for slots; None: they need none."""


class _Combined(NamedTuple):
    declared: Policies
    calendars: Mapping[str, WorkingCalendar]
    slots: SlotRules | None
    both: Policies


class TenantPolicies:
    """The policies of all tenants: one immutable value each, swapped as a whole."""

    def __init__(
        self, tasks: DeclaredTasks, calendars: KnownCalendars, limits: KnownLimits
    ) -> None:
        self._tasks = tasks
        self.calendars = calendars
        self._limits = limits
        self._kept: dict[str, _Combined] = {}

    def of(self, tenant: str) -> Policies:
        """The policies of a tenant as they are now; the same value until something changes."""
        declared, calendars = self._tasks.of(tenant), self.calendars.known(tenant)
        slots = self._limits.rules(tenant)
        if not calendars and slots is None:
            self._kept.pop(tenant, None)
            return declared
        kept = self._kept.get(tenant)
        if (
            kept is None
            or kept.declared is not declared
            or kept.calendars is not calendars
            or kept.slots is not slots
        ):
            version = declared.version
            if calendars:
                version = f"{version}-{self.calendars.digest(tenant)}"
            both = replace(declared, calendars=calendars, version=version, slots=slots)
            kept = self._kept[tenant] = _Combined(declared, calendars, slots, both)
        return kept.both
