"""Deliveries of an encrypted event are encrypted, whenever they are written."""

from __future__ import annotations

import pytest

from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.setup import made_codec
from tenuto.encryption.store import encrypt
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting
from tests.encryption.stage import CANARY
from tests.encryption.test_setup import Reversed
from tests.store.situations import ME, NOON, event, turn


@pytest.mark.asyncio
async def test_deliveries_are_encrypted_though_others_left_since_its_event_was_read() -> None:
    disk = MemoryDisk()
    codec = made_codec(EncryptionSettings(codec=f"{Reversed.__module__}:Reversed"))
    store = encrypt(MemoryStore(disk), codec)
    await store.open(ME, NOON)
    await store.sealed.declare("default", ["paid"])
    hook = Listener(
        id="w1",
        kind="webhook",
        patterns=("**",),
        level=0,
        hears_inbox=True,
        settings=b"{}",
        created_at=NOON,
    )
    await store.listeners.put(hook)
    secret = event("e1", pattern="paid", payload=CANARY)
    await store.turns.commit(turn("t1", events=(secret, event("e2", pattern="free"))))
    rows = await store.outbox.claim(10)
    [first, _] = await store.outbox.events(rows)
    assert first is not None
    assert first.payload == CANARY
    await store.outbox.drain([rows[1].number], [])
    posting = Posting(
        listener_id="w1",
        event_id="e1",
        stream=rows[0].stream,
        body=CANARY.encode(),
        created_at=NOON,
    )
    await store.outbox.drain([rows[0].number], [posting])
    assert disk.postings
    assert CANARY not in repr([*disk.events.values(), *disk.postings.values()])
    [opened] = (await store.outbox.claim_due(NOON, most=9, each=9)).items
    assert opened.body == CANARY.encode()
