"""How much waits in a store."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.job_protocol import JobKey, JobRow
from tenuto.store.outbox_protocol import Lifecycle
from tenuto.store.protocol import InstanceQuery, InstanceWrite
from tenuto.store.upkeep_protocol import Depths
from tests.store.conftest import Handle
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
    tried_out = begin("i4", definition_id="~test:i4")
    await store.commit(turn("t1", owing, ended("i2"), begin("i3", tenant="other"), tried_out))
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
