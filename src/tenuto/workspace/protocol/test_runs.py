"""Test runs of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given
from tenuto.model.test_run import Mock
from tenuto.workspace.values import Published, TestRun


class TestRuns(Protocol):
    """Runs of definitions that are not saved; no list shows them."""

    async def start(
        self,
        document: Mapping[str, JSON],
        input: Given = None,
        *,
        mocks: Mapping[str, Mock] | None = None,
        skip_delays: bool = False,
        allow_effects: bool = False,
    ) -> TestRun:
        """Run a definition that is not saved, with `mocks` by the ids of steps.

        A step without a mock gives an empty object, or runs if `allow_effects` is set.
        """
        ...

    async def publish(self, id: str, document: Given) -> list[Published | TenutoError]:
        """Publish events that this test run alone sees; NotFound."""
        ...

    async def stop(self, id: str) -> None:
        """End a test run and erase it; NotFound."""
        ...
