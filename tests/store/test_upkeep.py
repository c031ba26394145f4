"""How much waits in a store."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.outbox import Lifecycle
from tenuto.store.parts.turns import InstanceWrite
from tenuto.store.parts.upkeep import Depths
from tenuto.store.protocol import Store
from tests.store.situations import (
    begin,
    mail,
    moment,
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


async def there(store: Store) -> set[str]:
    return {row.id for row in (await store.instances.page(InstanceQuery(limit=99))).items}


async def test_an_empty_store_has_nothing_waiting(store: Store) -> None:
    found = await store.upkeep.depths(moment(0))
    assert replace(found, connections=0, connections_in_use=0) == Depths()


async def test_what_waits_is_counted_with_the_age_of_the_oldest(store: Store) -> None:
    await store.listeners.put(listener())
    told = replace(begin("i1"), lifecycle=Lifecycle(1, Status.RUNNING))
    owing = replace(
        told,
        timers_set=(timer("i1", 5), timer("i1", 7, "b"), timer("i1", 90, "c")),
        waits_opened=(wait("i1"),),
        jobs_offered=(JOB,),
        mail_sent=(mail("m1", "i2"),),
    )
    tried_out = replace(
        begin("i4", definition_id="~test:i4"),
        waits_opened=(wait("i4"),),
        jobs_offered=(replace(JOB, key=JobKey("i4", "a", "", 1)),),
    )
    await store.turns.commit(turn("t1", owing, ended("i2"), begin("i3", tenant="other"), tried_out))
    await store.outbox.drain([], [posting("w1", "e1", at=4)])
    found = await store.upkeep.depths(moment(10))
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
    [entry] = await store.instances.entries("i1")
    assert found.oldest_untold is not None
    assert found.oldest_untold.timestamp() * 1000 == entry.at_ms
