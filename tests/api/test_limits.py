"""Limits over HTTP: who may set which, and what a dry run shows to whom."""

from __future__ import annotations

import pytest

from tenuto.model.json import Object
from tests.api.conftest import Serve

pytestmark = pytest.mark.asyncio

ROOT = {"authorization": "Bearer " + "k" * 40}


async def test_an_admin_of_a_tenant_sets_its_own_limits_and_none_of_the_service(
    serve: Serve,
) -> None:
    """`GET/PUT /concurrency` (`If-Match`): `{globalMaxConcurrent, workflowTypeLimits, tenantLimits,
    userLimits, resourceBasedLimits: {enabled, min, max, targets: {loopLagMs, commitMs,
    memoryPercent}}, queue: {order: fifo|priority|deadline, bound, aging, perTenantShare}}`; only an
    admin of the whole service sets global ones."""
    async with serve(admin_key="k" * 40) as call:
        shares: Object = {"a": 1, "b": 4}
        service: Object = {
            "globalMaxConcurrent": 9,
            "tenantLimits": {"a": 3, "b": 2, "*": 5},
            "queue": {"perTenantShare": shares},
        }
        assert (await call("PUT", "/concurrency", service, headers=ROOT)).status == 200
        wish = {"name": "a", "role": "admin", "tenant": "a"}
        key = (await call("POST", "/keys", wish, headers=ROOT)).json["key"]
        mine = {"authorization": f"Bearer {key}"}
        others: list[Object] = [
            {"globalMaxConcurrent": 8},
            {"tenantLimits": {"a": 9}},
            {"queue": {"perTenantShare": {"a": 1}}},
        ]
        for query in ("", "?dryRun=true"):
            for more in others:
                wanted = {"workflowTypeLimits": {"f": 1}, **more}
                refused = await call("PUT", f"/concurrency{query}", wanted, headers=mine)
                is_kept = more == others[-1]
                assert refused.status == (200 if is_kept else 403), more
        saved = await call("PUT", "/concurrency", {"userLimits": {"*": 2}}, headers=mine)
        assert saved.json["globalMaxConcurrent"] == 9
        assert saved.json["tenantLimits"] == {"a": 3, "*": 5}
        assert saved.json["userLimits"] == {"*": 2}
        assert saved.json["queue"]["perTenantShare"] == {"a": 1}, "no share of another tenant"
        seen = await call("PUT", "/concurrency?dryRun=true", {"userLimits": {"x": 0}}, headers=mine)
        limits = [each["limit"] for each in seen.json["preview"]["limits"]]
        assert limits == ["user:a/x"], "no limit of another tenant"
        whole = (await call("GET", "/concurrency", headers=ROOT)).json
        assert whole["tenantLimits"] == {"a": 3, "b": 2, "*": 5}
        assert whole["queue"]["perTenantShare"] == shares
        assert saved.json["queue"]["perTenantShare"] == {"a": 1}, "no weight of another tenant"
        lines = (await call("GET", "/audit?action=put_concurrency", headers=mine)).json["items"]
        assert "b" not in {
            name
            for line in lines
            for document in (line["before"], line["after"])
            if document is not None and "queue" in document
            for name in (*document["tenantLimits"], *document["queue"]["perTenantShare"])
        }
        assert saved.json["version"] == seen.json["version"]


async def test_the_audit_log_of_a_tenant_has_what_an_admin_of_the_service_changed_for_it_alone(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(admin_key="k" * 40) as call:
        service: Object = {
            "globalMaxConcurrent": 9,
            "tenantLimits": {"default": 3, "b": 2, "*": 5},
            "queue": {"perTenantShare": {"default": 1, "b": 4}},
        }
        with caplog.at_level("INFO", logger="tenuto.limits"):
            saved = await call("PUT", "/concurrency", service, headers=ROOT)
        assert saved.json["tenantLimits"] == service["tenantLimits"]
        lines = (await call("GET", "/audit?action=put_concurrency", headers=ROOT)).json["items"]
        [after] = [line["after"] for line in lines if line["after"] is not None]
        assert after["globalMaxConcurrent"] == 9
        assert after["tenantLimits"] == {"default": 3, "*": 5}
        assert after["queue"]["perTenantShare"] == {"default": 1}
        changed = [each for each in caplog.messages if "tenantLimits" in each]
        assert ["'b': 2" in each for each in changed] == [True], "operators see all of it"


async def test_a_version_that_is_not_the_newest_is_refused_and_sent_back_answers_are_taken(
    serve: Serve,
) -> None:
    """`GET/PUT /concurrency` (`If-Match`): `{globalMaxConcurrent, workflowTypeLimits, tenantLimits,
    userLimits, resourceBasedLimits: {enabled, min, max, targets: {loopLagMs, commitMs,
    memoryPercent}}, queue: {order: fifo|priority|deadline, bound, aging, perTenantShare}}`; only an
    admin of the whole service sets global ones."""
    async with serve() as call:
        first = await call("PUT", "/concurrency", {"globalMaxConcurrent": 9})
        again = await call("PUT", "/concurrency", first.json)
        assert again.json["version"] == first.json["version"], "nothing changed"
        tag = {"if-match": first.headers["etag"]}
        assert (await call("PUT", "/concurrency", {}, headers=tag)).status == 200
        for query in ("", "?dryRun=true"):
            late = await call("PUT", f"/concurrency{query}", first.json, headers=tag)
            assert (late.status, late.json["code"]) == (412, "TEN-3194")


async def test_a_dry_run_is_recorded_as_one_and_as_no_change(serve: Serve) -> None:
    async with serve() as call:
        await call("PUT", "/concurrency?dryRun=true", {"globalMaxConcurrent": 9})
        rule = {"when": "ctx.input.a === 1", "hold": True, "dryRun": True}
        await call("POST", "/queue/rules", rule)
        lines = (await call("GET", "/audit")).json["items"]
        found = {line["action"]: (line["before"], line["after"]) for line in reversed(lines)}
        assert found["put_concurrency"] == found["add_queue_rule"] == (None, {"dryRun": True})


async def test_a_refused_start_says_after_what_time_to_try_again(serve: Serve) -> None:
    async with serve() as call:
        await call("PUT", "/concurrency", {"globalMaxConcurrent": 0, "queue": {"bound": 1}})
        for name, options in (("full", {}), ("single", {"limit": 1, "onFull": "reject"})):
            document = {
                "id": name,
                "steps": [{"stepId": "s", "type": "EVENT_WAIT", "eventPattern": "go"}],
                "options": {"concurrency": options} if options else {},
            }
            assert (await call.post("/workflows", document)).status == 201
        assert (await call.post("/workflows/single/start", {})).status == 201
        for name, code in (("single", "TEN-2837"), ("full", "TEN-2836")):
            refused = await call.post(f"/workflows/{name}/start", {})
            assert (refused.status, refused.json["code"]) == (429, code)
            seconds = int(refused.headers["retry-after"])
            assert seconds >= 1
            assert refused.json["advice"].startswith(f"Try again after {seconds} s, or ")
