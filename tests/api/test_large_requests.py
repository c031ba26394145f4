"""Tests that other processes read large definitions and check costly inputs as the service does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenuto import Settings, Tenuto
from tenuto.api import request_parser
from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.reader import DocumentReader, UnreadDocument
from tenuto.api.problems import Refusal, item_of
from tenuto.definition.schemas import problems_by_schema
from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.definitions.reading import digest_of
from tenuto.model.json import JSON
from tenuto.ports import SystemClock
from tests.api.conftest import Caller, Reply, Serve, tasks
from tests.definition.faults import FAULTS, WARNINGS, steps_document
from tests.tasks.test_processes import is_gone, until

pytestmark = pytest.mark.asyncio

ROOT = Path(__file__).parents[2]
DOUBLE: dict[str, Any] = {
    "id": "double",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": 4}}],
}
EARLIER: dict[str, Any] = {
    "id": "earlier",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "double"},
        {
            "stepId": "b",
            "type": "TASK",
            "taskId": "double",
            "dependsOn": ["a"],
            "joinMode": "any",
        },
    ],
}
"""Saved before a rule refused it."""


def app(process_document: int) -> Tenuto:
    bounds = replace(DEFAULT_BOUNDS, process_document=process_document)
    return Tenuto(tasks=tasks(), settings=Settings(unknown_tasks="wait", bounds=bounds))


@pytest.fixture(autouse=True)
def programs_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes find `tests` by this path: they do not look into the working directory."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def odd(seconds: float = 60) -> Asking:
    return Asking(seconds=seconds, program="tests.api.odd_reader")


def document(process: Asking, text: str) -> UnreadDocument:
    reader = DocumentReader(process, SystemClock(), large=0, events_kept=timedelta(days=1))
    return reader.document(text.encode(), "default")


def documents() -> list[tuple[str, bytes]]:
    """Every fault and warning of the corpus, and bodies that are no documents."""
    made: list[tuple[str, bytes]] = []
    for spoil in (*FAULTS, *WARNINGS):
        document = steps_document()
        spoil(document)
        try:
            made.append((spoil.__name__, json.dumps(document).encode()))
        except (TypeError, ValueError):
            continue  # JSON cannot carry it
    bodies = [b"", b"7", b"[]", b"{}", b"{", b"\xff", b"[" * 200, b'{"a":1,"a":2}', b"nul"]
    ids: list[JSON] = [7, "another", None, "not an id"]
    bodies += [json.dumps({**DOUBLE, "id": each}).encode() for each in ids]
    return [*made, *((repr(each), each) for each in bodies)]


def told(reply: Reply) -> tuple[object, ...]:
    """An answer without what differs between two requests."""
    body = {key: value for key, value in reply.json.items() if key != "requestId"}
    return reply.status, body, reply.headers.get("etag")


async def save_by_earlier_rules(call: Caller) -> None:
    engine, content = call.app.engine, json.dumps(EARLIER).encode()
    await engine.store.definitions.save(
        "default", "earlier", content, digest_of(EARLIER), engine.clock.now()
    )


async def answers(call: Caller) -> list[tuple[str, tuple[object, ...]]]:
    found: list[tuple[str, tuple[object, ...]]] = []
    found.append(("new", told(await call("PUT", "/workflows/earlier", EARLIER))))
    await save_by_earlier_rules(call)
    found.append(("saved", told(await call("PUT", "/workflows/earlier", EARLIER))))
    for name, body in documents():
        for method, path in (("POST", "/workflows/validate"), ("PUT", "/workflows/orders")):
            found.append((f"{method} {name}", told(await call(method, path, data=body))))
    other = {**DOUBLE, "triggers": [{"eventPattern": "a.b", "inputMapping": {}}]}
    unnamed: JSON = {"name": "Double it", "steps": DOUBLE["steps"]}
    for method, path, sent, headers in (
        ("POST", "/workflows", DOUBLE, {}),
        ("POST", "/workflows", DOUBLE, {}),
        ("PUT", "/workflows/double", DOUBLE, {}),
        ("PUT", "/workflows/double", other, {"if-match": '"7"'}),
        ("PUT", "/workflows/double", other, {"if-match": '"1"'}),
        ("PUT", "/workflows/new", unnamed, {}),
        ("POST", "/workflows", unnamed, {}),
        ("POST", "/workflows", unnamed, {}),
        ("PUT", "/workflows/double", DOUBLE, {"content-type": "text/plain"}),
    ):
        reply = await call(method, path, sent, headers=headers)
        found.append((f"{method} {path}", told(reply)))
    listed = [each["id"] for each in (await call.get("/workflows")).json["items"]]
    found.append(("list", tuple(listed)))
    found.append(("get", ((await call.get("/workflows/double")).json["definition"],)))
    started = await call.start("double", query="?wait=30")
    found.append(("start", (started["status"], started["output"])))
    return found


@pytest.mark.slow
async def test_another_process_gives_the_answers_that_the_service_gives(serve: Serve) -> None:
    """All problems, in their order, with the same words; and what follows from saving."""
    async with serve(app=app(sys.maxsize)) as call:
        here = await answers(call)
        assert call.pipeline.service.document_process.pid is None
    async with serve(app=app(0)) as call:
        there = await answers(call)
        assert call.pipeline.service.document_process.pid is not None
    assert len(here) > 2 * len(FAULTS)
    assert [told[0] for _, told in here[:2]] == [422, 200]
    for one, other in zip(here, there, strict=True):
        assert one == other


async def test_the_service_itself_does_not_decode_a_large_definition(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {**DOUBLE, "description": "x" * DEFAULT_BOUNDS.process_document}
    async with serve() as call:
        monkeypatch.setattr(request_parser, "read_json", None)
        monkeypatch.setattr("tenuto.api.call.read_json", None)
        monkeypatch.setattr("tenuto.engine.definitions.plans.check", None)
        assert (await call.post("/workflows/validate", large)).json["valid"]
        assert (await call("PUT", "/workflows/double", large)).status == 201
        pid = call.pipeline.service.document_process.pid
        assert pid is not None
        assert (await call.get("/workflows/double")).json["definition"] == large
    assert is_gone(pid), "it ends with the service"


@pytest.mark.slow
async def test_a_process_that_dies_is_a_clear_error_and_the_next_document_has_a_new_one() -> None:
    process = odd()
    try:
        with pytest.raises(Refusal, match="exit code 3") as refused:
            await document(process, "die now").read()
        assert (refused.value.status, refused.value.code) == (503, "TEN-4022")
        assert (await document(process, json.dumps(DOUBLE)).read()).is_valid
    finally:
        await process.close()


async def test_a_process_that_hangs_is_killed(tmp_path: Path) -> None:
    process = odd(seconds=0.5)
    try:
        with pytest.raises(Refusal, match="it was killed"):
            await document(process, f"hang after {tmp_path / 'pid'}.").read()
        assert process.pid is None
    finally:
        await process.close()


async def test_closing_does_not_wait_for_a_document(tmp_path: Path) -> None:
    process, mark = odd(), tmp_path / "pid"
    reading = asyncio.ensure_future(document(process, f"hang after {mark}.").read())
    await until(lambda: mark.exists() and mark.read_text() != "")
    await process.close()
    with pytest.raises(Refusal, match="it was killed"):
        await reading
    assert is_gone(int(mark.read_text()))
    with pytest.raises(Refusal, match="it is closed"):
        await document(process, "{}").read()


async def test_a_service_that_stops_refuses_what_is_read_and_what_waits_for_that(
    tmp_path: Path,
) -> None:
    process, mark = odd(), tmp_path / "pid"
    reading = asyncio.ensure_future(document(process, f"hang after {mark}.").read())
    waiting = asyncio.ensure_future(document(process, json.dumps(DOUBLE)).read())
    await until(lambda: mark.exists() and mark.read_text() != "")
    process.refuse_all()
    for each in (reading, waiting):
        with pytest.raises(Refusal) as refused:
            await each
        assert (refused.value.status, refused.value.code) == (503, "TEN-4022")
    assert is_gone(int(mark.read_text()))
    await process.close()


SCRIPT = """
import asyncio, sys
from tests.api.test_large_requests import document, odd

