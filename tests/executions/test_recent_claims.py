"""What is kept of claims that were answered: no more, and no longer, than somebody may need."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto.api.call import Call, ClientGone
from tenuto.executions.recent_claims import ClaimKey, RecentClaims
from tenuto.model.executions import ClaimedTask, ReleasedTask
from tenuto.store.parts.jobs import JobKey, Lease
from tests.executions.stage import FLOW, LEASE, Stage, done, report

SECONDS = LEASE.total_seconds()


def key(number: int) -> ClaimKey:
    return ClaimKey("t", "w", f"r{number}")


def leases(*numbers: int) -> list[Lease]:
    return [Lease(JobKey(f"i{number}", "a", "", 1), 1) for number in numbers]


def test_a_claim_is_forgotten_with_the_last_of_its_leases() -> None:
    made = RecentClaims()
    made.remember(key(1), leases(1, 2), SECONDS, 0)
    made.forget(leases(1)[0])
    assert made.repeated(key(1)) == tuple(leases(2))
    made.forget(leases(2)[0])
    made.forget(leases(2)[0])
    assert (len(made), made.repeated(key(1))) == (0, ())


def test_leases_are_bounded_and_not_claims() -> None:
    made = RecentClaims(most=5)
    for number in range(4):
        made.remember(key(number), leases(2 * number, 2 * number + 1), SECONDS, 0)
    assert len(made) == 4
    assert [bool(made.repeated(key(number))) for number in range(4)] == [False, False, True, True]
    made.remember(key(3), leases(9), SECONDS, 0)
    assert len(made) == 3


def test_what_nobody_has_extended_in_time_is_forgotten() -> None:
    made = RecentClaims()
    for number in range(3):
        made.remember(key(number), leases(number), SECONDS, 0)
    made.extended(leases(0)[0], SECONDS - 1)
    made.remember(key(3), leases(3), SECONDS, SECONDS)
    assert [bool(made.repeated(key(number))) for number in range(4)] == [True, False, False, True]


def test_leases_are_put_back_once_no_answer_to_their_claim_may_have_been_heard() -> None:
    """A claim that was repeated, and unheard again, must not wait for the end of its leases."""
    made = RecentClaims()
    made.remember(key(1), leases(1, 2), SECONDS, 0)
    assert made.repeated(key(1)) == tuple(leases(1, 2))
    assert made.unheard(leases(1, 2)) == []
    assert made.repeated(key(1)) == tuple(leases(1, 2))
    assert made.unheard(leases(1, 2)) == []
    assert made.unheard(leases(1, 2)) == leases(1, 2)
    assert len(made) == 0


def test_a_desk_keeps_no_lease_that_was_reported_given_back_or_lost() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        for number in range(4):
            await stage.started(engine, FLOW)
            [task] = await broker.claim("default", "w1", ["ship"], lease=LEASE, request_id="r")
            mine = ReleasedTask(execution_id=task.execution_id, lease_token=task.lease_token)
            if number == 0:
                assert await report(broker, done(task)) == [None]
            elif number == 1:
                assert [each.error for each in await broker.release("default", [mine])] == [None]
                [again] = await broker.claim("default", "w2", ["ship"])
                assert await report(broker, done(again)) == [None]
            elif number == 2:
                await stage.clock.sleep(SECONDS + 1)
                [again] = await broker.claim("default", "w2", ["ship"])
                assert again.attempt == 2
            assert len(broker.recent_claims) == (1 if number >= 2 else 0)
        await engine.close()

    Stage().play(story)


def test_what_is_being_put_back_is_handed_to_nobody_who_asks_again() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, FLOW)
        may_grant, may_put_back = asyncio.Event(), asyncio.Event()
        granting, putting_back = engine.store.jobs.claim_for_worker, engine.store.jobs.put_back

        async def slow_grant(*given: Any) -> Any:  # noqa: ANN401 - as the store has it
            found = await granting(*given)
            await may_grant.wait()
            return found

        async def slow_put_back(*given: Any) -> None:  # noqa: ANN401 - as the store has it
            await may_put_back.wait()
            await putting_back(*given)

        engine.store.jobs.claim_for_worker = slow_grant  # type: ignore[method-assign, assignment]
        engine.store.jobs.put_back = slow_put_back  # type: ignore[method-assign, assignment]
        left = asyncio.create_task(broker.claim("default", "w1", request_id="r1"))
        await stage.clock.sleep(0.1)
        left.cancel()
        may_grant.set()
        await stage.clock.sleep(0.1)
        assert await broker.claim("default", "w1", request_id="r1") == []
        may_put_back.set()
        await stage.clock.sleep(0.1)
        [task] = await broker.claim("default", "w1", request_id="r1")
        assert await report(broker, done(task)) == [None]
        await engine.close()

    Stage().play(story)


def test_what_was_handed_out_again_is_not_put_back() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        await stage.started(engine, FLOW)
        unheard = await broker.claim("default", "w1", request_id="r1")
        await broker.put_back("default", unheard)
        unheard = await broker.claim("default", "w1", request_id="r2")
        [task] = await broker.claim("default", "w1", request_id="r2")
        await broker.put_back("default", unheard)
        assert await broker.claim("default", "w2") == []
        assert await report(broker, done(task)) == [None]
        await engine.close()

    Stage().play(story)


@pytest.mark.asyncio
async def test_a_claim_that_is_answered_to_nobody_is_put_back() -> None:
    leaving = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await leaving.wait()
        return {"type": "http.disconnect"}

    async def claim() -> list[ClaimedTask]:
        leaving.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return []

    put_back: list[list[ClaimedTask]] = []

    async def unheard(tasks: list[ClaimedTask]) -> None:
        put_back.append(tasks)

    call: Call[None] = Call.__new__(Call)
    call.receive = receive
    claiming = asyncio.ensure_future(claim())
    with pytest.raises(ClientGone):
        await call.while_connected(claiming, undelivered=unheard)
    assert not claiming.cancelled(), "both at the same moment"
    assert put_back == [[]]
