"""What the OpenAPI document says is what the service does, whatever it is sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import unquote

import pytest

from tenuto.api.registry import OPERATIONS
from tests.api.conftest import served
from tests.api.examples import Things, example_of, furnished
from tests.api.fuzzing import fuzz


def ids_of(things: Things) -> dict[str, dict[str, str]]:
    """The path parameters of things that are there, by the operations' names."""
    found: dict[str, dict[str, str]] = {}
    for operation in OPERATIONS:
        written = example_of(operation, things).path.partition("?")[0].split("/")
        for word, value in zip(operation.path.split("/"), written, strict=True):
            if name := re.match(r"\{(\w+)", word):
                found.setdefault(operation.name, {})[name[1]] = unquote(value)
    return found


async def ask_for_everything(examples: int, start: int) -> int:
    async with served() as call:
        things = await furnished(call.app, "default")
        headers = {"authorization": f"Bearer {things.admin}"}
        return await asyncio.to_thread(
            fuzz, call.url, headers, ids_of(things), examples=examples, start=start
        )


@pytest.mark.slow
@pytest.mark.asyncio
async def test_generated_requests_are_answered_as_documented_and_never_with_a_fault() -> None:
    assert await ask_for_everything(2, 1) > 250


@pytest.mark.soak
def test_many_generated_requests_are_answered_as_documented(seeds: Iterable[int]) -> None:
    for seed in seeds:
        asyncio.run(ask_for_everything(40, seed))
