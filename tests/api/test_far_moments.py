"""Moments that no date in UTC is: refused wherever they come in, and kept from nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import inspect

from tenuto import InvalidInput, Tenuto, WorkflowFailed
from tenuto.api.registry import OPERATIONS
from tenuto.api.request_parser import read_query
from tenuto.api.shapes import Received
from tenuto.model.json import Object
from tests.api.conftest import WAIT, Serve

TOO_LATE = "9999-12-31T23:59:59-14:00"
TOO_EARLY = "0001-01-01T00:00:00+14:00"
NEAR = datetime(2026, 1, 1, tzinfo=UTC)
FAR = (TOO_LATE, TOO_EARLY)


def test_whatever_an_operation_takes_refuses_a_moment_that_utc_does_not_have() -> None:
    found = {
        (kind, name)
        for operation in OPERATIONS
        for taken in (operation.request, operation.query)
        if isinstance(taken, type)
        for kind, name in _moments(inspect.type_info(taken), set())
    }
    assert len(found) > 8
    for kind, name in found:
        assert issubclass(kind, Received)
        required: dict[str, object] = {
            each.name: NEAR if (kind, each.name) in found else "x"
            for each in msgspec.structs.fields(kind)
            if each.required
        }
        for far in FAR:
            with pytest.raises(ValueError, match="in UTC"):
                kind(**{**required, name: datetime.fromisoformat(far)})


def _moments(info: inspect.Type, seen: set[type]) -> Iterator[tuple[type[msgspec.Struct], str]]:
    """Every field of a type, and of what is inside it, that may be a moment."""
    match info:
        case inspect.StructType(cls=kind, fields=fields) if kind not in seen:
            seen.add(kind)
            for field in fields:
                inner = field.type
                parts = inner.types if isinstance(inner, inspect.UnionType) else (inner,)
                if any(isinstance(part, inspect.DateTimeType) for part in parts):
                    yield kind, field.name
                yield from _moments(inner, seen)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _moments(each, seen)
        case inspect.ListType(item_type=item):
            yield from _moments(item, seen)
        case _:
            pass


def test_the_query_parameter_is_named() -> None:
    [query] = [each.query for each in OPERATIONS if each.name == "list_instances"]
    assert query is not None
    for far in FAR:
        with pytest.raises(InvalidInput) as refused:
            read_query(f"createdFrom={far}&limit=1".replace("+", "%2B").encode(), query)
        assert [each.path for each in refused.value.problems] == ["$.createdFrom"]


@pytest.mark.asyncio
@pytest.mark.parametrize("far", FAR)
async def test_a_far_moment_in_a_request_is_422(serve: Serve, far: str) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        there = {"subscriberId": "x", "callbackUrl": "https://example.com", "patterns": ["a.b"]}
        asked: list[tuple[str, object, str]] = [
            ("/workflows/wait/start", {"input": {"orderId": 1}, "deadline": far}, "$.deadline"),
            (f"/instances/{id}/pause", {"until": far}, "$.until"),
            ("/subscriptions", {**there, "expirationTime": far}, "$.expirationTime"),
            ("/keys", {"name": "x", "role": "viewer", "expiresAt": far}, "$.expiresAt"),
            ("/events", {"pattern": "a.b", "timestamp": far}, "$.timestamp"),
            ("/instances/batch", {"items": [{"workflowId": "wait", "deadline": far}]}, "$.items"),
            (
                "/instances/bulk",
                {"action": "cancel", "filter": {"createdBefore": far}, "dryRun": True},
                "$.filter",
            ),
        ]
        for path, body, named in asked:
            reply = await call.post(path, body)
            assert reply.status == 422, (path, reply.text)
            assert reply.json["problems"][0]["path"].startswith(named), reply.text
        assert len((await call.get("/instances")).json["items"]) == 1
        assert (await call.get("/health/ready")).status == 200


@pytest.mark.asyncio
@pytest.mark.parametrize("far", FAR)
async def test_a_far_moment_in_a_program_is_refused(far: str) -> None:
    moment = datetime.fromisoformat(far)
    async with Tenuto() as app:
        await app.deploy(WAIT)
        instance = await app.start("wait", {"orderId": 1})
        with pytest.raises(InvalidInput, match="in UTC"):
            await app.start("wait", {"orderId": 1}, deadline=moment)
        with pytest.raises(InvalidInput, match="in UTC"):
            await instance.pause(until=moment)
        with pytest.raises(InvalidInput, match="in UTC"):
            await app.publish("a.b", timestamp=moment)
        with pytest.raises(InvalidInput, match="in UTC"):
            await app.subscriptions.add(
                "https://example.com", ["a.b"], subscriber_id="x", expiration_time=moment
            )


@pytest.mark.asyncio
async def test_a_delay_until_a_far_moment_fails_as_a_wrong_value_does() -> None:
    step: Object = {"stepId": "nap", "type": "DELAY", "until": "{{ctx.input.at}}"}
    async with Tenuto() as app:
        await app.deploy({"id": "later", "steps": [step]})
        for far in FAR:
            with pytest.raises(WorkflowFailed) as failed:
                await (await app.start("later", {"at": far})).result(10)
            assert failed.value.error.code == "EXPRESSION_ERROR"
