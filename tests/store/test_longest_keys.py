"""What may be as long as it can be is found by it in every store, also all of it together."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from msgspec.structs import replace

from tenuto.core.terms import INDEXED_BYTES
from tenuto.definition.flow import MOST_LOOPS
from tenuto.model.ids import LONGEST_ID
from tenuto.model.search_terms import LONGEST, SearchTerm
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.turns import MatchWrite, Searchable
from tenuto.store.parts.waits import WaitTerm
from tenuto.store.protocol import Store
from tests.store.situations import (
    NOON,
    begin,
    dead_letter,
    event,
    inbox,
    mail,
    node_entry,
    step,
    timer,
    turn,
    wait,
)

pytestmark = pytest.mark.asyncio

_RANDOM = Random(255)
ID = str(UUID(int=_RANDOM.getrandbits(128)))
NODE = "".join(_RANDOM.choice("abcdefghijklmnopqrstuvwxyz0123456789_-") for _ in range(64))
DEFINITION = "".join(_RANDOM.choice("abcdefghijklmnopqrstuvwxyz0123456789.:") for _ in range(128))
ITERATION = "/".join(str(_RANDOM.randrange(2**30, 2**31)) for _ in range(MOST_LOOPS))


def longest(count: int = LONGEST_ID) -> str:
    """Text of four bytes a character that cannot be compressed."""
    return "".join(chr(_RANDOM.randrange(0x10000, 0x110000)) for _ in range(count))


async def test_whatever_is_looked_up_may_be_as_long_as_it_can_be(store: Store) -> None:
    key, correlation_id, task_id = longest(), longest(), longest()
    paid = event(longest(), pattern=longest(), correlation_id=correlation_id)
    terms = longest(INDEXED_BYTES // 8), longest(INDEXED_BYTES // 8)
    place = {"node": NODE, "iteration": ITERATION}
    waiting = wait(ID, **place, pattern=paid.pattern, term_paths=terms[0], term_values=terms[1])
    letter = mail(f"{paid.id}/{ID}/{NODE}/{ITERATION}", ID)
    job = JobRow(key=JobKey(ID, NODE, ITERATION, 1), task_id=task_id, offered_at=NOON)
    matched = MatchWrite(
        event_id=paid.id,
        mail=(letter,),
        deliveries=(Delivery(paid.id, ID, NODE, ITERATION, "matched"),),
        resumed=1,
        matched_at=NOON,
    )
    begun = begin(
        ID,
        key=key,
        content_hash=b"1",
        definition_id=DEFINITION,
        correlation_id=correlation_id,
        current_steps=(NODE,),
    )
    gone_on = step(
        ID,
        1,
        node_entry(2, "NODE_DISPATCHED", NODE, iteration=ITERATION),
        timers_set=(timer(ID, 0, **place),),
        waits_opened=(waiting,),
        jobs_offered=(job,),
        dead_letters=(dead_letter(f"{ID}:{NODE}:{ITERATION}:1:task-failed:2", ID, **place),),
    )
    await store.turns.commit(turn("t1", begun, events=(paid,)))
    await store.turns.commit(turn("t2", gone_on))
    await store.turns.commit(turn("t3", matches=(matched,)))
    found = await store.instances.page(
        InstanceQuery(correlation_id=correlation_id, current_step=NODE)
    )
    assert [row.id for row in found.items] == [ID]
    [open_wait] = await store.waits.matching(
        "default", [WaitTerm(paid.pattern, *terms)], limit=10, after=None
    )
    assert open_wait.iteration == ITERATION
    assert [each.id for each in await store.mailbox.claim(10)] == [letter.id]
    assert [each.id for _, each in await inbox(store, paid.pattern)] == [paid.id]


async def test_a_value_that_instances_are_found_by_may_be_as_long_as_it_can_be(
    store: Store,
) -> None:
    tenant, value = "t" * 63, longest(LONGEST // 4)
    term = SearchTerm(longest(LONGEST // 4), value)
    searchable = Searchable(tenant=tenant, definition_id=DEFINITION, created_at=NOON, terms=(term,))
    begun = begin(ID, tenant=tenant, definition_id=DEFINITION)
    await store.turns.commit(turn("t1", replace(begun, searchable=searchable)))
    query = InstanceQuery(tenant=tenant, definition_id=DEFINITION, terms=(term,))
    assert [row.id for row in (await store.instances.page(query)).items] == [ID]
