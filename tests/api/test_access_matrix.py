"""Every operation, for every kind of caller who may not: refused, and nothing has happened."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import aiohttp
import pytest
import yarl
from msgspec.structs import replace

from tenuto.access.keys import Keys, KeyWish, secret_hash
from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.live.event_stream import MEDIA as STREAM
from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS
from tenuto.ports import SystemIds
from tenuto.store.parts.access import KeyRow
from tests.api.conftest import Caller, served
from tests.api.examples import Example, Things, example_of, furnished
from tests.api.permissions_page import is_allowed, page
from tests.api.store_rows import is_of, rows_of

PAGE = Path(__file__).parents[2] / "docs" / "permissions.md"
OURS, THEIRS = "default", "acme"
_OWN = frozenset(
    {
        *("save_workflow", "put_task", "put_workflow", "validate_workflow"),
        *("put_calendar", "put_schedule", "put_secret"),
        *("put_data_source", "put_data_query"),
    }
)
"""In one's own tenant a name is free, whoever else has it."""


_WITH_TOKEN = frozenset(
    {"task_callback", "event_callback", "schedule_callback", "get_widget", "watch_widget"}
)
"""Public operations that want a token of their own, whoever asks."""


class Answer(NamedTuple):
    """What came back; the text of a socket that was refused is not read."""

    status: int
    text: str


async def ask(
    call: Caller, operation: Operation, example: Example, headers: Mapping[str, str]
) -> Answer:
    """Send the example as it stands: no path is tidied up on the way."""
    url = yarl.URL(call.url + example.path, encoded=True)
    if operation.method == "WEBSOCKET":
        try:
            async with call.session.ws_connect(url, headers=headers):
                return Answer(101, "")
        except aiohttp.WSServerHandshakeError as refused:
            return Answer(refused.status, "")
    data, given = None, {}
    if example.body is not None:
        data, given = json.dumps(example.body), {"content-type": operation.media[0]}
    async with call.session.request(
        operation.method, url, data=data, headers={**given, **headers}
    ) as response:
        if response.content_type == STREAM:
            # It goes on for as long as somebody reads it.
            return Answer(response.status, "")
        return Answer(response.status, await response.text())


