"""Test runs of unsaved definitions: start, publish events, stop."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.operations.events import EventAnswer, published_answer
from tenuto.api.request_parser import read_struct
from tenuto.api.shapes import Answer, Body
from tenuto.model.failure import Failure
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.model.test_run import Mock
from tenuto.workspace import audit_values

TEST_RUNS = Resource(f"{API}/workflows/test", tag="test-runs", write=Permission.TEST_RUNS_RUN)


class MockError(Body):
    """The failure of a mocked step."""

    code: Annotated[str, Meta(min_length=1, max_length=255)]
    message: str = "mocked"
    details: JSON = None
    retryable: bool = False
    """Whether it is retried, by the step's policy."""


class MockRequest(Body):
    """The outcome of a mocked step: one of the two."""

    output: JSON | UnsetType = UNSET
    error: MockError | None = None


class TestRunOptions(Body):
    """The options of a test run, in the same object as the definition."""

    input_params: Any = None
    mocks: dict[str, MockRequest] = msgspec.field(default_factory=dict)
    """By the ids of steps."""
    skip_delays: bool = False
    allow_effects: bool = False
    """Whether steps without a mock run for real; otherwise their output is `{}`."""


class RunStarted(Answer):
    """A test run that has started."""

    instance_id: str
    status: Status
    not_run: list[str]
    """Steps that are neither mocked nor run: the output of each is `{}`."""


_OPTIONS = tuple(field.encode_name for field in msgspec.structs.fields(TestRunOptions))


@TEST_RUNS.post(status=201, size="document")
async def start_test_run(call: Call[NoQuery], body: Object) -> RunStarted:
    """Start a test run of an unsaved definition, with mocks; it is in no list."""
    how = read_struct({name: body[name] for name in _OPTIONS if name in body}, TestRunOptions)
    document = {name: value for name, value in body.items() if name not in _OPTIONS}
    started = await call.workspace.test_runs.start(
        document,
        how.input_params,
        mocks={name: _mock(each) for name, each in how.mocks.items()},
        skip_delays=how.skip_delays,
        allow_effects=how.allow_effects,
    )
    call.response_headers["location"] = f"{API}/instances/{started.instance_id}"
    call.after = {"instanceId": started.instance_id, "status": started.status}
    return RunStarted(
        instance_id=started.instance_id, status=started.status, not_run=started.not_run
    )


@TEST_RUNS.post("/{id}/events", other_statuses=(409,), size="batch")
async def publish_in_test_run(call: Call[NoQuery], body: JSON) -> EventAnswer:
    """Publish an event, or up to 1,000, to one test run only."""
    results = await call.workspace.test_runs.publish(call.path["id"], body)
    call.after = audit_values.events(results)
    return published_answer(results, is_batch=isinstance(body, list))


@TEST_RUNS.delete("/{id}")
async def stop_test_run(call: Call[NoQuery]) -> None:
    """Stop a test run and erase it; only the audit line remains."""
    await call.workspace.test_runs.stop(call.path["id"])


def _mock(given: MockRequest) -> Mock:
    error = given.error
    if error is None:
        return Mock(output=given.output)
    failure = Failure(
        code=error.code, message=error.message, details=error.details, retryable=error.retryable
    )
    return Mock(output=given.output, error=failure)
