"""Tests that client and worker read answers over many as older and later servers spell them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenuto.client import Client
from tenuto.client.connection import Answered
from tenuto.client.shapes import EventAnswer, results_of
from tenuto.model.executions import ReleasedTask
from tenuto.worker.http_broker_client import HttpBrokerClient
from tenuto.workspace.values import Published

ITEMS = [{"eventId": "a"}, {"eventId": "b"}]


@pytest.mark.parametrize("answer", [ITEMS, {"results": ITEMS}])
def test_the_client_reads_the_results_of_events_in_both_forms(answer: object) -> None:
    read: Any = msgspec.convert(answer, type=EventAnswer | list[EventAnswer])
    results = results_of(read)
    assert [each.event_id for each in results if isinstance(each, Published)] == ["a", "b"]


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [ITEMS, {"results": ITEMS}])
async def test_an_operation_over_many_gives_results_in_both_forms(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    async def send(*_: object) -> Answered:
        return Answered(200, {}, msgspec.json.encode(answer), "http://server.invalid")

    async with Client("http://server.invalid") as client:
        monkeypatch.setattr(client.connection, "send", send)
        assert await client.operations.release_executions(tasks=[]) == {"results": ITEMS}


@pytest.mark.asyncio
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_worker_reads_the_results_of_reports_in_both_forms(
    monkeypatch: pytest.MonkeyPatch, *, wrapped: bool
) -> None:
    items = [{"executionId": "x", "status": 200}]
    answer = msgspec.json.encode({"results": items} if wrapped else items)

    async def send(*_: object) -> tuple[int, bytes]:
        return 200, answer

    client = HttpBrokerClient("http://server.invalid")
    monkeypatch.setattr(client, "_send", send)
    [released] = await client.release([ReleasedTask(execution_id="x", lease_token="t")])
    assert (released.execution_id, released.status) == ("x", 200)
