"""Approvals under faults: a decision is never lost, never made twice, and exactly one wins."""

from __future__ import annotations

from functools import cache
from itertools import cycle, permutations
from pathlib import Path
from random import Random

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.breadth import breadth
from tests.kit.checker import counted
from tests.kit.checker.moments import moment_ms
from tests.kit.checker.record import Fields
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Scenario, job_of
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, status_of
from tests.kit.workload import (
    Action,
    Cancel,
    Decide,
    Pause,
    Resume,
    Retry,
    approval_shapes,
    plan_behaviours,
)

MODES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST)
INPUT = {"k": 5, "flag": True}
STEPS = {
    "one-decides": ("ask",),
    "first-decision-wins": ("ask2", "ask1"),
    "each-is-asked-for": ("ask", "ask"),
}


def decisions(shape: str, at_ms: int) -> list[Action]:
    """Somebody who may not, somebody who may, that person again, and another one too late."""
    found: list[Action] = []
    for number, step in enumerate(STEPS[shape]):
        at = at_ms + number * 1_500
        found += [
            Decide(at, step, "approved", "eve", (), "may not"),
            Decide(at + 300, step, "approved", "ann", (), "may"),
            Decide(at + 600, step, "approved", "ann", (), "twice"),
            Decide(at + 900, step, "rejected", "eve", ("boss",), "late"),
        ]
    return found


def job(shape: str, actions: list[Action]) -> Job:
    document = approval_shapes()[shape]
    steady = plan_behaviours(document, shape, failing_percent=0, calm=True)
    return Job(document, INPUT, steady, actions, "the key")


def runs_with(shape: str, at_ms: int, faults: dict[int, Fault], place: Place | None = None) -> int:
    fault_plan = AtWrite(faults)
    scenario = Scenario(shape, [job(shape, decisions(shape, at_ms))], fault_plan)
    finished = run_scenario(scenario, place)
    assert_kept(finished, f"runs_with({shape!r}, {at_ms}, {faults!r})")
    counts = counted(finished.run) + counts_of(finished)
    assert counts["decision approved"] + counts["decision rejected"] >= 1
    assert counts["decide refused"] >= 1, "vacuous: nobody was refused"
    return fault_plan.writes


