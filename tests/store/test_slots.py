"""Slots: a pass grants what fits, in order; what is given back is granted again, once."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from tenuto.model.durations import epoch_ms
from tenuto.model.inputs import Admitted, CancelAsked
from tenuto.model.slots import QueueConfig, rank_by_priority
from tenuto.store.parts.slot_rows import (
    MOST_EXAMINED,
    PROMOTED,
    SERVICE,
    WOKEN,
    Admission,
    ConcurrencyRow,
    KnownRoom,
    Slot,
    SlotKey,
    SlotRow,
)
from tenuto.store.parts.turns import Outcome
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


async def take(
    store: Store,
    *slots: SlotRow,
    changes: int = 0,
    limits: dict[str, int] | None = None,
    is_kept: bool = False,
) -> list[Outcome]:
    """Start instances that take their slots at once; their outcomes."""
    known = {slot.own_key: slot.own_limit for slot in slots if slot.own_key is not None}
    writes = [
        msgspec.structs.replace(begin(each.instance_id, tenant=each.tenant), slots_taken=(each,))
        for each in slots
    ]
    sent = turn(f"take {slots[0].instance_id}", *writes)
    room = KnownRoom(changes, known | (limits or {}), is_kept=is_kept)
    result = await store.turns.commit(msgspec.structs.replace(sent, slots=room))
    return [result.writes[slot.instance_id].outcome for slot in slots]


async def give_back(store: Store, *ids: str, version: int = 1, process_id: str = ME) -> None:
    writes = [step(id, version, slots_released=(SlotKey(id),)) for id in ids]
    await store.turns.commit(turn(f"back {ids[0]}", *writes, process_id=process_id))


async def admit(store: Store, most: int = MOST_EXAMINED) -> list[str]:
    """Pass until all is done; the instances that were granted a slot by then."""
    while not (await store.slots.admit(NOON, most=most)).is_done:
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
    assert await store.slots.put_configs([row], {tenant: version - 1})


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
    assert await store.slots.admit(NOON) == Admission(), "a pass that is repeated grants nothing"
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


async def test_limits_of_service_and_tenant_are_set_together_or_not_at_all(store: Store) -> None:
    def row(tenant: str, version: int) -> ConcurrencyRow:
        return ConcurrencyRow(tenant=tenant, document=b"{}", version=version, changed_at=NOON)

    both = [row(SERVICE, 1), row("a", 1)]
    assert await store.slots.put_configs(both, {SERVICE: 0, "a": 0})
    assert not await store.slots.put_configs([row(SERVICE, 2)], {SERVICE: 1, "a": 0})
    assert not await store.slots.put_configs([row(SERVICE, 2), row("a", 1)], {SERVICE: 1, "a": 0})
    found = {each.tenant: each.version for each in await store.slots.configs()}
    assert found == {SERVICE: 1, "a": 1}


async def test_a_lowered_limit_ends_nothing_and_grants_nothing_above_it(store: Store) -> None:
    """Lowering a limit below what runs ends nothing: nothing is granted until there is room."""
    await limit(store, globalMaxConcurrent=3)
    await ask(store, *(asked(f"i{n}", at=n) for n in range(6)))
    assert await admit(store) == ["i0", "i1", "i2"]
    await limit(store, version=2, globalMaxConcurrent=1)
    await give_back(store, "i0", "i1")
    assert await admit(store) == ["i2"]
    await give_back(store, "i2")
    assert await admit(store) == ["i3"]


async def test_who_was_woken_goes_before_who_never_ran(store: Store) -> None:
    """A slot is held while anything is in flight; an instance that only waits, sleeps or is paused
    gives it back (`concurrency.holdWhileWaiting: true` keeps it) and, once woken, comes before any
    CREATED one."""
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


@pytest.mark.parametrize("is_parked", [True, False], ids=["parked", "new"])
async def test_of_more_tenants_than_a_pass_looks_at_none_is_left_out(
    store: Store, is_parked: bool
) -> None:
    """A pass looks at 100 of each line: the others have their turn before any has its second,
    however much older the second is.
    """
    names = [f"t{n:03}" for n in range(130)]
    await limit(store, globalMaxConcurrent=0 if is_parked else 40)
    for each in range(2):
        rows = [
            asked(f"{name}-{each}", at=2 * n + each, tenant=name) for n, name in enumerate(names)
        ]
        await ask(store, *rows)
    if is_parked:
        await admit(store)
        await limit(store, version=2, globalMaxConcurrent=40)
    served: Counter[str] = Counter()
    while served.total() < 2 * len(names):
        granted: list[Any] = []
        is_done = False
        while not is_done:
            admission = await store.slots.admit(NOON)
            granted += admission.grants
            is_done = admission.is_done
        assert len(granted) == min(40, 2 * len(names) - served.total()), "no slot is left unused"
        served.update(each.tenant for each in granted)
        assert max(served.values()) - min(served[name] for name in names) <= 1
        await give_back(store, *(each.instance_id for each in granted))
    assert served == dict.fromkeys(names, 2)
    while not (await store.slots.admit(NOON)).is_done:
        pass
    assert await store.slots.counts(["global"]) == {}


async def test_tenants_behind_a_hundred_that_are_at_their_limit_are_looked_at(
    store: Store,
) -> None:
    await limit(store, tenantLimits={f"t{n:03}": 0 for n in range(220)})
    rows = [asked(f"i{n:03}", at=n, tenant=f"t{n:03}") for n in range(230)]
    await ask(store, *rows)
    granted: list[str] = []
    is_done = False
    while not is_done:
        # More rows than the lines of a pass have: those lines alone end it.
        admission = await store.slots.admit(NOON, most=1_000)
        granted += [each.tenant for each in admission.grants]
        is_done = admission.is_done
    assert sorted(granted) == [f"t{n:03}" for n in range(220, 230)]


async def pass_keeping(store: Store, at: int = 0) -> Admission:
    return await store.slots.admit(moment(at), keeps_slots=True)


async def test_some_slots_of_the_service_are_kept_for_tenants_that_had_none_of_the_newest(
    store: Store,
) -> None:
    """A tenant with a long queue holds not all of them: others would wait for its instances."""
    await limit(store, globalMaxConcurrent=9)
    await ask(store, *(asked(f"long {n:02}", at=n, tenant="long") for n in range(30)))
    made = await pass_keeping(store)
    assert len(await holders(store, "long")) == 7
    assert made.is_done
    assert made.kept == 2
    assert set(made.behind) == {"tenant:long"}
    await ask(store, asked("a1", at=40, tenant="a"), asked("a2", at=41, tenant="a"))
    await ask(store, asked("b1", at=42, tenant="b"), asked("c1", at=43, tenant="c"))
    await pass_keeping(store)
    held = [await holders(store, tenant) for tenant in ("a", "b", "c")]
    assert held == [["a1"], ["b1"], []], "one each, and never more than the limit"
    assert len(await holders(store, "long")) == 7
    await give_back(store, "long 00")
    await pass_keeping(store)
    assert await holders(store, "c") == ["c1"]
    assert len(await holders(store, "long")) == 6


async def test_a_tenant_that_holds_less_than_its_share_has_kept_slots_too(store: Store) -> None:
    """Also where another tenant, which asks for none, holds the others for long."""
    await limit(store, globalMaxConcurrent=8)
    await ask(store, *(asked(f"a{n}", at=n, tenant="a") for n in range(6)))
    await pass_keeping(store)
    await ask(store, *(asked(f"b{n}", at=10 + n, tenant="b") for n in range(9)))
    for given_back in (None, "b0", "b1"):
        if given_back:
            await give_back(store, given_back)
        await pass_keeping(store)
        assert len(await holders(store, "b")) == 2


async def test_a_long_queue_keeps_its_share_beside_tenants_that_take_kept_slots(
    store: Store,
) -> None:
    await limit(store, globalMaxConcurrent=8)
    await ask(store, *(asked(f"long {n:02}", at=n, tenant="long") for n in range(40)))
    await pass_keeping(store)
    known: dict[str, Any] = {"changes": (await store.slots.mark()).changes}
    known["limits"] = {"global": 8}
    for n in range(12):
        small = [asked(f"{name}{n}", at=50 + n, tenant=f"{name}{n}") for name in "ab"]
        took = [await take(store, slot, is_kept=True, **known) for slot in small]
        assert took == [[Outcome.WON], [Outcome.WON]]
        [first, *_] = await holders(store, "long")
        await give_back(store, first, *(slot.instance_id for slot in small))
        await pass_keeping(store)
        assert len(await holders(store, "long")) == 6


async def test_what_was_kept_is_granted_by_the_next_pass_that_keeps_nothing(store: Store) -> None:
    """Its moment is set, and a row says that there is work, should the process die before that."""
    await limit(store, globalMaxConcurrent=16)
    await ask(store, *(asked(f"i{n:02}", at=n) for n in range(20)))
    made = await pass_keeping(store, at=10_000)
    assert len(await holders(store)) == 12
    assert made.next_at == epoch_ms(moment(12_000))
    assert (await pass_keeping(store, at=10_500)).next_at == made.next_at
    assert (await store.slots.mark()).has_work
    assert len(await admit(store)) == 16
    assert not (await store.slots.mark()).has_work
    assert (await store.slots.admit(NOON)).next_at is None


async def test_a_small_limit_keeps_no_slot(store: Store) -> None:
    await limit(store, globalMaxConcurrent=7)
    await ask(store, *(asked(f"i{n:02}", at=n) for n in range(20)))
    assert (await pass_keeping(store)).next_at is None
    assert len(await holders(store)) == 7


async def test_slots_of_other_limits_are_not_kept(store: Store) -> None:
    await limit(store, tenantLimits={"*": 16})
    await ask(store, *(asked(f"i{n:02}", at=n) for n in range(20)))
    await pass_keeping(store)
    assert len(await holders(store)) == 16


@pytest.mark.parametrize("rank_class", [WOKEN, PROMOTED])
async def test_many_that_one_tenant_wakes_or_promotes_do_not_go_before_those_of_another(
    store: Store, rank_class: int
) -> None:
    """ "Work of one tenant (… event storms) cannot hold up another's"."""
    await limit(store, globalMaxConcurrent=2)
    many = [asked(f"a{n:02}", at=n, tenant="a", rank_class=rank_class) for n in range(20)]
    await ask(store, *many, asked("b0", at=900, tenant="b"), asked("b1", at=901, tenant="b"))
    for number in range(2):
        await admit(store)
        assert await holders(store, "b") == [f"b{number}"], "each tenant has its turn"
        await give_back(store, *await holders(store, "a"), *await holders(store, "b"))


async def test_pages_of_instances_that_wait_are_full_beside_steps_that_wait(store: Store) -> None:
    await limit(store, globalMaxConcurrent=0)
    mutex: dict[str, Any] = {
        "keys": ("mutex:default/m",),
        "own_key": "mutex:default/m",
        "own_limit": 0,
    }
    await ask(store, *(asked(f"s{n}", at=n, node="print", **mutex) for n in range(6)))
    await ask(store, *(asked(f"i{n}", at=10 + n) for n in range(3)))
    await ask(store, asked("z", at=20, definition_id="other"), asked("i3", at=21))
    assert len(await store.slots.waiting("default")) == 11
    first = await store.slots.waiting_instances("default", definition_id="order", limit=2)
    assert [slot.instance_id for slot in first] == ["i0", "i1"]
    rest = await store.slots.waiting_instances("default", after=first[-1].queue_place, limit=9)
    assert [slot.instance_id for slot in rest] == ["i2", "z", "i3"]


async def test_instances_of_a_workflow_are_numbered_among_all_that_wait(store: Store) -> None:
    await limit(store, globalMaxConcurrent=0)
    steps = [asked(f"s{n}", at=n, node="print", definition_id="b") for n in range(3)]
    names = {"i0": "a", "i1": "b", "i2": "a", "i3": "b", "i4": "a", "i5": "b"}
    rows = [asked(id, at=9, definition_id=names[id]) for id in names]
    await ask(store, *steps, *rows)
    slots = store.slots
    assert await slots.numbers("default", "b") == {"i1": 2, "i3": 4, "i5": 6}
    assert await slots.numbers("default", "b", limit=1) == {"i1": 2}
    assert await slots.numbers("default", "b", most=4) == {"i1": 2, "i3": 4}
    [first, second, third] = await slots.waiting_instances("default", definition_id="b")
    assert await slots.numbers("default", "b", after=first.queue_place) == {"i3": 2, "i5": 4}
    places = [await slots.place_in_queue(each, most=5) for each in (first, second, third)]
    assert places == [2, 4, None]


async def test_a_row_is_looked_at_again_only_when_its_limit_has_room(store: Store) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, *(asked(f"i{n}", at=n, limit=1) for n in range(3)))
    await admit(store)
    waiting = await store.slots.waiting("default")
    assert {slot.blocked_on for slot in waiting} == {"key:default/order/k"}
    assert await store.slots.place(waiting[1]) == (2, 2)
    assert not (await store.slots.mark()).has_work


async def test_a_request_that_was_parked_when_it_was_made_is_granted_once_its_limit_has_room(
    store: Store,
) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, asked("i0"))
    assert await admit(store) == ["i0"]
    await ask(store, asked("i1", at=1, blocked_on="global"), asked("i2", at=2))
    assert await admit(store) == ["i0"]
    waiting = await store.slots.waiting("default")
    assert [slot.blocked_on for slot in waiting] == ["global", "global"]
    assert not (await store.slots.mark()).has_work
    assert await take(store, asked("i3"), changes=1, limits={"global": 2}) == [Outcome.FULL]
    await give_back(store, "i0")
    assert await admit(store) == ["i1"]


async def test_a_request_that_was_parked_on_a_limit_with_room_is_found_by_the_next_pass(
    store: Store,
) -> None:
    """The process that parked it knew of other limits, or did not know of what was given back."""
    await limit(store, globalMaxConcurrent=1)
    room = KnownRoom(1, {}, {"global": 1})
    write = msgspec.structs.replace(begin("i0"), slots_asked=(asked("i0", blocked_on="global"),))
    await store.turns.commit(msgspec.structs.replace(turn("ask", write), slots=room))
    assert (await store.slots.mark()).has_work, "also where the process dies before its pass"
    assert await admit(store) == ["i0"]


async def test_a_store_with_one_writer_grants_what_a_turn_gives_back_with_that_turn(
    store: Store,
) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, *(asked(f"i{n}", at=n) for n in range(3)))
    assert await admit(store) == ["i0"]
    back = turn("back", step("i0", 1, slots_released=(SlotKey("i0"),)))
    result = await store.turns.commit(msgspec.structs.replace(back, admits=True))
    if not result.is_admitted:
        assert result.admission is None
        assert await admit(store) == ["i1"], "PostgreSQL leaves it to a pass"
        return
    assert result.admission is not None
    [grant] = result.admission.grants
    assert (grant.instance_id, grant.tenant, grant.input) == ("i1", "default", Admitted(number=1))
    assert await holders(store) == ["i1"]
    assert (await messages(store))["i1"] == Admitted(number=1), "also where the process dies then"
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


async def test_a_priority_times_aging_that_no_store_can_keep_counts_as_the_largest(
    store: Store,
) -> None:
    most = (1 << 31) - 1
    rows = [asked(f"i{n}", at=n, priority=p) for n, p in enumerate((-most, 0, 1, most, most))]
    await limit(store, globalMaxConcurrent=0, queue={"aging": "P100Y"})
    await ask(store, *rows)
    await admit(store)
    queue = {"order": "priority", "aging": "P100Y"}
    await limit(store, version=2, globalMaxConcurrent=0, queue=queue)
    await admit(store)
    waiting = await store.slots.waiting("default")
    assert [each.instance_id for each in waiting] == ["i3", "i4", "i2", "i1", "i0"]
    aging = QueueConfig(aging="P100Y").aging_ms
    ranks = {each.instance_id: each.rank for each in waiting}
    assert ranks == {
        each.instance_id: rank_by_priority(epoch_ms(each.asked_at), each.priority, aging)
        for each in rows
    }, "a turn computes the same"


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
    """`options.concurrency {limit, key, holdWhileWaiting, onFull: queue | reject | replace-oldest |
    keep-newest}` (`keep-newest`: of those that wait with the same key only the newest stays, the
    others end CANCELLED with source `COLLAPSED`), `options.debounce {period, key, max}`,
    `options.rate {limit, per, key}`."""
    for n in range(3):
        await ask(store, asked(f"i{n}", at=n, limit=1, on_full=on_full))
        await admit(store)
    found = await messages(store)
    assert {id: each.source for id, each in found.items() if isinstance(each, CancelAsked)} == ended


@pytest.mark.parametrize(("on_full", "ended"), [("reject", {"i1", "i2"}), ("keep-newest", {"i1"})])
async def test_of_starts_that_come_at_once_the_one_that_begins_is_not_ended(
    store: Store, on_full: Any, ended: set[str]
) -> None:
    await ask(store, *(asked(f"i{n}", at=n, limit=1, on_full=on_full) for n in range(3)))
    assert await admit(store) == ["i0"]
    found = await store.mailbox.claim(100)
    assert {each.instance_id for each in found if each.id.startswith("ended/")} == ended
    assert {each.instance_id for each in found if each.id.startswith("admitted/")} == {"i0"}


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_each_start_takes_the_place_of_another_that_runs(
    store: Store, *, is_at_once: bool
) -> None:
    starts = [asked(f"i{n}", at=n, limit=3, on_full="replace-oldest") for n in range(6)]
    await ask(store, *starts[:2])
    assert await admit(store) == ["i0", "i1"]
    for some in [starts[2:]] if is_at_once else [[each] for each in starts[2:]]:
        await ask(store, *some)
        await admit(store)
    found = await messages(store)
    sent = {id for id, each in found.items() if isinstance(each, CancelAsked)}
    if is_at_once:
        assert sent == {"i0", "i1"}, "the third one has only now begun"
    else:
        assert sent == {"i0", "i1", "i2"}


@pytest.mark.parametrize(("on_full", "ended"), [("reject", {"i1", "i2"}), ("keep-newest", {"i1"})])
async def test_a_start_that_waited_for_another_limit_is_a_start_where_its_own_is_full(
    store: Store, on_full: Any, ended: set[str]
) -> None:
    await limit(store, globalMaxConcurrent=0)
    await ask(store, *(asked(f"i{n}", at=n, limit=1, on_full=on_full) for n in range(3)))
    assert await admit(store) == []
    await limit(store, version=2, globalMaxConcurrent=9)
    assert await admit(store) == ["i0"]
    found = await messages(store)
    assert {id for id, each in found.items() if isinstance(each, CancelAsked)} == ended
    assert await store.slots.depth() == 2 - len(ended), "those do not wait any more"


@pytest.mark.parametrize(("on_full", "next_one"), [("reject", []), ("keep-newest", ["i2"])])
async def test_a_start_that_is_about_to_be_ended_gets_no_slot_meanwhile(
    store: Store, on_full: Any, next_one: list[str]
) -> None:
    """It was sent its end, and the message is not taken yet."""
    for n in range(3):
        await ask(store, asked(f"i{n}", at=n, limit=1, on_full=on_full))
        await admit(store)
    await give_back(store, "i0")
    assert await admit(store) == next_one


async def test_a_start_that_a_pass_ends_gets_no_slot_of_the_same_pass(store: Store) -> None:
    """The older of two versions of a definition has the higher limit."""
    await ask(store, asked("i0", limit=2))
    assert await admit(store) == ["i0"]
    older = asked("i1", at=1, limit=2, on_full="keep-newest")
    await ask(store, older, asked("i2", at=2, rank=0, limit=1, on_full="keep-newest"))
    assert await admit(store) == ["i0"]
    found = await store.mailbox.claim(100)
    assert {each.instance_id for each in found if each.id.startswith("ended/")} == {"i1"}
    assert {each.instance_id for each in found if each.id.startswith("admitted/")} == {"i0"}
    await give_back(store, "i0", "i1")
    assert await admit(store) == ["i2"]
    assert (await store.slots.counts(["key:default/order/k"])) == {"key:default/order/k": 1}


@pytest.mark.parametrize("on_full", ["reject", "replace-oldest", "keep-newest"])
async def test_one_that_was_woken_is_no_start_and_waits_for_its_limit(
    store: Store, on_full: Any
) -> None:
    """It has run before: neither is it ended, nor is another one for its sake."""
    await ask(store, asked("i0", limit=1, on_full=on_full))
    assert await admit(store) == ["i0"]
    await ask(store, asked("i1", at=1, limit=1, on_full=on_full, rank_class=WOKEN))
    await admit(store)
    if on_full == "keep-newest":
        await ask(store, asked("i2", at=2, limit=1, on_full=on_full))
        await admit(store)
    sent = await messages(store)
    assert [each for each in sent.values() if isinstance(each, CancelAsked)] == []
    await give_back(store, "i0")
    assert await admit(store) == ["i1"]


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


async def test_the_holders_and_the_lines_of_limits_are_those_of_a_tenant(store: Store) -> None:
    rows = [asked(f"i{n}", at=n, limit=2) for n in range(5)]
    await ask(store, *rows, asked("mine", at=9, limit=2, tenant="acme"))
    await admit(store)
    own, shared = "key:default/order/k", "tenant:default"
    for key in (own, shared):
        assert [each.instance_id for each in await store.slots.holders("default", key)] == [
            "i0",
            "i1",
        ]
        assert await store.slots.holders("acme", key) == []
    [first] = await store.slots.holders("default", own, limit=1)
    assert (first.instance_id, first.held_at) == ("i0", NOON)
    keys = [own, shared, "global"]
    assert await store.slots.lines("default", keys, 100) == {own: 3, shared: 0, "global": 0}
    assert await store.slots.lines("default", [own], 2) == {own: 2}
    assert await store.slots.lines("acme", [own], 100) == {own: 0}


async def test_a_child_whose_ancestors_hold_every_slot_of_its_limit_is_ended(store: Store) -> None:
    await ask(store, asked("p", limit=1))
    await admit(store)
    await ask(store, asked("c", at=1, limit=1, above=("p",)), asked("x", at=2, limit=1))
    await admit(store)
    found = await messages(store)
    ended = {id: each.source for id, each in found.items() if isinstance(each, CancelAsked)}
    assert ended == {"c": "DEADLOCK"}, "the other one waits for an end"


async def test_children_that_wait_for_each_others_parents_are_no_deadlock_for_ever(
    store: Store,
) -> None:
    await ask(store, asked("p1", limit=3), asked("p2", at=1, limit=3), asked("x", at=2, limit=3))
    await admit(store)
    await ask(store, asked("c1", at=3, limit=3, above=("p1",)))
    await ask(store, asked("c2", at=4, limit=3, above=("p2",)))
    await admit(store)
    assert not any(isinstance(each, CancelAsked) for each in (await messages(store)).values())
    await give_back(store, "x")
    await ask(store, asked("p3", at=5, limit=3))
    assert await admit(store) == ["c1", "p1", "p2"], "a slot that is free is for the first"
    await ask(store, asked("d", at=6, limit=3, above=("p1", "c1")))
    await admit(store)
    found = await messages(store)
    ended = {id for id, each in found.items() if isinstance(each, CancelAsked)}
    assert ended == {"d"}, "p1, c1 and p2 all wait for children that wait"


WON, FULL = Outcome.WON, Outcome.FULL


async def test_a_turn_takes_slots_where_there_is_room(store: Store) -> None:
    assert await take(store, asked("i0", limit=2), asked("i1", limit=2)) == [WON, WON]
    assert await holders(store) == ["i0", "i1"]
    assert await store.slots.counts(["key:default/order/k"]) == {"key:default/order/k": 2}
    assert await take(store, asked("i2", limit=2)) == [FULL]
    assert "i2" not in await store.turns.load(["i2"]), "nothing of it is written"
    await ask(store, asked("i2", limit=2))
    assert await admit(store) == ["i0", "i1"]
    await give_back(store, "i0", "i1")
    assert await admit(store) == ["i2"]


async def test_a_turn_takes_no_slot_before_those_that_wait(store: Store) -> None:
    assert await take(store, asked("i0", limit=1)) == [WON]
    await ask(store, asked("i1", limit=1))
    await admit(store)
    await give_back(store, "i0")
    assert await take(store, asked("i2", limit=1)) == [FULL]
    assert await admit(store) == ["i1"]
    await give_back(store, "i1")
    assert await admit(store) == []
    assert await take(store, asked("i3", limit=1)) == [WON], "nothing waits any more"


async def test_a_turn_takes_a_kept_slot_before_those_that_wait(store: Store) -> None:
    await limit(store, globalMaxConcurrent=8)
    await ask(store, *(asked(f"long {n:02}", at=n, tenant="long") for n in range(9)))
    await pass_keeping(store)
    known: dict[str, Any] = {"changes": (await store.slots.mark()).changes}
    known["limits"] = {"global": 8}
    slots = [asked(f"a{n}", at=20, tenant="a") for n in range(4)]
    assert await take(store, slots[0], **known) == [Outcome.FULL], "rows wait"
    took = [await take(store, slot, is_kept=True, **known) for slot in slots[1:]]
    assert took == [[Outcome.WON], [Outcome.WON], [Outcome.FULL]], "never more than the limit"
    assert len(await holders(store, "a") + await holders(store, "long")) == 8


async def test_a_limit_that_is_waited_for_no_longer_is_open_again(store: Store) -> None:
    assert await take(store, asked("i0", limit=1)) == [WON]
    await ask(store, asked("i1", limit=1))
    await admit(store)
    await give_back(store, "i1")
    await give_back(store, "i0")
    await ask(store, asked("i2", limit=1))
    assert await admit(store) == ["i2"]
    await give_back(store, "i2")
    await admit(store)
    assert await take(store, asked("i3", limit=1)) == [WON]


async def test_a_turn_takes_no_slot_under_limits_that_were_changed(store: Store) -> None:
    known = {"global": 5}
    await limit(store, globalMaxConcurrent=5)
    changes = (await store.slots.mark()).changes
    assert await take(store, asked("i0"), changes=changes, limits=known) == [WON]
    await limit(store, version=2, globalMaxConcurrent=1)
    assert await take(store, asked("i1"), changes=changes, limits=known) == [FULL]
    await limit(store, "b", workflowTypeLimits={"order": 4})
    later = (await store.slots.mark()).changes
    assert later == changes + 2, "also those of a tenant"
    assert await take(store, asked("i2"), changes=later, limits={"global": 1}) == [FULL]


async def test_a_slot_that_a_turn_takes_and_gives_back_is_counted_once(store: Store) -> None:
    slot = asked("i0", limit=1)
    write = msgspec.structs.replace(
        begin("i0"), slots_taken=(slot,), slots_released=(slot.slot_key,)
    )
    room = KnownRoom(0, {"key:default/order/k": 1})
    sent = msgspec.structs.replace(turn("t", write), slots=room)
    assert (await store.turns.commit(sent)).writes["i0"].outcome is WON
    assert await admit(store) == []
    assert await store.slots.counts(["global", "key:default/order/k"]) == {}
    assert await take(store, asked("i1", limit=1)) == [WON]
    other = asked("i2", limit=1)
    write = msgspec.structs.replace(
        begin("i2"), slots_taken=(other,), slots_released=(SlotKey("i2"),)
    )
    full = msgspec.structs.replace(turn("u", write), slots=room)
    assert (await store.turns.commit(full)).writes["i2"].outcome is FULL


async def test_a_start_that_finds_no_room_takes_no_other_along(store: Store) -> None:
    assert await take(store, asked("i0", limit=1)) == [WON]
    taking = msgspec.structs.replace(begin("i1"), slots_taken=(asked("i1", limit=1),))
    sent = turn("t", taking, begin("i2"))
    room = KnownRoom(0, {"key:default/order/k": 1})
    sent = msgspec.structs.replace(sent, slots=room)
    outcomes = {id: each.outcome for id, each in (await store.turns.commit(sent)).writes.items()}
    assert outcomes == {"i1": FULL, "i2": WON}
    again = {id: each.outcome for id, each in (await store.turns.commit(sent)).writes.items()}
    assert again == outcomes, "the answer may have been lost"


async def test_many_are_put_into_another_order_over_several_passes(store: Store) -> None:
    with patch("tenuto.store.parts.admission.MOST_RANKED", 2):
        await limit(store, globalMaxConcurrent=0)
        await ask(store, *(asked(f"i{n}", at=n, priority=n) for n in range(5)))
        await admit(store)
        queue = {"order": "priority", "aging": "PT1S"}
        await limit(store, version=2, globalMaxConcurrent=0, queue=queue)
        assert (await store.slots.mark()).has_work
        assert not (await store.slots.admit(NOON)).is_done
        await admit(store)
        assert not (await store.slots.mark()).has_work
    waiting = await store.slots.waiting("default")
    assert [each.instance_id for each in waiting] == ["i4", "i3", "i2", "i1", "i0"]
