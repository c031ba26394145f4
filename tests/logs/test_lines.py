"""A record is one line, whatever is in it, and no secret is."""

from __future__ import annotations

import io
import json
import logging

import pytest

from tenuto import Context, TaskError, Tenuto
from tenuto.logs import instance_lines
from tenuto.logs.attempt_lines import AttemptLine, AttemptLines
from tenuto.logs.context import about
from tenuto.logs.lines import JsonLines, TextLines
from tenuto.logs.setup import Format, Level, logging_to
from tenuto.model.json import JSON

NASTY = "Ann\r\n2026 error forged\x1b[31m \u202egnorw\u2028\u0000"
FORMATS: list[Format] = ["json", "text"]


def written(
    form: Format,
    message: str,
    *,
    level: Level = "info",
    error: Exception | None = None,
    **extra: object,
) -> str:
    stream = io.StringIO()
    with logging_to(stream, form=form, level=level):
        logging.getLogger("tenuto.test").warning("%s", message, extra=extra, exc_info=error)
    return stream.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_that_is_logged_makes_a_line_of_its_own(form: Format) -> None:
    text = written(form, NASTY, actor=NASTY, requestId=NASTY)
    assert len(text.splitlines()) == 1
    assert not set(text[:-1]) & set("\r\n\x1b\u202e\u2028\u0000")


@pytest.mark.parametrize("form", FORMATS)
def test_no_line_of_a_stack_passes_for_a_record(form: Format) -> None:
    first, *rest = written(form, "bad", error=ValueError(NASTY)).splitlines()
    assert "bad" in first
    assert all(line.startswith("    ") for line in rest)
    assert form == "text" or not rest


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "secret",
    [
        "tnt_0123abcd_0123456789abcdef0123456789abcdef",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl",
        "postgresql://user:hunter2@db/x",
    ],
)
def test_secrets_are_in_no_line(form: Format, secret: str) -> None:
    text = written(form, f"seen {secret}", actor=secret, error=ValueError(secret))
    assert secret not in text
    assert "hunter2" not in text


def test_a_line_of_json_has_the_fields_that_were_given() -> None:
    with about(requestId="r1", tenant="acme"):
        text = written("json", "done", instanceId="i1", stepName="a", attempt=2, durationMs=1.5)
    line = json.loads(text)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "tenuto.test",
        "message": "done",
        "tenant": "acme",
        "instanceId": "i1",
        "stepName": "a",
        "attempt": 2,
        "durationMs": 1.5,
        "requestId": "r1",
    }


def test_what_is_below_the_level_is_not_written() -> None:
    assert written("text", "quiet", level="error") == ""


def test_a_line_is_not_endless() -> None:
    assert len(written("json", "x" * 100_000)) < 20_000


@pytest.mark.asyncio
async def test_ends_and_failures_of_instances_have_a_line_without_their_data() -> None:
    stream = io.StringIO()
    with logging_to(stream, form="json", level="debug"):
        async with Tenuto() as app:
            app.engine.listen(instance_lines.log_instance)

            @app.task
            async def refuse(input: object) -> None:
                raise TaskError("OUT", "canary", retryable=False)

            await app.deploy(
                {"id": "f", "steps": [{"stepId": "a", "type": "TASK", "taskId": "refuse"}]}
            )
            instance = await app.start("f", {"secret": "canary"})
            await app.engine.final_state(instance.id)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    ours = [line for line in lines if line["logger"] == "tenuto.instances"]
    assert [line["message"] for line in ours] == [
        "instance started",
        "step failed",
        "instance failed",
    ]
    assert {line["instanceId"] for line in ours} == {instance.id}
    assert (ours[1]["stepName"], ours[1]["attempt"], ours[1]["errorCode"]) == ("a", 1, "OUT")
    assert ours[1]["durationMs"] >= 0
    assert ours[2]["durationMs"] >= 0
    assert "canary" not in stream.getvalue()


@pytest.mark.asyncio
@pytest.mark.parametrize("form", ["json", "text"])
async def test_each_attempt_that_ended_has_one_line(form: Format) -> None:
    """ "one log line per ended attempt with `workflowId, instanceId, stepName, attempt,
    durationMs`".
    """
    stream = io.StringIO()
    with logging_to(stream, form=form):
        async with Tenuto() as app:
            app.engine.listen(AttemptLines().heard)
            app.engine.listen(instance_lines.log_instance)

            @app.task
            async def work(ctx: Context, input: object) -> None:
                if ctx.attempt == 1 and ctx.step_id == "b":
                    raise TaskError("OUT", "canary")

            steps: list[JSON] = [
                {
                    "stepId": "a",
                    "type": "TASK",
                    "taskId": "work",
                    "transitions": {"default": "b"},
                },
                {
                    "stepId": "b",
                    "type": "TASK",
                    "taskId": "work",
                    "retry": {"initialDelay": 1},
                    "transitions": {"default": "c"},
                },
                {"stepId": "c", "type": "SET", "values": {"x": "1"}},
            ]
            await app.deploy({"id": "f", "steps": steps})
            instance = await app.start("f", {"secret": "canary"})
            await app.engine.final_state(instance.id)
    lines = stream.getvalue().splitlines()
    assert "canary" not in stream.getvalue()
    if form == "text":
        told = [line.split(" ", 1)[1].rpartition(" durationMs=")[0] for line in lines]
        about = f"tenant=default workflowId=f instanceId={instance.id}"
        assert told == [
            f"info attempt completed {about} stepName=a attempt=1",
            f"warning step failed {about} stepName=b attempt=1 errorCode=OUT",
            f"info attempt completed {about} stepName=b attempt=2",
        ]
        return
    found = [json.loads(line) for line in lines]
    assert [(each["message"], each["stepName"], each["attempt"]) for each in found] == [
        ("attempt completed", "a", 1),
        ("step failed", "b", 1),
        ("attempt completed", "b", 2),
    ]
    for each in found:
        assert (each["workflowId"], each["instanceId"]) == ("f", instance.id)
        assert each["durationMs"] >= 0
        assert each["time"].endswith("Z")


@pytest.mark.asyncio
async def test_attempts_cost_no_line_where_the_level_is_higher() -> None:
    stream = io.StringIO()
    lines = AttemptLines()
    with logging_to(stream, level="warning"):
        async with Tenuto() as app:
            app.engine.listen(lines.heard)

            @app.task
            async def work(input: object) -> None: ...

            await app.deploy(
                {"id": "f", "steps": [{"stepId": "a", "type": "TASK", "taskId": "work"}]}
            )
            await app.engine.final_state((await app.start("f")).id)
    assert stream.getvalue() == ""


def test_names_in_lines_of_attempts_make_no_line_of_their_own() -> None:
    line = AttemptLine(
        level="info",
        logger="tenuto.attempts",
        message="attempt completed",
        tenant="a\u202eb",
        workflow_id="w\x1b[2J",
        instance_id="i",
        step_name="s\nspoofed",
        attempt=1,
        duration_ms=1,
    )
    record = logging.LogRecord("tenuto.attempts", logging.INFO, "", 0, "", (), None)
    record.attempts = [line]
    assert JsonLines().format(record).isprintable()
    assert TextLines().format(record).isprintable()
