"""Test runs at a server."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from tenuto.client.operations import Operations
from tenuto.client.shapes import results_of
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.test_run import Mock
from tenuto.workspace.values import Published, TestRun


class RemoteTestRuns:
    """Runs of definitions that are not saved; no list shows them."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

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
        how: Object = {
            "inputParams": as_json(input),
            "mocks": {name: _mock(each) for name, each in (mocks or {}).items()},
            "skipDelays": skip_delays,
            "allowEffects": allow_effects,
        }
        return await self._operations.start_test_run({**document, **how})

    async def publish(self, id: str, document: Given) -> list[Published | TenutoError]:
        """Publish events that this test run alone sees; NotFound."""
        events = document if isinstance(document, list) else [document]
        answers = await self._operations.publish_in_test_run(id, events)
        return results_of(answers)

    async def stop(self, id: str) -> None:
        """End a test run and erase it; NotFound."""
        await self._operations.stop_test_run(id)


def _mock(mock: Mock) -> Object:
    said: Object = {} if mock.output is UNSET else {"output": as_json(mock.output)}
    error = mock.error
    if error is not None:
        said["error"] = {
            "code": error.code,
            "message": error.message,
            "details": error.details,
            "retryable": error.retryable,
        }
    return said
