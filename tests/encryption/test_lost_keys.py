"""A lost key keeps its instances waiting, and no others; with the key they go on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from tenuto import Conflict, InvalidDefinition, Settings, Tenuto
from tenuto.encryption.codec import Codec, NoKeys
from tenuto.encryption.errors import CannotOpen
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.encryption.parts import Sealing
from tenuto.encryption.values import Values, readable
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.store.parts.inbox import SealedEvent
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Parts
from tests.kit.waits import every_wait_has_looked_back
from tests.store.situations import NOON

pytestmark = pytest.mark.asyncio

K1, K2 = new_key("k1"), new_key("k2")
WITH_K1, WITH_K2, PLAIN = (str(UUID(int=number)) for number in (1, 2, 3))
QUICK = Settings(mail_every=0.05, stop_grace=0)


def _waiting(id: str, *, encrypt: bool) -> Object:
    return {
        "id": id,
        "options": {"encrypt": encrypt},
        "triggers": [{"eventPattern": f"{id}.wanted"}],
        "steps": [
            {
                "stepId": "wait",
                "type": "EVENT_WAIT",
                "eventPattern": "paid",
                "eventCondition": "event.payload.n === ctx.input.n",
            }
        ],
    }


SECRET, OPEN = _waiting("secret", encrypt=True), _waiting("open", encrypt=False)


def _app(folder: Path, codec: Codec | None) -> Tenuto:
    return Tenuto(f"sqlite:///{folder}/a.db", encryption=codec, settings=QUICK)


async def _begun(folder: Path) -> None:
    async with _app(folder, KeyRing([K1])) as app:
        await app.deploy(SECRET)
        await app.deploy(OPEN)
        await app.start("secret", {"n": 1}, instance_id=WITH_K1)
        await app.start("open", {"n": 1}, instance_id=PLAIN)
        await every_wait_has_looked_back(app)


async def test_other_instances_go_on_without_the_key_and_its_own_with_it(tmp_path: Path) -> None:
    await _begun(tmp_path)
    async with _app(tmp_path, KeyRing([K2])) as app:
        await app.start("secret", {"n": 1}, instance_id=WITH_K2)
        await every_wait_has_looked_back(app)
        published = await app.publish("paid", {"n": 1}, id="e1")
        assert published.resumed == 2
        for id in (PLAIN, WITH_K2):
            await asyncio.wait_for((await app.instance(id)).result(), 30)
        with pytest.raises(CannotOpen, match="'k1'") as refused:
            await (await app.instance(WITH_K1)).details()
        assert (refused.value.code, refused.value.key_id) == ("TEN-4122", "k1")
        listed = await app.engine.store.instances.page(InstanceQuery())
        assert {row.id for row in listed.items} == {PLAIN, WITH_K1, WITH_K2}
        assert await app.engine.store.sealed.keys() == ["k1", "k2"]
    async with _app(tmp_path, KeyRing([K2, K1])) as app:
        # The event that it missed is in the inbox.
        ended = await asyncio.wait_for((await app.instance(WITH_K1)).result(), 30)
        assert "'n': 1" in str(ended)
        assert await app.engine.store.sealed.missed() == []


async def test_an_instance_that_was_at_work_is_taken_over_with_its_key(tmp_path: Path) -> None:
    """What a process without the key gives back goes on in one that has it."""
    working: Object = {
        "id": "work",
        "options": {"encrypt": True},
        "steps": [{"stepId": "a", "type": "TASK", "taskId": "slow", "input": {"n": 1}}],
    }
    begun = asyncio.Event()
    calls: list[object] = []

    def app_with(codec: Codec, *, is_first: bool) -> Tenuto:
        app = _app(tmp_path, codec)

        @app.task
        async def slow(input: object) -> object:
            calls.append(input)
            begun.set()
            if is_first:
                await asyncio.Event().wait()
            return input

        return app

    async with app_with(KeyRing([K1]), is_first=True) as app:
        await app.deploy(working)
        await app.start("work", instance_id=WITH_K1)
        await begun.wait()
    async with app_with(KeyRing([K2]), is_first=False) as app:
        ended = await app.start("work", instance_id=WITH_K2)
        await asyncio.wait_for(ended.result(), 30)
        with pytest.raises(CannotOpen):
            await (await app.instance(WITH_K1)).details()
    assert len(calls) == 2
    async with app_with(KeyRing([K2, K1]), is_first=False) as app:
        assert await asyncio.wait_for((await app.instance(WITH_K1)).result(), 30) is not None
    assert len(calls) == 3


async def test_another_key_of_the_same_id_opens_nothing(tmp_path: Path) -> None:
    await _begun(tmp_path)
    async with _app(tmp_path, KeyRing([new_key("k1")])) as app:
        with pytest.raises(CannotOpen) as refused:
            await (await app.instance(WITH_K1)).details()
        assert refused.value.code == "TEN-4123"
        await app.publish("paid", {"n": 1})
        await asyncio.wait_for((await app.instance(PLAIN)).result(), 30)


async def test_nothing_is_encrypted_without_keys(tmp_path: Path) -> None:
    await _begun(tmp_path)
    async with _app(tmp_path, None) as app:
        with pytest.raises(Conflict) as refused:
            await app.start("secret", {"n": 2})
        assert refused.value.code == "TEN-4120"
        with pytest.raises(InvalidDefinition) as invalid:
            await app.deploy({**SECRET, "id": "another"})
        assert [problem.code for problem in invalid.value.problems] == ["TEN-4120"]


async def test_an_event_that_has_to_be_encrypted_is_refused_without_keys(tmp_path: Path) -> None:
    await _begun(tmp_path)
    async with _app(tmp_path, None) as app:
        for pattern in ("secret.wanted", "paid"):
            with pytest.raises(Conflict) as refused:
                await app.publish(pattern, {"n": 7})
            assert refused.value.code == "TEN-4120"
        await app.publish("something.else", {"n": 7})


async def test_no_webhook_gets_an_event_that_cannot_be_opened() -> None:
    """Its stream waits for a process that has the key."""
    event = Event(id="e1", pattern="paid", payload={"n": 1}, received_at=NOON)
    sealed = Values(KeyRing([K1])).sealed_event(event)
    assert isinstance(sealed, SealedEvent)
    stored = replace(event, payload=msgspec.json.decode(sealed.sealed))
    here = Values(KeyRing([K2])).opened_event(stored)
    with pytest.raises(CannotOpen) as refused:
        readable(here)
    assert refused.value.key_id == "k1"
    assert readable(Values(KeyRing([K2, K1])).opened_event(stored)).payload == {"n": 1}


async def test_events_that_arrive_together_look_once_for_what_is_encrypted() -> None:
    """A thousand reads would delay every other read."""
    looks: list[str] = []

    async def keys() -> list[str]:
        looks.append("keys")
        await asyncio.sleep(0)
        return ["k1"]

    async def patterns(tenant: str) -> list[str]:
        looks.append(f"patterns of {tenant}")
        await asyncio.sleep(0)
        return []

    raw = SimpleNamespace(sealed=SimpleNamespace(keys=keys, patterns=patterns))
    sealing = Sealing(Values(NoKeys()), cast("Parts", raw))
    event = Event(id="e", pattern="a.b", payload=None, received_at=NOON, tenant="t")
    found = await asyncio.gather(*(sealing.lacks_keys_for(event, NOON) for _ in range(100)))
    assert (set(found), looks) == ({False}, ["keys", "patterns of t"])
