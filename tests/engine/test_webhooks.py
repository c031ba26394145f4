"""Webhooks over a real network: signed, in order, tried again; none waits for another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import InvalidInput, NotFound, Settings, TaskError, Tenuto, Webhook
from tenuto.engine.outbox.signatures import header_id, signed_headers
from tenuto.model.json import Object
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import ONE_WAIT, steps
from tests.kit.hooks import Receiver, receiver
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

OPEN = Settings(private_webhooks=True, webhook_timeout=0.3)
ALL = ("workflow.**",)


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Receiver]:
    async with receiver() as made:
        yield made


class Settling(ScriptedStore):
    """A store that tells when something is known of an address."""

    def __init__(self) -> None:
        super().__init__()
        self._settled = asyncio.Event()

    async def on_outbox_settle(self, call: Call) -> None:
        await call()
        self._settled.set()

    async def until_failing(self, app: Tenuto) -> Webhook:
        """The first webhook that fails."""
        while True:
            self._settled.clear()
            failing = [each for each in await app.webhooks.list() if each.state == "failing"]
            if failing:
                return failing[0]
            await self._settled.wait()


def app_on(store: str | Store | None = None, settings: Settings = OPEN) -> Tenuto:
    app = Tenuto(store, settings=settings)

    @app.task
    async def work(input: object) -> object:
        if input == {"fail": True}:
            raise TaskError("BROKEN", "it does not work", retryable=False)
        return {"done": input}

    return app


async def test_each_event_is_signed_and_told_in_the_order_of_the_log(
    hook: Receiver, tmp_path: Path
) -> None:
    """ "Lifecycle payloads: `{workflowId, version, instanceId, correlationId, status, at}`; failed
    adds `error`, cancelled `cancellation`, completed `output` (≤ 64 KB), node events `stepId,
    iteration, attempt`."
    """
    async with app_on(f"sqlite:///{tmp_path}/tenuto.db") as app:
        added = await app.webhooks.add(f"{hook.url}/here", ALL, description="all of it")
        assert added.secret is not None
        await app.deploy(steps("a", "b"))
        instance = await app.start("flow", {"n": 1}, correlation_id="c1")
        await hook.until(lambda: "workflow.completed" in hook.types)
    assert hook.types == [
        "workflow.started",
        "workflow.node.started",
        "workflow.node.completed",
        "workflow.node.started",
        "workflow.node.completed",
        "workflow.completed",
    ]
    assert all(each.is_signed_with(added.secret) for each in hook.received)
    assert {each.path for each in hook.received} == {"/here"}
    assert {each.headers["content-type"] for each in hook.received} == {"application/json"}
    seqs = [int(id.removeprefix(f"{instance.id}:")) for id in hook.ids]
    assert seqs == sorted(seqs)
    body = hook.received[-1].value
    at = body["timestamp"]
    assert body["data"] == {
        "workflowId": "flow",
        "version": 1,
        "instanceId": instance.id,
        "correlationId": "c1",
        "status": "COMPLETED",
        "at": at,
        "output": {"done": {"n": 1}},
    }
    step = hook.received[1].value["data"]
    assert (step["stepId"], step["iteration"], step["attempt"]) == ("a", "", 1)


async def test_a_signature_is_what_the_specification_says() -> None:
    """The example that implementations of Standard Webhooks are compared by."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        datetime.fromtimestamp(1614265330, UTC),
        b'{"test": 2432232314}',
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


async def test_an_event_arrives_whatever_its_id_is_made_of(hook: Receiver) -> None:
    ids = ["plain", "ü-1 ☃", "a%20b", "a b"]
    async with app_on() as app:
        added = await app.webhooks.add(hook.url, "order.**")
        for id in ids:
            await app.publish("order.placed", {}, id=id)
        await hook.until(lambda: len(hook.received) == len(ids))
    assert sorted(hook.ids) == sorted(ids)
    assert len({each.headers["webhook-id"] for each in hook.received}) == len(ids)
    assert all(each.is_signed_with(added.secret or "") for each in hook.received)


