"""Request targets that no client means: refused or answered, never a failure of the service."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest

from tests.api.conftest import Serve

TARGETS = (
    *(b"*", b"", b"/", b"//", b"///", b"//localhost/health", b"/.", b"/..", b"/../../etc/passwd"),
    *(b"/%2e%2e/%2e%2e/x", b"/%00", b"/health%00", b"/api/v1/workflows/%00", b"/%", b"/%zz"),
    *(
        b"/\xff",
        b"/%ff",
        b"/%ed%a0%80",
        "/bücher".encode(),
        b"/?\xff",
        b"/?%00",
        b"/?%ff",
        b"/?a=%",
    ),
    *(b"/" + b"a" * 60_000, b"/?" + b"a" * 60_000, b"/" * 60_000, b"/api/v1/" + b"x/" * 5_000),
    *(b"http://localhost/health", b"http://localhost", b"http://other.example/health", b"http://"),
    *(b"http://[::1/", b"localhost:80", b"health", b"?", b"#", b"/#x", b"/;x", b"/api", b"/api/v1"),
    *(b"/api/v1/", b"/api//v1/workflows", b"/api/v1/workflows/", b"\\", b"/\\..\\x"),
)
METHODS = (
    *(b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT"),
    *(b"PROPFIND", b"BREW", b"get"),
)
UPGRADE = (
    b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
)


pytestmark = pytest.mark.asyncio


async def _status(place: tuple[str, int], request: bytes) -> int:
    reader, writer = await asyncio.open_connection(*place)
    writer.write(request)
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


@pytest.mark.slow
async def test_no_request_target_makes_the_service_fail(serve: Serve) -> None:
    async with serve() as call, asyncio.timeout(60):
        host, _, port = call.url.removeprefix("http://").partition(":")
        asked = [
            (method, target, more)
            for method, target in itertools.product(METHODS, TARGETS)
            for more in ((b"", UPGRADE) if method == b"GET" else (b"",))
        ]
        for method, target, more in asked:
            head = b"%b %b HTTP/1.1\r\nhost: localhost\r\n" % (method, target)
            status = await _status((host, int(port)), head + more + b"connection: close\r\n\r\n")
            assert 200 <= status < 500 or status == 501, (method, target[:40], more)


async def test_options_of_the_whole_service_and_its_root_are_answered(serve: Serve) -> None:
    async with serve() as call, asyncio.timeout(60):
        host, _, port = call.url.removeprefix("http://").partition(":")
        place = host, int(port)
        assert await _status(place, b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n") == 204
        assert await _status(place, b"GET * HTTP/1.1\r\nhost: localhost\r\n\r\n") == 405
        assert await _status(place, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n") == 200


@pytest.mark.parametrize(
    "request_line",
    [b"FOO / HTTP/1.1", b"GET / HTTP/9.9", b"CONNECT a:1 HTTP/1.1", b"\x16\x03\x01", b"GET"],
)
async def test_what_is_no_request_is_refused_with_a_code(serve: Serve, request_line: bytes) -> None:
    async with serve() as call, asyncio.timeout(60):
        host, _, port = call.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request_line + b"\r\nhost: localhost\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/problem+json" in head
        problem = json.loads(body)
        assert (problem["status"], problem["code"]) == (400, "TEN-2037")
