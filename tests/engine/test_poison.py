"""Instances whose decisions are stopped: quarantined, named, and released."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tenuto import Conflict, Tenuto, TenutoError
from tenuto.core import Decision, InstanceState, Plan, decide, fold_all
from tenuto.engine.turns import loader
from tenuto.engine.turns.note import DecisionStopped
from tenuto.model.inputs import Input
from tenuto.model.json import Object
from tenuto.model.policy import Policies
from tests.engine.situations import at_rest, steps

pytestmark = pytest.mark.asyncio

QUARANTINED = "TEN-3013"
DEADLY, OTHER = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))
WAIT: Object = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"}
NAP: Object = {"stepId": "n", "type": "DELAY", "duration": "PT0.01S"}


class Deciding:
    """The core, in which decisions on some instances do not end."""

    def __init__(self) -> None:
        self.poisonous: set[str] = set()
        self.asked = 0
        self.stopped = asyncio.Event()

    def __call__(
        self, plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        if state.id in self.poisonous and state.version:
            self.asked += 1
            self.stopped.set()
            raise DecisionStopped  # as the watchdog's signal does
        return decide(plan, state, input, now, policies)


def poisoned(app: Tenuto) -> Deciding:
    """Plant a core into an app that is not open yet."""
    deciding = Deciding()
    turns = app.engine.turns
    turns._core = turns._core._replace(decide=deciding)
    for lane in turns.lanes:
        lane._drafter._core = turns._core
    return deciding


async def cause_of(app: Tenuto, id: str) -> Any:  # noqa: ANN401 - JSON
    explained: Any = await app.at(id).explain()
    return explained["causes"][0]


def working(url: str | None) -> Tenuto:
    """An app with the task of the workflows in here."""
    made = Tenuto(url)

    @made.task
    async def work() -> int:
        return 1

    return made


@pytest.fixture(params=["memory", "sqlite"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Tenuto:
    return working(None if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}")


async def test_a_decision_that_is_stopped_quarantines_its_instance_alone(app: Tenuto) -> None:
    deciding = poisoned(app)
    async with app:
        await app.deploy(steps("a", "b"))
        deciding.poisonous.add(DEADLY)
        await app.start("flow", {}, instance_id=DEADLY)
        for _ in range(3):
            await (await app.start("flow", {})).result(timeout=30)
        await app.engine.turns.settle()
        assert deciding.asked == 1, "it is not decided on again"
        assert (await cause_of(app, DEADLY))["kind"] == "quarantined"
        with pytest.raises(Conflict) as refused:
            await app.at(DEADLY).cancel()
        assert (refused.value.code, deciding.asked) == (QUARANTINED, 1)
        deciding.poisonous.clear()
        await app.at(DEADLY).retry()
        await app.at(DEADLY).result(timeout=30)


async def test_its_timers_do_not_wake_it_and_it_can_be_cancelled_once_released(
    app: Tenuto,
) -> None:
    deciding = poisoned(app)
    async with app:
        await app.deploy({"id": "nap", "steps": [{**NAP, "transitions": {"default": "w"}}, WAIT]})
        deciding.poisonous.add(DEADLY)
        await app.start("nap", {}, instance_id=DEADLY)
        await deciding.stopped.wait()
        await app.engine.turns.settle()
        assert (await cause_of(app, DEADLY))["kind"] == "quarantined"
        app.engine.effects.timekeeper.look()
        await app.engine.effects.timekeeper.run_once()
        await at_rest(app)
        assert deciding.asked == 1
        deciding.poisonous.clear()
        await app.at(DEADLY).retry()
        await app.at(DEADLY).cancel()
        assert (await app.at(DEADLY).status()).value == "CANCELLED"


async def test_what_is_quarantined_stays_so_over_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    app = working(url)
    deciding = poisoned(app)
    async with app:
        await app.deploy(steps("a", "b"))
        deciding.poisonous.add(DEADLY)
        await app.start("flow", {}, instance_id=DEADLY)
        await deciding.stopped.wait()
        await app.engine.turns.settle()
    again = working(url)
    deciding = poisoned(again)
    deciding.poisonous.add(DEADLY)
    async with again:
        await (await again.start("flow", {})).result(timeout=30)
        assert deciding.asked == 0
        deciding.poisonous.clear()
        await again.at(DEADLY).retry()
        await again.at(DEADLY).result(timeout=30)


@pytest.mark.parametrize("error", [DecisionStopped, ZeroDivisionError])
async def test_an_instance_whose_log_cannot_be_folded_is_named_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    async with Tenuto(url) as app:
        await app.deploy({"id": "w", "steps": [WAIT]})
        await app.start("w", {}, instance_id=DEADLY)
        await app.start("w", {}, instance_id=OTHER)
        await at_rest(app)

    def folded(plan: Plan, state: InstanceState, entries: Any) -> InstanceState:  # noqa: ANN401
        if state.id == DEADLY:
            raise error
        return fold_all(plan, state, entries)

    monkeypatch.setattr(loader, "fold_all", folded)
    async with Tenuto(url) as app:
        for ask in (app.at(DEADLY).cancel, app.at(DEADLY).status):
            with pytest.raises(TenutoError) as refused:
                await ask()
            assert refused.value.code == QUARANTINED
        assert (await app.at(OTHER).status()).value == "WAITING_FOR_EVENT"
        monkeypatch.undo()
        await app.at(DEADLY).retry()
        assert (await app.at(DEADLY).status()).value == "WAITING_FOR_EVENT"
        assert (await app.at(DEADLY).cancel()).value == "CANCELLED"


async def test_a_start_that_is_stopped_is_refused_and_leaves_nothing(app: Tenuto) -> None:
    class Stopping(Deciding):
        def __call__(self, *given: Any) -> Decision:  # noqa: ANN401
            raise DecisionStopped

    async with app:
        await app.deploy(steps("a"))
        for lane in app.engine.turns.lanes:
            lane._drafter._core = lane._drafter._core._replace(decide=Stopping())
        with pytest.raises(TenutoError) as refused:
            await app.start("flow", {}, instance_id=OTHER)
        assert refused.value.code == "TEN-4000"
        assert not app.engine.quarantine.held
