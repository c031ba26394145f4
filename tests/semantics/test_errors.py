"""Errors: what their codes look like and where they stand."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from tenuto import Conflict, InvalidInput, TenutoError
from tenuto.model import errors, failure
from tenuto.model.codes import CATALOGUE
from tenuto.model.failure import LastError
from tests.core.drawing import draw, end, start, task
from tests.core.play import play
from tests.semantics.office import office


def failure_codes() -> set[str]:
    return {text for name, text in vars(failure).items() if text == name}


def test_failures_and_refusals_have_codes_of_their_own_kind() -> None:
    """A failure in an instance has an UPPER_SNAKE `code` (what `onError` and `nonRetryable`
    match); a refusal (of a definition, a request, a command) has a `TEN-nnnn` code, and
    `reason` where it is about a run-time code.
    """
    for code in failure_codes():
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)
    for code in CATALOGUE:
        assert re.fullmatch(r"TEN-\d{4}", code)
    matched = draw("a:x>b", a=task(onError=[{"codes": ["OUT_OF_STOCK"], "handle": "x"}]))
    assert play(matched).start().fail("a", "OUT_OF_STOCK").running == ["b"]
    run = play(matched).start()
    with run.refusing("TEN-3002"):
        run.resume()


@pytest.mark.asyncio
async def test_a_refusal_names_the_run_time_code_that_it_is_about() -> None:
    async with office() as run:
        await run.app.deploy(draw("a", a=task(taskId="nobody")))
        with pytest.raises(InvalidInput, match="UNKNOWN_TASK") as unknown:
            await run.app.start("w")
        assert (unknown.value.code, unknown.value.reason) == ("TEN-2003", "UNKNOWN_TASK")
        assert [each.path for each in unknown.value.problems] == ["$.nodes[0].config.taskId"]
        done = await run.start(draw("s>e", s=start(), e=end()) | {"id": "done"})
        await done.result(60)
        with pytest.raises(Conflict) as refused:
            await done.pause()
        assert (refused.value.code, refused.value.reason) == ("TEN-3002", None)


def test_a_reason_is_a_code_that_instances_fail_with() -> None:
    reasons = {each.reason for each in CATALOGUE.values()} - {None}
    assert reasons <= failure_codes()
    failed = LastError(code="OUT_OF_STOCK", message="", step_id="a", at=datetime.now(UTC))
    assert errors.WorkflowFailed(failed).reason == "OUT_OF_STOCK"


def test_codes_stand_in_their_ranges() -> None:
    """Ranges: 1xxx definitions and tracing, 2xxx requests and input, 3xxx instances, 4xxx store
    and operations, 5xxx access.
    """
    assert {code[4] for code in CATALOGUE} <= set("12345")
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, TenutoError)
    }
    expected = {
        "InvalidDefinition": "1",
        "InvalidInput": "2",
        "NotFound": "3",
        "Conflict": "3",
        "WorkflowFailed": "3",
        "WorkflowCancelled": "3",
        "StoreUnavailable": "4",
        "Overloaded": "4",
    }
    found = {kind.__name__: kind.code[4] for kind in kinds}
    assert {name: found[name] for name in expected} == expected


def test_the_system_has_its_documented_codes() -> None:
    """System codes beside those named on this page: `TIMEOUT, HEARTBEAT_TIMEOUT, CHILD_FAILED,
    NOT_JSON, UNKNOWN_TASK`.
    """
    documented = {"TIMEOUT", "HEARTBEAT_TIMEOUT", "CHILD_FAILED", "NOT_JSON", "UNKNOWN_TASK"}
    assert documented <= failure_codes()
