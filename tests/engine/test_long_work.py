"""Instances that go on without tasks and waits: their turns are short beside others, and rest."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tenuto import StoreUnavailable, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.engine.definitions import plans
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.engine.test_runs.mocks import definition_of_test_run
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import Answer, Request
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.graph import Definition
from tenuto.model.inputs import CancelAsked
from tenuto.model.json import Object
from tenuto.model.test_run import Mock
from tenuto.store.memory import MemoryDisk
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.values import Start
from tests.core.drawing import draw, end
from tests.kit.scripted_store import ScriptedStore
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

ENDLESS: Object = {
    "id": "endless",
    "steps": [
        {
            "stepId": "again",
            "type": "LOOP",
            "while": "true",
            "maxIterations": 1_000_000,
            "transitions": {"loop": "noted"},
        },
        {"stepId": "noted", "type": "SET", "values": {"x": "{{1}}"}},
    ],
}
SHORT = Bounds().shared_entries
RUNS = 4


class Noting(ScriptedStore):
    """Notes the entries of each turn, and the tenants that rest while it is committed."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        super().__init__(disk, lanes=1)
        self.entries: list[int] = []
        self.resting: list[set[str]] = []
        self.sharing: Sharing | None = None

    async def on_turns_commit(self, call: Call) -> object:
        assert call.turn is not None
        self.entries.append(sum(len(write.rows) for write in call.turn.writes))
        self.resting.append(set() if self.sharing is None else set(self.sharing.resting))
        return await call()

    async def until_entries(self, count: int) -> None:
        """Wait until so many further turns were committed."""
        wanted = len(self.entries) + count
        while len(self.entries) < wanted:
            await turns(1)


def of(app: Tenuto, tenant: str) -> EngineWorkspace:
    return EngineWorkspace(app.engine, app.bulk_runner, tenant=tenant)


async def test_a_run_without_an_end_has_short_turns_beside_another_tenant_and_rests() -> None:
    store = Noting()
    app = Tenuto(store)
    sharing = store.sharing = app.engine.shared.sharing
    sharing._ticks = lambda: 0.0  # those at work stay so
    async with app, asyncio.timeout(60):
        storm, quiet = of(app, "storm"), of(app, "quiet")
        await storm.deploy(ENDLESS)
        await quiet.deploy(draw("d", d=end({})) | {"id": "short"})
        for _ in range(RUNS):
            await storm.start("endless", None)
        await store.until_entries(2)
        assert max(store.entries) > SHORT, "alone it has long turns"
        await quiet.start("short", None)
        before = len(store.entries)
        for _ in range(5):
            await quiet.start("short", None)
            await store.until_entries(2)
        beside = list(zip(store.entries[before:], store.resting[before:], strict=True))
        long = [resting for entries, resting in beside if entries >= SHORT]
        assert long, "it goes on"
        assert max(entries for entries, _ in beside) < SHORT + 20
        assert all(resting == {"storm"} for resting in long)


async def test_a_stop_ends_between_the_parts_of_runs_without_an_end() -> None:
    """What a decision leaves over would be reported as long as the engine waits to be at rest."""
    disk = MemoryDisk()
    store = Noting(disk)
    app = Tenuto(store)
    await app.open()
    await app.deploy(ENDLESS)
    for _ in range(RUNS):
        await app.start("endless", None)
    await store.until_entries(2)
    before = len(store.entries)
    app.engine.effects.stop()  # as a stop does before it waits for what is left
    await turns(1_000)
    assert len(store.entries) - before <= RUNS + 2
    await app.close()
    again = Noting(disk)
    async with Tenuto(again), asyncio.timeout(60):
        await again.until_entries(2 * RUNS)
        assert max(again.entries) > SHORT, "they go on"


async def test_a_stop_ends_between_mocked_steps_of_a_test_run() -> None:
    """Their results come at once, so that the engine would not be at rest either."""
    store = Noting()
    app = Tenuto(store)
    await app.open()
    body: Object = {"stepId": "noted", "type": "TASK", "taskId": "work"}
    document: Object = {**ENDLESS, "steps": [ENDLESS["steps"][0], body]}  # type: ignore[index]
    await app.test_runs.start(document, mocks={"noted": Mock(output=1)})
    await store.until_entries(5)
    before = len(store.entries)
    app.engine.effects.stop()
    await turns(1_000)
    assert len(store.entries) - before <= 3
    await app.close()


def asked(tenant: str, number: int, *, is_gone: bool = False) -> Request:
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    if is_gone:
        future.cancel()
    return Request(f"{tenant}-{number}", CancelAsked(by="x"), future=future, tenant=tenant)


async def test_starts_and_commands_whose_senders_are_gone_are_not_decided_on_at_a_stop() -> None:
    intake = Intake(Bounds())
    for number in range(10):
        intake.ask(asked("a", number, is_gone=number % 2 == 0))
    promised = Request("a-promised", CancelAsked(by="x"), tenant="a")
    intake.report(promised)
    intake.drop_unawaited()
    left = intake.take().requests
    assert promised in left
    assert len(left) == 1 + 5


async def test_new_requests_of_tenants_with_long_decisions_are_refused_and_no_others() -> None:
    intake = Intake(Bounds())
    requests = [asked(tenant, number) for tenant in ("storm", "quiet") for number in range(3)]
    for request in requests:
        intake.ask(request)
    intake.refuse_new_of({"storm"}, StoreUnavailable("it stops"))
    refused = [each.tenant for each in requests if each.future is not None and each.future.done()]
    assert refused == ["storm"] * 3
    assert {each.tenant for each in intake.take().requests} == {"quiet"}
    for each in requests[:3]:
        assert each.future is not None
        assert isinstance(each.future.exception(), StoreUnavailable)


async def test_starts_with_costly_rules_are_refused_when_the_process_stops() -> None:
    app = Tenuto()
    app.task(name="nothing")(lambda: None)
    async with app, asyncio.timeout(60):
        await app.deploy(
            {"id": "w", "steps": [{"stepId": "a", "type": "TASK", "taskId": "nothing"}]}
        )
        queue: Object = {"order": "priority", "bound": 1_000}
        await app.limits.set({"globalMaxConcurrent": 1, "queue": queue})
        await app.limits.add_rule(
            "ctx.input.map(x => x + 1).includes(-1)", priority=1, confirm=True
        )
        batch = [Start(workflow="w", input=[1] * 3_000) for _ in range(20)]
        starting = asyncio.ensure_future(app.start_many(batch))
        await turns(5)
        app.engine.leave_long_requests()
        refused = [each for each in await starting if isinstance(each, StoreUnavailable)]
    assert len(refused) > 10


async def test_the_plan_of_a_large_test_run_is_made_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made_in: list[int] = []
    make = definition_of_test_run

    def noted(definition: Definition, instance_id: str) -> Definition:
        made_in.append(threading.get_ident())
        return make(definition, instance_id)

    monkeypatch.setattr(plans, "definition_of_test_run", noted)
    async with Tenuto() as app:
        await app.test_runs.start(
            {"id": "large", "steps": [{"stepId": "a", "type": "SET", "values": {"x": "y" * LARGE}}]}
        )
    assert len(made_in) == 1
    assert threading.get_ident() not in made_in
