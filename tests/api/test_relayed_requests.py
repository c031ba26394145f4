"""A service without credentials answers this machine alone, whatever stands in front of it."""

from __future__ import annotations

import pytest

from tenuto.api.config import ServiceConfig
from tenuto.api.registry import OPERATIONS
from tests.api.conftest import Serve
from tests.api.test_pipeline import IDS

pytestmark = pytest.mark.asyncio

ADMIN = "x" * 40
RELAYED = (
    {"x-forwarded-for": "203.0.113.7"},
    {"forwarded": "for=203.0.113.7"},
    {"via": "1.1 proxy"},
    {"x-real-ip": "203.0.113.7"},
    {"x-forwarded-host": "tenuto.example.com"},
    {"sec-fetch-site": "cross-site"},
)
ALONE = (
    *("x-forwarded-proto", "x-forwarded-port", "x-forwarded-server", "x-forwarded-prefix"),
    *("x-forwarded", "x-original-host", "x-original-forwarded-for", "cf-connecting-ip", "cf-ray"),
    *("true-client-ip", "x-client-ip", "client-ip", "x-cluster-client-ip", "cdn-loop"),
    *("fastly-client-ip", "fly-client-ip", "x-azure-clientip", "x-envoy-external-address"),
    "x-amz-cf-id",
)
"""Headers by each of which a proxy tells that it has relayed a request."""
_UPGRADE = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
}


async def test_no_operation_is_open_to_what_a_proxy_or_another_site_relays(serve: Serve) -> None:
    async with serve() as call:
        for operation in OPERATIONS:
            if operation.is_public:
                continue
            path = operation.path.replace(":path", "").format(**IDS)
            is_socket = operation.method == "WEBSOCKET"
            for relayed in RELAYED:
                headers = {**relayed, **(_UPGRADE if is_socket else {})}
                reply = await call("GET" if is_socket else operation.method, path, headers=headers)
                assert (reply.status, reply.json["code"]) == (403, "TEN-5023"), (path, headers)
                assert "keys create" in reply.json["advice"]


@pytest.mark.parametrize("name", ALONE)
async def test_one_header_of_a_proxy_is_enough(serve: Serve, name: str) -> None:
    async with serve() as call:
        for path in ("/workflows", "/me"):
            reply = await call("GET", path, headers={name: "x"})
            assert (reply.status, reply.json["code"]) == (403, "TEN-5023")
            assert name in reply.json["detail"]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin, cross-site", "new-kind"])
async def test_a_page_of_another_port_or_site_reads_nothing(serve: Serve, site: str) -> None:
    async with serve() as call:
        reply = await call("GET", "/workflows", headers={"sec-fetch-site": site})
        assert (reply.status, reply.json["code"]) == (403, "TEN-5023")


async def test_with_a_credential_a_proxy_may_stand_in_front(serve: Serve) -> None:
    async with serve(admin_key=ADMIN) as call:
        for headers in RELAYED:
            bearing = {**headers, "authorization": f"Bearer {ADMIN}"}
            assert (await call("GET", "/workflows", headers=bearing)).status == 200
            assert (await call("GET", "/workflows", headers=headers)).status == 401


async def test_health_is_answered_through_a_proxy(serve: Serve) -> None:
    async with serve() as call:
        for headers in RELAYED:
            assert (await call("GET", "/health", headers=headers)).status == 200


async def test_pages_of_this_machine_and_allowed_origins_may_call(serve: Serve) -> None:
    allowed = "https://ui.example.com"
    async with serve(config=ServiceConfig(port=0, origins=frozenset({allowed}))) as call:
        for headers in (
            {"sec-fetch-site": "same-origin"},
            {"sec-fetch-site": "none"},
            {"sec-fetch-site": "cross-site", "origin": allowed},
            {"sec-fetch-site": "same-site", "origin": allowed},
        ):
            assert (await call("GET", "/workflows", headers=headers)).status == 200
        foreign = {"sec-fetch-site": "cross-site", "origin": "https://evil.example.com"}
        assert (await call("GET", "/workflows", headers=foreign)).status == 403


@pytest.mark.parametrize(
    "host", ["tenuto.example.com", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example"]
)
async def test_a_name_that_is_not_of_this_machine_is_refused(serve: Serve, host: str) -> None:
    """A page whose owner points its name here (DNS rebinding)."""
    async with serve() as call:
        assert (await call("GET", "/workflows", headers={"host": host})).status == 421
