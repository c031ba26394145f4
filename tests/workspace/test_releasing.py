"""A retry releases a quarantined instance: by an engine, and beside one on the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tenuto import Conflict, Status, Tenuto, WorkflowFailed
from tenuto.cli.backends import opened
from tenuto.model.json import Object
from tenuto.store.parts.quarantine import Suspect
from tenuto.workspace.protocol import Workspace
from tests.engine.situations import until_waiting
from tests.store.situations import aside, dead_letter, moment, turn

pytestmark = pytest.mark.asyncio

WAIT: Object = {
    "id": "wait",
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "never"}],
}
FAIL: Object = {"id": "fail", "steps": [{"stepId": "work", "type": "TASK", "taskId": "work"}]}


def working(url: str) -> Tenuto:
    app = Tenuto(url)

    @app.task
    async def work() -> None:
        raise ValueError("no")

    return app


async def suspected(app: Tenuto, instance_id: str, *, is_quarantined: bool = True) -> None:
    suspect = Suspect(
        instance_id=instance_id,
        place="TimerDue a",
        process_id="p1",
        at=moment(1),
        reason="it died",
        is_quarantined=is_quarantined,
    )
    await app.engine.store.quarantine.suspect(suspect)


@asynccontextmanager
async def beside(url: str) -> AsyncIterator[Workspace]:
    async with opened(url) as backend:
        yield backend.space


@pytest.fixture(params=["engine", "beside"])
def back_end(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, bool]:
    return f"sqlite:///{tmp_path / 'store.db'}", request.param == "engine"


def space_of(back_end: tuple[str, bool]) -> AbstractAsyncContextManager[Workspace]:
    url, is_engine = back_end
    return working(url) if is_engine else beside(url)


async def test_one_that_waits_goes_on_where_it_stood(back_end: tuple[str, bool]) -> None:
    async with working(back_end[0]) as app:
        await app.deploy(WAIT)
        released, other = [(await app.start("wait")).id for _ in range(2)]
        await until_waiting(app, 2)
        for id in (released, other):
            await suspected(app, id)
    async with space_of(back_end) as space:
        assert await space.at(released).retry() is Status.WAITING_FOR_EVENT
    async with working(back_end[0]) as app:
        assert [each.instance_id for each in await app.engine.store.quarantine.suspects()] == [
            other
        ]


async def test_one_that_had_failed_is_retried(back_end: tuple[str, bool]) -> None:
    async with working(back_end[0]) as app:
        await app.deploy(FAIL)
        failed = await app.start("fail")
        with pytest.raises(WorkflowFailed):
            await failed.result(timeout=30)
        await suspected(app, failed.id)
    async with space_of(back_end) as space:
        assert await space.at(failed.id).retry() is Status.RUNNING


async def test_a_suspect_that_is_not_quarantined_is_not_released(
    back_end: tuple[str, bool],
) -> None:
    async with working(back_end[0]) as app:
        await app.deploy(WAIT)
        id = (await app.start("wait")).id
        await until_waiting(app, 1)
        await suspected(app, id, is_quarantined=False)
    async with space_of(back_end) as space:
        with pytest.raises(Conflict, match="cannot retry"):
            await space.at(id).retry()


async def test_a_dead_letter_of_a_quarantined_instance_that_runs_is_refused_and_stays(
    back_end: tuple[str, bool],
) -> None:
    """A release does not do what failed: nothing would be left that says so."""
    async with working(back_end[0]) as app:
        await app.deploy(WAIT)
        id = (await app.start("wait")).id
        await until_waiting(app, 1)
        letter = dead_letter(f"{id}:1", id)
        kept = turn("t", aside(id, dead_letters=(letter,)), process_id=app.engine.process_id)
        await app.engine.store.turns.commit(kept)
        await suspected(app, id)
    async with space_of(back_end) as space:
        with pytest.raises(Conflict, match="is quarantined: it died") as refused:
            await space.dead_letters.retry(letter.id)
        assert refused.value.code == "TEN-3013"
        assert [each["id"] for each in await space.dead_letters.list()] == [letter.id]
    async with working(back_end[0]) as app:
        assert id in app.engine.quarantine.held


async def test_a_dead_letter_of_a_quarantined_instance_that_failed_is_retried(
    back_end: tuple[str, bool],
) -> None:
    async with working(back_end[0]) as app:
        await app.deploy(FAIL)
        failed = await app.start("fail")
        with pytest.raises(WorkflowFailed):
            await failed.result(timeout=30)
        [letter] = await app.dead_letters.list()
        await suspected(app, failed.id)
    async with space_of(back_end) as space:
        assert await space.dead_letters.retry(str(letter["id"])) is Status.RUNNING
