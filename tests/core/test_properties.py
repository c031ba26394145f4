"""What holds of every instance of every document, whatever happens to it in whatever order.

1. It ends, once everything has happened that is outstanding.
2. Each node completes at most once in each iteration, and is either skipped or begun.
3. Nothing is dispatched after an end was asked for, and nothing at all follows the end, until a
   failed instance is retried.
4. When it completes, no node and no iteration is left over.
5. While it goes on, whatever may begin has begun, and whatever is over has ended, or a timer that
   is due at once goes on with it.
6. Equal inputs give equal logs.
7. The same workflow in another form gives the same log.
8. An iteration begins once, in the order of items, and ends once; in between, and only then, do its
   nodes begin; there are never more at once than the loop allows.
9. A report that is refused for good in one state is refused in every later one, and leaves nothing
   behind.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tenuto.core import Decision, InstanceState, blank, decide, fold
from tenuto.core.attempt import refused_for_good
from tenuto.core.deciding import GO_ON
from tenuto.core.rerun import following, reusable
from tenuto.definition import compile_definition, to_graph_form, to_steps_form
from tenuto.model.entries import (
    CancelRequested,
    Entry,
    IterationEnded,
    IterationStarted,
    NodeCompleted,
    NodeDispatched,
    NodeEntry,
    NodeFailed,
    NodeSkipped,
    RetryRequested,
    StatusChanged,
    TimerSet,
    WaitOpened,
)
from tenuto.model.graph import Loop
from tenuto.model.ids import NodeKey, around, index_of
from tenuto.model.inputs import TaskSucceeded
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.holding import check_new_entries, check_snapshot, folded
from tests.core.play import Run, decisions_of
from tests.core.wandering import wander
from tests.kit.breadth import breadth
from tests.kit.workload import Seeded, Taste, make_input, random_document, topologies
from tests.kit.workload.families import random_family
from tests.kit.workload.strategies import documents, inputs

SEEDS = st.integers(0, 2**32)
SMALL = Taste(largest=12)


def check(run: Run, before: InstanceState, decision: Decision) -> None:
    check_new_entries(run, before, decision)
    state = decision.state
    if decision.entries and not state.status.is_final:
        assert not state.is_unsettled or GO_ON in run.ledger.timers, "something is left over"


def walk(
    document: Object, input: Object, seed: int, *, restless: int = 30, retries: int = 0
) -> Run:
    run = Run(document, check=check)
    run.start(input)
    wander(run, Seeded(seed), restless=restless, retries=retries)
    return run


def check_end(run: Run) -> None:
    assert run.status.is_final
    check_each_node(run.entries)
    check_nothing_follows(run.entries)
    check_iterations(run)
    assert folded(run.plan, run.state.id, run.entries) == run.state
    check_snapshot(run.state, run.entries)
    if run.status is Status.COMPLETED and run.state.ending is None:
        at_the_top = {name for name, planned in run.plan.nodes.items() if planned.loop is None}
        assert {key.node for key in run.state.nodes if not key.iteration} == at_the_top
        assert (run.state.iterations, run.state.loops) == ({}, {})


def around_item(entry: NodeSkipped) -> NodeKey:
    """The loop of an item that never began."""
    return NodeKey(entry.node, around(entry.iteration))


def check_iterations(run: Run) -> None:
    started: Counter[NodeKey] = Counter()
    active: dict[NodeKey, set[str]] = {}
    for entry in run.entries:
        match entry:
            case IterationStarted():
                config = run.plan[entry.node].node.config
                assert isinstance(config, Loop)
                assert index_of(entry.iteration) == started[entry.loop]
                started[entry.loop] += 1
                now = active.setdefault(entry.loop, set())
                now.add(entry.iteration)
                assert len(now) <= (config.concurrency if config.is_parallel else 1)
            case IterationEnded():
                active[entry.loop].remove(entry.iteration)
            case NodeSkipped(reason="enough"):
                assert index_of(entry.iteration) >= started[around_item(entry)]
            case NodeDispatched() | WaitOpened() | TimerSet() | NodeSkipped() | NodeCompleted():
                loop = run.plan[entry.node].loop
                assert (loop is None) == (not entry.iteration)
                if loop is not None:
                    assert entry.iteration in active[NodeKey(loop, around(entry.iteration))]
            case _:
                pass
    if run.status is Status.COMPLETED and run.state.ending is None:
        assert not any(active.values())


def check_each_node(entries: list[Entry]) -> None:
    of_nodes = [
        entry
        for entry in entries
        if isinstance(entry, NodeEntry) and not isinstance(entry, IterationStarted | IterationEnded)
    ]
    completed = Counter(entry.key for entry in of_nodes if isinstance(entry, NodeCompleted))
    assert set(completed.values()) <= {1}
    skipped = Counter(entry.key for entry in of_nodes if isinstance(entry, NodeSkipped))
    assert set(skipped.values()) <= {1}
    assert not skipped.keys() & completed.keys()
    # What was re-opened may be passed over, as the attempt that it would have been.
    never_begun = {e.key for e in of_nodes if isinstance(e, NodeSkipped) and e.attempt == 1}
    begun = {entry.key for entry in of_nodes if not isinstance(entry, NodeSkipped)}
    assert not begun & never_begun


def check_nothing_follows(entries: list[Entry]) -> None:
    is_ending = is_paused = is_over = False
    for entry in entries:
        assert not is_over or isinstance(entry, RetryRequested)
        match entry:
            case RetryRequested():
                is_ending = is_over = False
            case CancelRequested():
                is_ending = True
            case NodeFailed(then="fail"):
                is_ending = True
            case NodeDispatched():
                assert not is_ending
                assert not is_paused
            case StatusChanged():
                is_over = entry.to.is_final
                is_paused = entry.to is Status.PAUSED
            case _:
                is_paused = is_paused and entry.event_type != "RESUME_REQUESTED"


def again(document: Object, run: Run) -> Run:
    """The same things happen to another instance."""
    other = Run(document, check=None)
    other._refusing = True
    for input, now, *_ in run.told:
        other.at(now).tell(input)
    return other


@pytest.mark.slow
@settings(max_examples=breadth(80, 1000), suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(SMALL), input=inputs(), seed=SEEDS)
def test_every_instance_ends_whatever_happens(document: Object, input: Object, seed: int) -> None:
    run = walk(document, input, seed)
    check_end(run)
    assert again(document, run).entries == run.entries


@pytest.mark.slow
@settings(max_examples=breadth(80, 1000), suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(SMALL), input=inputs(), seed=SEEDS)
def test_every_instance_that_is_retried_ends_too(
    document: Object, input: Object, seed: int
) -> None:
    run = walk(document, input, seed, retries=3)
    check_end(run)
    assert again(document, run).entries == run.entries


@pytest.mark.parametrize("seed", range(breadth(50, 600)))
def test_large_documents_end_too(seed: int) -> None:
    document = random_document(seed)
    check_end(walk(document, make_input(Seeded(seed)), seed, restless=60, retries=seed % 4))


@pytest.mark.parametrize("seed", range(breadth(50, 600)))
def test_instances_with_children_end_too(seed: int) -> None:
    document = random_family(seed, Taste(largest=20, smallest=4)).parent
    run = walk(document, make_input(Seeded(seed)), seed, restless=60, retries=seed % 4)
    check_end(run)
    assert again(document, run).entries == run.entries


@pytest.mark.parametrize("seed", range(breadth(50, 600)))
def test_a_decision_may_stop_anywhere(seed: int) -> None:
    document = random_document(seed, Taste(largest=30, smallest=8))
    with decisions_of(1 + seed % 7):
        run = walk(document, make_input(Seeded(seed)), seed, restless=60, retries=seed % 4)
        check_end(run)
        assert again(document, run).entries == run.entries


def test_a_loop_that_failed_with_its_instance_is_forgotten_with_the_iteration_around_it() -> None:
    """The instance is retried, goes on with the next item, and its state can be stored."""
    parts: list[JSON] = [{"n": n, "parts": [n]} for n in range(3)]
    late: Object = {
        "source": "arrivals",
        "onItemError": "continue",
        "timeout": "PT5M",
        "errorHandling": "fail_workflow",
        "when": "ctx.item.n > 0",
    }
    document: Object = {
        "id": "doc",
        "title": "doc",
        "nodes": [
            {"id": "n0", "type": "start", "config": {}},
            {"id": "n1", "type": "loop", "config": {"source": parts}},
            {"id": "n1b0", "type": "eventWait", "config": {"eventPattern": "evt.n1b0"}},
            {"id": "n1b1", "type": "loop", "config": late},
            {
                "id": "n1b1b0",
                "type": "approval",
                "config": {"assignees": {"users": ["ann"]}, "deadline": "PT10S"},
            },
        ],
        "edges": [
            {"upstreamNodeID": "n0", "downstreamNodeID": "n1"},
            {"upstreamNodeID": "n1", "downstreamNodeID": "n1b0", "sourceHandle": "loop"},
            {"upstreamNodeID": "n1", "downstreamNodeID": "n1b1", "sourceHandle": "loop"},
            {"upstreamNodeID": "n1b0", "downstreamNodeID": "n1b1"},
            {"upstreamNodeID": "n1b1", "downstreamNodeID": "n1b1b0", "sourceHandle": "loop"},
        ],
    }
    run = walk(document, {"k": 0, "flag": False, "items": []}, 0, retries=1)
    check_end(run)
    assert run.count("RETRY_REQUESTED") == 1, "vacuous"


@pytest.mark.slow
@settings(max_examples=breadth(80, 1000), suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(SMALL), input=inputs(), seed=SEEDS)
def test_every_rerun_ends_and_runs_nothing_twice(
    document: Object, input: Object, seed: int
) -> None:
    choices = Seeded(seed)
    earlier = walk(document, input, seed, retries=choices.below(2))
    steps = [name for name, planned in earlier.plan.nodes.items() if planned.loop is None]
    step = steps[choices.below(len(steps))]
    given = tuple(reusable(earlier.plan, earlier.state, earlier.entries, step))
    run = Run(document, check=check)
    run.start(input, rerun_of=earlier.state.id, reused=given)
    wander(run, Seeded(seed + 1), restless=30, retries=choices.below(2))
    check_end(run)
    taken_over = {each.node for each in given}
    dispatched = {e.node for e in run.entries if isinstance(e, NodeDispatched) and not e.iteration}
    assert not taken_over & dispatched
    assert not taken_over & following(run.plan, step)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_refused_for_good_is_refused_ever_after(seed: int) -> None:
    document = random_document(seed, Taste(largest=12))
    run = walk(document, make_input(Seeded(seed)), seed, restless=40, retries=seed % 4)
    reports = [
        TaskSucceeded(node=e.node, iteration=e.iteration, attempt=e.attempt, output=None)
        for e in run.entries
        if isinstance(e, NodeDispatched)
    ]
    over: set[TaskSucceeded] = set()
    state = blank(run.state.id)
    for entry in run.entries:
        state = fold(run.plan, state, entry)
        over |= {each for each in reports if refused_for_good(state, each) is not None}
        for report in over:
            decision = decide(run.plan, state, report, state.updated_at, run.policies)
            assert decision.rejection is not None
            assert decision.effects == ()
    completed = {e.node for e in run.entries if isinstance(e, NodeCompleted) and not e.iteration}
    assert completed & {each.node for each in reports} <= {each.node for each in over}


@pytest.mark.parametrize("name", topologies())
def test_the_twelve_topologies_end(name: str) -> None:
    for seed in range(20):
        check_end(walk(topologies()[name], {"k": seed, "flag": True}, seed))


def spoken(run: Run) -> list[str]:
    """The log without the names of handles: the steps form has its own for routes."""
    return [each.partition(" ->")[0] for each in run.log]


@pytest.mark.slow
@settings(max_examples=breadth(60, 600), suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(SMALL), input=inputs(), seed=SEEDS)
def test_every_form_of_a_workflow_gives_the_same_log(
    document: Object, input: Object, seed: int
) -> None:
    run = walk(document, input, seed)
    definition = compile_definition(document)
    forms = [to_graph_form(definition)]
    if len(definition.graph.starts) == 1:
        in_steps = to_steps_form(definition)
        forms += [in_steps, to_graph_form(compile_definition(in_steps))]
    for form in forms:
        other = again(form, run)
        assert spoken(other) == spoken(run)
        assert other.versions == run.versions
        assert other.status is run.status
