"""The preview of a change of limits says what passes of admission then do."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from tenuto.model.json import Object
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.slot_rows import (
    PROMOTED,
    SERVICE,
    USUAL,
    WOKEN,
    ConcurrencyRow,
    SlotRow,
)
from tenuto.store.protocol import Store
from tenuto.workspace.limits_preview import preview, situation
from tests.kit.breadth import breadth
from tests.store.situations import NOON
from tests.store.test_slots import ask, asked, give_back

pytestmark = pytest.mark.asyncio

SEEDS = breadth(2, 300)
TENANTS = ("a", "b", "c")
CLASSES = (WOKEN, PROMOTED, USUAL, USUAL, USUAL)


async def test_what_a_change_of_limits_would_do_is_what_passes_do(store: Store) -> None:
    version = 0
    for seed in range(SEEDS):
        random = Random(f"preview {seed}")
        rows = [_row(f"s{seed:03}-{n:02}", n, random) for n in range(random.randint(5, 20))]
        before = _limits(random, most=3)
        await _set(store, before, version)
        for row in rows:
            await ask(store, row)
        await _admitted(store)
        # What came since the passes was not looked at.
        late = [_row(f"t{seed:03}-{n:02}", 50 + n, random) for n in range(3)]
        for row in late:
            await ask(store, row)
        keys = {key for row in (*rows, *late) for key in row.keys}
        after = _limits(random, most=8)
        found = await situation(store.slots, "a", sees_all=True)
        seen = preview(found, _read(before), _read(after), shown=keys)
        held_before = await _held(store)
        await _set(store, after, version + 1)
        await _admitted(store)
        version += 2
        held = await _held(store)
        said = f"seed {seed}: {before} {after}"
        assert seen.admitted == len(held - held_before), said
        assert seen.waiting == len(rows) + len(late) - len(held), said
        counts = await store.slots.counts(sorted(keys))
        for change in seen.limits:
            assert change.after.held == counts.get(change.limit, 0), (said, change)
        await _empty(store, version)
        version += 1


def _row(id: str, at: int, random: Random) -> SlotRow:
    tenant = random.choice(TENANTS)
    row = asked(
        id,
        at=at,
        tenant=tenant,
        limit=random.choice((0, 0, 2)),
        key=random.choice("xy"),
        rank_class=random.choice(CLASSES),
    )
    is_child = random.random() < 0.2
    # Children take only type and key slots.
    keys = tuple(key for key in row.keys if not is_child or key.startswith(("type:", "key:")))
    return msgspec.structs.replace(row, keys=keys)


def _limits(random: Random, *, most: int) -> Object:
    document: Object = {}
    if random.random() < 0.8:
        document["globalMaxConcurrent"] = random.randint(0, most)
    if random.random() < 0.5:
        document["tenantLimits"] = {"*": random.randint(0, most), "a": random.randint(0, most)}
    if random.random() < 0.5:
        document["queue"] = {"perTenantShare": {"a": random.randint(1, 4), "b": 2}}
    return document


def _read(document: Object) -> Limits:
    return Limits([(SERVICE, msgspec.json.encode(document))])


async def _set(store: Store, document: Object, version: int) -> None:
    row = ConcurrencyRow(
        tenant=SERVICE,
        document=msgspec.json.encode(document),
        version=version + 1,
        changed_at=NOON,
    )
    assert await store.slots.put_configs([row], {SERVICE: version})


async def _admitted(store: Store) -> None:
    while not (await store.slots.admit(NOON)).is_done:
        pass


async def _held(store: Store) -> set[str]:
    return {each.instance_id for tenant in TENANTS for each in await store.slots.held(tenant)}


async def _empty(store: Store, version: int) -> None:
    """Give back what is held, until none waits."""
    await _set(store, {}, version)
    await _admitted(store)
    while held := await _held(store):
        await give_back(store, *sorted(held))
        await _admitted(store)
