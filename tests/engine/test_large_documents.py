"""Tests that large documents are read beside the loop, one at a time."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import msgspec
import pytest

from tenuto import Tenuto
from tenuto.definition import check, schemas
from tenuto.definition.schema_work import SchemaWork
from tenuto.engine.definitions import large_documents, start_checks
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.events import event_intake
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import Overloaded, Problem, ProcessStops
from tenuto.model.json import JSON, Object, is_small, json_problem
from tenuto.model.large_json import decode
from tenuto.model.pauses import PACE, between_parts
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.engine.situations import beside_another


@pytest.mark.asyncio
async def test_the_loop_goes_on_while_a_large_document_is_read() -> None:
    asked, done = threading.Event(), threading.Event()
    documents = LargeDocuments()

    def work() -> str:
        asked.set()
        # Only the loop ends this: were the work done in the loop, it would never end.
        assert done.wait(60)
        return "read"

    reading = asyncio.ensure_future(documents.read(LARGE, work))
    assert await asyncio.to_thread(asked.wait, 60)
    done.set()
    assert await reading == "read"


@pytest.mark.asyncio
async def test_small_documents_are_read_at_once() -> None:
    assert await LargeDocuments().read(LARGE - 1, threading.get_ident) == threading.get_ident()
    assert await LargeDocuments().read(LARGE, threading.get_ident) != threading.get_ident()


@pytest.mark.asyncio
async def test_large_documents_wait_for_each_other_and_too_many_are_refused() -> None:
    busy, most, refused = 0, 0, 0
    documents, all_asked, enough = LargeDocuments(), threading.Event(), asyncio.Event()

    def work() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        assert all_asked.wait(60)
        busy -= 1

    async def read() -> None:
        nonlocal refused
        try:
            await documents.read(LARGE, work)
        except Overloaded:
            refused += 1
            if refused == 9:
                enough.set()

    reading = [asyncio.ensure_future(read()) for _ in range(30)]
    needed = asyncio.ensure_future(documents.read(LARGE, work, may_refuse=False))
    await enough.wait()
    all_asked.set()
    await asyncio.gather(*reading, needed)
    assert (most, refused) == (1, 9)


@pytest.mark.asyncio
async def test_a_document_that_is_not_waited_for_keeps_its_turn_and_no_process() -> None:
    """Its thread cannot be stopped: a second one at a time would slow the loop further."""
    documents, threads = LargeDocuments(), list[threading.Thread]()
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        threads.append(threading.current_thread())
        begun.set()
        assert go_on.wait(60)

    first = asyncio.ensure_future(documents.read(LARGE, work))
    assert await asyncio.to_thread(begun.wait, 60)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.ensure_future(documents.read(LARGE, work))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(threads) == 1
    go_on.set()
    await second
    assert [thread.daemon for thread in threads] == [True, True]


@pytest.mark.parametrize(
    "value", ["x" * LARGE, [0] * LARGE, {"a": [["x" * 9] * LARGE]}, {"k" * LARGE: None}]
)
@pytest.mark.asyncio
async def test_large_values_are_checked_beside_the_loop(value: object) -> None:
    assert await LargeDocuments().check(value, threading.get_ident) != threading.get_ident()


@pytest.mark.parametrize("value", [None, 7, "x", {"a": [1, {"b": "c"}]}, object()])
@pytest.mark.asyncio
async def test_small_values_are_checked_at_once(value: object) -> None:
    assert await LargeDocuments().check(value, threading.get_ident) == threading.get_ident()


@pytest.mark.asyncio
async def test_inputs_and_payloads_from_outside_are_checked_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[int] = set()

    def seen(value: object, *_: object) -> list[Problem]:
        threads.add(threading.get_ident())
        return []

    monkeypatch.setattr(start_checks, "json_problems", seen)
    monkeypatch.setattr(event_intake, "json_problems", seen)
    large: Object = {"text": "x" * LARGE}
    async with Tenuto() as app:
        await app.deploy({"id": "w", "steps": [{"stepId": "a", "type": "DELAY", "duration": 0}]})
        await app.start("w", large)
        await app.publish("a.b", large)
        await app.publish_all([{"pattern": "a.b", "payload": large}])
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.asyncio
async def test_tenants_take_turns_and_the_bound_is_each_ones_own() -> None:
    documents, begin, done = LargeDocuments(), threading.Event(), list[str]()

    def work(tenant: str) -> None:
        assert begin.wait(60)
        done.append(tenant)

    async def read(tenant: str) -> None:
        with suppress(Overloaded):
            await documents.read(LARGE, partial(work, tenant), tenant=tenant)

    reading = [asyncio.ensure_future(read("large")) for _ in range(40)]
    await asyncio.sleep(0)
    small = asyncio.ensure_future(read("small"))
    value = asyncio.ensure_future(
        documents.check("x" * LARGE, partial(work, "large"), tenant="large")
    )
    await asyncio.sleep(0)
    begin.set()
    await asyncio.gather(*reading, small, value)
    assert done.index("small") <= 2
    assert done.count("large") == 1 + 20 + 1, "the value is not refused"


@pytest.mark.asyncio
async def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    documents, begin = LargeDocuments(), threading.Event()
    first = asyncio.ensure_future(documents.read(LARGE, lambda: begin.wait(60)))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(documents.read(LARGE, lambda: True)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    waiting[0].cancel()
    await asyncio.sleep(0)
    begin.set()
    assert await asyncio.gather(*waiting[1:]) == [True, True]


@pytest.mark.asyncio
async def test_the_interpreter_is_switched_as_before_once_no_thread_is_at_work() -> None:
    usual, begin = sys.getswitchinterval(), threading.Event()
    one, other = LargeDocuments(), LargeDocuments()
    first = asyncio.ensure_future(one.read(LARGE, lambda: begin.wait(60)))
    assert await other.read(LARGE, sys.getswitchinterval) < usual
    begin.set()
    await first
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_a_long_list_is_known_to_be_large_before_its_items_are_read() -> None:
    class Unread(list[int]):
        def __iter__(self) -> Iterator[int]:
            raise AssertionError("read")

    assert not is_small([[Unread(range(100))]], 50)
    assert not is_small({"a": Unread(range(100))}, 50)
    assert is_small([["ab"], {"c": 1}], 8)


@pytest.mark.asyncio
async def test_documents_of_a_tenant_rest_between_each_other_while_several_tenants_are_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    rests: list[float] = []
    call_later = loop.call_later

    def noted(delay: float, callback: Callable[..., object], *args: object) -> asyncio.TimerHandle:
        if getattr(callback, "__name__", "") == "_give_turn":
            rests.append(delay)
        return call_later(delay, callback, *args)

    monkeypatch.setattr(loop, "call_later", noted)
    documents = LargeDocuments(0)
    read = partial(documents.read, 1, lambda: None)
    await asyncio.gather(*(read(tenant="a") for _ in range(3)))
    assert rests == []
    documents.sharing = beside_another()
    await asyncio.gather(*(read(tenant="a") for _ in range(3)))
    assert len(rests) == 2
    await asyncio.gather(*(read(tenant=each) for each in "abc"))
    assert len(rests) == 2


def rows(count: int) -> list[JSON]:
    return [{"a": number, "b": ["c", {}]} for number in range(count)]


DOUBLING: Object = {
    str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}, {"$ref": f"#/$defs/{n + 1}"}]}
    for n in range(12)
}
SCHEMA: Object = {
    "$defs": DOUBLING | {"12": {"type": "string"}},
    "properties": {f"k{n}": {"$ref": "#/$defs/0"} for n in range(200)},
}
EXPRESSIONS: Object = {
    "id": "many",
    "steps": [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "double",
            "input": [f"{{{{ctx.input.list + {number}}}}}" for number in range(500)],
        }
    ],
}


@pytest.mark.parametrize(
    ("work", "parts"),
    [
        (partial(decode, msgspec.json.encode([1] * 400_000)), 90),
        (partial(decode, msgspec.json.encode({f"k{n}": n for n in range(60_000)})), 90),
        (partial(decode, msgspec.json.encode(rows(20_000))), 50),
        (partial(json_problem, [1] * 400_000), 400),
        (partial(json_problem, rows(20_000)), 40),
        (partial(SchemaWork, SCHEMA), 400),
        (partial(check, EXPRESSIONS), 500),
    ],
    ids=["numbers", "keys", "rows", "numbers kept", "rows kept", "schema", "expressions"],
)
def test_long_work_has_many_places_where_it_may_pause(
    work: Callable[[], object], parts: int
) -> None:
    """A part is at most a few thousand bytes, a thousand values, or one expression."""
    count = 0

    def pace() -> None:
        nonlocal count
        count += 1

    before = PACE.set(pace)
    try:
        work()
    finally:
        PACE.reset(before)
    assert count >= parts


@pytest.mark.asyncio
@pytest.mark.parametrize("is_shared", [True, False])
async def test_a_thread_rests_after_its_parts_while_another_tenant_is_at_work(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, rests, loop = 0.0, list[float](), asyncio.get_running_loop()
    documents = LargeDocuments(0)
    if is_shared:
        documents.sharing = beside_another()

    def work() -> None:
        nonlocal at
        for milliseconds in (0.25, 0.5, 0.75, 3, 20):
            at += milliseconds / 1e3
            between_parts()

    monkeypatch.setattr(loop, "time", lambda: at)
    monkeypatch.setattr(large_documents, "_rest", lambda seconds: rests.append(seconds * 1e3))
    await documents.read(1, work)
    between_parts()
    assert rests == ([pytest.approx(4.5), pytest.approx(9), 20] if is_shared else [])


@pytest.mark.asyncio
async def test_work_of_a_tenant_rests_beside_another_and_not_beside_its_own() -> None:
    """One that only has documents checked comes to no lane."""
    sharing = Sharing()
    sharing.saw(["quiet"])
    assert not sharing.is_shared
    assert [sharing.rest_after(1.0, tenant) > 0 for tenant in ("quiet", "storm")] == [False, True]


@pytest.mark.asyncio
async def test_the_bounds_of_a_saved_schema_are_found_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A document of 500 bytes may have a schema for which that takes a millisecond."""
    disk, threads = MemoryDisk(), list[str]()
    document: Object = {
        "id": "small",
        "inputSchema": {"properties": {f"k{n}": {"type": "string"} for n in range(12)}},
        "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"}],
    }
    async with Tenuto(MemoryStore(disk)) as app:
        await app.deploy(document)

    def noted(schema: JSON) -> SchemaWork:
        threads.append(threading.current_thread().name)
        return SchemaWork(schema)

    monkeypatch.setattr(schemas, "SchemaWork", noted)
    async with Tenuto(MemoryStore(disk)) as app:
        await app.start("small", {"k1": "a"})
    assert threads == ["large document"]


@pytest.mark.asyncio
async def test_documents_of_requests_are_refused_when_the_process_stops_and_others_are_read() -> (
    None
):
    documents, begun, may_end = LargeDocuments(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert may_end.wait(60)
        return "read"

    reading = [asyncio.ensure_future(documents.read(LARGE, work)) for _ in range(3)]
    needed = asyncio.ensure_future(documents.read(LARGE, work, may_refuse=False))
    assert await asyncio.to_thread(begun.wait, 60)
    documents.refuse_all()
    refused = await asyncio.gather(*reading, return_exceptions=True)
    assert [type(each) for each in refused] == [ProcessStops] * 3
    with pytest.raises(ProcessStops):
        await documents.read(LARGE, work)
    may_end.set()
    assert await needed == "read"
