"""Secrets are filled in where an attempt runs, only where they belong, and come back nowhere."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto import Tenuto, WorkflowFailed
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.engine.secrets.secrets import Secrets
from tenuto.engine.secrets.vault import NotAllowed, UnknownSecret, Vault
from tenuto.engine.settings import Settings
from tenuto.model.effects import StartAttempt
from tenuto.model.failure import Failure
from tenuto.model.graph import BuiltIn, DataQuery, Http, JavaScript
from tenuto.model.json import JSON, Object
from tenuto.model.secret_place import SecretPlace, about
from tenuto.model.task_definition import TaskDefinition
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.secrets import SecretRow
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tests.store.situations import NOON

pytestmark = pytest.mark.asyncio

VALUE = "sk-live-51Hxyz"
BEARER = f"Bearer {VALUE}"
AUTH: Object = {"auth": "Bearer {{secrets.KEY}}"}


def flow(given: JSON, **settings: JSON) -> Object:
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "call", "input": given, **settings}
    return {"id": "flow", "steps": [step]}


def registry(*functions: Any) -> Registry:  # noqa: ANN401 - functions of any shape
    found = Registry()
    for each in functions:
        found.add(TaskFunction(each))
    return found


async def run(app: Tenuto, document: Object, input: JSON = None) -> tuple[JSON, list[Object]]:
    """The output, or the failure, of an instance, and its log."""
    await app.deploy(document)
    instance = await app.start("flow", {} if input is None else input)
    try:
        found: JSON = await instance.result(30)
    except WorkflowFailed as failed:
        found = {"code": failed.error.code, "message": failed.error.message}
    return found, await instance.history()


async def test_a_task_gets_the_value_and_no_record_has_it() -> None:
    seen: list[JSON] = []

    async def call(ctx: Context, given: Object) -> Object:
        seen.append(given["auth"])
        if ctx.attempt == 1:
            raise ValueError(f"refused: {given['auth']}")
        encoded = base64.b64encode(f"user:{VALUE}".encode()).decode()
        return {"echo": given["auth"], "basic": encoded, "n": 7}

    retry: Object = {"maxAttempts": 2, "initialDelay": "PT0S"}
    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE)
        output, history = await run(app, flow(AUTH, retry=retry))
    assert seen == [BEARER, BEARER]
    assert output == {"echo": "Bearer [secret KEY]", "basic": "dXNlcjp[secret KEY]g==", "n": 7}
    assert VALUE not in str(history)
    assert "refused: Bearer [secret KEY]" in str(history)
    [dispatched, *_] = [each for each in history if each["eventType"] == "NODE_DISPATCHED"]
    assert dispatched["payload"] == {
        "input": {"auth": "Bearer {{secrets.KEY}}"},
        "secrets": [{"path": ["auth"], "at": 7, "name": "KEY"}],
    }


async def test_a_new_value_is_for_attempts_that_start_later() -> None:
    seen: list[JSON] = []

    async def call(given: Object) -> None:
        seen.append(given["auth"])

    async with Tenuto(tasks=registry(call)) as app:
        for value in ("first value", "second value"):
            await app.secrets.put("KEY", value)
            await run(app, flow(AUTH))
    assert seen == ["Bearer first value", "Bearer second value"]


async def test_an_unknown_secret_fails_the_attempt_once_and_is_named() -> None:
    """An unknown secret is a warning at save, and at run time the failure `UNKNOWN_SECRET`, which
    names it and is not retried.
    """

    async def call(given: Object) -> None:
        raise AssertionError(given)

    async with Tenuto(tasks=registry(call)) as app:
        saved = await app.save(flow({"a": "{{secrets.KEY}}", "b": "{{secrets.OTHER}}"}))
        assert [(each.code, each.path, each.severity) for each in saved.problems] == [
            ("TEN-1661", "$.steps[0].input.a", "warning"),
            ("TEN-1661", "$.steps[0].input.b", "warning"),
        ]
        given: Object = {"a": "{{secrets.KEY}}", "b": "{{secrets.OTHER}}"}
        failure, history = await run(app, flow(given, retry={"maxAttempts": 3}))
    assert failure["code"] == "UNKNOWN_SECRET"  # type: ignore[index, call-overload]
    assert "no secrets KEY, OTHER" in str(failure)
    assert [each["eventType"] for each in history].count("NODE_DISPATCHED") == 1


async def test_text_of_a_payload_is_never_filled_in() -> None:
    """Only what the definition names is filled in: the same text in a payload means nothing."""

    async def call(given: Object) -> JSON:
        return given["text"]

    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE)
        output, _ = await run(app, flow({"text": "{{ctx.input.x}}"}), {"x": "{{secrets.KEY}}"})
        assert output == "{{secrets.KEY}}"
        document: Object = flow(None)
        del document["steps"][0]["input"]  # type: ignore[index, arg-type, union-attr]
        output, _ = await run(app, document, {"text": "{{secrets.KEY}}"})
        assert output == "{{secrets.KEY}}"


async def test_a_secret_with_destinations_is_refused_for_a_task() -> None:
    async def call(given: Object) -> None:
        raise AssertionError(given)

    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE, destinations=["api.example.com"])
        saved = await app.save(flow(AUTH))
        assert [each.code for each in saved.problems] == ["TEN-1662"]
        failure, _ = await run(app, flow(AUTH))
    assert failure["code"] == "SECRET_NOT_ALLOWED"  # type: ignore[index, call-overload]
    assert "api.example.com only" in str(failure)


async def test_what_does_not_fit_the_schema_of_the_task_is_told_without_the_value() -> None:
    async def call(given: Object) -> None:
        raise AssertionError(given)

    async with Tenuto(tasks=registry(call)) as app:
        schema: Object = {"properties": {"auth": {"pattern": "^Basic"}}}
        await app.task_definitions.put(TaskDefinition(id="call", kind="pull", input_schema=schema))
        await app.secrets.put("KEY", VALUE)
        failure, history = await run(app, flow(AUTH))
    assert failure["code"] == "INVALID_INPUT"  # type: ignore[index, call-overload]
    assert VALUE not in str(history)


async def test_lines_and_heartbeats_have_the_name_alone() -> None:
    may_end, has_begun = asyncio.Event(), asyncio.Event()

    async def call(ctx: Context, given: Object) -> None:
        print("printed", given["auth"])
        ctx.heartbeat({"with": given["auth"]})
        has_begun.set()
        await may_end.wait()

    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE)
        await app.deploy(flow(AUTH))
        instance = await app.start("flow", {})
        await has_begun.wait()
        key = (instance.id, "a", "", 1)
        assert app.engine.effects.runner.last_heartbeat(key) == {"with": "Bearer [secret KEY]"}
        may_end.set()
        await instance.result(30)
        await app.engine.effects.task_logs.written()
        assert [each["text"] for each in await instance.logs()] == ["printed Bearer [secret KEY]"]


async def test_a_cancelled_attempt_that_waits_for_its_secret_never_begins() -> None:
    async def call(given: Object) -> None:
        raise AssertionError(given)

    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE)
        held = asyncio.Event()
        fill = app.engine.secrets.fill

        async def slowly(*args: Any) -> Any:  # noqa: ANN401 - as it is called
            await held.wait()
            return await fill(*args)

        app.engine.secrets.fill = slowly  # type: ignore[method-assign, assignment]
        await app.deploy(flow(AUTH))
        instance = await app.start("flow", {})
        await instance.cancel("enough")
        held.set()
        state = await app.engine.final_state(instance.id)
        assert state.state.status == "CANCELLED"
        assert app.engine.effects.runner.in_flight == 0


# -- destinations


class World:
    """Secrets of one process, over a store of their own."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.ring = KeyRing([new_key("k1")])

        async def source_of(tenant: str, query: str) -> str | None:
            return {"orders-by-day": "warehouse"}.get(query) if tenant == "default" else None

        self.vault = Vault(self.store, SystemClock(), self.ring)
        self.secrets = Secrets(self.vault, lambda *_: None, source_of=source_of)

    async def put(self, *destinations: str, tenant: str = "default") -> None:
        sealed = self.ring.seal(VALUE.encode(), about(tenant, "KEY"))
        row = SecretRow(
            tenant=tenant,
            name="KEY",
            sealed=sealed,
            destinations=destinations or None,
            changed_at=NOON,
        )
        await self.store.secrets.put(row)

    async def fill(self, given: JSON, config: BuiltIn | None, tenant: str = "default") -> str:
        order = StartAttempt(
            node="a",
            iteration="",
            attempt=1,
            task_id="@http",
            input=given,
            idempotency_key="k",
            timeout=timedelta(minutes=1),
            heartbeat_timeout=None,
            handles=(),
            secrets=(SecretPlace(("auth",), 0, "KEY"),),
        )
        found = await self.secrets.fill(tenant, order, config)
        if isinstance(found, Failure):
            return found.code
        assert found.secret_values == (VALUE,)
        return str(found.value["auth"])  # type: ignore[index, call-overload]


