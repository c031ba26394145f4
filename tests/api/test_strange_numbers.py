"""Numbers and texts that no store keeps, where a list goes on or a version is meant."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import fields

from tenuto import Tenuto
from tenuto.api.registry import OPERATIONS
from tests.api.conftest import WAIT, Caller, served, tasks
from tests.kit.postgres_database import fresh_database

MANY_DIGITS = "9" * 5_000
NUMBERS = (0, -1, 10**15, 10**17, -(10**17), 2**63, 10**30, -(10**30))
TEXTS = ("x", "a\0b", "\U0010ffff", "x" * 5_000)
PLACES = (
    *NUMBERS,
    *TEXTS,
    *([number, "x"] for number in NUMBERS),
    *([number, "x", "y"] for number in NUMBERS),
    *([1, text] for text in TEXTS),
    *([1, text, text] for text in TEXTS),
)
LISTS = [
    each.path.removeprefix("/api/v1").replace("{id}", "wait")
    for each in OPERATIONS
    if each.query is not None and "cursor" in {field.name for field in fields(each.query)}
]


def cursor(place: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
async def test_a_cursor_of_another_making_is_refused_or_finds_nothing(
    kind: str, tmp_path: Path
) -> None:
    url = await fresh_database() if kind == "postgres" else f"sqlite:///{tmp_path / 's.db'}"
    app = Tenuto(tasks=tasks()) if kind == "memory" else Tenuto(url, tasks=tasks())
    async with served(app=app) as call:
        await call.post("/workflows", WAIT)
        assert len(LISTS) > 7
        for path in LISTS:
            for place in PLACES:
                reply = await call.get(f"{path}?cursor={cursor(place)}")
                assert reply.status in (200, 404, 422), (path, place, reply.text)
        for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"):
            for query in ("/events?since", "/instances?createdFrom", "/instances?createdBefore"):
                assert (await call.get(f"{query}={moment}")).status == 200, (query, moment)


@pytest.mark.asyncio
async def test_a_number_of_thousands_of_digits_is_no_version_and_no_seq() -> None:
    async with served() as call:
        await call.post("/workflows", WAIT)
        input = {"orderId": 1, "rows": [{MANY_DIGITS: 1}, [1, 2]]}
        id = (await call.start("wait", input))["instanceId"]
        assert await _put(call, f'"{MANY_DIGITS}"') == 412
        assert await _put(call, f'"{"9" * 30}"') == 412
        stream = f"/instances/{id}/stream?untilEnd=true"
        last = await call("GET", stream, headers={"last-event-id": MANY_DIGITS})
        assert last.status == 422
        table = {"widgetType": "table", "widgetConfig": {"path": "input.rows"}}
        shaped = await call.post(f"/instances/{id}/widget", table)
        assert shaped.status == 200
        assert shaped.json["data"]["rows"][1] == [None, 1, 2]


async def _put(call: Caller, if_match: str) -> int:
    return (await call("PUT", "/workflows/wait", WAIT, headers={"if-match": if_match})).status
