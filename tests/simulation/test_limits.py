"""Limits hold at every instant, whatever goes wrong, and no slot is left when all is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from tenuto.core.deciding import Deciding
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.model.durations import epoch_ms
from tenuto.model.entries import NodeFailed
from tenuto.store.cold.port import Ask
from tenuto.store.parts.admission import Pass
from tenuto.store.parts.slot_rows import Slot
from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.breadth import breadth
from tests.kit.checker.record import Fields
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, LimitChange, Scenario, limited
from tests.kit.simulator.verdict import (
    assert_kept,
    counts_of,
    run_scenario,
    violations_of,
)
from tests.kit.workload import Behaviour, Cancel, plan_behaviours
from tests.kit.workload.drawing import document, edges, node, task

SEEDS = breadth(5, 400)
STEP = breadth(4, 1)
"""One in so many writes meets a fault of each kind."""


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_no_limit_is_exceeded_and_no_slot_is_lost(engines: int) -> None:
    """ "At no instant exceeded (rebuilt from the log by the independent checker), zero slots held
    at rest, also after kills".
    """
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        place = InMemory(shared=True) if engines > 1 else None
        finished = run_scenario(limited(seed, engines=engines), place)
        assert_kept(finished, f"limits on seed {seed} with {engines} engines")
        counts += counts_of(finished)
    crashes = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST)
    assert all(counts[str(each)] for each in crashes), f"vacuous: {counts}"
    ends = ("CANCELLED", "COMPLETED", "PAUSE_REQUESTED")
    assert all(counts[each] for each in ends), f"vacuous: {counts}"


def printing() -> Scenario:
    """Three instances that compete for one slot and one mutex; one is cancelled while it waits."""
    shape = {
        **document(
            "printing",
            [task("a"), node("w", "delay", duration="PT5S"), task("b", mutex="printer")],
            edges("a > w > b"),
        ),
        "workflowOptions": {"concurrency": {"limit": 1}},
    }
    steady = plan_behaviours(shape, "steady", failing_percent=0, calm=True)
    jobs = [Job(shape, {"k": n}, steady, [], f"key {n}") for n in range(4)]
    jobs[2].actions = [Cancel(50, "not needed")]
    return Scenario("printing", jobs, NoFaults())


def lowered() -> Scenario:
    """One keeps its slot while it waits; the limit that the others wait for is removed.

    Another one fails with its mutex in hand, for which the rest wait.
    """
    keeping = document(
        "keeping",
        [node("w", "eventWait", eventPattern="evt.wait")],
        [],
        concurrency={"limit": 9, "holdWhileWaiting": True},
    )
    shape = document("lowered", [task("a", mutex="m", retry={"maxAttempts": 1})], [])
    jobs = [Job(keeping, {"k": 9}, {}, [], "keeping")]
    for n in range(4):
        steady = plan_behaviours(shape, "steady", failing_percent=0, calm=True)
        if n == 1:
            steady["a", 1] = Behaviour("fail", 2_000, code="OUT", retryable=False)
        jobs.append(Job(shape, {"k": n}, steady, [], f"key {n}", at=1 + 0.2 * n))
    changes: list[Fields] = [{"globalMaxConcurrent": 1}, {}]
    limits = [
        LimitChange(at, {"": service, "default": {}})
        for at, service in zip((0.0, 10.0), changes, strict=True)
    ]
    return Scenario("lowered", jobs, NoFaults(), limits=limits)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST])
def test_a_crash_around_any_write_loses_no_slot(fault: Fault) -> None:
    """C8, "Concurrency permit lost when a waiting item was killed", C2 and C4: a process that dies
    between a release and the next grant, or between a grant and what it is for.
    """
    calm = printing()
    assert_kept(run_scenario(calm), "calm")
    assert isinstance(calm.fault_plan, NoFaults)
    writes = calm.fault_plan.writes
    assert writes > 20, "vacuous"
    first = list(Fault).index(fault) % STEP
    for number in range(1 + first, writes + 1, STEP):
        scenario = printing()
        scenario.fault_plan = AtWrite({number: fault})
        assert_kept(run_scenario(scenario), f"{fault} at write {number}")


def test_what_waits_for_a_limit_that_is_removed_runs() -> None:
    assert_kept(run_scenario(lowered()), "a limit is removed")


def limits_are_not_compared() -> AbstractContextManager[Any]:
    return patch.object(Pass, "_is_full", lambda *_: False)


def turns_take_what_is_not_there() -> AbstractContextManager[Any]:
    both = ExitStack()
    both.enter_context(patch("tenuto.store.memory.turns.has_room", lambda *_: True))
    both.enter_context(patch.object(FreeSlots, "take", lambda *_: True))
    return both


def instances_begin_without_a_slot() -> AbstractContextManager[Any]:
    return patch("tenuto.core.flow._is_held_up", lambda _d: False)


def rest_gives_nothing_back() -> AbstractContextManager[Any]:
    """Of one that waits, the log says that it has given its slot back, and the store does not."""
    return patch("tenuto.engine.turns.obligations.Obligations.release_slot", lambda *_: None)


def a_mutex_is_for_two() -> AbstractContextManager[Any]:
    is_full = Pass._is_full

    def is_full_of_two(self: Pass, key: str, slot: Slot) -> bool:
        return self._counts[key] > 1 if key.startswith("mutex:") else is_full(self, key, slot)

    return patch.object(Pass, "_is_full", is_full_of_two)


def releases_are_lost_on_the_way() -> AbstractContextManager[Any]:
    """What was given back is forgotten before it is counted, as by a process that dies between."""
    return _asks_differ({"freed_slots": ("freed_slots", {"limit": 0})})


def parked_rows_are_never_looked_at_again() -> AbstractContextManager[Any]:
    return patch.object(Pass, "_is_plainly_full", lambda *_: True)


def changed_limits_leave_what_is_parked() -> AbstractContextManager[Any]:
    nothing: tuple[str, dict[str, Any]] = ("counts_of", {"keys": []})
    return _asks_differ({"unpark_slots": nothing, "keys_parked_on": nothing})


def the_last_goes_first() -> AbstractContextManager[Any]:
    return patch("tenuto.engine.turns.slot_rows.epoch_ms", lambda at: -epoch_ms(at))


def a_failed_step_keeps_its_mutex() -> AbstractContextManager[Any]:
    """Only what completes gives it back."""
    has_mutex = Deciding._has_mutex
    return patch.object(
        Deciding,
        "_has_mutex",
        lambda self, entry: not isinstance(entry, NodeFailed) and has_mutex(self, entry),
    )


def counts_are_written_one_too_low() -> AbstractContextManager[Any]:
    """Two count at once, and each writes what it read and one more."""
    grant = Pass._grant

    def granted(self: Pass, slot: Slot) -> None:
        grant(self, slot)
        if len(self._granted) == 1:
            self._counts[slot.keys[-1]] -= 1

    return patch.object(Pass, "_grant", granted)


def _asks_differ(others: Mapping[str, tuple[str, dict[str, Any]]]) -> AbstractContextManager[Any]:
    """Statements of admission are replaced by others."""

    def asked(name: str, parameters: dict[str, Any]) -> Ask:
        return Ask(*others.get(name, (name, parameters)))

    both = ExitStack()
    for module in ("admission", "slots"):
        both.enter_context(patch(f"tenuto.store.parts.{module}.Ask", asked))
    return both


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "invariants"),
    [
        (limits_are_not_compared, {"I31"}),
        (turns_take_what_is_not_there, {"I31"}),
        (instances_begin_without_a_slot, {"I31"}),
        (rest_gives_nothing_back, {"I45", "I25"}),
        (a_mutex_is_for_two, {"I31"}),
        (releases_are_lost_on_the_way, {"I31"}),
        (parked_rows_are_never_looked_at_again, {"I32"}),
        (changed_limits_leave_what_is_parked, {"I32"}),
        (the_last_goes_first, {"I34"}),
        (a_failed_step_keeps_its_mutex, {"I25", "I32", "I45"}),
        (counts_are_written_one_too_low, {"I31"}),
    ],
)
def test_the_checker_sees_slots_that_are_wrong(
    bug: Callable[[], AbstractContextManager[Any]], invariants: set[str]
) -> None:
    found: set[str] = set()
    scenarios: list[Callable[[], Scenario]] = [printing, lowered]
    scenarios += [partial(limited, seed) for seed in range(5)]
    for scenario in scenarios:
        with bug():
            finished = run_scenario(scenario())
        found |= {each.invariant for each in violations_of(finished)}
        if found & invariants:
            break
    assert found & invariants, f"only {found}"
