"""What is refused before anybody looks at what it asks for, and in which words."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from typing import Any

import pytest
from yarl import URL

from tenuto import InvalidInput, Overloaded, StoreUnavailable, Tenuto
from tenuto.api.config import ServiceConfig
from tenuto.api.paging import PageQuery
from tenuto.api.registry import OPERATIONS
from tenuto.api.request_parser import read_query
from tenuto.engine.bounds import Bounds
from tenuto.engine.settings import Settings
from tenuto.model.policy import Limits
from tenuto.workspace.cursors import write_cursor
from tests.api.conftest import DOUBLE, WAIT, Serve, tasks

DEEP = b'{"input":' + b"[" * 300 + b"]" * 300 + b"}"
DEEPER = b"[" * 100_000


@pytest.mark.asyncio
async def test_bodies_that_cannot_be_read_are_400(serve: Serve) -> None:
    """Bodies with duplicate keys, non-finite numbers or malformed UTF-8: 400."""
    bodies = [
        b"",
        b"{",
        b"{'a': 1}",
        b'{"input": NaN}',
        b'{"input": -Infinity}',
        b'{"input": 1e999}',
        b'{"input": "\xff"}',
        b'{"input": "\\ud800"}',
        b'{"input": 1, "input": 2}',
        b'{"input": {"a": {"b": 1, "b" : 2}}}',
        b'{"input": [{"a": 1, "\\u0061": 2}]}',
        b'{"input": {"a": 1, "a": 2, "b": "\\u0022:"}}',
        b'{"input": 1} {}',
        b'\xef\xbb\xbf{"input": 1}',
        DEEP,
        DEEPER,
    ]
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        for body in bodies:
            reply = await call("POST", "/workflows", data=body)
            assert (reply.status, reply.json["code"]) == (400, "TEN-2004"), body[:60]
        assert (await call.get("/instances")).json["items"] == []


@pytest.mark.asyncio
async def test_what_looks_like_a_key_in_text_is_none(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        for text in (":a", '": x', '\\": :', '{"a": 1, "a": 2}', '\u00e9":'):
            body = json.dumps({"input": {"orderId": text, "x": [text]}}).encode()
            reply = await call("POST", "/workflows/wait/start", data=body)
            assert reply.status == 201, reply.text
            instance = await call.get(f"/instances/{reply.json['instanceId']}")
            assert instance.json["input"] == {"orderId": text, "x": [text]}


@pytest.mark.asyncio
async def test_a_body_says_that_it_is_json(serve: Serve) -> None:
    """Writes need `content-type: application/json` (or CloudEvents' types); a foreign `Origin` is
    refused.
    """
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        for said in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin-1",
        ):
            reply = await call(
                "POST", "/workflows/double/start", data=b"{}", headers={"content-type": said}
            )
            assert (reply.status, reply.json["code"]) == (415, "TEN-2032"), said
        reply = await call(
            "POST",
            "/workflows/double/start",
            {"input": {"number": 1}},
            headers={"content-type": 'application/json; charset="UTF-8"'},
        )
        assert reply.status == 201


@pytest.mark.asyncio
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "br", "deflate, gzip", "identity, zstd"])
async def test_a_compressed_body_is_415_and_says_so(serve: Serve, encoding: str) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        packed = gzip.compress(b'{"input": {"number": 1}}')
        for path in ("/workflows/double/start", "/workflows", "/events"):
            reply = await call("POST", path, data=packed, headers={"content-encoding": encoding})
            assert (reply.status, reply.json["code"]) == (415, "TEN-2036"), path
            assert reply.headers["accept-encoding"] == "identity"
            assert encoding in reply.json["detail"]
        plain = {"content-encoding": "identity"}
        body = {"input": {"number": 1}}
        started = await call("POST", "/workflows/double/start", body, headers=plain)
        assert started.status == 201


@pytest.mark.asyncio
async def test_every_wrong_field_is_named_at_once(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        body = {"inptu": 1, "priority": "high", "deadline": "2026-01-01T00:00:00", "version": 0}
        reply = await call.post("/workflows/double/start", body)
        assert reply.status == 422
        places = {each["path"]: each for each in reply.json["problems"]}
        assert set(places) == {"$.inptu", "$.priority", "$.deadline", "$.version"}
        assert "input" in places["$.inptu"]["advice"]
        reply = await call.get("/instances?limit=0&stauts=FAILED&createdFrom=yesterday")
        assert reply.status == 422
        assert {each["path"] for each in reply.json["problems"]} == {
            "$.limit",
            "$.stauts",
            "$.createdFrom",
        }


@pytest.mark.asyncio
async def test_of_many_unknown_fields_the_first_are_named_and_the_others_counted(
    serve: Serve,
) -> None:
    many = {"y" * 10_000: 0, **{f"input{n}": 0 for n in range(999)}}
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        config = {"widgetType": "table", "widgetConfig": {"path": "input", **many}}
        for path, body in (
            ("/workflows/wait/start", many),
            ("/instances/batch", many),
            ("/events", {"pattern": "a.b", **many}),
            (f"/instances/{id}/widget", config),
        ):
            reply = await call.post(path, body)
            assert reply.status == 422, path
            assert "980 more fields" in reply.text, path
            assert len(reply.text) < 20_000, path


def test_a_long_query_is_read_once() -> None:
    """Where each name was counted for itself, this would take minutes."""
    text = "&".join([*(f"p{n}=1" for n in range(200_000)), "last=1", "last=2"])
    with pytest.raises(InvalidInput) as refused:
        read_query(text.encode(), PageQuery)
    assert [each.path for each in refused.value.problems] == ["$.last"]
    with pytest.raises(InvalidInput) as refused:
        read_query(text.removesuffix("&last=2").encode(), PageQuery)
    assert len(refused.value.problems) == 21
    with pytest.raises(InvalidInput) as refused:
        read_query(text.removesuffix("&last=2").replace("=1", "=%00").encode(), PageQuery)
    assert len(refused.value.problems) == 20


@pytest.mark.asyncio
async def test_internal_names_are_no_fields(serve: Serve) -> None:
    """Every internal field name sent by a user is refused."""
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        for name in ("tenant", "status", "key", "actor", "definition_version", "correlation_id"):
            reply = await call.post(
                "/workflows/double/start", {"input": {"number": 1}, name: "other"}
            )
            assert reply.status == 422, name
        # Of a list it is a filter, and no way to be somebody else.
        await call.start("double", {"number": 1})
        assert (await call.get("/instances?tenant=other")).json["items"] == []


@pytest.mark.asyncio
async def test_too_large_is_413_and_names_the_limit(serve: Serve) -> None:
    """Too large a start or event: 413, naming the limit."""
    limits = Limits(input_bytes=1_000, event_bytes=1_000)
    app = Tenuto(tasks=tasks(), settings=Settings(limits=limits, unknown_tasks="wait"))
    async with serve(app=app) as call:
        await call.post("/workflows", DOUBLE)
        for size in (2_000, 200_000):
            reply = await call.post("/workflows/double/start", {"input": {"number": "x" * size}})
            assert (reply.status, reply.json["code"]) == (413, "TEN-2005")
            assert reply.json["reason"] == "TOO_LARGE"
            assert "limit" in reply.text
        assert (
            "1,000" in (await call.post("/events", {"pattern": "a.b", "payload": "x" * 2_000})).text
        )


@pytest.mark.asyncio
async def test_a_body_that_never_says_how_long_it_is_is_cut_off(serve: Serve) -> None:
    async with serve() as call:

        async def endless() -> object:
            for _ in range(100):
                yield b" " * 10_000

        async with call.session.post(
            f"{call.url}/api/v1/instances/x/cancel",
            data=endless(),
            headers={"content-type": "application/json"},
        ) as reply:
            assert reply.status == 413


@pytest.mark.asyncio
async def test_there_is_nothing_at_unknown_paths(serve: Serve) -> None:
    async with serve() as call:
        for path in ("/nothing", "/instances/a/b/c", "/api/v2/workflows", "/api/v1//workflows"):
            reply = await call.get(path)
            assert (reply.status, reply.json["code"]) == (404, "TEN-2033"), path
        reply = await call("DELETE", "/instances")
        assert (reply.status, reply.json["code"]) == (405, "TEN-2034")
        assert reply.headers["allow"] == "GET, HEAD, OPTIONS"
        reply = await call.get("/workflows/")
        assert (reply.status, "/api/v1/workflows" in reply.json["advice"]) == (404, True)


@pytest.mark.asyncio
async def test_unknown_ids_are_404(serve: Serve) -> None:
    unknown = "0190f0f0-0000-7000-8000-000000000000"
    reads = ("", "/history", "/context", "/variables/a", "/graph", "/waits", "/undo-plan")
    commands = ("cancel", "pause", "resume", "retry", "rerun")
    async with serve() as call:
        for id in (unknown, "x", "%00", "%F0%9F%98%80", "a" * 400):
            for part in reads:
                reply = await call.get(f"/instances/{id}{part}")
                assert reply.status == 404, (id[:10], part, reply.text)
            for command in commands:
                reply = await call.post(f"/instances/{id}/{command}", {})
                assert reply.status == 404, (id[:10], command, reply.text)
        decision = {"decision": "approved"}
        assert (await call.post(f"/instances/{unknown}/steps/a/decision", decision)).status == 404
        assert (await call.post("/workflows/nobody/start", {})).status == 404
        assert (await call.get("/workflows/nobody")).status == 404
        assert (await call.get("/workflows/nobody/versions")).status == 404
        assert (await call.get("/events/nobody")).status == 404
        assert (await call("DELETE", "/webhooks/nobody")).status == 404
        assert (await call("DELETE", "/subscriptions/nobody")).status == 404


@pytest.mark.asyncio
async def test_bad_cursors_are_refused(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        lists = ("/instances", "/workflows", "/workflows/double/versions", "/events")
        for path in lists:
            for cursor in ("x", "eyJhIjoxfQ", "%F0", "W10", "bnVsbA"):
                reply = await call.get(f"{path}?cursor={cursor}")
                assert reply.status == 422, (path, cursor, reply.text)
                assert reply.json["code"] == "TEN-2009"


@pytest.mark.asyncio
async def test_made_up_cursors_never_reach_a_store(serve: Serve) -> None:
    made_up = [
        10**30,
        -1,
        "\0",
        "a\0",
        [10**18, "a", "b"],
        [10**18, "a"],
        [10**18, 1, 1],
        [-1, 1, 1],
    ]
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        for operation in OPERATIONS:
            fields = () if operation.query is None else operation.query.__struct_fields__
            if operation.method != "GET" or "cursor" not in fields or "history" in operation.path:
                continue
            path = operation.path.replace("{id}", "double")
            for value in made_up:
                for order in ("", "&order=desc") if "order" in fields else ("",):
                    cursor = write_cursor(value)
                    reply = await call.get(f"{path}?cursor={cursor}{order}")
                    assert reply.status == 422, (path, value, reply.text)


@pytest.mark.asyncio
async def test_more_requests_than_allowed_are_429_with_a_time_to_wait(serve: Serve) -> None:
    config = ServiceConfig(port=0, rate=0.01, burst=2, drain_seconds=2)
    async with serve(config=config) as call:
        assert [(await call.get("/instances")).status for _ in range(3)] == [200, 200, 429]
        reply = await call.get("/instances")
        assert reply.json["code"] == "TEN-4291"
        assert int(reply.headers["retry-after"]) >= 1
        assert (await call.get("/health")).status == 200


@pytest.mark.asyncio
async def test_a_full_queue_is_429_and_a_store_that_is_away_503(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        for error, status in (
            (Overloaded("too much is waiting"), 429),
            (StoreUnavailable("the store is away"), 503),
        ):
            refusing = _raising(error)
            monkeypatch.setattr(call.app.engine, "start", refusing)
            reply = await call.post("/workflows/double/start", {"input": {"number": 1}})
            assert (reply.status, reply.json["code"]) == (status, error.code)
            assert int(reply.headers["retry-after"]) >= 1
        monkeypatch.setattr(call.app.engine.store.instances, "page", _raising(error))
        ready = await call.get("/health/ready")
        assert (ready.status, ready.json) == (
            503,
            {"status": "the store is away", "degraded": ["the store is away"]},
        )
        monkeypatch.undo()
        assert (await call.get("/health/ready")).status == 200


@pytest.mark.asyncio
async def test_a_fault_of_ours_shows_nothing_of_itself(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        monkeypatch.setattr(call.app.engine, "start", _raising(RuntimeError("secret words")))
        reply = await call.post("/workflows/double/start", {"input": {"number": 1}})
        assert (reply.status, reply.json["code"]) == (500, "TEN-4000")
        assert "secret" not in reply.text
        assert reply.json["requestId"] in caplog.text


def _raising(error: Exception) -> object:
    async def refuse(*_: object, **__: object) -> None:
        raise error

    return refuse


@pytest.mark.asyncio
@pytest.mark.parametrize("endless", [b"x: " + b"a" * 8_000, b"a" * 8_000, b"x: a\r\n" * 1_000])
async def test_headers_that_do_not_end_are_given_up(serve: Serve, endless: bytes) -> None:
    async with serve() as call:
        address = URL(call.url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + endless * 100)
        with contextlib.suppress(ConnectionError):
            # Whoever waited for their end would not answer.
            async with asyncio.timeout(60):
                assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        body = {"input": {"orderId": "x" * 200_000}}
        await call.post("/workflows", WAIT)
        assert (await call.post("/workflows/wait/start", body)).status == 201


@pytest.mark.asyncio
async def test_unknown_parameters_are_refused_with_those_that_there_are(serve: Serve) -> None:
    async with serve() as call:
        reply = await call.get("/instances?stauts=FAILED")
        (problem,) = reply.json["problems"]
        assert (reply.status, problem["path"]) == (422, "$.stauts")
        assert "status" in problem["advice"]
        reply = await call.get("/instances?colour=red")
        assert "correlationId" in reply.json["problems"][0]["advice"]
        reply = await call.get("/instances/x/graph?depth=1&b=2")
        assert (reply.status, len(reply.json["problems"])) == (422, 2)


@pytest.mark.asyncio
async def test_while_the_store_is_away_starts_are_503_and_go_through_again_by_themselves(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        store = call.app.engine.store
        away = _raising(StoreUnavailable("the store is away"))
        monkeypatch.setattr(store.turns, "commit", away)
        monkeypatch.setattr(store.instances, "page", away)
        monkeypatch.setattr(store.definitions, "get", away)
        body = {"input": {"number": 1}}
        key = {"idempotency-key": "once"}
        for method, path, sent in (
            ("POST", "/workflows/double/start", body),
            ("POST", "/events", {"pattern": "a.b"}),
            ("GET", "/instances", None),
        ):
            reply = await call(method, path, sent, headers=key)
            assert (reply.status, reply.json["code"]) == (503, "TEN-4001"), reply.text
            assert int(reply.headers["retry-after"]) >= 1
        assert (await call.get("/health")).status == 200
        assert (await call.get("/health/ready")).status == 503
        monkeypatch.undo()
        assert (await call.get("/health/ready")).status == 200
        started = await call("POST", "/workflows/double/start?wait=30", body, headers=key)
        assert (started.status, started.json["output"]) == (201, 2)


@pytest.mark.asyncio
async def test_more_starts_than_can_wait_are_429_and_what_was_taken_is_done(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(unknown_tasks="wait", bounds=Bounds(waiting=3))
    async with serve(app=Tenuto(tasks=tasks(), settings=settings)) as call:
        await call.post("/workflows", DOUBLE)
        store, gate = call.app.engine.store, asyncio.Event()
        commit = store.turns.commit

        async def later(*turn: Any, **more: Any) -> object:  # noqa: ANN401
            await gate.wait()
            return await commit(*turn, **more)

        monkeypatch.setattr(store.turns, "commit", later)
        body = {"input": {"number": 1}}
        asked = [asyncio.create_task(call.post("/workflows/double/start", body)) for _ in range(60)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        refused = done.pop().result()
        assert (refused.status, refused.json["code"]) == (429, "TEN-4290")
        assert int(refused.headers["retry-after"]) >= 1
        gate.set()
        statuses = [reply.status for reply in await asyncio.gather(*asked)]
        assert set(statuses) == {201, 429}
        kept = (await call.get("/instances")).json["items"]
        assert len(kept) == statuses.count(201)
