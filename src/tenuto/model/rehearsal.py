"""What stands in for the world while an unsaved workflow is tried out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tenuto.model.failure import Failure
from tenuto.model.json import JSON

PREFIX = "~test:"
"""With this the ids of definitions begin that are only tried out: nobody can save one so."""


def inbox_of(instance_id: str) -> str:
    """Whose events a test run sees and sends: they stand under a name that no tenant can have."""
    return f"{PREFIX}{instance_id}"


class Mock(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a step ends without being run: with an output, or with a failure."""

    output: JSON | UnsetType = UNSET
    error: Failure | None = None


NOT_RUN = Mock(output={})
"""What a step gives that nobody mocked and that may not run."""


class Rehearsal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of a workflow that is tried out is real."""

    mocks: Mapping[str, Mock] = msgspec.field(default_factory=dict)
    """By the ids of steps."""
    skips_delays: bool = False
    allows_effects: bool = False
    """Whether what is not mocked runs for real."""

    def stand_in(self, step_id: str) -> Mock | None:
        """How a step ends without being run; None: it runs."""
        mock = self.mocks.get(step_id)
        return mock if mock is not None or self.allows_effects else NOT_RUN


def is_rehearsed(definition_id: str) -> bool:
    """Whether a definition is only tried out."""
    return definition_id.startswith(PREFIX)