asyncio.run(document(odd(), f"hang after {sys.argv[1]}.").read())
"""


@pytest.mark.slow
async def test_the_process_does_not_outlive_its_parent_in_the_midst_of_a_document(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "pid"
    with subprocess.Popen(  # noqa: ASYNC220 - it is killed, not awaited
        [sys.executable, "-c", SCRIPT, str(mark)], cwd=ROOT
    ) as parent:
        await until(lambda: mark.exists() and mark.read_text() != "")
        parent.kill()
        pid = int(mark.read_text())
        await until(lambda: is_gone(pid))


CHECKED: tuple[tuple[JSON, JSON], ...] = (
    ({"items": {"anyOf": [{"const": each} for each in range(400)]}}, [399] * 1_000),
    ({"items": {"anyOf": [{"const": each} for each in range(400)]}}, [-1] * 1_000),
    ({"items": {"type": "integer"}}, ["x"] * 30_000),
    ({"items": {"type": "integer"}}, [1] * 30_000),
    ({"items": {"type": "integer"}}, [*range(2_000), "x"]),
    ({"items": {"type": "integer"}}, [1, "x", 2, "y"]),
)


@pytest.mark.slow
async def test_costly_inputs_are_checked_by_another_process_with_the_same_problems(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small input may take as much work as a large one."""
    async with serve() as call:
        for number, (schema, value) in enumerate(CHECKED):
            checked: JSON = {**DOUBLE, "id": "checked", "inputSchema": schema}
            assert (await call("PUT", "/workflows/checked", checked)).status in (200, 201)
            is_costly = number < len(CHECKED) - 1
            with monkeypatch.context() as patched:
                if is_costly:
                    patched.setattr("tenuto.engine.definitions.input_checks.input_problems", None)
                reply = await call.post("/workflows/checked/start", {"input": value})
            problems = problems_by_schema(schema, value)
            assert reply.status == (422 if problems else 201)
            assert reply.json.get("problems", []) == [
                msgspec.to_builtins(item_of(each)) for each in problems
            ]
        pid = call.pipeline.service.input_process.pid
        assert pid is not None
    assert is_gone(pid)