async def test_an_id_ends_no_header() -> None:
    assert header_id("a\r\nx-evil: 1\x00\x7f\x85") == "a%0D%0Ax-evil:%201%00%7F%C2%85"


async def test_failures_and_cancellations_say_why(hook: Receiver) -> None:
    async with app_on() as app:
        await app.webhooks.add(hook.url, ["workflow.failed", "workflow.cancelled"])
        await app.deploy(steps("a"))
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        await waiting.cancel("no longer needed")
        await app.start("flow", {"fail": True})
        await hook.until(lambda: len(hook.received) == 2)
    told: dict[str, Any] = {each.value["type"]: each.value["data"] for each in hook.received}
    assert told["workflow.failed"]["error"]["code"] == "BROKEN"
    assert told["workflow.failed"]["error"]["stepId"] == "a"
    assert told["workflow.cancelled"]["cancellation"]["reason"] == "no longer needed"


async def test_pauses_and_waits_are_told(hook: Receiver) -> None:
    async with app_on() as app:
        await app.webhooks.add(hook.url, "workflow.*")
        await app.deploy(ONE_WAIT)
        instance = await app.start("waiting", {"orderId": 1})
        await hook.until(lambda: "workflow.waiting" in hook.types)
        await instance.pause()
        await instance.resume()
        await app.publish("payment.received", {"orderId": 1})
        await hook.until(lambda: "workflow.completed" in hook.types)
    assert hook.types == [
        "workflow.started",
        "workflow.waiting",
        "workflow.paused",
        "workflow.resumed",
        "workflow.completed",
    ]


async def test_one_that_never_answers_holds_up_nobody_else(hook: Receiver) -> None:
    store = Settling()
    async with receiver() as silent, app_on(store) as app:
        silent.answer = lambda _: None
        slow = await app.webhooks.add(silent.url, ALL)
        await app.webhooks.add(hook.url, ALL)
        await app.deploy(steps("a"))
        await asyncio.gather(*(app.start("flow", {"n": n}) for n in range(5)))
        await hook.until(lambda: hook.types.count("workflow.completed") == 5)
        shown = await store.until_failing(app)
        assert shown.id == slow.id
        assert shown.last_error == "no answer within 0.3 s"
        assert shown.pending > 0


async def test_what_was_put_off_is_sent_at_once_when_it_is_asked_for(hook: Receiver) -> None:
    store = Settling()
    async with app_on(store) as app:
        hook.answer = lambda _: 500
        await app.webhooks.add(hook.url, "workflow.completed")
        await app.deploy(steps("a"))
        await app.start("flow")
        failing = await store.until_failing(app)
        [late] = (await app.webhooks.deliveries(failing.id)).items
        assert (late.attempts, late.due_at > late.created_at) == (1, True)
        hook.answer = lambda _: 200
        assert await app.webhooks.resend(failing.id) == 1
        await hook.until(lambda: len(hook.received) == 2)


async def test_redirects_are_not_followed(hook: Receiver) -> None:
    store = Settling()
    async with receiver() as elsewhere, app_on(store) as app:
        hook.answer, hook.location = lambda _: 307, elsewhere.url
        await app.webhooks.add(hook.url, "workflow.completed")
        await app.deploy(steps("a"))
        await app.start("flow")
        await hook.until(lambda: len(hook.received) == 1)
        shown = await store.until_failing(app)
        assert shown.last_error == "answered 307: redirects are not followed"
        assert elsewhere.received == []