@cache
def _writes_of(shape: str, at_ms: int) -> int:
    """How many durable writes there are without faults: counted once for all of them."""
    return runs_with(shape, at_ms, {})


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", approval_shapes())
def test_no_decision_reminder_or_escalation_is_lost_at_any_write(shape: str, mode: Fault) -> None:
    """The crash comes before or after every durable write, with reminders and an escalation on
    the way to the decision.
    """
    at_ms = 45_000 if shape == "one-decides" else 12_000
    for number in some_of(_writes_of(shape, at_ms), mode):
        runs_with(shape, at_ms, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_on_a_real_store_no_decision_is_lost_at_any_write(store: str, tmp_path: Path) -> None:
    """Each write has one of the faults, in turn."""
    modes = cycle(MODES)

    def writes(faults: dict[int, Fault]) -> int:
        folder = tmp_path / str(min(faults, default=0))
        folder.mkdir()
        place = InSqlite(folder / "store.db") if store == "sqlite" else InPostgres()
        return runs_with("one-decides", 33_000, faults, place)

    for number in range(1, writes({}) + 1, breadth(4, 1)):
        writes({number: next(modes)})


@pytest.mark.slow
def test_reminders_and_escalation_come_at_their_time() -> None:
    finished = run_scenario(Scenario("time", [job("one-decides", [])], NoFaults()))
    assert_kept(finished, "time")
    [instance] = finished.run.instances
    fired = [row for row in instance.history if row["eventType"] == "TIMER_FIRED"]
    opened = next(_at(row) for row in instance.history if row["eventType"] == "WAIT_OPENED")
    assert [(row["payload"]["kind"], _at(row) - opened) for row in fired] == [
        ("reminder", 5_000),
        ("reminder", 20_000),
        ("escalation", 30_000),
        ("reminder", 40_000),
    ]
    resolved = next(row for row in instance.history if row["eventType"] == "WAIT_RESOLVED")
    assert (resolved["payload"]["outcome"], _at(resolved) - opened) == ("timeout", 60_000)


RIVALS: tuple[Decide | Cancel, ...] = (
    Decide(0, "ask", "approved", "ann", (), "may"),
    Decide(0, "ask", "rejected", "eve", ("boss",), "may"),
    Cancel(0, "enough"),
)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_of_decision_deadline_and_cancel_exactly_one_wins(engines: int) -> None:
    """Around the moment of the deadline, in every order, by one engine and by two."""
    ends = set()
    jobs: list[Job] = []
    begins = 3_000
    for order in permutations(RIVALS):
        for shift in (-40, -2, -1, 0, 1, 2, 40):
            for gap in (0, 1):
                actions = [
                    _moved(each, begins + 60_000 + shift + gap * place)
                    for place, each in enumerate(order)
                ]
                made = job("one-decides", actions)
                made.key = f"{[type(each).__name__ for each in order]} {shift} {gap}"
                jobs.append(made)
    scenario = Scenario("rivals", jobs, NoFaults())
    scenario.engines = engines
    finished = run_scenario(scenario, InMemory(shared=engines > 1))
    assert_kept(finished, "rivals")
    for instance in finished.run.instances:
        rows = [row for row in instance.history if row["nodeId"] == "ask"]
        kinds = [row["eventType"] for row in rows]
        assert kinds.count("NODE_COMPLETED") + kinds.count("NODE_CANCELLED") == 1
        assert kinds.count("WAIT_RESOLVED") == kinds.count("NODE_COMPLETED")
        [last] = [row for row in rows if row["eventType"] in ("NODE_COMPLETED", "NODE_CANCELLED")]
        ends.add((last["payload"].get("handles") or ["cancelled"])[0])
    assert ends == {"approved", "rejected", "timeout", "cancelled"}


@pytest.mark.slow
def test_decisions_of_a_paused_instance_are_kept_and_of_a_failed_one_asked_for_again() -> None:
    document = approval_shapes()["one-decides"]
    steady = plan_behaviours(document, "paused", failing_percent=0, calm=True)
    paused: list[Action] = [
        Pause(5_000, None),
        Decide(6_000, "ask", "approved", "ann", (), "may"),
        Resume(90_000),
    ]
    late = approval_shapes()["one-decides"]
    late["id"] = "failing"
    late["edges"] = [each for each in late["edges"] if each.get("sourceHandle") != "timeout"]
    late["nodes"] = [each for each in late["nodes"] if each["id"] != "late"]
    again: list[Action] = [
        Decide(90_000, "ask", "approved", "ann", (), "late"),
        Retry(100_000),
        Decide(102_000, "ask", "approved", "ann", (), "may"),
    ]
    jobs = [
        Job(document, INPUT, steady, paused, "paused"),
        Job(late, INPUT, steady, again, "failed"),
    ]
    finished = run_scenario(Scenario("paused and failed", jobs, NoFaults()))
    assert_kept(finished, "paused and failed")
    assert {status_of(each) for each in finished.run.instances} == {"COMPLETED"}
    counts = counted(finished.run)
    assert (counts["decision approved"], counts["RETRY_REQUESTED"]) == (2, 1)


@pytest.mark.slow
def test_many_instances_that_ask_all_end_under_faults() -> None:
    random = Random("approvals")
    jobs = [
        job_of(f"{shape}-{number}", document, random)
        for shape, document in approval_shapes().items()
        for number in range(8)
    ]
    fault_plan = AtWrite({number: MODES[number % 3] for number in range(5, 200, 7)})
    finished = run_scenario(Scenario("many", jobs, fault_plan))
    assert_kept(finished, "8 of each")
    counts = counted(finished.run) + counts_of(finished)
    for name in ("decide ok", "decide refused", "fired reminder", "fired escalation"):
        assert counts[name] > 0, name


def _at(row: Fields) -> int:
    return moment_ms(row["at"]) or 0


def _moved(action: Decide | Cancel, at_ms: int) -> Action:
    if isinstance(action, Cancel):
        return Cancel(at_ms, action.reason)
    return Decide(at_ms, action.step, action.decision, action.by, action.roles, action.why)
