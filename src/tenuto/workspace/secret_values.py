"""The values of secrets that cross the workspace protocol: everything but what they hide."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class SecretUses(Struct, frozen=True, kw_only=True, rename="camel"):
    """What names a secret; at most 100 of each."""

    workflows: list[str] = []
    """Workflows whose newest version has it in the input of a step."""
    data_sources: list[str] = []
    """Data sources that connect with it."""


class Secret(Struct, frozen=True, kw_only=True, rename="camel"):
    """A secret, without its value, which no method gives back."""

    name: str
    destinations: list[str] | None
    """Hosts and data sources that it may be sent to; null: it may stand in every input."""
    changed_at: datetime
    changed_by: str | None
    used_by: SecretUses = SecretUses()
