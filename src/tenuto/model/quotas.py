"""Quotas: how much of a kind one tenant may have stored, and the refusal beyond that."""

from __future__ import annotations

from msgspec import Struct

from tenuto.model.errors import OVER_QUOTA, Overloaded
from tenuto.model.sizes import Count, refuse_sizes


class Quotas(Struct, frozen=True, kw_only=True):
    """How much one tenant may have stored; beyond that, what would add to it is refused."""

    definitions: Count = 10_000
    """Workflows, removed ones too."""
    versions: Count = 1_000
    """Versions of one workflow."""
    tasks: Count = 10_000
    """Declared tasks."""
    task_bytes: Count = 20_000_000
    """Bytes of declared tasks with their schemas: each process has all of them in memory."""
    keys: Count = 1_000
    """API keys that are active, or were made within a day."""
    webhooks: Count = 100
    """Webhooks, disabled ones too: each event that they match is delivered once to each."""
    subscriptions: Count = 100
    schedules: Count = 100_000
    schedule_bytes: Count = 100_000_000
    """Bytes of the documents of schedules."""
    calendars: Count = 1_000
    calendar_versions: Count = 1_000
    """Versions of one calendar."""
    calendar_bytes: Count = 20_000_000
    """Bytes of the newest versions of calendars: each process has all of them in memory."""
    data_sources: Count = 1_000
    data_queries: Count = 10_000
    data_query_bytes: Count = 20_000_000
    """Bytes of the documents of data queries."""
    secrets: Count = 1_000
    bulk_bytes: Count = 20_000_000
    """Bytes of the requests of bulk operations, those that have ended and are still kept too."""
    instances: Count = 1_000_000
    """Instances that have not ended."""
    waits: Count = 1_000_000
    """Open waits for events, and triggers."""
    events: Count = 10_000_000
    """Events in the inbox."""
    bytes: Count = 100_000_000_000
    """Bytes of the logs of instances, of lines of tasks, of events and of definitions, about."""

    def __post_init__(self) -> None:
        refuse_sizes(self, least=0)


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
