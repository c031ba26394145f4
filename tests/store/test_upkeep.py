"""How much waits in a store, and what forgetting an instance takes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.job_protocol import JobKey, JobRow
from tenuto.store.outbox_protocol import Lifecycle
from tenuto.store.protocol import InstanceQuery, InstanceWrite, Ownership, Snapshot
from tenuto.store.upkeep_protocol import Depths
from tests.store.conftest import Handle
from tests.store.situations import (
    begin,
    dead_letter,
    mail,
    moment,
    step,
    timer,
    turn,
    update,
    wait,
)
from tests.store.test_outbox import listener, posting

pytestmark = pytest.mark.asyncio

JOB = JobRow(key=JobKey("i1", "a", "", 1), task_id="t", offered_at=moment(3))


def ended(id: str, *, status: Status = Status.COMPLETED, **fields: object) -> InstanceWrite:
    return replace(begin(id, **fields), update=update(status=status))


async def there(store: Handle) -> set[str]:
    return {row.id for row in (await store.instances(InstanceQuery(limit=99))).items}


async def test_an_empty_store_has_nothing_waiting(store: Handle) -> None:
    found = await store.depths(moment(0))
    assert replace(found, connections=0, connections_in_use=0) == Depths()


async def test_what_waits_is_counted_with_the_age_of_the_oldest(store: Handle) -> None:
    await store.put_listener(listener())
    told = replace(begin("i1"), lifecycle=Lifecycle(1, Status.RUNNING))
    owing = replace(
        told,
        timers_set=(timer("i1", 5), timer("i1", 7, "b"), timer("i1", 90, "c")),
        waits_opened=(wait("i1"),),
        jobs_offered=(JOB,),
        mail_sent=(mail("m1", "i2"),),
    )
    await store.commit(turn("t1", owing, ended("i2"), begin("i3", tenant="other")))
    await store.drained([], [posting("w1", "e1", at=4)])
    found = await store.depths(moment(10))
    letter = mail("m1", "i2").created_at
    assert replace(found, connections=0, connections_in_use=0, oldest_untold=None) == Depths(
        active=2,
        waits=1,
        mail=1,
        jobs=1,
        timers_due=2,
        untold=1,
        postings=1,
        oldest_mail=letter,
        oldest_job=moment(3),
        oldest_timer=moment(5),
        oldest_posting=moment(4),
    )
    [entry] = await store.entries("i1")
    assert found.oldest_untold is not None
    assert found.oldest_untold.timestamp() * 1000 == entry.at_ms


async def test_a_root_that_has_ended_goes_with_all_that_is_below_it(store: Handle) -> None:
    root = replace(ended("i1", key="k"), snapshot=Snapshot(version=1, state=b"{}"))
    child = ended("i2", parent_id="i1", root_id="i1")
    grandchild = ended("i3", parent_id="i2", root_id="i1", status=Status.FAILED)
    await store.commit(turn("t1", root, child, grandchild, ended("i4")))
    assert await store.erase_instances("default", ["i1", "nobody"]) == ["i1"]
    assert await there(store) == {"i4"}
    for id in ("i1", "i2", "i3"):
        assert await store.entries(id) == []
    assert await store.load(["i1"]) == {}
    again = await store.commit(turn("t2", begin("i5", key="k")))
    assert again.writes["i5"].outcome == "won", "a key goes with its instance"
    assert await store.erase_instances("default", ["i1"]) == []


async def test_what_was_erased_is_not_written_to(store: Handle) -> None:
    await store.commit(turn("t1", ended("i1")))
    await store.erase_instances("default", ["i1"])
    late = await store.commit(turn("t2", step("i1", 1)))
    assert late.writes["i1"].outcome == "lost"
    assert await store.entries("i1") == []


async def test_children_stay_until_their_root_goes(store: Handle) -> None:
    """No instance is pruned before its root."""
    child = ended("i2", parent_id="i1", root_id="i1")
    await store.commit(turn("t1", begin("i1"), child))
    assert await store.erase_instances("default", ["i1", "i2"]) == []
    assert await there(store) == {"i1", "i2"}


async def test_a_root_stays_while_anything_below_it_has_not_ended(store: Handle) -> None:
    running = begin("i2", parent_id="i1", root_id="i1")
    await store.commit(turn("t1", ended("i1"), running))
    assert await store.erase_instances("default", ["i1"]) == []


async def test_what_still_owes_something_stays(store: Handle) -> None:
    await store.put_listener(listener())
    owing = {
        "i1": replace(ended("i1"), jobs_offered=(JOB,)),
        "i2": replace(ended("i2"), timers_set=(timer("i2", 5),)),
        "i3": replace(ended("i3"), waits_opened=(wait("i3"),)),
        "i4": replace(ended("i4"), ownership=Ownership.TAKE),
        "i5": replace(ended("i5"), lifecycle=Lifecycle(1, Status.RUNNING)),
    }
    await store.commit(turn("t1", *owing.values(), ended("i6")))
    assert await store.erase_instances("default", [*owing, "i6"]) == ["i6"]
    assert await there(store) == set(owing)


async def test_an_instance_with_a_dead_letter_stays_unless_it_is_asked_for(store: Handle) -> None:
    await store.commit(turn("t1", replace(ended("i1"), dead_letters=(dead_letter("d1", "i1"),))))
    assert await store.erase_instances("default", ["i1"]) == []
    assert await store.erase_instances("default", ["i1"], with_dead_letters=True) == ["i1"]
    assert await store.dead_letters("default") == []


async def test_nobody_forgets_what_another_tenant_has(store: Handle) -> None:
    await store.commit(turn("t1", ended("i1", tenant="other")))
    assert await store.erase_instances("default", ["i1"]) == []
    assert await store.erase_instances("other", ["i1"]) == ["i1"]


async def test_a_dry_run_says_what_would_go_and_forgets_nothing(store: Handle) -> None:
    await store.commit(turn("t1", ended("i1"), begin("i2")))
    assert await store.erase_instances("default", ["i1", "i2"], dry_run=True) == ["i1"]
    assert await there(store) == {"i1", "i2"}
