"""Deliveries of an encrypted event are encrypted, whenever they are written."""

from __future__ import annotations

import msgspec
import pytest

from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.setup import made_codec
from tenuto.encryption.store import encrypt
from tenuto.engine.outbox.endpoints import Endpoint
from tenuto.engine.outbox.fan_out import Audiences
from tenuto.expr import Steps
from tenuto.model.events import Event
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting
from tests.encryption.stage import CANARY
from tests.encryption.test_setup import Reversed
from tests.store.situations import ME, NOON, event, turn

HOOK = Listener(
    id="w1",
    kind="webhook",
    patterns=("**",),
    level=0,
    hears_inbox=True,
    settings=msgspec.json.encode(Endpoint(url="https://example.org", secret="whsec_eA==")),
    created_at=NOON,
)


@pytest.mark.asyncio
async def test_deliveries_are_encrypted_though_others_left_since_its_event_was_read() -> None:
    disk = MemoryDisk()
    codec = made_codec(EncryptionSettings(codec=f"{Reversed.__module__}:Reversed"))
    store = encrypt(MemoryStore(disk), codec)
    await store.open(ME, NOON)
    await store.sealed.declare("default", ["paid"])
    await store.listeners.put(HOOK)
    secret = event("e1", pattern="paid", payload=CANARY)
    await store.turns.commit(turn("t1", events=(secret, event("e2", pattern="free"))))
    rows = await store.outbox.claim(10)
    [first, _] = await store.outbox.events(rows)
    assert first is not None
    assert first.payload == CANARY
    await store.outbox.drain([rows[1].number], [])
    [posting] = postings_of(HOOK, first)
    await store.outbox.drain([rows[0].number], [posting])
    assert disk.postings
    assert CANARY not in repr([*disk.events.values(), *disk.postings.values()])
    [opened] = (await store.outbox.claim_due(NOON, most=9, each=9)).items
    assert opened.body == posting.body
    assert CANARY.encode() in opened.body


def postings_of(hook: Listener, event: Event) -> list[Posting]:
    steps = Steps()
    found = Audiences([hook]).of(event.tenant).postings_of(event, NOON, steps)
    return [each for each in found if each is not None]


@pytest.mark.asyncio
async def test_of_encrypted_events_whose_rows_others_drain_nothing_is_kept() -> None:
    codec = made_codec(EncryptionSettings(codec=f"{Reversed.__module__}:Reversed"))
    store = encrypt(MemoryStore(MemoryDisk()), codec)
    await store.open(ME, NOON)
    await store.sealed.declare("default", ["paid"])
    await store.listeners.put(HOOK)
    events = tuple(event(f"e{n}", pattern="paid", payload=CANARY) for n in range(50))
    await store.turns.commit(turn("t1", events=events))
    rows = await store.outbox.claim(100)
    kept = held_by(store.outbox)
    assert len(await store.outbox.events(rows)) == 50
    assert held_by(store.outbox) == kept


def held_by(part: object) -> int:
    """How many values what the parts of an encrypted store share has."""
    sealing = vars(part)["_sealing"]
    return sum(len(each) for each in vars(sealing).values() if isinstance(each, dict | set))
