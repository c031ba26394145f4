"""What tasks log and print is read by step and attempt, in this process and over HTTP."""

from __future__ import annotations

import logging
import sys

import pytest

from tenuto import InvalidInput, NotFound, Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.tasks.capture import CAPTURE, CapturedStream
from tenuto.workspace.protocol import Instance
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

TALK: Object = {
    "id": "talk",
    "steps": [
        {
            "stepId": "first",
            "type": "TASK",
            "taskId": "talk",
            "retry": {"maxAttempts": 2, "initialDelay": 0},
            "transitions": {"default": "second"},
        },
        {
            "stepId": "second",
            "type": "TASK",
            "taskId": "talk",
            "transitions": {"default": "silent"},
        },
        {"stepId": "silent", "type": "DELAY", "duration": 0},
    ],
}


async def talked(app: Tenuto) -> str:
    """An instance whose tasks have talked; its first attempt failed."""
    CAPTURE.renew()  # pytest replaces the streams between fixtures and tests
    attempts: list[int] = []

    @app.task
    async def talk(input: object = None) -> None:
        attempts.append(1)
        print("attempt", len(attempts))
        if len(attempts) == 1:
            logging.getLogger("shop").warning("key %s", "tnt_0123abcd_0123456789abcdef")
            raise ValueError("not yet")

    await app.deploy(TALK)
    instance = await app.start("talk", {})
    await instance.result(timeout=30)
    await app.engine.effects.task_logs.written()
    return instance.id


def told(lines: list[Object]) -> list[tuple[object, ...]]:
    return [(each["stepId"], each["attempt"], each["number"], each["text"]) for each in lines]


ALL = [
    ("first", 1, 0, "attempt 1"),
    ("first", 1, 1, "key …"),
    ("first", 2, 0, "attempt 2"),
    ("second", 1, 0, "attempt 3"),
]


async def by_pages(instance: Instance, limit: int) -> list[Object]:
    items: list[Object] = []
    cursor: str | None = None
    while True:
        page = await instance.log_page(limit=limit, cursor=cursor)
        assert 0 < len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


async def test_lines_are_read_by_step_and_attempt_and_in_pages(place: Place) -> None:
    instance = place.workspace.at(await talked(place.app))
    lines = await instance.logs()
    assert told(lines) == ALL
    assert (lines[0]["stream"], lines[0]["iteration"]) == ("stdout", "")
    assert (lines[1]["level"], lines[1]["logger"]) == ("warning", "shop")
    assert str(lines[0]["at"]).endswith("Z")
    assert told(await instance.logs("first")) == ALL[:3]
    assert told(await instance.logs("first", attempt=2)) == ALL[2:3]
    assert await instance.logs("first", iteration="0") == []
    assert await instance.logs("silent") == []
    for limit in (1, 2, 3, 4):
        assert told(await by_pages(instance, limit)) == ALL
    with pytest.raises(NotFound) as refused:
        await instance.logs("frist")
    assert "`first`" in refused.value.advice
    with pytest.raises(InvalidInput):
        await instance.log_page(cursor="eyJ")
    with pytest.raises(NotFound):
        await place.workspace.at("none").logs()


async def test_lines_go_with_their_instance_and_are_no_other_tenants(place: Place) -> None:
    id = await talked(place.app)
    with pytest.raises(NotFound):
        await place.app.workspace("other", "eve").at(id).logs()
    assert await place.app.engine.store.instances.erase("default", [id]) == [id]
    with pytest.raises(NotFound):
        await place.workspace.at(id).logs()
    assert await place.app.engine.store.task_logs.page("default", id, 10) == []


async def test_nothing_is_kept_or_wrapped_where_the_settings_say_so() -> None:
    app = Tenuto(settings=Settings(task_logs=False))
    async with app:
        assert type(sys.stdout) is not CapturedStream
        instance = app.at(await talked(app))
        assert await instance.logs() == []
