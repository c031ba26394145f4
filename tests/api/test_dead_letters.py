"""Dead letters over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.workspace import dead_letters, portions
from tests.api.conftest import REFUSE, Serve


@pytest.mark.asyncio
async def test_dead_letters_are_listed_tried_again_and_discarded(serve: Serve) -> None:
    """`/dead-letters` items: `{id, kind, instanceId, stepId, iteration, taskId, input, error,
    attempts, at}`, actions `retry {input?}`, `discard`.
    """
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        ids = [(await call.start("refuse", {}, "?wait=30"))["instanceId"] for _ in range(3)]
        first = (await call.get("/dead-letters?limit=2")).json
        rest = (await call.get(f"/dead-letters?limit=2&cursor={first['nextCursor']}")).json
        letters = first["items"] + rest["items"]
        assert [each["instanceId"] for each in letters] == ids[::-1]
        letter = letters[0]
        assert (letter["kind"], letter["stepId"], letter["taskId"], letter["attempts"]) == (
            "task-failed",
            "reserve",
            "refuse",
            1,
        )
        assert letter["error"]["code"] == "OUT_OF_STOCK"
        where = f"/dead-letters/{quote(letter['id'])}"
        looked_at = (await call.get(where)).json
        history = looked_at.pop("history")
        assert looked_at == letter
        assert [(each["nodeId"], each["eventType"]) for each in history] == [
            ("reserve", "NODE_DISPATCHED"),
            ("reserve", "NODE_FAILED"),
        ]
        retried = await call.post(f"{where}/retry")
        assert (retried.status, retried.json["instanceId"]) == (200, letter["instanceId"])
        for reply in (await call.get(where), await call.post(f"{where}/retry")):
            assert (reply.status, reply.json["code"]) == (404, "TEN-3040")
        other = f"/dead-letters/{quote(letters[1]['id'])}"
        discarded = await call.post(f"{other}/discard")
        assert (discarded.status, "content-length" in discarded.headers) == (204, False)
        assert (await call("DELETE", other)).status == 404
        assert (await call.get(f"/instances/{ids[1]}")).json["status"] == "FAILED"
        assert (await call("DELETE", f"/dead-letters/{quote(letters[2]['id'])}")).status == 204


@pytest.mark.asyncio
async def test_no_more_letters_are_read_for_groups_than_a_size(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1)
    monkeypatch.setattr(portions, "_FIRST", 1)
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        for _ in range(3):
            await call.start(str(REFUSE["id"]), {}, "?wait=30")
        found = (await call.get("/dead-letters/groups")).json
        assert (found["items"][0]["count"], found["isComplete"]) == (1, False)


@pytest.mark.asyncio
async def test_a_filter_that_finds_few_letters_ends_a_page_after_many_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_LOOKED_AT", 2)
    async with serve() as call:
        for document, times in (({**REFUSE, "id": "rare"}, 1), (REFUSE, 4)):
            await call.post("/workflows", document)
            for _ in range(times):
                await call.start(str(document["id"]), {}, "?wait=30")
        pages: list[int] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await call.get(f"/dead-letters?workflowId=rare{cursor}")).json
            pages.append(len(page["items"]))
            cursor = f"&cursor={page['nextCursor']}" if page.get("nextCursor") else None
        assert pages == [0, 0, 1]


@pytest.mark.asyncio
async def test_dead_letters_are_grouped_by_cause_and_acted_on_by_it(serve: Serve) -> None:
    other = {**REFUSE, "id": "other"}
    async with serve() as call:
        for document, times in ((REFUSE, 2), (other, 1)):
            await call.post("/workflows", document)
            for _ in range(times):
                await call.start(str(document["id"]), {}, "?wait=30")
        grouped = (await call.get("/dead-letters/groups")).json
        assert grouped["isComplete"]
        seen = [
            (each["workflowId"], each["stepId"], each["code"], each["count"])
            for each in grouped["items"]
        ]
        assert seen == [
            ("refuse", "reserve", "OUT_OF_STOCK", 2),
            ("other", "reserve", "OUT_OF_STOCK", 1),
        ]
        first = grouped["items"][0]
        assert first["firstAt"] <= first["lastAt"]
        for query, count in (
            ("workflowId=other", 1),
            ("workflowId=other&limit=1", 1),
            ("code=OUT_OF_STOCK", 3),
            ("code=", 0),
            ("stepId=reserve&kind=task-failed&taskId=refuse", 3),
            ("createdFrom=2999-01-01T00:00:00Z", 0),
            ("createdBefore=2001-01-01T00:00:00Z", 0),
        ):
            found = (await call.get(f"/dead-letters?{query}")).json["items"]
            assert len(found) == count, query
        (letter,) = (await call.get("/dead-letters?workflowId=other")).json["items"]
        assert letter["workflowId"] == "other"
        asked = {"action": "discard", "filter": {"workflowId": "refuse", "code": "OUT_OF_STOCK"}}
        counted = await call.post("/dead-letters/bulk", {**asked, "dryRun": True})
        assert (counted.json["matched"], counted.json["target"]) == (2, "dead-letters")
        started = (await call.post("/dead-letters/bulk", asked)).json
        while (ended := (await call.get(f"/instances/bulk/{started['id']}")).json)["status"] != (
            "done"
        ):
            pass
        assert (ended["done"], ended["failed"], ended["target"]) == (2, 0, "dead-letters")
        left = (await call.get("/dead-letters")).json["items"]
        assert [each["workflowId"] for each in left] == ["other"]


@pytest.mark.asyncio
async def test_what_could_not_be_done_is_tried_again_with_another_input(serve: Serve) -> None:
    declared = {"id": "refuse", "kind": "pull", "inputSchema": {"type": "string"}}
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        await call.post("/tasks", declared)
        id = (await call.start("refuse", {}, "?wait=30"))["instanceId"]
        (letter,) = (await call.get("/dead-letters")).json["items"]
        where = f"/dead-letters/{quote(letter['id'])}"
        for wrong, status in ((7, 422), ("x\0", 422), ("x" * 1_000_001, 413)):
            assert (await call.post(f"{where}/retry", {"input": wrong})).status == status
        refused = await call.post(f"{where}/retry", {"inptu": 1})
        assert refused.json["problems"][0]["path"] == "$.inptu"
        assert (await call.get(where)).json.items() >= letter.items()
        retried = await call.post(f"{where}/retry", {"input": "mended"})
        assert (retried.status, retried.json["status"]) == (200, "RUNNING")
        ended = (await call.get(f"/instances/{id}?wait=30")).json
        assert (ended["status"], ended["output"]) == ("COMPLETED", "done")
        history = (await call.get(f"/instances/{id}/history")).json["items"]
        (asked,) = [each for each in history if each["eventType"] == "RETRY_REQUESTED"]
        assert asked["payload"] == {
            "by": "local",
            "edited": {"stepId": "reserve", "input": "mended"},
        }
        audited = (await call.get("/audit")).json["items"]
        (line,) = [
            each
            for each in audited
            if (each["action"], each["outcome"]) == ("retry_dead_letter", "done")
        ]
        assert line["after"] == {"status": "RUNNING", "edited": True}


@pytest.mark.asyncio
async def test_what_is_tried_again_while_its_letter_cannot_be_taken_away_is_not_called_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        await call.start("refuse", {}, "?wait=30")
        [letter] = (await call.get("/dead-letters")).json["items"]

        async def away(tenant: str, instance_id: str, id: str) -> bool:
            raise StoreUnavailable("the store is away")

        monkeypatch.setattr(call.app.engine.store.dead_letters, "discard", away)
        reply = await call.post(f"/dead-letters/{quote(letter['id'], safe='')}/retry", {})
        assert (reply.status, reply.json["code"]) == (503, "TEN-4019")
