"""Test runs of built-in tasks: code runs for real, what calls others only with leave."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.built_in.protocol import Call
from tenuto.model.failure import Failure
from tenuto.model.graph import Http, JavaScript
from tenuto.model.json import JSON
from tenuto.model.test_run import Mock
from tests.built_in.stage import code, flow, stubbed

pytestmark = pytest.mark.asyncio

REQUEST: Any = {"stepId": "call", "type": "HTTP", "url": "https://a.example"}
ALL = flow(
    code("1", "plain", transitions={"default": "calling"}),
    code("1", "calling", allowHosts=["a.example"], transitions={"default": "call"}),
    REQUEST,
)


async def answer(call: Call) -> JSON:
    return call.step_id


@pytest.mark.parametrize(
    ("options", "outputs", "not_run"),
    [
        ({}, ["plain", {}, {}], ["calling", "call"]),
        ({"allow_effects": True}, ["plain", "calling", "call"], []),
        (
            {"mocks": {"plain": Mock(output=1), "call": Mock(output=2)}},
            [1, {}, 2],
            ["calling"],
        ),
    ],
)
async def test_code_that_calls_no_host_runs_and_the_others_with_a_mock_or_allow_effects(
    options: dict[str, Any], outputs: list[JSON], not_run: list[str]
) -> None:
    """In test runs it runs for real when it has no `allowHosts`; `http`, `dataQuery` and `task`
    only with a mock or `allowEffects`."""
    async with stubbed({JavaScript: answer, Http: answer}) as app:
        started = await app.test_runs.start(ALL, **options)
        assert started.not_run == not_run
        held = await app.engine.final_state(started.instance_id)
        nodes = {key.node: node.output for key, node in held.state.nodes.items()}
        assert [nodes[name] for name in ("plain", "calling", "call")] == outputs


async def test_a_mock_may_fail_a_step_of_any_type() -> None:
    mocks = {"plain": Mock(error=Failure(code="NO_STOCK", message="none", retryable=False))}
    async with stubbed({JavaScript: answer, Http: answer}) as app:
        started = await app.test_runs.start(ALL, mocks=mocks)
        held = await app.engine.final_state(started.instance_id)
        assert held.state.last_error is not None
        assert held.state.last_error.code == "NO_STOCK"
