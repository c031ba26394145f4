"""Test runs: unsaved workflows, tried out and erased."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.bodies import read_struct
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, operation
from tenuto.api.operations.events import EventAnswer, published_answer, recorded_events
from tenuto.api.shapes import Answer, Body
from tenuto.model.failure import Failure
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.model.test_run import Mock, TestRun

TAG = "test-runs"


class MockError(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A failure that a step is to end with."""

    code: Annotated[str, Meta(min_length=1, max_length=255)]
    message: str = "mocked"
    details: JSON = None
    retryable: bool = False
    """Whether it is tried again, as the step's policy says."""


class MockRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a step ends without being run: one of the two."""

    output: JSON | UnsetType = UNSET
    error: MockError | None = None


class HowToRun(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a test run says beside the definition, in the same object."""

    input_params: Any = None
    mocks: dict[str, MockRequest] = msgspec.field(default_factory=dict)
    """By the ids of steps."""
    skip_delays: bool = False
    allow_effects: bool = False
    """Whether steps without a mock run for real; otherwise they give `{}`."""


class RunStarted(Answer, frozen=True, kw_only=True, rename="camel"):
    """A test run that has started."""

    instance_id: str
    status: Status
    not_run: list[str]
    """Steps that are neither mocked nor run: each gives `{}`."""


_SAID_BESIDE = tuple(field.encode_name for field in msgspec.structs.fields(HowToRun))


@operation(
    "POST",
    f"{API}/workflows/test",
    summary="Run a definition that is not saved, with mocks; no list shows it.",
    tag=TAG,
    permission=Permission.TEST_RUNS_RUN,
    request=dict[str, Any],
    response=RunStarted,
    status=201,
    size="document",
)
async def start_test_run(call: Call[NoQuery], body: Object) -> RunStarted:
    how = read_struct({name: body[name] for name in _SAID_BESIDE if name in body}, HowToRun)
    document = {name: value for name, value in body.items() if name not in _SAID_BESIDE}
    rehearsal = TestRun(
        mocks={name: _mock(each) for name, each in how.mocks.items()},
        skips_delays=how.skip_delays,
        allows_effects=how.allow_effects,
    )
    started = await call.workspace.rehearse(document, how.input_params, rehearsal)
    call.response_headers["location"] = f"{API}/instances/{started.instance.id}"
    call.after = {"instanceId": started.instance.id, "status": started.status}
    return RunStarted(
        instance_id=started.instance.id, status=started.status, not_run=started.not_run
    )


@operation(
    "POST",
    f"{API}/workflows/test/{{id}}/events",
    summary="Publish an event, or up to 1,000, that a test run sees and nobody else.",
    tag=TAG,
    permission=Permission.TEST_RUNS_RUN,
    request=Any,
    response=EventAnswer | list[EventAnswer],
    other_statuses=(409,),
    size="batch",
)
async def publish_in_test_run(call: Call[NoQuery], body: JSON) -> EventAnswer | list[EventAnswer]:
    results = await call.workspace.publish_in_rehearsal(call.path["id"], body)
    call.after = recorded_events(results)
    return published_answer(results, is_batch=isinstance(body, list))


@operation(
    "DELETE",
    f"{API}/workflows/test/{{id}}",
    summary="Stop a test run and erase every trace of it but who did so.",
    tag=TAG,
    permission=Permission.TEST_RUNS_RUN,
    status=204,
)
async def stop_test_run(call: Call[NoQuery]) -> None:
    await call.workspace.stop_rehearsal(call.path["id"])


def _mock(given: MockRequest) -> Mock:
    error = given.error
    if error is None:
        return Mock(output=given.output)
    failure = Failure(
        code=error.code, message=error.message, details=error.details, retryable=error.retryable
    )
    return Mock(output=given.output, error=failure)
