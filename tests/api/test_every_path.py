"""Whatever the path of a request is: an answer or a refusal, never a failure of the service."""

from __future__ import annotations

import asyncio
from urllib.parse import quote_from_bytes, unquote_to_bytes

from hypothesis import given, settings, strategies as st

from tenuto import Tenuto
from tenuto.api.asgi import build_api
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.registry import OPERATIONS
from tenuto.api.routes import Routes
from tests.api.conftest import tasks

_WORDS = sorted({word for each in OPERATIONS for word in each.path.split("/")} | {".", "..", "%"})
_ODD = st.one_of(st.sampled_from(_WORDS), st.text(max_size=6), st.just(""))
PATHS = st.one_of(
    st.lists(_ODD, max_size=8).map("/".join),
    st.lists(_ODD, max_size=8).map(lambda words: "/" + "/".join(words)),
    st.text(max_size=20),
    st.sampled_from(
        ["", "/", "//", "///", "*", "/\0", "\\", "/%", "?", "#", "/api/v1", "/api/v1/"]
    ),
)
ROUTES = Routes(OPERATIONS)
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])


async def _status(pipeline: RequestPipeline, method: str, path: str) -> int:
    raw = quote_from_bytes(path.encode("utf-8", "surrogatepass"))
    scope = {
        "type": "http",
        "method": method,
        "path": unquote_to_bytes(raw).decode("utf-8", "replace"),
        "raw_path": raw.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "http_version": "1.1",
    }
    statuses: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await pipeline(scope, receive, send)
    (status,) = statuses
    return status


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(METHODS, PATHS), min_size=1, max_size=30))
def test_no_path_makes_the_service_fail(asked: list[tuple[str, str]]) -> None:
    async def main() -> None:
        async with Tenuto(tasks=tasks()) as app:
            pipeline = build_api(app)
            for method, path in asked:
                status = await _status(pipeline, method, path)
                assert 200 <= status < 500, (method, path)

    asyncio.run(main())


@given(PATHS)
def test_every_path_is_routed_or_not_without_an_error(path: str) -> None:
    found = ROUTES.find("GET", path)
    assert ("GET" in ROUTES.methods_at(path)) == (found is not None or path == "*")
