"""What is public is a route, never a text: no path is let through because it looks like one."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from starlette.types import Message, Scope

from tenuto.api.pipeline import RequestPipeline
from tenuto.api.registry import OPERATIONS
from tests.api.conftest import ROUTES, Serve

PUBLIC = tuple(
    each.path
    for each in OPERATIONS
    if each.is_public and each.method == "GET" and each.admit is None
)
NAMES = ("health", "ready", "metrics", "docs", "openapi.json", "configs", "static", "..", ".")
AROUND = (
    *("{0}/", "{0}.", "{0};x", "{0};/health", "//{1}", "/{0}", "{0}//", "{0}/..", "{0}/."),
    *("{0}%2f", "{0}%00", "{0}%20", "{0}\\", "{0}#", "/./{1}", "/x/../{1}", "{2}", "{0}/x"),
    *("/api/v1{0}", "/api/v1/instances{0}", "/api/v1/instances/..%2f..%2f..{0}"),
    *("/api/v1/instances/../../..{0}", "/api/v1/workflows{0}", "/api/v1/workflows/x{0}"),
    *("/api/v1/instances;{0}", "/api/v1/instances/%2e%2e{0}", "{0}/../api/v1/instances"),
    *("{0}/%2e%2e/api/v1/instances", "{0}%2f..%2fapi%2fv1%2finstances", "{0}?x=/health"),
    *("/api/v1/instances?{0}", "/api/v1/instances?path={0}", "/API/V1/INSTANCES{0}"),
)


async def asked(pipeline: RequestPipeline, method: str, target: str) -> int:
    """The status of a request as a server hands it on: its path decoded and not tidied up."""
    path, _, query = target.partition("?")
    scope: Scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
    }
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await pipeline(scope, receive, send)
    [status] = statuses
    return status


@pytest.mark.asyncio
async def test_no_path_is_public_for_how_it_is_written(serve: Serve) -> None:
    async with serve(admin_key="a-very-long-admin-key-of-a-test-0123456789") as call:
        for public in PUBLIC:
            assert await asked(call.pipeline, "GET", public) in (200, 503)
            for form in AROUND:
                target = form.format(public, public.lstrip("/"), public.upper())
                found = ROUTES.find("GET", unquote(target.partition("?")[0]))
                is_itself = found is not None and found.operation.path in PUBLIC
                status = await asked(call.pipeline, "GET", target)
                if is_itself:
                    # The same path in other letters, or with a query that it does not have.
                    assert unquote(target.partition("?")[0]) in PUBLIC
                    assert status in (200, 422, 503), target
                else:
                    assert status == 401, target
            for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "get"):
                assert await asked(call.pipeline, method, public) == 401, (method, public)


@pytest.mark.asyncio
async def test_a_thing_that_is_named_like_a_public_path_is_not_public(serve: Serve) -> None:
    """Names may contain anything: every operation with every such name in the place of its ids."""
    async with serve(admin_key="a-very-long-admin-key-of-a-test-0123456789") as call:
        for operation in OPERATIONS:
            if operation.is_public or operation.method == "WEBSOCKET":
                continue
            for name in NAMES:
                words = operation.path.split("/")
                path = "/".join(name if word.startswith("{") else word for word in words)
                for target in (path, path + "/", f"{path}/{name}", f"{path};{name}", "/" + path):
                    status = await asked(call.pipeline, operation.method, target)
                    assert status == 401, (operation.method, target)
