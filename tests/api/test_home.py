"""What the first page shows: what needs attention, series, approvals, settings."""

from __future__ import annotations

import pytest

from tenuto import TaskError
from tenuto.api.config import ServiceConfig, ShownSetting
from tenuto.model.json import JSON, Object
from tests.api.conftest import DOUBLE, REFUSE, Serve, until

ADMIN = "an-admin-key-of-at-least-32-letters"
APPROVE: Object = {
    "id": "approve",
    "steps": [
        {
            "stepId": "ask",
            "type": "APPROVAL",
            "assignees": {"roles": ["operator"]},
            "formSchema": {"type": "object"},
            "deadline": "P1D",
        }
    ],
}


@pytest.mark.asyncio
async def test_failures_and_dead_letters_need_attention_and_successes_do_not(serve: Serve) -> None:
    async with serve() as call:
        assert (await call.get("/attention")).json["groups"] == []
        await call.post("/workflows", DOUBLE)
        await call.post("/workflows", REFUSE)
        await call.start("double", {"number": 4}, "?wait=60")
        failed = await call.start("refuse", None, "?wait=60")
        groups = {each["kind"]: each for each in (await call.get("/attention")).json["groups"]}
        assert groups.keys() == {"failed", "deadLetter"}
        [item] = groups["failed"]["items"]
        assert (item["instanceId"], item["workflowId"]) == (failed["instanceId"], "refuse")
        assert item["code"]
        assert groups["deadLetter"]["items"][0]["stepId"] == "reserve"
        assert groups["failed"]["hasMore"] is False


@pytest.mark.asyncio
async def test_what_failed_needs_no_attention_once_it_was_run_again_or_retried(
    serve: Serve,
) -> None:
    """The rerun is listed itself where it failed."""
    is_down = True

    async def flaky() -> None:
        if is_down:
            raise TaskError("DOWN", "not now", retryable=False)

    step = {"stepId": "a", "type": "TASK", "taskId": "flaky"}
    async with serve() as call:
        call.app.task(flaky)
        await call.post("/workflows", {"id": "flaky", "steps": [step]})

        async def run(path: str) -> str:
            id = str((await call.post(path, {})).json["instanceId"])
            await call.app.engine.final_state(id)
            return id

        async def failed() -> set[str]:
            groups = (await call.get("/attention")).json["groups"]
            found = [each["items"] for each in groups if each["kind"] == "failed"]
            return {item["instanceId"] for items in found for item in items}

        first, second = [await run("/workflows/flaky/start") for _ in range(2)]
        assert await failed() == {first, second}
        again = await run(f"/instances/{first}/rerun")
        assert await failed() == {again, second}
        is_down = False
        await run(f"/instances/{again}/rerun")
        assert await failed() == {second}
        await call.post(f"/instances/{second}/retry", {})
        await call.app.engine.final_state(second)
        assert await failed() == set()


