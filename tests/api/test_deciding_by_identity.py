"""Who decides on an approval is who the credential says, whatever a key is called."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.model.approvals import People
from tenuto.model.errors import Unauthenticated
from tenuto.model.json import Object
from tests.api.conftest import Caller, Serve

ISSUER = "https://idp.example/realm"


def review(*users: str) -> Object:
    step: Object = {"stepId": "review", "type": "APPROVAL", "assignees": {"users": list(users)}}
    return {"id": "review", "steps": [step]}


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def asked(call: Caller, headers: dict[str, str], *users: str) -> str:
    """An instance that waits for one of these."""
    await call("PUT", "/workflows/review", review(*users), headers=headers)
    return str(
        (await call("POST", "/workflows/review/start", {}, headers=headers)).json["instanceId"]
    )


async def decided(call: Caller, id: str, headers: dict[str, str], **other: object) -> Any:  # noqa: ANN401
    path = f"/instances/{id}/steps/review/decision"
    return await call("POST", path, {"decision": "approved", **other}, headers=headers)


async def made(call: Caller, headers: dict[str, str], name: str, role: str = "admin") -> Any:  # noqa: ANN401
    return (await call("POST", "/keys", {"name": name, "role": role}, headers=headers)).json


async def named(call: Caller, headers: dict[str, str], name: str) -> str:
    """A key with any name: earlier versions made keys with names of others."""
    minted = await made(call, headers, "minted", "operator")
    access = call.app.engine.store.access
    row = await access.key(minted["id"])
    assert row is not None
    id = secrets.token_hex(8)
    await access.put_key(replace(row, id=id, name=name))
    return str(minted["key"]).replace(minted["id"], id)


@pytest.mark.asyncio
async def test_a_key_named_like_an_assignee_decides_nothing(serve: Serve) -> None:
    async with serve(admin_key="k" * 40) as call:
        root = bearing("k" * 40)
        admin = await made(call, root, "root")
        headers = bearing(admin["key"])
        id = await asked(call, headers, "ada", f"{ISSUER}|bob", "key:0123456789abcdef")
        assert (await decided(call, id, headers)).json["code"] == "TEN-5001"
        for name in ("ada", "bob", f"{ISSUER}|bob", "key:0123456789abcdef"):
            key = await named(call, headers, name)
            for said in ({}, {"by": name}):
                refused = await decided(call, id, bearing(key), **said)
                assert (refused.status, refused.json["code"]) == (403, "TEN-5001")
        # The holder of the admin key is no user either.
        assert (await decided(call, id, root)).status == 403
        waits = (await call("GET", f"/instances/{id}/waits", headers=headers)).json["items"]
        assert len(waits) == 1


@pytest.mark.asyncio
async def test_a_key_that_is_named_by_its_id_decides_and_the_log_says_which(serve: Serve) -> None:
    async with serve(admin_key="k" * 40) as call:
        root = bearing("k" * 40)
        boss = await made(call, root, "ada", "operator")
        identity = f"key:{boss['id']}"
        id = await asked(call, root, identity)
        assert (await decided(call, id, bearing(boss["key"]), by="ada")).status == 200
        shown = (await call("GET", f"/instances/{id}", headers=root)).json
        assert shown["output"]["by"] == identity
        audit = await call("GET", "/audit?action=decide_on_step", headers=root)
        assert {line["credential"] for line in audit.json["items"]} == {identity}
        assert {line["actor"] for line in audit.json["items"]} == {"ada"}


class Provider:
    """Lets in whom the token names: a subject, and a name that anybody may choose."""

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        if authorization is None:
            raise Unauthenticated("none", code="TEN-5010")
        subject, _, name = authorization.removeprefix("Bearer ").partition("/")
        return Principal(
            tenant="default",
            name=name,
            credential=f"{ISSUER}|{subject}",
            role=Role.ADMIN,
            kind="jwt",
        )


@pytest.mark.asyncio
async def test_a_user_is_known_by_the_subject_and_not_by_a_name(serve: Serve) -> None:
    async with serve(authentication=Provider()) as call:
        anybody = bearing("x/y")
        for assignee in ("ada", f"{ISSUER}|ada"):
            id = await asked(call, anybody, assignee)
            assert (await decided(call, id, bearing("eve/ada"))).status == 403
            assert (await decided(call, id, bearing("key:0/ada"))).status == 403
            assert (await decided(call, id, bearing("ada/whatever"))).status == 200
            shown = (await call("GET", f"/instances/{id}", headers=anybody)).json
            assert shown["output"]["by"] == f"{ISSUER}|ada"


@pytest.mark.parametrize(
    ("user", "assignee", "may"),
    [
        ("ada", "ada", True),
        (f"{ISSUER}|ada", "ada", True),
        (f"{ISSUER}|ada", f"{ISSUER}|ada", True),
        (f"{ISSUER}|auth0|7", "auth0|7", True),
        (f"{ISSUER}|auth0|7", "7", False),
        ("auth0|7", "7", False),
        (f"{ISSUER}|ada", "https://other.example|ada", False),
        (f"{ISSUER}|", "", False),
        ("key:1", "1", False),
        ("key:1", "key:1", True),
        (f"{ISSUER}|key:1", "key:1", False),
        ("ada", f"{ISSUER}|ada", False),
    ],
)
def test_how_assignees_name_a_user(user: str, assignee: str, *, may: bool) -> None:
    assert People(users=(assignee,)).include(user, ()) is may