async def opened() -> World:
    world = World()
    await world.store.open("p1", NOON)
    return world


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://api.example.com/v1", True),
        ("https://API.Example.com./v1", True),
        ("http://api.example.com:8080/v1", True),
        ("https://bound.example.com:8443/", True),
        ("https://bound.example.com/", False),
        ("https://example.com/", False),
        ("https://api.example.com.evil.test/", False),
        ("https://evil.test/api.example.com", False),
        ("https://evil.test/?api.example.com", False),
        ("https://api.example.com@evil.test/", False),
        ("https://evil.test\\@api.example.com/", False),
        ("https://api.example.com\\.evil.test/", False),
        ("https://evil.test#@api.example.com/", False),
        ("https://{{secrets.OTHER}}/", False),
        ("https://evil.test /api.example.com", False),
        ("https://[::1]/", False),
        ("", False),
    ],
)
async def test_a_secret_with_destinations_goes_nowhere_else(url: str, *, is_allowed: bool) -> None:
    """A secret with destinations is filled in only for an http step that calls one of these hosts
    and a dataQuery step of one of these data sources; elsewhere the attempt fails with
    `SECRET_NOT_ALLOWED`.
    """
    world = await opened()
    await world.put("api.example.com", "bound.example.com:8443")
    given: Object = {"url": url, "auth": "{{secrets.KEY}}"}
    expected = VALUE if is_allowed else "SECRET_NOT_ALLOWED"
    assert await world.fill(given, Http(url=url)) == expected
    await world.put()
    assert await world.fill(given, Http(url=url)) == VALUE, "without destinations it may"