@pytest.mark.asyncio
async def test_the_series_counts_each_instance_where_it_began_and_ended(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        await call.post("/workflows", REFUSE)
        await call.post("/workflows", APPROVE)
        for _ in range(3):
            await call.start("double", {"number": 4}, "?wait=60")
        await call.start("refuse", None, "?wait=60")
        await call.start("approve")
        for query, points, seconds in (("hours=1&points=60", 60, 60), ("hours=24", 60, 1440)):
            series = (await call.get(f"/stats/series?{query}")).json
            assert (len(series["points"]), series["seconds"]) == (points, seconds)
            for name, expected in (("started", 5), ("completed", 3), ("failed", 1)):
                assert sum(each[name] for each in series["points"]) == expected, name
            assert series["points"][-1]["open"] == 1
            assert series["points"][0]["open"] == 0
            latency = series["latency"]
            assert 0 <= latency["p50"] <= latency["p95"] <= latency["p99"]
            assert series["isComplete"]
        assert (await call.get("/stats/series?points=241")).status == 422


@pytest.mark.asyncio
async def test_the_series_has_the_most_tasks_that_waited_since_the_service_runs(
    serve: Serve,
) -> None:
    async with serve() as call:
        absent: JSON = {"stepId": "a", "type": "TASK", "taskId": "nobody-has-it"}
        await call.post("/workflows", {"id": "queued", "steps": [absent]})
        depths = call.pipeline.service.queue_depths
        points = (await call.get("/stats/series")).json["points"]
        assert (points[0]["queued"], points[-1]["queued"]) == (None, 0)
        for _ in range(3):
            await call.start("queued")

        async def are_sampled() -> bool:
            await depths._sample("default")
            points = (await call.get("/stats/series")).json["points"]
            return max(each["queued"] or 0 for each in points) == 3

        await until(are_sampled)


@pytest.mark.asyncio
async def test_an_approval_is_listed_until_it_is_decided_and_says_who_may_decide(
    serve: Serve,
) -> None:
    async with serve(admin_key=ADMIN) as call:
        admin = {"authorization": f"Bearer {ADMIN}"}
        await call("POST", "/workflows", APPROVE, headers=admin)
        started = [
            (
                await call(
                    "POST", "/workflows/approve/start", {"input": {"n": number}}, headers=admin
                )
            ).json["instanceId"]
            for number in range(3)
        ]
        key = await call("POST", "/keys", {"name": "ann", "role": "operator"}, headers=admin)
        ann = {"authorization": f"Bearer {key.json['key']}"}
        first = (await call("GET", "/approvals?limit=2", headers=ann)).json
        assert [each["instanceId"] for each in first["items"]] == started[:0:-1]
        [item] = (
            await call("GET", f"/approvals?limit=2&cursor={first['nextCursor']}", headers=ann)
        ).json["items"]
        assert (item["instanceId"], item["stepId"]) == (started[0], "ask")
        assert (item["mayDecide"], item["isOverdue"]) == (True, False)
        assert (item["roles"], item["formSchema"]) == (["operator"], {"type": "object"})
        assert item["input"] == {"n": 0}
        assert item["dueAt"] > item["openedAt"]
        others = (await call("GET", "/approvals", headers=admin)).json["items"]
        assert [each["mayDecide"] for each in others] == [False] * 3
        assert (await call("GET", "/approvals?mine=true", headers=admin)).json["items"] == []
        decided = await call(
            "POST",
            f"/instances/{started[0]}/steps/ask/decision",
            {"decision": "approved", "form": {}},
            headers=ann,
        )
        assert decided.status == 200, decided.text
        left = (await call("GET", "/approvals", headers=ann)).json["items"]
        assert [each["instanceId"] for each in left] == started[:0:-1]


@pytest.mark.asyncio
async def test_a_page_of_approvals_is_bounded_and_ends_within_an_instance_if_need_be(
    serve: Serve,
) -> None:
    large: Object = {"type": "object", "description": "x" * 20_000}
    steps: list[JSON] = [
        {"stepId": "one", "type": "APPROVAL", "assignees": {"roles": ["operator"]}},
        {
            "stepId": "two",
            "type": "APPROVAL",
            "assignees": {"roles": ["operator"]},
            "formSchema": large,
        },
    ]
    both: JSON = ["one", "two"]
    begin: Object = {
        "stepId": "begin",
        "type": "TASK",
        "taskId": "double",
        "input": {"number": 1},
        "transitions": {"default": both},
    }
    async with serve() as call:
        made = await call.post("/workflows", {"id": "both", "steps": [begin, *steps]})
        assert made.status == 201, made.text
        ids = [
            (await call.post("/workflows/both/start", {"input": {}})).json["instanceId"]
            for _ in range(2)
        ]

        async def are_open() -> bool:
            return len((await call.get("/approvals")).json["items"]) == 4

        await until(are_open)
        first = (await call.get("/approvals?limit=3")).json
        assert [each["instanceId"] for each in first["items"]] == [ids[1], ids[1], ids[0]]
        forms = {each["stepId"]: each for each in first["items"][:2]}
        assert forms["two"]["formSchema"] is None
        assert [forms[id]["isFormLeftOut"] for id in ("one", "two")] == [False, True]
        rest = (await call.get(f"/approvals?limit=3&cursor={first['nextCursor']}")).json
        assert [each["instanceId"] for each in rest["items"]] == [ids[0]]
        assert rest["nextCursor"] is None
        listed = [(each["instanceId"], each["stepId"]) for each in first["items"] + rest["items"]]
        assert len(set(listed)) == 4


@pytest.mark.asyncio
async def test_overdue_approvals_and_those_of_a_user_or_role_are_found_among_others(
    serve: Serve,
) -> None:
    late: Object = {
        "stepId": "ask",
        "type": "APPROVAL",
        "assignees": {"users": ["{{ ctx.input.who }}"]},
        "reminders": ["PT0.001S"],
        "escalate": {"after": "P1D", "assignees": {"roles": ["admin"]}},
    }
    calm: Object = {"stepId": "ask", "type": "APPROVAL", "assignees": {"roles": ["operator"]}}
    async with serve() as call:
        for id, step in (("late", late), ("calm", calm)):
            made = await call.post("/workflows", {"id": id, "steps": [step]})
            assert made.status == 201, made.text
        ids = {
            who: (await call.post("/workflows/late/start", {"input": {"who": who}})).json[
                "instanceId"
            ]
            for who in ("ann", "bob")
        }
        ids["calm"] = (await call.post("/workflows/calm/start", {"input": {}})).json["instanceId"]

        async def found(query: str) -> list[str]:
            items = (await call.get(f"/approvals?{query}")).json["items"]
            return [each["instanceId"] for each in items]

        async def are_late() -> bool:
            return await found("overdue=true") == [ids["bob"], ids["ann"]]

        await until(are_late)
        assert await found("") == [ids["calm"], ids["bob"], ids["ann"]]
        assert await found("user=ann") == [ids["ann"]]
        assert await found("role=operator") == [ids["calm"]]
        assert await found("overdue=true&user=bob") == [ids["bob"]]
        assert await found("overdue=true&role=operator") == []
        groups = (await call.get("/attention?limit=1")).json["groups"]
        [asked] = [each for each in groups if each["kind"] == "approval"]
        assert ([each["id"] for each in asked["items"]], asked["hasMore"]) == ([ids["bob"]], True)


@pytest.mark.asyncio
async def test_settings_are_shown_to_admins_and_places_of_the_machine_to_those_of_the_service(
    serve: Serve,
) -> None:
    shown = (
        ShownSetting(name="store", value="sqlite:////srv/a.db", origin="--store"),
        ShownSetting(name="burst", value=100, origin="default"),
        ShownSetting(name="oidc_issuer", value="https://u:p@id.example.com", origin="TENUTO_X"),
        ShownSetting(name="a_new_one", value="secret", origin="/srv/tenuto.toml:3"),
    )
    config = ServiceConfig(port=0, settings=shown, environment="test")
    async with serve(config=config, admin_key=ADMIN) as call:
        admin = {"authorization": f"Bearer {ADMIN}"}
        whole = (await call("GET", "/settings", headers=admin)).json
        assert whole["settings"][0]["value"] == "sqlite:////srv/a.db"
        assert whole["store"]["isAvailable"] is True
        key = await call("POST", "/keys", {"name": "eve", "role": "admin"}, headers=admin)
        eve = {"authorization": f"Bearer {key.json['key']}"}
        part = (await call("GET", "/settings", headers=eve)).json["settings"]
        assert part[0] == {"name": "store", "value": None, "origin": "flag", "isHidden": True}
        assert part[1]["value"] == 100
        assert (part[2]["value"], part[2]["origin"]) == ("https://id.example.com", "variable")
        for each in (part[3], whole["settings"][3]):
            assert (each["value"], each["origin"], each["isHidden"]) == (None, "file", True)
