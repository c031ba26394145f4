"""What is asked for may be nonsense: whoever asked is told, and nobody else notices."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tenuto import InvalidDefinition, InvalidInput, NotFound, Tenuto, TenutoError
from tenuto.engine.events.event_router import EventRouter
from tenuto.model.events import Event
from tenuto.model.inputs import CancelAsked
from tenuto.model.json import Object
from tenuto.workspace.instance import InstanceRef
from tests.engine.situations import ONE_WAIT, Moody
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize("text", [HALF_A_PAIR, "a\0b"])
async def test_text_that_no_store_keeps_is_refused_wherever_it_is_handed_in(text: str) -> None:
    """NUL and lone surrogates are refused at every edge."""
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        for asked in (
            app.start("waiting", {"orderId": 2}, correlation_id=text),
            app.start("waiting", {"orderId": 2}, key=text),
            app.publish("payment.received", {}, id=text),
            app.publish("payment.received", {}, correlation_id=text),
            waiting.cancel(text),
            waiting.pause(text),
        ):
            with pytest.raises(InvalidInput) as refused:
                await asked
            assert refused.value.problems[0].code == "TEN-2004"
        assert [each.id for each in await app.instances()] == [waiting.id]
        assert await waiting.status() == "WAITING_FOR_EVENT"


@pytest.mark.parametrize("text", [HALF_A_PAIR, "a\0b"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_no_store_keeps_is_not_found_in_any(
    kind: str, text: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'tenuto.db'}" if kind == "sqlite" else await fresh_database()
    async with Tenuto(url) as app:
        await app.deploy(ONE_WAIT)
        with pytest.raises(NotFound) as refused:
            await app.instance(text)
        assert refused.value.code == "TEN-3001"
        with pytest.raises(NotFound) as refused:
            await app.start(text)
        assert refused.value.code == "TEN-2002"
        assert await app.instances(workflow=text) == []
        assert await app.instances(correlation_id=text) == []


@pytest.mark.parametrize("text", [" e", "e\n", "a\tb", "a\x7fb", "\u2003e"])
async def test_an_event_id_that_is_not_what_it_looks_like_is_refused(text: str) -> None:
    """In each form: as Python, as a document, and as a CloudEvent."""
    cloud: Object = {"specversion": "1.0", "type": "paid", "source": "/shop", "id": "7"}
    async with Tenuto() as app:
        for name, asked in (
            ("id", app.publish("paid", id=text)),
            ("correlationId", app.publish("paid", correlation_id=text)),
        ):
            with pytest.raises(InvalidInput) as refused:
                await asked
            assert [(each.code, each.path) for each in refused.value.problems] == [
                ("TEN-2014", f"$.{name}")
            ]
        documents: list[Object] = [
            {"pattern": "paid", "id": text},
            {"pattern": "paid", "correlationId": text},
            cloud | {"id": text},
            cloud | {"correlationid": text},
        ]
        for error in await app.publish_all(documents):
            assert isinstance(error, InvalidInput)
            assert [each.code for each in error.problems] == ["TEN-2014"]
        assert not await app.engine.store.inbox.unmatched(10)


async def test_the_id_of_a_cloud_event_is_never_that_of_another_event() -> None:
    cloud: Object = {"specversion": "1.0", "type": "paid", "source": "/shop", "id": "7"}
    async with Tenuto() as app:
        await app.publish("other", id="/shop 7")
        [first] = await app.publish_all(cloud)
        [second] = await app.publish_all(cloud)
        assert not isinstance(first, TenutoError)
        assert not isinstance(second, TenutoError)
        assert (first.duplicate, second.duplicate) == (False, True)
        assert first.event_id == second.event_id == "cloudevent /shop 7"
        with pytest.raises(InvalidInput) as refused:
            await app.publish("paid", id=first.event_id)
        assert refused.value.problems[0].code == "TEN-2014"
        [error] = await app.publish_all({"pattern": "paid", "id": first.event_id})
        assert isinstance(error, InvalidInput)


async def test_a_number_too_long_to_be_written_is_refused_wherever_it_is_handed_in() -> None:
    most, too_long = 10**4_000, 10**5_000
    approval: Object = {"stepId": "a", "type": "APPROVAL", "assignees": {"users": ["ann"]}}
    async with Tenuto() as app:
        await app.deploy({"id": "asking", "steps": [approval]})
        asking = await app.start("asking", {"n": most})
        for path, asked in (
            ("$.n", app.start("asking", {"n": too_long})),
            ("$.payload[0]", app.publish("paid", [too_long])),
            ("$.form", asking.decide("a", "approved", by="ann", form=too_long)),
        ):
            with pytest.raises(InvalidInput) as refused:
                await asked
            assert [(each.code, each.path) for each in refused.value.problems] == [
                ("TEN-2004", path)
            ]
        good, bad = await app.publish_all(
            [{"pattern": "x", "payload": 1}, {"pattern": "x", "payload": too_long}]
        )
        assert not isinstance(good, TenutoError)
        assert isinstance(bad, InvalidInput)


async def test_an_id_that_is_too_long_is_refused_wherever_it_is_handed_in() -> None:
    fits, too_long = "\U0001f600" * 255, "x" * 256
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        for path, asked in (
            ("$.correlationId", app.start("waiting", {}, correlation_id=too_long)),
            ("$.key", app.start("waiting", {}, key=too_long)),
            ("$.id", app.publish("payment.received", {}, id=too_long)),
            ("$.correlationId", app.publish("payment.received", {}, correlation_id=too_long)),
            ("$.pattern", app.publish(too_long, {})),
        ):
            with pytest.raises(InvalidInput) as refused:
                await asked
            [problem] = refused.value.problems
            assert (problem.code, problem.path) == ("TEN-2012", path)
            assert "256 characters are more than the limit of 255" in problem.message
        assert await app.instances() == []
        await app.start("waiting", {"orderId": 1}, key=fits, correlation_id=fits)
        assert (await app.publish(fits, {}, id=fits, correlation_id=fits)).event_id == fits


async def test_a_definition_that_was_saved_before_a_limit_still_runs() -> None:
    wait: Object = {"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "p." + "x" * 300}
    document: Object = {"id": "older", "steps": [wait]}
    async with Tenuto() as app:
        with pytest.raises(InvalidDefinition) as refused:
            await app.deploy(document)
        assert [each.code for each in refused.value.problems] == ["TEN-1025"]
        content = msgspec.json.encode(document)
        await app.engine.store.definitions.save(
            "default", "older", content, b"1", datetime.now(UTC)
        )
        assert await (await app.start("older")).status() == "WAITING_FOR_EVENT"
        with pytest.raises(InvalidDefinition):
            await app.deploy(document)


async def test_a_pause_until_a_moment_without_a_time_zone_is_refused_and_fails_nothing() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        with pytest.raises(InvalidInput):
            await waiting.pause(until=datetime(2030, 1, 1))  # noqa: DTZ001 - that is the point
        assert await waiting.status() == "WAITING_FOR_EVENT"


async def test_an_entry_that_cannot_be_written_down_stops_its_own_instance_alone() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        bad = await app.start("waiting", {"orderId": 1})
        good = await app.start("waiting", {"orderId": 2})
        answer = await app.engine.ask(bad.id, CancelAsked(by="app", reason=HALF_A_PAIR))
        assert answer.status == "FAILED"
        await app.publish("payment.received", {"orderId": 2})
        await good.result(60)
        assert app.engine.fault is None
        with pytest.raises(TenutoError):
            await bad.result(60)


async def test_nothing_is_left_of_a_start_that_was_rejected() -> None:
    id = "0190a0b0-0000-7000-8000-000000000001"
    slow: Object = {"stepId": "a", "type": "DELAY", "duration": "PT1H"}
    options: Object = {"deadline": "{{ctx.input.due}}"}
    async with Tenuto() as app:
        await app.deploy({"id": "flow", "options": options, "steps": [slow]})
        with pytest.raises(InvalidInput) as refused:
            await app.start("flow", {"due": "tomorrow"}, instance_id=id)
        assert refused.value.code == "TEN-2101"
        with pytest.raises(NotFound):
            await InstanceRef(app.engine, id).cancel()
        started = await app.start("flow", {"due": "2999-01-01T00:00:00Z"}, instance_id=id)
        assert (await started.history())[0]["eventType"] == "INPUT_SET"


async def test_an_event_that_no_store_takes_holds_up_nothing_that_shares_its_turn() -> None:
    store = Moody()
    async with Tenuto(store) as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        store.gate.clear()
        now = app.engine.clock.now()
        postmaster: EventRouter = app.engine.events.router
        bad = Event(
            id="bad", pattern="a.b", payload={}, received_at=now, correlation_id=HALF_A_PAIR
        )
        good = [Event(id=f"{n}", pattern="a.b", payload={}, received_at=now) for n in range(3)]
        # The matching of one event and the storing of others, in one turn.
        asked = [
            asyncio.ensure_future(postmaster.match(1, good[0])),
            *(asyncio.ensure_future(postmaster.publish(event)) for event in (bad, *good)),
        ]
        for _ in range(50):
            await asyncio.sleep(0)
        store.gate.set()
        async with asyncio.timeout(60):
            outcomes = await asyncio.gather(*asked, return_exceptions=True)
        refused = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Exception)]
        assert refused == [1]
        assert (await app.publish("payment.received", {"orderId": 1})).resumed == 1
        await waiting.result(60)


async def test_a_workflow_that_is_not_there_is_told_with_the_nearest_that_is() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        for id, version, advice in (
            ("wating", None, "Did you mean `waiting`? Deploy it first"),
            ("Waiting", 2, "Did you mean `waiting`? Deploy it first"),
            ("order-to-cash", None, "Deploy it first"),
            ("waiting", 7, "Its newest version is 1."),
        ):
            with pytest.raises(NotFound) as refused:
                await app.start(id, version=version)
            assert refused.value.code == "TEN-2002"
            assert refused.value.advice.startswith(advice)
        await app.deploy({**ONE_WAIT, "id": "waitings"})
        for id, advice in (("waitings", "Did you mean `waiting`?"), ("waiting", "Deploy it first")):
            await app.engine.plans.hide("default", id)
            with pytest.raises(NotFound) as refused:
                await app.start(id)
            assert refused.value.advice.startswith(advice), "what is removed is not meant"
