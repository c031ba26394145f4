"""Quotas: how much of a kind one tenant may have stored, and the refusal beyond that."""

from __future__ import annotations

from msgspec import Struct

from tenuto.model.errors import OVER_QUOTA, Overloaded


class Quotas(Struct, frozen=True, kw_only=True):
    """How much one tenant may have stored; beyond that, what would add to it is refused."""

    definitions: int = 10_000
    """Workflows, removed ones too."""
    versions: int = 1_000
    """Versions of one workflow."""
    tasks: int = 10_000
    """Declared tasks."""
    keys: int = 1_000
    """API keys that are active, or were made within a day."""
    webhooks: int = 100
    """Webhooks, disabled ones too: each event that they match is delivered once to each."""
    subscriptions: int = 100
    schedules: int = 100_000
    calendars: int = 1_000
    calendar_versions: int = 1_000
    """Versions of one calendar."""
    data_sources: int = 1_000
    data_queries: int = 10_000
    secrets: int = 1_000
    instances: int = 1_000_000
    """Instances that have not ended."""
    waits: int = 1_000_000
    """Open waits for events, and triggers."""
    events: int = 10_000_000
    """Events in the inbox."""
    bytes: int = 100_000_000_000
    """Bytes of the logs of instances, of lines of tasks, of events and of definitions, about."""


DEFAULT_QUOTAS = Quotas()


class QuotaExceeded(Overloaded):
    """A tenant has as much of a kind as it may have; nothing was accepted."""

    code = OVER_QUOTA

    def __init__(self, quota: str, used: int, limit: int) -> None:
        super().__init__(
            f"the tenant has {used:,} of {limit:,} {quota} (quota `{quota}`)",
            advice=f"Remove what is not needed; the operator can raise engine.quotas.{quota}.",
        )
        self.quota = quota
        """The name of the quota, as in the settings: `engine.quotas.<name>`."""
        self.used = used
        self.limit = limit


def refuse_beyond(quota: str, used: int, limit: int, more: int = 1) -> None:
    """QuotaExceeded where `more` of a kind would be too many."""
    if used + more > limit:
        raise QuotaExceeded(quota, used, limit)
