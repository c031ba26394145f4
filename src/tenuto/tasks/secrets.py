"""What a runner asks of secrets: values for an input, and records without them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tenuto.model.effects import StartAttempt
from tenuto.model.failure import Failure
from tenuto.model.graph import BuiltIn
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.task_logs import LogChunk


class FilledInput(NamedTuple):
    """The input of an attempt with the values of its secrets."""

    value: JSON
    secret_values: tuple[str, ...]


class Secrets(Protocol):
    """Fills in secrets, and keeps them out of what is recorded of a tenant."""

    async def fill(
        self, tenant: str, order: StartAttempt, config: BuiltIn | None = None
    ) -> FilledInput | Failure:
        """The input of an attempt with its secrets, or why it cannot run; StoreUnavailable."""
        ...

    def outcome(
        self, tenant: str, report: TaskSucceeded | TaskFailed
    ) -> TaskSucceeded | TaskFailed:
        """The outcome of an attempt as it may be recorded."""
        ...

    def lines(self, tenant: str, chunk: LogChunk) -> LogChunk:
        """Lines of an attempt as they may be recorded."""
        ...

    def shown(self, tenant: str, value: JSON) -> JSON:
        """The details of a heartbeat as they may be shown."""
        ...
