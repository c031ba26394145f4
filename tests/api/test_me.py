"""What a client learns first: how to sign in, and who it is."""

from __future__ import annotations

import pytest

from tenuto.api.config import ServiceConfig
from tests.api.conftest import Serve

ADMIN = "an-admin-key-of-at-least-32-letters"


@pytest.mark.asyncio
async def test_without_credentials_a_client_on_this_machine_may_do_everything(
    serve: Serve,
) -> None:
    async with serve(config=ServiceConfig(port=0, environment="test")) as call:
        me = (await call.get("/me")).json
        assert me["signIn"] == {"isRequired": False, "ways": ["key"], "oidc": None}
        assert me["environment"] == "test"
        for path, status in (("/instances", 200), ("/instances/none", 404)):
            answered = await call.get(path)
            assert (answered.status, answered.headers["tenuto-environment"]) == (status, "test")
        assert me["principal"]["kind"] == "local"
        assert {"keys:manage", "instances:read"} <= set(me["principal"]["permissions"])
        assert me["capabilities"]["instances"] is True
        assert me["capabilities"]["schedules"] is True
        relayed = await call.get("/me", via="1.1 proxy")
        assert (relayed.status, relayed.json["code"]) == (403, "TEN-5023")


@pytest.mark.asyncio
async def test_who_sends_no_credential_learns_how_to_sign_in_and_nothing_else(
    serve: Serve,
) -> None:
    config = ServiceConfig(port=0, environment="test")
    async with serve(config=config, admin_key=ADMIN) as call:
        me = (await call.get("/me")).json
        assert "tenuto-environment" not in (await call.get("/instances")).headers
        assert (me["signIn"]["isRequired"], me["principal"]) == (True, None)
        assert (me["version"], me["environment"]) == (None, None)
        assert (await call.get("/me", authorization="Bearer wrong")).status == 401


@pytest.mark.asyncio
async def test_a_key_learns_its_tenant_and_its_permissions_within_its_scopes(
    serve: Serve,
) -> None:
    async with serve(admin_key=ADMIN) as call:
        admin = {"authorization": f"Bearer {ADMIN}", "tenuto-tenant": "shop"}
        me = (await call("GET", "/me", headers=admin)).json["principal"]
        assert (me["tenant"], me["mayChooseTenant"], me["role"]) == ("shop", True, "admin")
        wish = {"name": "eye", "role": "operator", "scopes": ["instances:*", "keys:manage"]}
        made = await call("POST", "/keys", wish, headers=admin)
        key = made.json["key"]
        me = (await call.get("/me", authorization=f"Bearer {key}")).json["principal"]
        assert (me["tenant"], me["name"], me["mayChooseTenant"]) == ("shop", "eye", False)
        assert me["permissions"] == [
            "instances:read",
            "instances:start",
            "instances:control",
            "instances:decide",
        ]


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("HTTPS://Tenuto.Example.COM:443/Flows", "https://tenuto.example.com/Flows"),
        ("http://Example.com:80", "http://example.com"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://[FE80::1]:8484", "http://[fe80::1]:8484"),
        ("https://example.com:99999", "https://example.com:99999"),
    ],
)
def test_a_public_url_is_spelled_as_browsers_do(given: str, spelled: str) -> None:
    assert ServiceConfig(public_url=given).public_url == spelled
