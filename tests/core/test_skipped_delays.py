"""Delays of test runs end when that is asked for; those of other instances do not."""

from __future__ import annotations

import pytest

from tenuto.core import Plan
from tenuto.core.deciding import STALE
from tenuto.core.delay import NO_DELAY, NOT_A_TEST_RUN
from tenuto.definition import compile_definition
from tenuto.model.entries import TimerFired
from tenuto.model.inputs import SkipDelayAsked, TimerDue, TimerKey, TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.model.test_run import TestRunSpec
from tests.core.drawing import delay, draw, task
from tests.core.play import Run, play
from tests.core.test_properties import check, check_end
from tests.core.wandering import wander
from tests.kit.breadth import breadth
from tests.kit.workload import Seeded, Taste, make_input, random_document


def rehearsed(document: JSON) -> Run:
    """A test run whose steps run for real."""
    run = play(document)
    run.plan = Plan(compile_definition(document), rehearsal=TestRunSpec(allows_effects=True))
    return run


def test_a_skipped_delay_is_over_and_the_log_says_who_skipped_it() -> None:
    run = rehearsed(draw("d>a", d=delay("P1D"))).start()
    due = run.timer(TimerKind.DELAY, "d")
    run.skip_delay("d")
    assert (run.step("d"), run.running, run.timers) == ("COMPLETED", ["a"], {})
    [fired] = [each for each in run.entries if isinstance(each, TimerFired)]
    assert fired.skipped_by == "ada"
    entries = len(run.entries)
    assert len(run.skip_delay("d").entries) == entries
    late = TimerDue(key=TimerKey(TimerKind.DELAY, "d"), due=due)
    assert refused(run.later(days=1), late) == STALE


def test_a_result_that_its_task_holds_back_is_released() -> None:
    run = rehearsed(draw("a>b", a=task(outputVariable="v"))).start().succeed("a", 7, delay=60_000)
    assert (run.skip_delay("a").running, run.ctx["v"]) == (["b"], 7)


def test_a_delay_of_a_paused_test_run_is_skipped_and_what_follows_waits() -> None:
    run = rehearsed(draw("d>a", d=delay("P1D"))).start().pause().skip_delay("d")
    assert (run.status, run.running) == (Status.PAUSED, [])
    assert run.resume().running == ["a"]


def test_the_delay_of_a_real_instance_is_not_skipped() -> None:
    run = play(draw("d>a", d=delay("P1D"))).start()
    assert refused(run, SkipDelayAsked(node="d", by="ada")) == NOT_A_TEST_RUN
    assert run.step("d") == "WAITING"


def test_what_is_in_no_delay_is_refused_with_what_is_in_one() -> None:
    run = rehearsed(draw("d>a b", d=delay("P1D"))).start()
    for name in ("a", "b", "nobody"):
        assert refused(run, SkipDelayAsked(node=name, by="ada")) == NO_DELAY
        assert run.rejection is not None
        assert run.rejection.message == f"{name} is not in a delay; in a delay: d"


@pytest.mark.parametrize("seed", range(breadth(6, 300)))
def test_a_test_run_whose_delays_are_skipped_comes_to_its_end(seed: int) -> None:
    document: Object = random_document(f"skipped-{seed}", Taste(largest=10))
    run = Run(document, check=check)
    run.plan = Plan(compile_definition(document), rehearsal=TestRunSpec(allows_effects=True))
    run.start(make_input(Seeded(f"skipped {seed}")))
    wander(run, Seeded(f"skipping {seed}"), restless=40)
    check_end(run)


def refused(run: Run, input: SkipDelayAsked | TimerDue) -> str:
    run._refusing = True
    before = len(run.entries)
    run.tell(input)
    run._refusing = False
    assert len(run.entries) == before
    assert run.rejection is not None
    return run.rejection.code
