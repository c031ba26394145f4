"""The hazards of the seed texts that concern the engine in one process, one test each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from tenuto.engine.engine import Engine
from tenuto.model.errors import InvalidDefinition
from tenuto.model.inputs import CancelAsked, PauseAsked, ResumeAsked, Started
from tenuto.model.status import TRANSITIONS, Status
from tenuto.store.errors import DataRefused
from tenuto.store.parts.turns import InstanceWrite, Outcome, Turn
from tenuto.testing.fault_plan import Fault, NoFaults
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import BEGIN, VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.checker.invariants.structure import TRANSITIONS as BY_THE_CHECKER
from tests.kit.checker.record import Fields
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.scenario import Job, Jump, Scenario
from tests.kit.simulator.tasks import ScriptedTasks
from tests.kit.simulator.verdict import assert_kept, run_scenario, run_seed, status_of
from tests.kit.simulator.world import Finished
from tests.kit.workload import Behaviour, Behaviours, Document, topologies
from tests.kit.workload.drawing import document, edges, node, task

INPUT: Fields = {"k": 5, "flag": True}
DONE = Behaviour("succeed", 1_000, {"value": 1})
TRY_AGAIN = Behaviour("fail", 100, code="FLAKY")


class CommitFault(NoFaults):
    """One fault, at the n-th commit."""

    def __init__(self, number: int, fault: Fault) -> None:
        super().__init__()
        self._number = number
        self._fault = fault

    def on_write(self, verb: str) -> Fault | None:
        if verb != "turns.commit":
            return None
        super().on_write(verb)
        return self._fault if self.writes == self._number else None


def run(
    shape: Document,
    behaviours: Behaviours,
    fault_plan: NoFaults | None = None,
    *,
    stops: tuple[float, ...] = (),
    jumps: tuple[Jump, ...] = (),
) -> Finished:
    job = Job(shape, INPUT, behaviours, [], "the key")
    scenario = Scenario(
        str(shape["id"]), [job], fault_plan or NoFaults(), jumps=list(jumps), stops=list(stops)
    )
    finished = run_scenario(scenario)
    assert_kept(finished, f"{shape['id']} with {behaviours}")
    return finished


def in_a_process(place: Place, main: Callable[[Engine], Awaitable[None]]) -> None:
    """Run `main` with an open engine in a simulated process."""
    loop = VirtualLoop(Random(1))
    clock = VirtualClock(loop, Wall())
    tasks = ScriptedTasks(clock, Ledgers(), lambda _id: {(step, 1): DONE for step in "abc"})
    ids = SeededIds(Random(1))

    async def whole() -> None:
        engine = Engine(place.store(), registry=tasks.registry(), clock=clock, ids=ids)
        await engine.open()
        await main(engine)
        await engine.close()

    try:
        loop.run_until_complete(whole())
    finally:
        loop.discard_tasks()


def rows_of(finished: Finished, event_type: str) -> list[Fields]:
    [instance] = finished.run.instances
    return [row for row in instance.history if row["eventType"] == event_type]


def ended(finished: Finished) -> list[str]:
    return [status_of(instance) for instance in finished.run.instances]


def test_z5_two_results_at_once_are_both_kept() -> None:
    """Z5: "dispatches the next step without saving the result in that branch … Result lost at the
    next load; lost update between parallel branches" → "Diamond with two results at once".
    """
    names = ("top", "arm0", "arm1", "bottom")
    finished = run(topologies()["diamond-and"], {(name, 1): DONE for name in names})
    completed = rows_of(finished, "NODE_COMPLETED")
    arms = [row for row in completed if row["nodeId"].startswith("arm")]
    assert len(arms) == 2
    assert arms[0]["at"] == arms[1]["at"], "vacuous: they did not come at once"
    assert [row["nodeId"] for row in completed].count("bottom") == 1


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST])
def test_z6_what_was_started_is_dispatched(fault: Fault) -> None:
    """Z6: "`startWorkflow`: persist, then dispatch … Started but never dispatched" → R3."""
    behaviours = {(name, 1): DONE for name in "abc"}
    finished = run(topologies()["linear"], behaviours, CommitFault(1, fault))
    assert finished.ledgers.counts()[fault] == 1
    assert ended(finished) == ["COMPLETED"]


def test_z8_two_transitions_at_once_make_one_history() -> None:
    """Z8: "reads and writes without version" → "Two transitions at once"."""
    place = InMemory()

    async def main(engine: Engine) -> None:
        id = await _started(engine)
        asked = (PauseAsked(by="a"), CancelAsked(by="b"), ResumeAsked(by="c"), PauseAsked(by="d"))
        answers = await asyncio.gather(*(engine.ask(id, each) for each in asked))
        accepted = [answer for answer in answers if answer.rejection is None]
        assert accepted
        final = await engine.final_state(id)
        assert final.state.status is Status.CANCELLED
        kinds = [row.event_type for row in await engine.store.instances.entries(id)]
        assert kinds.count("CANCEL_REQUESTED") == 1
        assert kinds.count("PAUSE_REQUESTED") <= kinds.count("RESUME_REQUESTED") + 1

    in_a_process(place, main)


@pytest.mark.parametrize("hostile", ["x'; DROP TABLE owners; --", '"status" = 1', "a.b[0]", "`"])
def test_z8_hostile_keys_stay_data(hostile: str, tmp_path: Path) -> None:
    """Z8: "column names joined from object keys … SQL injection" → "hostile keys"."""
    place = InSqlite(tmp_path / "tenuto.db")

    async def main(engine: Engine) -> None:
        given = {**INPUT, hostile: {hostile: hostile}}
        id = await _started(engine, given, key=hostile, correlation_id=hostile)
        held = await engine.final_state(id)
        assert held.state.status is Status.COMPLETED
        assert held.state.input == given
        assert held.state.correlation_id == hostile

    in_a_process(place, main)
    assert place.owners() == {}
    assert list(place.keys().values()) == [hostile]


def test_z9_what_was_marked_as_dispatched_runs() -> None:
    """Z9: "Dispatch marker written, then job pushed to an in-process queue … Crash: marked
    dispatched, never run" → "R3; marker must be the queue row itself".
    """
    fault_plan = CommitFault(2, Fault.CRASH_AFTER)
    finished = run(topologies()["linear"], {(name, 1): DONE for name in "abc"}, fault_plan)
    orders = [
        row["attempt"] for row in rows_of(finished, "NODE_DISPATCHED") if row["nodeId"] == "b"
    ]
    assert orders == [1, 2], "the order of b was durable, was lost, and was given again"
    ran = [call["attempt"] for call in finished.ledgers.effects if call["node"] == "b"]
    assert ran == [2]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_z10_an_entry_of_an_attempt_stands_once(store: str, tmp_path: Path) -> None:
    """Z10: "Unique index (instance, node, type, attempt) with a nullable attempt … NULLs count as
    distinct and duplicates are not stopped" → "Insert twice; must fail".
    """
    place: Place = InMemory() if store == "memory" else InSqlite(tmp_path / "tenuto.db")

    async def main(engine: Engine) -> None:
        id = await _started(engine)
        rows = await engine.store.instances.entries(id)
        assert all(row.attempt >= 1 for row in rows)
        again = next(row for row in rows if row.event_type == "NODE_DISPATCHED")
        write = InstanceWrite(
            instance_id=id, version=len(rows), rows=(again._replace(seq=len(rows) + 1),)
        )
        turn = Turn(id="again", process_id=engine.process_id, at=BEGIN, writes=(write,))
        try:
            result = await engine.store.turns.commit(turn)
        except DataRefused:
            pass
        else:
            assert result.writes[id].outcome is not Outcome.WON
        assert await engine.store.instances.entries(id) == rows

    in_a_process(place, main)


@pytest.fixture(scope="module")
def worlds() -> list[Finished]:
    """Twenty worlds, which several tests look at."""
    return [run_seed(seed) for seed in range(20)]


@pytest.mark.slow
def test_z12_a_key_is_of_one_step_of_one_instance(worlds: list[Finished]) -> None:
    """Z12: "Idempotency key `workflow:step` … Same for every iteration, re-run" → I17: "key equal
    over attempts, distinct over (node, iteration, kind)".
    """
    retried = 0
    iterations: set[str] = set()
    owners: dict[str, tuple[str, str, str]] = {}
    for seed, finished in enumerate(worlds):
        for call in finished.ledgers.effects:
            owner = (call["instance"], call["node"], call["iteration"])
            assert owners.setdefault(f"{seed} {call['key']}", owner) == owner
            assert call["key"] == ":".join(part for part in owner if part)
            retried += call["attempt"] > 1
            iterations.add(call["iteration"])
    assert retried > 20, "vacuous: hardly any second attempts"
    assert {"", "0", "1", "0/0"} <= iterations, "vacuous: hardly any iterations"


def test_z11_no_iteration_is_taken_for_a_repetition() -> None:
    """Z11: "Same index, no iteration column … Second loop iteration is taken for a duplicate and
    dropped" → "Loop of 3".
    """
    shape = document("three", [node("l", "loop", source=[1, 2, 3]), task("a")], edges("l:loop > a"))
    finished = run(shape, {("a", 1): DONE})
    assert [row["iteration"] for row in rows_of(finished, "ITERATION_ENDED")] == ["0", "1", "2"]
    ran = [call["key"].rpartition(":")[2] for call in finished.ledgers.effects]
    assert ran == ["0", "1", "2"]
    assert ended(finished) == ["COMPLETED"]


def test_z13_a_long_delay_outlives_a_restart() -> None:
    """Z13: "Start-up recovery fails every RUNNING instance idle for 5 min … Kills instances that
    legitimately wait or delay" → "10-minute delay across a restart".
    """
    shape = document("nap", [node("a", "delay", duration="PT10M"), task("b")], edges("a > b"))
    away = Jump(at=60.0, seconds=400.0)
    finished = run(shape, {("b", 1): DONE}, stops=(61.0,), jumps=(away,))
    assert finished.processes == 2
    assert ended(finished) == ["COMPLETED"]
    assert len(rows_of(finished, "TIMER_FIRED")) == 1


def test_z14_delays_and_retries_outlive_a_crash() -> None:
    """Z14: "Delays and retries by in-process timers … Gone on restart" → "R1 with delays"."""
    shape = document(
        "both",
        [
            task("a", "flaky", retry={"maxAttempts": 3}),
            node("near", "delay", duration="PT5S"),
            node("far", "delay", duration="PT40S"),
            task("b"),
        ],
        edges("a > b", "near > b", "far > b"),
    )
    behaviours = {("a", 1): TRY_AGAIN, ("a", 2): DONE, ("b", 1): DONE}
    finished = run(shape, behaviours, CommitFault(2, Fault.CRASH_AFTER))
    assert finished.ledgers.counts()[Fault.CRASH_AFTER] == 1
    assert len(rows_of(finished, "RETRY_SCHEDULED")) == 1
    assert len(rows_of(finished, "TIMER_FIRED")) == 2
    assert ended(finished) == ["COMPLETED"]


@pytest.mark.slow
def test_z15_the_log_is_the_whole_truth_in_its_own_order(worlds: list[Finished]) -> None:
    """Z15: "Completion writes no log row; context folded by log id … id order is not commit order"
    → I3: "fold(log) = stored row".
    """
    seen = 0
    for finished in worlds:
        for instance in finished.run.instances:
            assert [row["seq"] for row in instance.history] == list(
                range(1, len(instance.history) + 1)
            )
            last = instance.history[-1]
            assert last["eventType"] == "STATUS_CHANGED"
            assert last["payload"]["to"] == (instance.row or {})["status"]
            seen += 1
    assert seen > 30


@pytest.mark.parametrize(
    "name", ["__node_a", "__workflowDefinition", "__x", "input", "output", "item", "index", "last"]
)
def test_z16_control_names_are_refused(name: str) -> None:
    """Z16: "User output variables share the namespace of `__node_…`, `__workflowDefinition` … A
    user can forge a barrier" → "Output named with each control key: refused".
    """

    async def main(engine: Engine) -> None:
        forged = document("forged", [task("a", outputVariable=name)], [])
        with pytest.raises(InvalidDefinition):
            await engine.plans.save("default", forged)

    in_a_process(InMemory(), main)


@pytest.mark.slow
def test_z24_there_is_one_state_machine(worlds: list[Finished]) -> None:
    """Z24: "Status diagram and transition table disagree …; FAILED may go back to RUNNING … Unclear
    terminal rule" → "One state machine, generated tests for all pairs. I4".
    """
    for before in Status:
        for after in Status:
            assert (after in TRANSITIONS[before]) == (after in BY_THE_CHECKER[before])
    assert not TRANSITIONS[Status.COMPLETED]
    assert not TRANSITIONS[Status.CANCELLED]
    seen = {
        (Status(row["payload"]["from"]), Status(row["payload"]["to"]))
        for finished in worlds
        for instance in finished.run.instances
        for row in instance.history
        if row["eventType"] == "STATUS_CHANGED"
    }
    assert all(after in TRANSITIONS[before] for before, after in seen)
    assert len(seen) >= 8, f"vacuous: only {sorted(seen)}"


async def _started(
    engine: Engine,
    input: Fields = INPUT,
    *,
    key: str | None = None,
    correlation_id: str | None = None,
) -> str:
    deployed = await engine.plans.save("default", topologies()["linear"])
    answer = await engine.start(
        deployed.plan,
        Started(
            definition_id="linear",
            definition_version=deployed.version,
            input=input,
            correlation_id=correlation_id,
        ),
        key=key,
    )
    return answer.instance_id