def bearing(key: str, **other: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", **other}


def counted(calls: list[str]) -> tuple[Operation, ...]:
    """All operations, which tell when they are really asked."""

    def of(operation: Operation) -> Callable[..., Awaitable[Any]]:
        async def handler(*arguments: Any) -> Any:  # noqa: ANN401 - whatever it takes
            calls.append(operation.name)
            return await operation.handler(*arguments)

        return handler

    return tuple(replace(each, handler=of(each)) for each in OPERATIONS)


@asynccontextmanager
async def two_tenants(
    operations: tuple[Operation, ...] = OPERATIONS,
) -> AsyncIterator[tuple[Caller, Things, Things]]:
    async with served(operations=operations) as call:
        yield call, await furnished(call.app, OURS), await furnished(call.app, THEIRS)


async def key_of(
    call: Caller, role: Role, scopes: list[str] | None = None, tenant: str = OURS
) -> str:
    maker = Principal(tenant=tenant, name="owner", role=Role.ADMIN, kind="system")
    keys = Keys(call.app.engine.store, call.app.engine.clock, SystemIds())
    return (await keys.create(maker, KeyWish(name=f"the {role}", role=role, scopes=scopes))).text


async def dead_key(call: Caller, **ended: timedelta) -> str:
    """A key of ours that was over by so much."""
    now, secret, id = call.app.engine.clock.now(), secrets.token_hex(32), secrets.token_hex(8)
    row = KeyRow(
        id=id,
        tenant=OURS,
        name="over",
        role="admin",
        scopes=None,
        hash=secret_hash(secret),
        created_at=now - timedelta(days=9),
        created_by="owner",
        **{name: now - before for name, before in ended.items()},
    )
    assert await call.app.engine.store.access.put_key(row)
    return f"tnt_{id}_{secret}"


async def strangers(call: Caller, ours: Things, theirs: Things) -> dict[str, dict[str, str]]:
    """Those whom nobody answers."""
    wrong_secret = ours.admin[:-64] + secrets.token_hex(32)
    return {
        "none": {},
        "wrong": bearing(f"tnt_{secrets.token_hex(8)}_{secrets.token_hex(32)}"),
        "wrong secret": bearing(wrong_secret),
        "no secret": bearing(ours.admin[:-65]),
        "another scheme": {"authorization": f"Basic {ours.admin}"},
        "twice": {"authorization": f"Bearer {ours.admin}, Bearer {ours.admin}"},
        "an unsigned token": bearing("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIiwidGVuYW50IjoiZCJ9."),
        "expired": bearing(await dead_key(call, expires_at=timedelta(seconds=1))),
        "revoked": bearing(await dead_key(call, revoked_at=timedelta(seconds=1))),
        "other tenant's": bearing(theirs.admin, **{"tenuto-tenant": OURS}),
    }


@pytest.mark.asyncio
async def test_whoever_is_not_known_is_refused_everywhere_and_nothing_happens() -> None:
    calls: list[str] = []
    async with two_tenants(counted(calls)) as (call, ours, theirs):
        callers = await strangers(call, ours, theirs)
        before = rows_of(call.app)
        for operation in OPERATIONS:
            example = example_of(operation, ours)
            for who, headers in callers.items():
                if operation.is_public and who == "none":
                    continue
                answer = await ask(call, operation, example, headers)
                expected = 403 if who == "other tenant's" else 401
                assert answer.status == expected, (operation.name, who, answer)
                assert ours.mark not in answer.text
        assert calls == []
        assert rows_of(call.app) == before


@pytest.mark.asyncio
async def test_whoever_has_too_few_scopes_is_refused_everywhere_and_nothing_happens() -> None:
    calls: list[str] = []
    async with two_tenants(counted(calls)) as (call, ours, _):
        weak = {
            scope: await key_of(call, Role.ADMIN, [scope])
            for scope in (Permission.STATS_READ.value, Permission.EVENTS_READ.value)
        }
        before = rows_of(call.app)
        for operation in OPERATIONS:
            for scope, key in weak.items():
                if operation.is_public or operation.permission == scope:
                    continue
                example = example_of(operation, ours)
                answer = await ask(call, operation, example, bearing(key))
                assert answer.status == 403, (operation.name, scope, answer)
                assert ours.mark not in answer.text
        assert calls == []
        assert rows_of(call.app) == before


@pytest.mark.asyncio
async def test_every_cell_of_the_table_of_permissions_holds() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.api.permissions_page"
    calls: list[str] = []
    # What removes things comes last, so that every other operation finds them.
    operations = sorted(OPERATIONS, key=lambda each: each.method == "DELETE")
    async with served(operations=counted(calls)) as call:
        for role in Role:
            things = await furnished(call.app, f"town-of-{role}")
            key = await key_of(call, role, tenant=things.tenant)
            for operation in operations:
                if operation.name in _WITH_TOKEN:
                    continue
                calls.clear()
                example = example_of(operation, things)
                answer = await ask(call, operation, example, bearing(key))
                if is_allowed(operation, role):
                    assert answer.status not in (401, 403), (operation.name, role, answer)
                    assert answer.status < 500, (operation.name, role, answer)
                    assert calls == [operation.name], (operation.name, role, answer)
                else:
                    assert answer.status == 403, (operation.name, role, answer)
                    assert calls == []


@pytest.mark.asyncio
@pytest.mark.parametrize("victim", [OURS, THEIRS])
async def test_what_is_another_tenant_s_is_not_there_and_stays_as_it_is(victim: str) -> None:
    """Whatever names a thing of another tenant finds nothing, as if it had been made up."""
    async with two_tenants() as (call, ours, theirs):
        owner, other = (ours, theirs) if victim == OURS else (theirs, ours)
        before = rows_of(call.app)
        for operation in sorted(OPERATIONS, key=lambda each: each.name in _OWN):
            if operation.is_public:
                continue
            example = example_of(operation, owner)
            answer = await ask(call, operation, example, bearing(other.admin))
            assert answer.status < 500, (operation.name, answer)
            assert owner.mark not in answer.text, (operation.name, answer)
            if example.names and operation.name not in _OWN:
                assert answer.status == 404, (operation.name, answer)
        after = rows_of(call.app)
        changed = {
            place
            for place, row in before.items()
            if after.get(place) != row and not is_of(other.tenant, place)
        }
        assert changed == set()


@pytest.mark.asyncio
async def test_the_id_of_another_tenant_s_instance_is_as_free_as_any() -> None:
    """An id that is chosen for a start is the tenant's own, whoever else has it."""
    async with two_tenants() as (call, ours, theirs):
        headers, own = bearing(theirs.admin), theirs.id_of("workflows")

        async def start(id: str) -> Any:  # noqa: ANN401 - JSON
            body = {"instanceId": id, "input": {"mine": True}}
            reply = await call("POST", f"/workflows/{own}/start", body, headers=headers)
            said = {name: each for name, each in reply.json.items() if name != "requestId"}
            return reply.status, str(said).replace(id, ""), "location" in reply.headers

        free, foreign = str(uuid4()), ours.id_of("instances")
        first = await start(free)
        assert first[0] == 201
        assert await start(foreign) == first
        # From then on it is taken, and what it names is one's own, at every door.
        again = await start(free)
        assert (again[0], await start(foreign)) == (409, again)
        before = rows_of(call.app)
        shown = await call("GET", f"/instances/{foreign}", headers=headers)
        assert (shown.status, shown.json["input"]) == (200, {"mine": True})
        for operation in sorted(OPERATIONS, key=lambda each: each.method == "DELETE"):
            example = example_of(operation, ours)
            if operation.is_public or "instances" not in example.names:
                continue
            answer = await ask(call, operation, example, headers)
            assert answer.status < 500, (operation.name, answer)
            assert ours.mark not in answer.text, (operation.name, answer)
        after = rows_of(call.app)
        changed = {
            place
            for place, row in before.items()
            if after.get(place) != row and not is_of(THEIRS, place) and foreign in str(place)
        }
        assert changed == set()
        status = await call("GET", f"/instances/{foreign}", headers=bearing(ours.admin))
        assert (status.json["status"], status.json["id"]) == ("WAITING_FOR_EVENT", foreign)
        assert status.json["input"] == {"note": ours.mark}


@pytest.mark.asyncio
async def test_ids_in_bodies_and_queries_reach_nothing_of_another_tenant() -> None:
    async with two_tenants() as (call, ours, theirs):
        headers = bearing(theirs.admin)
        flow, instance = ours.id_of("workflows"), ours.id_of("instances")
        before = rows_of(call.app)

        async def post(path: str, body: object) -> Any:  # noqa: ANN401 - JSON
            return (await call("POST", path, body, headers=headers)).json

        own = theirs.id_of("workflows")
        items = [{"workflowId": flow}, {"workflowId": own, "instanceId": instance}]
        results = (await post("/instances/batch", {"items": items}))["results"]
        assert results[0]["error"]["status"] == 404
        assert results[1]["instanceId"] == instance
        named = await call("GET", f"/instances?ids={instance}&workflowId={flow}", headers=headers)
        assert named.json["items"] == []
        for query in (f"correlationId={ours.mark}", f"workflowId={flow}", "currentStep=ask"):
            found = (await call("GET", f"/instances?{query}", headers=headers)).json["items"]
            assert instance not in {each["id"] for each in found}
        # The same idempotency key in two tenants is two keys.
        same = {**headers, "idempotency-key": "key-default"}
        started = await call("POST", f"/workflows/{own}/start", {}, headers=same)
        assert (started.status, started.json["instanceId"] == instance) == (201, False)
        page = await call("GET", "/instances?limit=1", headers=bearing(ours.admin))
        cursor = page.json["nextCursor"]
        listed = await call("GET", f"/instances?cursor={cursor}", headers=headers)
        assert {each["tenant"] for each in listed.json["items"]} <= {THEIRS}
        key = await post("/keys", {"name": "k", "role": "viewer", "tenant": OURS})
        assert (key["status"], key["code"]) == (403, "TEN-5013")
        after = rows_of(call.app)
        assert all(after.get(place) == row for place, row in before.items())
