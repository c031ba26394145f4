"""Keys and the audit log over HTTP: the same door for whoever manages access."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto import StoreUnavailable, Tenuto
from tenuto.access.authenticator import Authenticator
from tenuto.api.config import ServiceConfig
from tenuto.api.problems import Refusal
from tenuto.api.registry import OPERATIONS
from tenuto.api.service import Service
from tenuto.model.durations import iso
from tenuto.store.parts.audit import AuditEntry, AuditRow
from tenuto.workspace.definitions import Definitions, Saved
from tests.api.conftest import DOUBLE, WAIT, Caller, Reply, Serve

ADMIN = "a-very-long-admin-key-of-a-test-0123456789"


def bearing(key: str, **other: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", **other}


async def made(call: Caller, headers: dict[str, str] | None = None, **wish: object) -> Reply:
    body = {"name": "build", "role": "admin", **wish}
    return await call("POST", "/keys", body, headers=headers)


@pytest.mark.asyncio
async def test_the_first_key_makes_everybody_show_who_they_are(serve: Serve) -> None:
    """`POST /keys {name, role, tenant?, scopes?, expiresAt?}` answers once `{id, key}`; roles are
    viewer, operator, editor, admin.
    """
    async with serve() as call:
        assert (await call.get("/instances")).status == 200
        reply = await made(call)
        assert reply.status == 201
        assert reply.json["key"].startswith(f"tnt_{reply.json['id']}_")
        assert (await call.get("/instances")).json["code"] == "TEN-5010"
        ours = bearing(reply.json["key"])
        listed = (await call("GET", "/keys", headers=ours)).json["items"]
        assert [(each["id"], each["state"]) for each in listed] == [(reply.json["id"], "active")]
        assert "key" not in listed[0]
        assert reply.json["key"].rpartition("_")[2] not in json.dumps(listed)


@pytest.mark.asyncio
async def test_a_key_opens_what_it_says_until_it_is_revoked(serve: Serve) -> None:
    async with serve() as call:
        ours = bearing((await made(call)).json["key"])
        weak = (await made(call, ours, name="w", role="viewer", scopes=["instances:*"])).json
        held = bearing(weak["key"])
        assert (await call("GET", "/instances", headers=held)).status == 200
        assert (await call("GET", "/workflows", headers=held)).json["code"] == "TEN-5013"
        assert (await call("POST", "/workflows", DOUBLE, headers=held)).status == 403
        revoked = await call("DELETE", f"/keys/{weak['id']}", headers=ours)
        assert (revoked.status, revoked.json) == (200, {"id": weak["id"], "alsoRevoked": []})
        assert (await call("GET", "/instances", headers=held)).json["code"] == "TEN-5012"
        assert (await call("DELETE", "/keys/nothing", headers=ours)).json["code"] == "TEN-5016"


@pytest.mark.asyncio
async def test_keys_are_made_for_no_more_than_their_maker_may(serve: Serve) -> None:
    async with serve() as call:
        ours = bearing((await made(call)).json["key"])
        maker = await made(call, ours, name="m", role="admin", scopes=["keys:manage"])
        held = bearing(maker.json["key"])
        assert (await made(call, held, role="admin")).json["code"] == "TEN-5013"
        assert (await made(call, ours, tenant="acme")).json["code"] == "TEN-5013"
        past = iso(call.app.engine.clock.now() - timedelta(days=1))
        wrong = await made(call, ours, name=" ", scopes=["all"], expiresAt=past)
        assert wrong.status == 422
        assert {each["path"] for each in wrong.json["problems"]} == {
            *("$.name", "$.scopes[0]", "$.expiresAt"),
        }
        assert (await made(call, ours, role="boss")).status == 422
        pages = await call("GET", "/keys?limit=1", headers=ours)
        assert len(pages.json["items"]) == 1
        rest = await call("GET", f"/keys?cursor={pages.json['nextCursor']}", headers=ours)
        assert [each["name"] for each in rest.json["items"]] == ["m"]
        assert rest.json["nextCursor"] is None


@pytest.mark.asyncio
async def test_the_admin_key_opens_the_tenant_that_is_named(serve: Serve) -> None:
    async with serve(admin_key=ADMIN) as call:
        assert (await call.get("/instances")).status == 401
        theirs = bearing(ADMIN, **{"tenuto-tenant": "acme"})
        assert (await call("POST", "/workflows", WAIT, headers=theirs)).status == 201
        assert (await call("GET", "/workflows", headers=bearing(ADMIN))).json["items"] == []
        key = await made(call, bearing(ADMIN), tenant="acme", role="viewer")
        assert key.json["tenant"] == "acme"
        seen = await call("GET", "/workflows", headers=bearing(key.json["key"]))
        assert [each["id"] for each in seen.json["items"]] == ["wait"]
        foreign = bearing(key.json["key"], **{"tenuto-tenant": "default"})
        assert (await call("GET", "/workflows", headers=foreign)).json["code"] == "TEN-5013"
        nameless = bearing(ADMIN, **{"tenuto-tenant": "a/b"})
        assert (await call("GET", "/workflows", headers=nameless)).status == 422


@pytest.mark.asyncio
async def test_every_change_and_refusal_is_a_line_that_can_be_listed_exported_and_proved(
    serve: Serve,
) -> None:
    async with serve() as call:
        ours = bearing((await made(call)).json["key"], **{"x-request-id": "r-1"})
        viewer = bearing((await made(call, ours, name="vic", role="viewer")).json["key"])
        await call("POST", "/workflows", WAIT, headers=ours)
        started = (await call("POST", "/workflows/wait/start", {}, headers=ours)).json
        await call("POST", "/workflows", WAIT, headers=viewer)
        await call.get("/instances")
        page = (await call("GET", "/audit?limit=3", headers=ours)).json
        more = (await call("GET", f"/audit?cursor={page['nextCursor']}", headers=ours)).json
        found = [*page["items"], *more["items"]]
        assert [(each["actor"], each["action"], each["outcome"]) for each in found] == [
            ("nobody", "list_instances", "refused"),
            ("vic", "save_workflow", "refused"),
            *(("build", "start_workflow", each) for each in ("done", "asked")),
            *(("build", "save_workflow", each) for each in ("done", "asked")),
            *(("build", "create_key", each) for each in ("done", "asked")),
            *(("local", "create_key", each) for each in ("done", "asked")),
        ]
        assert found[2]["after"] == {"instanceId": started["instanceId"], "duplicate": False}
        saved = found[4]["after"]
        assert (saved["id"], saved["version"], len(saved["hash"])) == ("wait", 1, 64)
        assert (found[4]["source"], found[4]["requestId"]) == ("127.0.0.1", "r-1")
        assert (found[5]["before"], found[5]["after"]) == (None, None)
        assert found[1]["after"] == {"code": "TEN-5013"}
        chosen = (await call("GET", "/audit?actor=vic&action=save_workflow", headers=ours)).json
        assert chosen["items"] == [found[1]]
        exported = await call("GET", "/audit/export", headers=ours)
        assert exported.headers["content-type"].startswith("application/x-ndjson")
        assert exported.headers["x-content-type-options"] == "nosniff"
        assert [json.loads(line) for line in exported.text.splitlines()] == found[::-1]
        verdict = (await call("GET", "/audit/verify", headers=ours)).json
        assert (verdict["lines"], verdict["problem"]) == (10, None)
        known = f"10:{verdict['hash']}"
        proved = (await call("GET", f"/audit/verify?known={known}", headers=ours)).json
        assert proved["problem"] is None
        other = (await call("GET", f"/audit/verify?known=5:{verdict['hash']}", headers=ours)).json
        assert (other["problem"]["code"], other["problem"]["number"]) == ("TEN-5015", 5)
        assert (await call("GET", "/audit/verify?known=x", headers=ours)).status == 422
        assert (await call("GET", "/audit?cursor=!", headers=ours)).status == 422


@pytest.mark.asyncio
async def test_what_cannot_be_recorded_is_not_done_and_what_was_done_is_recorded_later(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        store = call.app.engine.store
        append, written = store.audit.append, asyncio.Event()
        failures: list[str] = []

        async def bad_weather(entries: Sequence[AuditEntry]) -> list[AuditRow]:
            if failures:
                raise StoreUnavailable(failures.pop())
            rows = await append(entries)
            written.set()
            return rows

        monkeypatch.setattr(store.audit, "append", bad_weather)
        audit = call.pipeline.service.audit
        monkeypatch.setattr(audit._together, "_look", bad_weather)  # type: ignore[attr-defined]
        monkeypatch.setattr(audit._backlog, "_append", bad_weather)  # type: ignore[attr-defined]
        failures.append("away")
        refused = await call.post("/workflows", WAIT)
        assert (refused.status, refused.json["code"]) == (503, "TEN-4001")
        assert (await call.get("/workflows/wait")).status == 404

        async def saved(*_: object, **__: object) -> Saved:
            failures.append("away")
            return await save(WAIT)

        save = call.app.workspace("default", "x").definitions.save
        monkeypatch.setattr(Definitions, "save", saved)
        written.clear()
        reply = await call.post("/workflows", WAIT)
        assert (reply.status, reply.json["code"]) == (503, "TEN-5030")
        written.clear()
        assert int(reply.headers["retry-after"]) >= 1
        assert (await call.get("/workflows/wait")).status == 200
        async with asyncio.timeout(60):
            await written.wait()
        lines = (await call.get("/audit")).json["items"]
        assert [(each["action"], each["outcome"]) for each in lines] == [
            *(("save_workflow", "done"), ("save_workflow", "asked")),
        ]


@pytest.mark.asyncio
async def test_an_address_that_asks_too_often_is_refused_before_anybody_looks_who_it_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ServiceConfig(port=0, source_rate=0.01, source_burst=2, drain_seconds=2)
    async with serve(config=config) as call:
        assert [(await call.get("/health")).status for _ in range(2)] == [200, 200]

        async def never(*_: object, **__: object) -> None:
            raise AssertionError("nobody looks")

        monkeypatch.setattr(Authenticator, "authenticate", never)
        reply = await call("GET", "/instances", headers=bearing("guess"))
        assert (reply.status, reply.json["code"]) == (429, "TEN-4291")
        assert int(reply.headers["retry-after"]) > 1


def test_addresses_of_one_network_have_one_rate() -> None:
    config = ServiceConfig(source_rate=0.01, source_burst=1)
    service = Service(Tenuto(), config, OPERATIONS)
    service.count_source("2001:db8:0:1::1")
    with pytest.raises(Refusal):
        service.count_source("2001:db8:0:1::2")
    service.count_source("2001:db8:0:2::1")


@pytest.mark.asyncio
async def test_a_key_of_a_clock_that_is_behind_moves_no_page_of_keys(serve: Serve) -> None:
    async with serve() as call:
        ours = bearing((await made(call, name="a")).json["key"])
        for name in "bc":
            await made(call, ours, name=name)
        store = call.app.engine.store
        oldest = (await store.access.keys("default"))[0]
        listed = await call("GET", "/keys?limit=1", headers=ours)
        before = replace(
            oldest, id="late", name="late", created_at=oldest.created_at - timedelta(1)
        )
        await store.access.put_key(before)
        names = [each["name"] for each in listed.json["items"]]
        while (cursor := listed.json["nextCursor"]) is not None:
            listed = await call("GET", f"/keys?limit=1&cursor={cursor}", headers=ours)
            names += [each["name"] for each in listed.json["items"]]
        assert names[0] == "a"
        assert sorted(names) == ["a", "b", "c"]
