"""Test runs of unsaved workflows: mocks of steps, and what runs for real."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tenuto.model.failure import Failure
from tenuto.model.json import JSON

PREFIX = "~test:"
"""The prefix of the definition ids of test runs; no saved definition can have it."""


def inbox_of(instance_id: str) -> str:
    """The tenant name of a test run's events; no real tenant can have it."""
    return f"{PREFIX}{instance_id}"


def is_inbox_of_test_run(tenant: str) -> bool:
    """Whether a name is that of the inbox of a test run."""
    return tenant.startswith(PREFIX)


class Mock(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a step ends without being run: with an output, or with a failure."""

    output: JSON | UnsetType = UNSET
    error: Failure | None = None


NOT_RUN = Mock(output={})
"""The mock of a step that has none and may not run."""


class TestRunSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a test run."""

    __test__ = False  # its name looks to pytest like that of a test
    mocks: Mapping[str, Mock] = msgspec.field(default_factory=dict)
    """Step id → mock."""
    skips_delays: bool = False
    allows_effects: bool = False
    """Whether steps without a mock run for real."""

    def mock_of(self, step_id: str) -> Mock | None:
        """How a step ends without being run; None: it runs."""
        mock = self.mocks.get(step_id)
        return mock if mock is not None or self.allows_effects else NOT_RUN


def is_test_run(definition_id: str) -> bool:
    """Whether a definition belongs to a test run."""
    return definition_id.startswith(PREFIX)
