"""Every change has a line of the audit log, wherever its process dies."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tenuto
from tenuto.access.chain import verify_chain
from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS
from tenuto.store.memory import MemoryStore
from tests.api.conftest import WAIT, Caller, Serve
from tests.api.examples import example_of, furnished
from tests.api.store_rows import Rows, rows_of
from tests.kit.memory_tables import cold_tables

pytestmark = pytest.mark.asyncio

AUDITED = [each for each in OPERATIONS if each.is_audited]


class Moment(NamedTuple):
    """What would be there if the process died now."""

    rows: Rows
    lines: list[str]


@contextmanager
def watched(call: Caller, tenant: str, patch: pytest.MonkeyPatch) -> Iterator[list[Moment]]:
    """What is durable after each write, one after the other."""
    store = call.app.engine.store
    assert isinstance(store, MemoryStore)
    disk, moments = store.disk, list[Moment]()
    transaction = disk.transaction

    @contextmanager
    def noted() -> Iterator[None]:
        with transaction():
            yield
        log = cold_tables(disk).get("audit_log", {}).items()
        lines = [repr(line) for (owner, _), line in log if owner == tenant]
        moments.append(Moment(rows_of(call.app), lines))

    with patch.context() as patched:
        patched.setattr(disk, "transaction", noted)
        yield moments


@pytest.mark.parametrize("operation", AUDITED, ids=lambda each: each.name)
async def test_no_change_is_durable_before_its_line_which_names_the_credential(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, operation: Operation
) -> None:
    async with serve() as call:
        things = await furnished(call.app, "acme")
        example = example_of(operation, things)
        headers = {"authorization": f"Bearer {things.admin}", "x-request-id": "the-request"}
        # So that nothing but the request changes anything.
        await call("GET", "/instances", headers=headers)
        before = rows_of(call.app)
        with watched(call, "acme", monkeypatch) as moments:
            await call(operation.method, example.path, example.body, headers=headers)
            await call.pipeline.service.audit.settled()
        for moment in moments:
            if moment.rows != before:
                assert any("the-request" in line for line in moment.lines)
        rows = await call.app.engine.store.audit.lines("acme", after=0, limit=99)
        mine = [row.entry for row in rows if row.entry.request_id == "the-request"]
        assert mine
        # A name says nothing of who it was: another key may have the same.
        assert {each.credential for each in mine} == {f"key:{things.id_of('keys')}"}
        verdict = await verify_chain(call.app.engine.store.audit, "acme")
        assert verdict.fault is None
        assert verdict.head.number >= 2


async def lines(call: Caller, action: str) -> list[Any]:
    found: list[Any] = (await call.get(f"/audit?action={action}")).json["items"]
    return found


async def test_a_line_says_how_it_was_before_and_how_it_is_after(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        await call("PUT", "/workflows/wait", {**WAIT, "description": "another"})
        [newer, _], [older, _] = [
            await lines(call, each) for each in ("put_workflow", "save_workflow")
        ]
        assert older["before"] is None
        assert newer["before"] == older["after"]
        assert (newer["after"]["version"], older["after"]["version"]) == (2, 1)
        assert newer["after"]["hash"] != older["after"]["hash"]
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        waits = "WAITING_FOR_EVENT"
        for command, before, after in (("pause", waits, "PAUSED"), ("resume", "PAUSED", waits)):
            await call.post(f"/instances/{id}/{command}")
            done, asked = await lines(call, f"{command}_instance")
            assert (done["before"]["status"], done["after"]["status"]) == (before, after)
            assert done["requestId"] == asked["requestId"]
        hook = {"url": "https://a.example.com/x?token=1", "patterns": ["a.b"], "secret": None}
        added = (await call.post("/webhooks", hook)).json
        await call("DELETE", f"/webhooks/{added['id']}")
        removed = (await lines(call, "remove_webhook"))[0]
        assert removed["before"]["url"] == "https://a.example.com/x"
        assert removed["after"] is None
        assert added["secret"] not in json.dumps(await lines(call, "add_webhook"))
        task = {"id": "t", "kind": "pull"}
        await call.post("/tasks", task)
        await call("PUT", "/tasks/t", {**task, "timeout": "PT5S"})
        changed = (await lines(call, "put_task"))[0]
        assert (changed["before"]["timeout"], changed["after"]["timeout"]) == (None, "PT5S")


async def test_what_could_not_be_done_says_so(serve: Serve) -> None:
    async with serve() as call:
        assert (await call("DELETE", "/webhooks/none")).status == 404
        failed, asked = await lines(call, "remove_webhook")
        assert (failed["outcome"], asked["outcome"]) == ("failed", "asked")
        assert failed["after"] == {"code": "TEN-3301"}


async def test_an_action_has_the_name_of_its_operation_wherever_it_is_done(serve: Serve) -> None:
    """In process, at the store and over HTTP: one name finds all of them."""
    async with serve() as call:
        space = call.app.workspace("default", "ann")
        made = await space.keys.create("build", role="viewer")
        await space.keys.revoke(str(made["id"]))
        lines = await call.app.engine.store.audit.lines("default", after=0, limit=99)
    names = {each.name for each in OPERATIONS}
    assert {each.entry.action for each in lines} >= {"create_key", "revoke_key"}
    assert {each.entry.action for each in lines} <= names


async def test_every_name_of_an_action_in_the_code_is_that_of_an_operation() -> None:
    """One line is no operation's: the number of further refusals."""
    found: set[str] = set()
    for file in Path(tenuto.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called not in ("record", "AuditEntry", "_recorded", "refuse_unauthenticated"):
                continue
            given = [each.value for each in node.keywords if each.arg == "action"]
            for value in [*given, *(node.args[:1] if called == "_recorded" else [])]:
                found |= {
                    each.value
                    for each in ast.walk(value)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
    assert {"create_key", "start_bulk"} <= found
    assert found - {each.name for each in OPERATIONS} == {"refusals"}


async def test_only_a_read_that_reveals_something_to_somebody_has_a_line(serve: Serve) -> None:
    async with serve(admin_key="root") as call:
        root = {"authorization": "Bearer root"}

        async def lines() -> list[tuple[str, str]]:
            items = (await call("GET", "/api/v1/audit", headers=root)).json["items"]
            return [(each["action"], each["outcome"]) for each in items]

        before = await lines()
        says = {"tenuto-reveals": "true"}
        for headers in (says, {**root, **says}):
            assert (await call("GET", "/health", headers=headers)).status == 200
        path = "/api/v1/instances"
        assert (await call("GET", f"{path}/nope", headers={**root, **says})).status == 404
        assert (await call("GET", path, headers={**root, "tenuto-reveals": "1"})).status == 200
        assert await lines() == before
        assert (await call("GET", path, headers={**root, **says})).status == 200
        assert await lines() == [("list_instances", "done"), *before]
