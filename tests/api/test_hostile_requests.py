"""What somebody who means harm sends: two meanings at once, forged places, a name for each try."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import Tenuto
from tenuto.api.registry import OPERATIONS
from tenuto.workspace.cursors import write_cursor
from tests.api.conftest import DOUBLE, Serve, tasks
from tests.api.test_pipeline import IDS, KEYS, bearing

pytestmark = pytest.mark.asyncio

FORGED: tuple[object, ...] = (
    *(-1, -(2**63), 2**63, 10**30, "", "\0", "\ud800", "x" * 20_000, [], {}, None, True),
    *([2**70, "x"], [-(2**62), "x"], [10**17, "\0"], [0, "x", "y"], [2**70, "x", "y"]),
)
"""Places in lists that no page ends with."""


async def test_a_forged_cursor_is_refused_or_leads_nowhere(serve: Serve, tmp_path: Path) -> None:
    app = Tenuto(f"sqlite:///{tmp_path / 'store.db'}", tasks=tasks())
    async with serve(app=app) as call:
        await call.post("/workflows", {**DOUBLE, "id": "x"})
        for each in OPERATIONS:
            fields = () if each.query is None else each.query.__struct_encode_fields__
            if "cursor" not in fields:
                continue
            path = each.path.format(**IDS)
            for place in FORGED:
                try:
                    cursor = write_cursor(place)
                except UnicodeEncodeError:
                    cursor = "Ilx1ZDgwMCI"
                reply = await call.get(f"{path}?cursor={cursor}")
                assert reply.status in (200, 422), (each.name, str(place)[:50], reply.text)


async def test_a_request_with_two_meanings_has_none(serve: Serve) -> None:
    twice = b"content-length: 2\r\n"
    async with serve(authentication=KEYS) as call, asyncio.timeout(60):
        host, _, port = call.url.removeprefix("http://").partition(":")
        for headers in (
            b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
            twice + b"content-length: 3\r\n",
            b"transfer-encoding : chunked\r\n",
            b"transfer-encoding: chunked, identity\r\n",
            b"content-length: +2\r\n",
            b"x-request-id: a\nauthorization: Bearer ann\r\n",
            b"x-request-id: a\r\n folded\r\n",
        ):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"POST /health HTTP/1.1\r\nhost: localhost\r\n" + headers + b"\r\n{}")
            assert (await reader.read()).startswith(b"HTTP/1.1 400"), headers
            writer.close()
        for name, status in (("authorization", 401), ("host", 421)):
            reader, writer = await asyncio.open_connection(host, int(port))
            both = {
                "authorization": b"authorization: Bearer vic\r\nauthorization: Bearer ann\r\n",
                "host": b"host: evil.example.com\r\nauthorization: Bearer ann\r\n",
            }[name]
            head = b"GET /api/v1/instances HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            writer.write(head + both + b"\r\n")
            answered = await reader.read()
            assert answered.startswith(b"HTTP/1.1 %d" % status), answered
            writer.close()


async def test_what_a_client_calls_its_request_makes_no_line_and_no_header(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        for given in ("a\tb", "a" * 65, "é", "a b", "<x>"):
            headers = {**bearing("ann"), "x-request-id": given}
            reply = await call("GET", "/instances", headers=headers)
            assert reply.headers["x-request-id"] != given
            assert len(reply.headers["x-request-id"]) == 16
