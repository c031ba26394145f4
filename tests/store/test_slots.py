"""Slots: a pass grants what fits, in order; what is given back is granted again, once."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tenuto.model.inputs import Admitted, CancelAsked
from tenuto.store.parts.slots import (
    SERVICE,
    WOKEN,
    Admission,
    ConcurrencyRow,
    Slot,
    SlotKey,
    SlotRow,
)
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import ME, NOON, aside, begin, moment, step, turn

pytestmark = pytest.mark.asyncio


def asked(id: str, *, at: int = 0, limit: int = 0, key: str = "k", **fields: Any) -> SlotRow:
    tenant = fields.pop("tenant", "default")
    own = f"key:{tenant}/order/{key}" if limit else None
    common = (f"type:{tenant}/order", f"tenant:{tenant}", "global")
    standard = SlotRow(
        instance_id=id,
        tenant=tenant,
        definition_id="order",
        keys=common if own is None else (own, *common),
        own_key=own,
        own_limit=limit,
        number=1,
        rank=at,
        asked_at=moment(at),
    )
    return msgspec.structs.replace(standard, **fields)


async def ask(store: Store, *slots: SlotRow, process_id: str = ME) -> None:
    writes = [
        msgspec.structs.replace(begin(each.instance_id, tenant=each.tenant), slots_asked=(each,))
        for each in slots
    ]
    id = f"ask {slots[0].instance_id}"
    await store.turns.commit(turn(id, *writes, process_id=process_id))


async def give_back(store: Store, *ids: str, version: int = 1) -> None:
    writes = [step(id, version, slots_released=(SlotKey(id),)) for id in ids]
    await store.turns.commit(turn(f"back {ids[0]}", *writes))


async def admit(store: Store, **settings: int) -> list[str]:
    """Pass until all is done; the instances that were granted a slot by then."""
    while not (await store.slots.admit(NOON, **settings)).is_done:
        pass
    return await holders(store)


async def holders(store: Store, tenant: str = "default") -> list[str]:
    return sorted(slot.instance_id for slot in await store.slots.held(tenant))


async def limit(store: Store, tenant: str = SERVICE, version: int = 1, **config: Any) -> None:
    row = ConcurrencyRow(
        tenant=tenant,
        document=msgspec.json.encode(config),
        version=version,
        changed_at=NOON,
    )
    assert await store.slots.put_config(row)


async def messages(store: Store) -> dict[str, Any]:
    found = await store.mailbox.claim(100)
    return {
        each.instance_id: msgspec.json.decode(each.input, type=Admitted | CancelAsked)
        for each in found
    }


async def test_so_many_are_granted_as_fit_and_the_first_come_first(store: Store) -> None:
    await ask(store, *(asked(f"i{n}", at=n, limit=2) for n in range(4)))
    assert await admit(store) == ["i0", "i1"]
    assert await messages(store) == {"i0": Admitted(number=1), "i1": Admitted(number=1)}
    assert await store.slots.admit(NOON) == Admission(0), "a pass that is repeated grants nothing"
    await give_back(store, "i0")
    assert await admit(store) == ["i1", "i2"]
    await give_back(store, "i1", "i2")
    assert await admit(store) == ["i3"]
    await give_back(store, "i3")
    assert await admit(store) == []
    assert await store.slots.counts(["global", "key:default/order/k"]) == {}


async def test_keys_have_slots_of_their_own(store: Store) -> None:
    await ask(store, *(asked(f"i{n}", at=n, limit=1, key=f"k{n % 2}") for n in range(4)))
    assert await admit(store) == ["i0", "i1"]
    await give_back(store, "i1")
    assert await admit(store) == ["i0", "i3"]


async def test_all_limits_hold_at_once(store: Store) -> None:
    await limit(store, globalMaxConcurrent=3, tenantLimits={"*": 2, "b": 5})
    await limit(store, "b", workflowTypeLimits={"order": 4})
    many = [asked(f"{tenant}{n}", at=n, tenant=tenant) for tenant in "ab" for n in range(4)]
    await ask(store, *many)
    await admit(store)
    assert await holders(store, "a") == ["a0", "a1"]
    assert await holders(store, "b") == ["b0"], "no more than three in all"
    await limit(store, version=2, globalMaxConcurrent=20, tenantLimits={"*": 2, "b": 5})
    await admit(store)
    assert await holders(store, "b") == ["b0", "b1", "b2", "b3"], "four of its type"
    await limit(store, version=3)
    await limit(store, "b", version=2)
    await admit(store)
    assert await holders(store, "a") == ["a0", "a1", "a2", "a3"], "without limits all are granted"


async def test_a_lowered_limit_ends_nothing_and_grants_nothing_above_it(store: Store) -> None:
    await limit(store, globalMaxConcurrent=3)
    await ask(store, *(asked(f"i{n}", at=n) for n in range(6)))
    assert await admit(store) == ["i0", "i1", "i2"]
    await limit(store, version=2, globalMaxConcurrent=1)
    await give_back(store, "i0", "i1")
    assert await admit(store) == ["i2"]
    await give_back(store, "i2")
    assert await admit(store) == ["i3"]


async def test_who_was_woken_goes_before_who_never_ran(store: Store) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, asked("i0"), asked("i1", at=1), asked("i2", at=2, rank_class=WOKEN))
    assert await admit(store) == ["i2"]


async def test_tenants_take_turns_by_their_weight(store: Store) -> None:
    shares = {"perTenantShare": {"b": 2}}
    await limit(store, globalMaxConcurrent=3, queue=shares)
    many = [asked(f"a{n}", at=n, tenant="a") for n in range(50)]
    many += [asked(f"b{n}", at=1_000 + n, tenant="b") for n in range(50)]
    await ask(store, *many)
    for _ in range(10):
        await admit(store, most=7)
        await give_back(store, *await holders(store, "a"), *await holders(store, "b"))
    await admit(store)
    left = [len(await store.slots.waiting(tenant)) for tenant in "ab"]
    assert left == [39, 28], "one of each three is of the tenant with half the weight"


async def test_a_row_is_looked_at_again_only_when_its_limit_has_room(store: Store) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, *(asked(f"i{n}", at=n, limit=1) for n in range(3)))
    await admit(store)
    waiting = await store.slots.waiting("default")
    assert {slot.blocked_on for slot in waiting} == {"key:default/order/k"}
    assert await store.slots.place(waiting[1]) == (2, 2)
    assert not (await store.slots.mark()).has_work


async def test_a_slot_that_is_asked_for_again_in_one_turn_is_given_back_once(store: Store) -> None:
    await ask(store, asked("i0", limit=1), asked("i1", at=1, limit=1))
    assert await admit(store) == ["i0"]
    again = asked("i0", at=5, limit=1, number=2)
    await store.turns.commit(turn("again", step("i0", 1, slots_asked=(again,))))
    assert await admit(store) == ["i1"]
    await give_back(store, "i1")
    assert await admit(store) == ["i0"]
    await give_back(store, "i0", version=2)
    await admit(store)
    assert await store.slots.counts(["global"]) == {}


async def test_an_instance_that_is_held_back_waits_and_a_promoted_one_goes_first(
    store: Store,
) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, *(asked(f"i{n}", at=n) for n in range(4)))
    await admit(store)
    assert await store.slots.hold("default", "i1")
    assert await store.slots.promote("default", "i3", moment(9))
    assert not await store.slots.promote("other", "i2", moment(9))
    assert not await store.slots.hold("default", "i0"), "it runs"
    await give_back(store, "i0")
    assert await admit(store) == ["i3"]
    await give_back(store, "i3")
    assert await admit(store) == ["i2"]
    await give_back(store, "i2")
    assert await admit(store) == []
    assert await store.slots.let_go("default", "i1")
    assert await admit(store) == ["i1"]


async def test_the_order_of_a_queue_can_be_changed_while_it_waits(store: Store) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, *(asked(f"i{n}", at=n, priority=n) for n in range(4)))
    assert await admit(store) == ["i0"]
    queue = {"order": "priority", "aging": "PT1S"}
    await limit(store, version=2, globalMaxConcurrent=1, queue=queue)
    await give_back(store, "i0")
    assert await admit(store) == ["i3"]


@pytest.mark.parametrize(
    ("on_full", "ended"),
    [
        ("reject", {"i1": "REJECTED", "i2": "REJECTED"}),
        ("replace-oldest", {"i0": "COLLAPSED"}),
        ("keep-newest", {"i1": "COLLAPSED"}),
    ],
)
async def test_what_becomes_of_starts_beyond_a_limit(
    store: Store, on_full: Any, ended: dict[str, str]
) -> None:
    for n in range(3):
        await ask(store, asked(f"i{n}", at=n, limit=1, on_full=on_full))
        await admit(store)
    found = await messages(store)
    assert {id: each.source for id, each in found.items() if isinstance(each, CancelAsked)} == ended


async def test_processes_that_admit_at_once_never_exceed_a_limit(shared_place: Place) -> None:
    first, second = [await shared_place.opened(name, shared=True) for name in ("p1", "p2")]
    await limit(first, globalMaxConcurrent=5)
    for n in range(0, 40, 2):
        await asyncio.gather(
            ask(first, asked(f"i{n:02}", at=n), process_id="p1"),
            ask(second, asked(f"i{n + 1:02}", at=n + 1), process_id="p2"),
        )
        await asyncio.gather(*(each.slots.admit(NOON) for each in (first, second)))
        assert len(await holders(first)) == min(5, n + 2)


async def test_a_request_that_is_withdrawn_while_it_is_granted_leaves_nothing(
    shared_place: Place,
) -> None:
    first, second = [await shared_place.opened(name, shared=True) for name in ("p1", "p2")]
    for n in range(10):
        id = f"i{n}"
        await ask(first, asked(id, limit=1), process_id="p1")
        write = step(id, 1, slots_released=(SlotKey(id),))
        await asyncio.gather(
            first.turns.commit(turn(f"back {id}", write, process_id="p1")),
            second.slots.admit(NOON),
        )
        while not (await second.slots.admit(NOON)).is_done:
            pass
        assert await holders(first) == []
        assert await first.slots.counts(["global"]) == {}


async def test_a_slot_of_an_instance_is_read_by_its_tenant_alone(store: Store) -> None:
    await ask(store, asked("i0", limit=1))
    [slot] = await store.slots.of("default", "i0")
    assert (slot.state, slot.keys) == ("waiting", asked("i0", limit=1).keys)
    assert isinstance(slot, Slot)
    assert await store.slots.of("other", "i0") == []
    assert await store.slots.depth() == 1


async def test_a_write_that_loses_asks_for_nothing(store: Store) -> None:
    await ask(store, asked("i0", limit=1))
    lost = aside("i0", version=0, slots_released=(SlotKey("i0"),))
    await store.turns.commit(turn("late", lost))
    assert await admit(store) == ["i0"]