async def test_a_data_source_and_code_are_destinations_of_their_own() -> None:
    world = await opened()
    await world.put("warehouse")
    given: Object = {"auth": "{{secrets.KEY}}"}
    assert await world.fill(given, DataQuery(data_query_id="orders-by-day")) == VALUE
    assert await world.fill(given, DataQuery(data_query_id="other")) == "SECRET_NOT_ALLOWED"
    assert await world.fill(given, JavaScript(code="1")) == "SECRET_NOT_ALLOWED"
    assert await world.fill(given, None) == "SECRET_NOT_ALLOWED"
    assert await world.vault.value("default", "KEY", destination="warehouse") == VALUE
    with pytest.raises(NotAllowed):
        await world.vault.value("default", "KEY", destination="other")
    with pytest.raises(UnknownSecret):
        await world.vault.value("default", "NONE", destination="warehouse")


async def test_a_secret_of_another_tenant_is_not_there() -> None:
    world = await opened()
    await world.put(tenant="other")
    assert await world.fill({"auth": "{{secrets.KEY}}"}, None) == "UNKNOWN_SECRET"
    row = await world.store.secrets.get("other", "KEY")
    assert row is not None
    await world.store.secrets.put(replace(row, tenant="default"))
    found = await world.fill({"auth": "{{secrets.KEY}}"}, None)
    assert found == "SECRET_UNREADABLE", "sealed bytes open for their own tenant alone"


async def test_without_keys_nothing_is_stored_and_nothing_is_read() -> None:
    async with Tenuto(settings=Settings()) as app:
        await app.secrets.put("KEY", VALUE)
        row = await app.engine.store.secrets.get("default", "KEY")
    assert row is not None
    assert VALUE.encode() not in row.sealed
    world = await opened()
    await world.store.secrets.put(row)
    assert await world.fill({"auth": "{{secrets.KEY}}"}, None) == "SECRET_UNREADABLE"


async def test_a_whole_url_may_be_a_secret_and_a_part_of_a_host_may_not() -> None:
    world = await opened()
    url = "https://hooks.example.com/T000/B000/secret-part"
    for name, value in (("KEY", VALUE), ("URL", url)):
        sealed = world.ring.seal(value.encode(), about("default", name))
        row = SecretRow(
            tenant="default",
            name=name,
            sealed=sealed,
            destinations=("hooks.example.com",),
            changed_at=NOON,
        )
        await world.store.secrets.put(row)

    async def code(text: str, *at: int) -> str:
        order = StartAttempt(
            node="a",
            iteration="",
            attempt=1,
            task_id="@http",
            input={"url": text, "auth": "{{secrets.KEY}}"},
            idempotency_key="k",
            timeout=timedelta(minutes=1),
            heartbeat_timeout=None,
            handles=(),
            secrets=(
                SecretPlace(("auth",), 0, "KEY"),
                *(SecretPlace(("url",), n, "URL") for n in at),
            ),
        )
        found = await world.secrets.fill("default", order, Http(url="https://x"))
        return found.code if isinstance(found, Failure) else str(found.value)

    assert url in await code("{{secrets.URL}}", 0)
    assert await code("https://{{secrets.URL}}/x", 8) == "SECRET_NOT_ALLOWED"
    assert await code("https://a.{{secrets.URL}}/x", 10) == "SECRET_NOT_ALLOWED"
    assert "hooks.example.com/" in await code("https://hooks.example.com/{{secrets.URL}}", 26)
    assert await code("https://evil.example.com/{{secrets.URL}}", 25) == "SECRET_NOT_ALLOWED"


async def test_an_attempt_whose_secrets_cannot_be_filled_in_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def call(given: Object) -> Object:
        return given

    def broken(*_: object) -> bytes:
        raise RuntimeError(VALUE)

    async with Tenuto(tasks=registry(call)) as app:
        await app.secrets.put("KEY", VALUE)
        monkeypatch.setattr(app.engine.vault, "seals", type("Seals", (), {"open": broken})())
        output, _ = await run(app, flow(AUTH, retry={"maxAttempts": 1}))
    said = "its secrets cannot be filled in: RuntimeError"
    assert output == {"code": "SECRET_UNREADABLE", "message": said}
