"""Debounced starts and rates of starts, on a virtual clock, also over the death of a process."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from tenuto.app import Tenuto
from tenuto.engine.turns.requests import Answer
from tenuto.engine.turns.turns import Turns
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.testing import Engine, Instance

CREATED, CANCELLED, COMPLETED = Status.CREATED, Status.CANCELLED, Status.COMPLETED


def flow(**options: Any) -> Object:  # noqa: ANN401 - whatever options there are
    step: Object = {"stepId": "s", "type": "DELAY", "duration": "PT1S"}
    return {"id": "flow", "steps": [step], "options": {**options}}


def statuses(*runs: Instance) -> list[Status]:
    return [each.status for each in runs]


def source(run: Instance) -> object:
    [asked] = [each for each in run.history if each["eventType"] == "CANCEL_REQUESTED"]
    payload = asked["payload"]
    assert isinstance(payload, dict)
    return payload["source"]


def explained(engine: Engine, run: Instance) -> Object:
    async def ask(app: Tenuto) -> Object:
        return await (await app.instance(run.id)).explain()

    found = engine.lives.ask(ask)
    assert found is not None
    causes = found["causes"]
    assert isinstance(causes, list)
    cause = causes[0]
    assert isinstance(cause, dict)
    return cause


def debounce(**more: str) -> Object:
    return flow(debounce={"period": "PT10S", "key": "{{ctx.input.k}}", **more})


@pytest.mark.parametrize("dies", [False, True])
def test_the_newest_of_debounced_starts_begins_at_its_moment(dies: bool) -> None:
    """`options.concurrency {limit, key, holdWhileWaiting, onFull: queue | reject | replace-oldest |
    keep-newest}` (`keep-newest`: of those that wait with the same key only the newest stays, the
    others end CANCELLED with source `COLLAPSED`), `options.debounce {period, key, max}`,
    `options.rate {limit, per, key}`."""
    with Engine() as engine:
        runs = [engine.start(debounce(), {"k": "a"})]
        other = engine.start("flow", {"k": "b"})
        for _ in range(2):
            engine.skip(seconds=6)
            runs.append(engine.start("flow", {"k": "a"}))
        assert statuses(*runs) == [CANCELLED, CANCELLED, CREATED]
        assert [source(run) for run in runs[:2]] == ["COLLAPSED", "COLLAPSED"]
        assert other.status is COMPLETED
        cause = explained(engine, runs[2])
        assert cause["kind"] == "timer"
        assert "debounced" in str(cause["message"])
        if dies:
            engine.recover()
        engine.skip(seconds=9)
        assert runs[2].status is CREATED
        engine.skip(seconds=1)
        assert runs[2].status is not CREATED, "at the moment, without a poll"
        assert runs[2].finished().status is COMPLETED


def test_starts_of_a_burst_are_debounced_however_late_they_are_decided_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where turns take longer than the period, each would begin by itself."""
    ask, behind = Turns.ask, count(0, 7)

    async def burst(app: Tenuto) -> list[asyncio.Task[object]]:
        async def decided_late(self: Turns, *given: Any) -> Answer:  # noqa: ANN401
            await app.engine.clock.sleep(next(behind))
            return await ask(self, *given)

        monkeypatch.setattr(Turns, "ask", decided_late)
        return [asyncio.ensure_future(app.start("flow", {"k": 1})) for _ in range(3)]

    with Engine() as engine:
        engine.deploy(debounce())
        starts = engine.lives.ask(burst)
        engine.skip(seconds=40)
        assert starts is not None
        assert all(each.done() for each in starts)
        assert sorted(statuses(*engine.instances)) == [CANCELLED, CANCELLED, COMPLETED]


def test_a_debounced_start_begins_at_the_latest_after_its_longest_time() -> None:
    with Engine() as engine:
        runs = [engine.start(debounce(max="PT15S"), {"k": 1})]
        for _ in range(3):
            engine.skip(seconds=4)
            runs.append(engine.start("flow", {"k": 1}))
        engine.skip(seconds=3)
        assert statuses(*runs[:3]) == [CANCELLED] * 3
        assert runs[3].status is not CREATED


def test_a_debounced_start_that_is_cancelled_never_begins() -> None:
    with Engine() as engine:
        run = engine.start(debounce(), {"k": 1})
        run.cancel()
        engine.skip(seconds=20)
        assert (run.status, run.path) == (CANCELLED, [])


@pytest.mark.parametrize("dies", [False, True])
def test_starts_beyond_a_rate_wait_until_their_moment(dies: bool) -> None:
    """`options.concurrency {limit, key, holdWhileWaiting, onFull: queue | reject | replace-oldest |
    keep-newest}` (`keep-newest`: of those that wait with the same key only the newest stays, the
    others end CANCELLED with source `COLLAPSED`), `options.debounce {period, key, max}`,
    `options.rate {limit, per, key}`."""
    with Engine() as engine:
        engine.deploy(flow(rate={"limit": 2, "per": "PT1M"}))
        runs = [engine.start("flow") for _ in range(5)]
        engine.skip(seconds=10)
        assert statuses(*runs) == [COMPLETED, COMPLETED, CREATED, CREATED, CREATED]
        cause = explained(engine, runs[4])
        assert cause["kind"] == "rate-limit"
        assert cause["message"] == (
            "position 3 of 3; rate:default/flow/: 2 of 2 have begun within 60 s"
        )
        soon, later = explained(engine, runs[2])["until"], cause["until"]
        assert (soon, later) == ("2026-01-01T00:01:00.000Z", "2026-01-01T00:02:00.000Z")
        if dies:
            engine.recover()
        engine.skip(seconds=49)
        assert statuses(*runs[2:]) == [CREATED] * 3
        engine.skip(seconds=2)
        assert CREATED not in statuses(*runs[:4])
        assert runs[4].status is CREATED
        runs[4].finished()
        assert statuses(*runs) == [COMPLETED] * 5


def test_a_wait_in_between_is_no_further_begin() -> None:
    waiting: Object = {
        "id": "waits",
        "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "go"}],
        "options": {"rate": {"limit": 1, "per": "PT1H"}},
    }
    with Engine() as engine:
        run = engine.start(waiting)
        engine.publish("go")
        assert run.status is COMPLETED


def test_a_debounced_and_rated_start_waits_for_both() -> None:
    with Engine() as engine:
        engine.deploy(flow(debounce={"period": "PT5S"}, rate={"limit": 1, "per": "PT1M"}))
        first = engine.start("flow")
        engine.skip(seconds=7)
        second = engine.start("flow")
        engine.skip(seconds=10)
        assert statuses(first, second) == [COMPLETED, CREATED]
        assert explained(engine, second)["kind"] == "rate-limit"
        engine.skip(seconds=60)
        assert second.status is COMPLETED
