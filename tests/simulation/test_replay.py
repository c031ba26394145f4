"""A decision depends on its arguments alone: what a run decided is decided again from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from itertools import count
from unittest.mock import patch

import pytest

from tenuto.core import attempt
from tenuto.engine.definitions.declared_tasks import DeclaredTasks
from tenuto.model.policy import Policies, RetryPolicy
from tenuto.store.parts.tasks import TaskRow
from tests.kit.breadth import breadth
from tests.kit.replay import Recorder, replay
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Declaration, Scenario, scenario_of, two_engines
from tests.kit.simulator.world import World
from tests.kit.workload import TASKS


def declaring(seed: int) -> Scenario:
    """A drawn scenario in which the tenant declares its tasks, and changes its mind."""
    scenario = scenario_of(seed)
    scenario.declarations = [
        Declaration(at=at, task=task, attempts=attempts)
        for at, attempts in ((0.0, 2), (2.0, 5), (10.0, 1))
        for task in TASKS
    ]
    return scenario


def replayed(scenario: Scenario) -> int:
    """How many decisions of a run were made again, with what they gave."""
    recorder = scenario.decide = Recorder()
    finished = World(scenario, InMemory(shared=scenario.engines > 1)).run()
    return sum(
        replay(instance.id, instance.document, recorder.calls[instance.id], instance.history)
        for run in (finished.run, *finished.others)
        for instance in run.instances
    )


KINDS = pytest.mark.parametrize("kind", [scenario_of, two_engines, declaring])


@KINDS
def test_what_was_decided_in_a_run_is_decided_again(kind: Callable[[int], Scenario]) -> None:
    assert replayed(kind(3)) > 20


@pytest.mark.slow
@KINDS
def test_what_was_decided_in_many_runs_is_decided_again(kind: Callable[[int], Scenario]) -> None:
    runs = breadth(3, 10)
    assert sum(replayed(kind(seed)) for seed in range(100, 100 + runs)) > 26 * runs


@pytest.mark.soak
@KINDS
def test_what_was_decided_is_decided_again_for_a_long_time(
    kind: Callable[[int], Scenario], seeds: Iterator[int]
) -> None:
    for seed in seeds:
        replayed(kind(seed))


@contextmanager
def policies_changed_in_place() -> Iterator[None]:
    """As they were once: a live object that every plan shares."""

    def swap(
        self: DeclaredTasks,
        tenant: str,
        rows: dict[str, TaskRow],
        digest: int,
        *,
        only: str | None = None,
    ) -> None:
        before = self._declared.get(tenant)
        plain(self, tenant, rows, digest, only=only)
        after = {task: self._declared[tenant].policy(task) for task in rows}
        if before is None:
            self._declared[tenant] = Policies(tasks=after, version=self._declared[tenant].version)
        else:
            before.tasks.update(after)  # type: ignore[attr-defined]
            self._declared[tenant] = before

    plain = DeclaredTasks._swap
    with patch.object(DeclaredTasks, "_swap", swap):
        yield


@contextmanager
def back_offs_that_count_calls() -> Iterator[None]:
    """A decision that depends on how many were made before it in the process."""
    calls = count()

    def backoff(policy: RetryPolicy, key: str, failures: int) -> timedelta:
        return plain(policy, key, failures) + timedelta(milliseconds=next(calls))

    plain = attempt.backoff
    with patch.object(attempt, "backoff", backoff):
        yield


@pytest.mark.parametrize("bug", [policies_changed_in_place, back_offs_that_count_calls])
def test_a_decision_that_depends_on_anything_else_is_seen(
    bug: Callable[[], AbstractContextManager[None]],
) -> None:
    with bug(), pytest.raises(AssertionError, match="@"):
        replayed(declaring(0))