async def test_a_subscription_is_notified_of_what_it_asked_for(hook: Receiver) -> None:
    """Seed 003: EventSubscription → EventNotification."""
    async with app_on() as app:
        subscription = await app.subscriptions.add(
            hook.url,
            ["payment.received", "payment.failed"],
            subscriber_id="workflow_wf-1",
            filter="event.payload.orderId === 'ORD-12345'",
        )
        await app.publish("payment.received", {"orderId": "ORD-1"}, id="e1")
        await app.publish("payment.received", {"orderId": "ORD-12345"}, id="e2")
        await app.publish("payment.refunded", {"orderId": "ORD-12345"}, id="e3")
        await app.publish("payment.failed", {"orderId": "ORD-12345"}, id="e4")
        await hook.until(lambda: len(hook.received) == 2)
        listed = await app.subscriptions.list()
        assert listed[0].secret is None
        assert listed[0].subscriber_id == "workflow_wf-1"
    bodies: dict[str, Object] = {each.id: each.value for each in hook.received}
    assert bodies.keys() == {"e2", "e4"}
    assert str(bodies["e2"].pop("timestamp")).endswith("Z")
    assert bodies["e2"] == {
        "eventId": "e2",
        "pattern": "payment.received",
        "payload": {"orderId": "ORD-12345"},
        "subscriberId": "workflow_wf-1",
        "subscriptionId": subscription.id,
    }
    assert subscription.secret is not None
    assert all(each.is_signed_with(subscription.secret) for each in hook.received)


async def test_a_correlation_id_keeps_the_others_away(hook: Receiver) -> None:
    async with app_on() as app:
        await app.deploy(steps("a"))
        await app.subscriptions.add(
            hook.url, ["workflow.completed"], subscriber_id="s", correlation_id="mine"
        )
        await app.start("flow", correlation_id="other")
        mine = await app.start("flow", correlation_id="mine")
        await hook.until(lambda: len(hook.received) == 1)
        assert hook.received[0].value["payload"]["instanceId"] == mine.id


async def test_no_secret_is_ever_logged(hook: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with app_on() as app:
            hook.answer = lambda _: 500
            added = await app.webhooks.add(hook.url, ALL)
            await app.deploy(steps("a"))
            await app.start("flow")
            await hook.until(lambda: len(hook.received) > 0)
            assert added.secret is not None
            assert all(each.secret is None for each in await app.webhooks.list())
    assert added.secret.removeprefix("whsec_") not in caplog.text


async def test_all_that_is_wrong_is_told_at_once() -> None:
    async with app_on(settings=Settings()) as app:
        with pytest.raises(InvalidInput) as refused:
            await app.webhooks.add(
                "ftp://example.com", ["workflow.*", "a..b"], secret="x", description="\0"
            )
        codes = [(each.code, each.path) for each in refused.value.problems]
        assert codes == [
            ("TEN-2301", "$.url"),
            ("TEN-2303", "$.patterns[1]"),
            ("TEN-2304", "$.secret"),
            ("TEN-2004", "$.description"),
        ]
        with pytest.raises(InvalidInput) as private:
            await app.subscriptions.add(
                "http://127.0.0.1/",
                (),
                subscriber_id="s",
                filter="event.payload. ===",
                expiration_time=datetime(2020, 1, 1, tzinfo=UTC),
            )
        codes = [(each.code, each.path) for each in private.value.problems]
        assert codes == [
            ("TEN-2302", "$.callbackUrl"),
            ("TEN-2303", "$.patterns"),
            ("TEN-2305", "$.filter"),
            ("TEN-2306", "$.expirationTime"),
        ]
        with pytest.raises(NotFound) as missing:
            await app.webhooks.remove("wh-1")
        assert missing.value.code == "TEN-3301"
        with pytest.raises(NotFound):
            await app.subscriptions.enable("sub-1")


async def test_a_program_that_stops_tells_first_what_it_can(hook: Receiver) -> None:
    async with app_on() as app:
        await app.webhooks.add(hook.url, "workflow.completed")
        await app.deploy(steps("a"))
        await (await app.start("flow")).result()
    assert hook.types == ["workflow.completed"]


async def test_what_is_removed_is_told_nothing_more(hook: Receiver) -> None:
    async with receiver() as other, app_on() as app:
        await app.deploy(steps("a"))
        gone = await app.webhooks.add(other.url, ALL)
        await app.webhooks.add(hook.url, ALL)
        await app.webhooks.remove(gone.id)
        await app.start("flow")
        await hook.until(lambda: "workflow.completed" in hook.types)
        assert other.received == []
        assert [each.url for each in await app.webhooks.list()] == [hook.url]
