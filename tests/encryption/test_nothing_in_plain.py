"""An encrypted instance leaves no plain value in its store, and everyone who may read it can."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tenuto import Tenuto, WorkflowFailed
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.workspace.instance import InstanceRef
from tests.encryption.stage import (
    CANARY,
    ORDER,
    PLAIN,
    SHIPPING,
    app_on,
    backup_of,
    files_in,
    found_in,
    ring,
    tables_of,
    until_at,
)
from tests.engine.situations import until
from tests.kit.hooks import receiver
from tests.kit.postgres_database import fresh_database
from tests.kit.waits import every_wait_has_looked_back

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


async def _through(app: Tenuto, looked: Callable[[], Awaitable[None]]) -> InstanceRef:
    """Run an order through all of its steps; looks at the store wherever it stands still."""
    for document in (SHIPPING, ORDER, PLAIN):
        await app.deploy(document)
    order = await app.start("order", {"card": CANARY})

    await until_at(app, order.id, "paid")
    await every_wait_has_looked_back(app)
    await looked()
    paid = await app.publish("payment.received", {"card": CANARY, "address": f"to {CANARY}"})
    assert paid.resumed == 1
    await until_at(app, order.id, "sign")
    await looked()
    await order.decide("sign", "approved", by="ann", form={"note": CANARY})
    with pytest.raises(WorkflowFailed, match=CANARY):
        await asyncio.wait_for(order.result(), 60)
    await app.engine.effects.task_logs.written()
    await looked()
    return order


async def _is_read(app: Tenuto, order: InstanceRef) -> None:
    """A principal that may read the instance reads all of its values."""
    details: Object = await order.details()
    assert CANARY in str(details["lastError"])
    history = [str(entry) for entry in await order.history()]
    assert sum(CANARY in entry for entry in history) > 3
    letters = await app.dead_letters.list()
    assert CANARY in str(letters[0])
    assert (await order.status()) is Status.FAILED


async def test_no_value_is_in_the_files_of_an_sqlite_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    codec = ring()
    async with receiver() as hook, app_on(f"sqlite:///{folder}/a.db", codec) as app:
        hook.answer = lambda _: 500
        await app.webhooks.add(f"{hook.url}/here", ("**",))

        async def look() -> None:
            assert found_in(files_in(folder)) == []
            assert found_in(backup_of(folder / "a.db")) == []

        order = await _through(app, look)
        await _is_read(app, order)
        hook.answer = lambda _: 200
        await hook.until(lambda: any(CANARY in each.body.decode() for each in hook.received))
        await look()
    assert found_in(files_in(folder)) == []


async def test_no_value_is_in_a_table_on_postgres() -> None:
    url = await fresh_database()
    codec = ring()
    async with receiver() as hook, app_on(url, codec) as app:
        hook.answer = lambda _: 500
        await app.webhooks.add(f"{hook.url}/here", ("**",))

        async def look() -> None:
            assert found_in(await tables_of(url)) == []

        order = await _through(app, look)
        await _is_read(app, order)


async def test_no_event_that_a_child_waits_for_is_stored_in_clear(tmp_path: Path) -> None:
    """The definition of the child does not encrypt: its instance does, as its parent."""
    folder = tmp_path / "store"
    folder.mkdir()
    child: Object = {
        "id": "child",
        "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "parcel.picked"}],
    }
    parent: Object = {
        "id": "parent",
        "options": {"encrypt": True},
        "steps": [{"stepId": "a", "type": "SUB_WORKFLOW", "workflowId": "child"}],
    }
    async with app_on(f"sqlite:///{folder}/a.db", ring()) as app:
        await app.deploy(child)
        await app.deploy(parent)
        started = await app.start("parent")

        async def waits() -> bool:
            terms = await app.engine.store.waits.terms("default", "parcel.picked")
            return bool(terms)

        await until(app, waits)
        await every_wait_has_looked_back(app)
        assert (await app.publish("parcel.picked", {"to": CANARY})).resumed == 1
        assert CANARY in str(await asyncio.wait_for(started.result(), 60))
    assert found_in(files_in(folder)) == []


async def test_the_reason_of_a_refused_start_has_no_value_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    document: Object = {
        **PLAIN,
        "options": {"encrypt": True},
        "inputSchema": {"properties": {"card": {"type": "integer"}}},
        "triggers": [{"eventPattern": "begin", "inputMapping": {"card": "{{event.payload.card}}"}}],
    }
    async with app_on(f"sqlite:///{folder}/a.db", ring()) as app:
        await app.deploy(document)
        published = await app.publish("begin", {"card": CANARY}, id="e1")
        assert published.started == 0
        [refused] = await app.engine.store.inbox.deliveries_of("default", "e1")
        assert refused.reason is not None
        assert refused.reason.startswith("INVALID_INPUT: ")
    assert found_in(files_in(folder)) == []


async def test_a_test_that_finds_nothing_would_find_plain_values(tmp_path: Path) -> None:
    """The same order without encryption: the canary is seen by what looks for it."""
    folder = tmp_path / "store"
    folder.mkdir()
    async with app_on(f"sqlite:///{folder}/a.db", ring()) as app:
        await app.deploy(SHIPPING)
        await app.start("shipping", {"to": CANARY})
    assert found_in(files_in(folder))
