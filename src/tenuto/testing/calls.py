"""Recorded calls of tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tenuto.model.json import JSON


class Call(Struct, kw_only=True):
    """One run of a task, even if its outcome was lost with its process."""

    task: str
    instance_id: str
    step: str
    attempt: int
    key: str
    """The idempotency key: the same for every attempt of one step."""
    input: JSON
    at: datetime
    outcome: Literal["running", "done", "failed", "lost"] = "running"
    """How it ended; "lost" when its process died before it had."""

    @property
    def iteration(self) -> str:
        """Which iteration of a loop it was for, "2/0" in a nested one; empty outside of loops."""
        return self.key.removeprefix(f"{self.instance_id}:{self.step}").removeprefix(":")
