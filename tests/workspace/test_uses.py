"""What names a thing of a tenant is found few definitions at a time, and beside the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from tenuto import NotFound
from tenuto.model.json import JSON, Object
from tenuto.store.parts.definitions import Definitions
from tenuto.store.parts.schedules import Schedules
from tenuto.workspace import calendar_uses, data_uses, portions, secret_uses
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

LARGE = "x" * 5_000
CALENDAR: Object = {"id": "berlin", "timezone": "UTC", "week": {"mon": ["09:00-17:00"]}}
SOURCE: Object = {"id": "stock", "kind": "postgresql", "url": "postgresql://u@db.example.com/d"}
QUERY: Object = {"id": "berlin", "dataSourceId": "stock", "sql": "SELECT 1"}
STEPS: dict[str, Object] = {
    "calendar": {"stepId": "a", "type": "DELAY", "duration": "PT4H", "calendar": "berlin"},
    "data query": {"stepId": "a", "type": "DATA_QUERY", "dataQueryID": "berlin"},
    "secret": {"stepId": "a", "type": "TASK", "taskId": "x", "input": "{{secrets.berlin}}"},
}
LOOKS = {"calendar": (calendar_uses, "_names"), "data query": (data_uses, "_names")}


async def uses_of(place: Place, kind: str) -> list[str]:
    workspace = place.workspace
    match kind:
        case "calendar":
            return list((await workspace.calendars.uses("berlin")).workflows)
        case "data query":
            return list((await workspace.data_queries.uses("berlin")).workflows)
        case _:
            return list((await workspace.secrets.get("berlin")).used_by.workflows)


async def saved(place: Place) -> None:
    await place.workspace.calendars.save(CALENDAR)
    await place.workspace.data_sources.save(SOURCE)
    await place.workspace.data_queries.save(QUERY)
    await place.workspace.secrets.put("berlin", "a value of a secret")


@pytest.mark.parametrize("kind", STEPS)
async def test_definitions_are_looked_at_in_the_thread_for_large_documents(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """To compile one may take seconds, in which nothing else would be answered."""
    threads: list[str] = []
    module, name = LOOKS.get(kind, (secret_uses, "named_in"))
    look: Callable[..., Any] = getattr(module, name)

    def noted(*given: Any, **named: Any) -> object:  # noqa: ANN401 - as it was given
        threads.append(threading.current_thread().name)
        return look(*given, **named)

    await saved(place)
    await place.workspace.deploy({"id": "one", "description": LARGE, "steps": [STEPS[kind]]})
    monkeypatch.setattr(module, name, noted)
    assert await uses_of(place, kind) == ["one"]
    assert threads == ["large document"]


@pytest.mark.parametrize("kind", STEPS)
async def test_few_large_definitions_are_in_memory_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    read: list[int] = []
    store = type(place.app.engine.store.definitions)
    newest = store.newest

    @wraps(newest)
    async def noted(self: Definitions, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        rows = await newest(self, *given, **named)
        read.append(sum(len(row.content) for row in rows))
        return rows

    await saved(place)
    ids = [f"w{number:02}" for number in range(30)]
    for id in ids:
        steps: JSON = [STEPS[kind]]
        await place.workspace.deploy({"id": id, "description": LARGE, "steps": steps})
    monkeypatch.setattr(portions, "PORTION_BYTES", 20_000)
    monkeypatch.setattr(store, "newest", noted)
    assert await uses_of(place, kind) == ids
    assert max(read) < 9 * len(LARGE)


SCHEDULE: Object = {
    "id": "nightly",
    "cron": "0 0 * * *",
    "target": {"workflowId": "double"},
    "input": {"number": 1},
}


async def test_no_document_is_read_to_name_the_nearest_id(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may be of a megabyte, and there may be a thousand."""
    await place.workspace.schedules.save(SCHEDULE)

    @wraps(Schedules.page)
    async def never(self: object, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        pytest.fail("schedules were read")

    monkeypatch.setattr(Schedules, "page", never)
    for ask in (place.workspace.schedules.get, place.workspace.schedules.pause):
        with pytest.raises(NotFound) as missing:
            await ask("nightli")
        assert "nightly" in str(missing.value.advice)
