"""Tests that an operation with a credential of its own checks it before it reads a body."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Message

from tenuto import Tenuto
from tenuto.api.config import ServiceConfig
from tenuto.api.operation import Operation
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.registry import OPERATIONS
from tenuto.api.service import Service

OPEN = [each for each in OPERATIONS if each.is_public and each.method == "POST"]


async def _never() -> Message:
    pytest.fail("the body was asked for")


def test_there_are_such_operations() -> None:
    assert {each.name for each in OPEN} == {
        *("task_callback", "event_callback", "schedule_callback"),
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("operation", OPEN, ids=[each.name for each in OPEN])
@pytest.mark.parametrize("token", ["forged", "WyJhIiwiYiIsImMiXQ"])
async def test_a_forged_token_is_refused_before_the_body_is_read(
    operation: Operation, token: str
) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": operation.path,
        "raw_path": operation.path.encode(),
        "scheme": "http",
        "query_string": f"token={token}".encode(),
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"content-type", b"application/json"),
            (b"content-length", b"1000000"),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
    }
    async with Tenuto() as app:
        pipeline = RequestPipeline(Service(app, ServiceConfig(), OPERATIONS))
        await pipeline(scope, _never, send)
    assert sent[0]["status"] == 401
