"""The context is bounded: what would make it too large fails, and does not get in."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tenuto import Settings, Tenuto, WorkflowFailed
from tenuto.model.policy import Limits

pytestmark = pytest.mark.asyncio


def chain(*variables: str, error: bool = False) -> dict[str, object]:
    steps: list[dict[str, object]] = [
        {"stepId": f"s{n}", "type": "TASK", "taskId": "text", "outputVariable": variable}
        for n, variable in enumerate(variables)
    ]
    for step, following in pairwise(steps):
        step["transitions"] = {"default": following["stepId"]}
    if error:
        steps[-1]["transitions"] = {"error": "small"}
        steps.append(
            {"stepId": "small", "type": "TERMINATE", "output": "{{ctx.last_one.error.code}}"}
        )
    return {"id": "chain", "steps": steps}


def app_with(limit: int) -> Tenuto:
    app = Tenuto(settings=Settings(limits=Limits(context_bytes=limit)))

    @app.task
    async def text() -> str:
        return "x" * 100

    return app


async def test_a_context_that_would_be_too_large_fails_the_step() -> None:
    """Too large fails the attempt, not retryable (`TOO_LARGE`)."""
    async with app_with(250) as app:
        await app.deploy(chain("a", "b", "c"))  # type: ignore[arg-type]
        instance = await app.start("chain")
        with pytest.raises(WorkflowFailed) as caught:
            await instance.result(10)
        assert (caught.value.error.code, caught.value.error.step_id) == ("TOO_LARGE", "s2")
        assert caught.value.error.attempt == 1
        context = await instance.context()
        assert isinstance(context["ctx"], dict)
        assert sorted(context["ctx"]) == ["a", "b", "input"]


async def test_a_variable_written_again_counts_once() -> None:
    async with app_with(150) as app:
        await app.deploy(chain("a", "a", "a", "a"))  # type: ignore[arg-type]
        assert await (await app.start("chain")).result(10) == "x" * 100


async def test_what_is_too_large_takes_the_error_handle() -> None:
    async with app_with(150) as app:
        await app.deploy(chain("a", "last_one", error=True))  # type: ignore[arg-type]
        assert await (await app.start("chain")).result(10) == "TOO_LARGE"
