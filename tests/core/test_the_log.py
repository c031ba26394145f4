"""The log: what is written, in which order, under which numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tenuto.model.entries import EventType
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON
from tenuto.model.log import to_row
from tests.core.drawing import delay, draw, end, start, task, wait
from tests.core.play import ID, Run, play
from tests.semantics.sentences import sentences


def test_entries_are_numbered_without_holes() -> None:
    """Keyed `(instance, seq)`, `seq` from 1 without holes."""
    run = play(draw("s>a a>b", s=start())).start().succeed("a").succeed("b")
    rows = [to_row(seq, entry) for seq, entry in enumerate(run.entries, 1)]
    assert [row.seq for row in rows] == list(range(1, run.state.version + 1))


def test_every_entry_of_a_node_has_an_attempt_and_an_iteration() -> None:
    """Entries of a node carry `iteration` (`""`, `"2"`, nested `"2/0"`) and `attempt` ≥ 1: the
    attempt it is, or would have been; never null; unique on (instance, node, iteration,
    event type, attempt) for `NODE_*` types.
    """
    run = play(draw("a>b a>c c:timeout>d", c=wait(eventTimeout={"duration": "PT1H"})))
    run.start().fail("a", retryable=True).skip().succeed("a").lose("b").succeed("b").skip()
    rows = [to_row(seq, entry) for seq, entry in enumerate(run.succeed("d").entries, 1)]
    of_nodes = [row for row in rows if row.node_id is not None]
    assert len(of_nodes) == 14
    assert all(row.iteration == "" and row.attempt >= 1 for row in of_nodes)
    named = [row[1:5] for row in of_nodes if row.event_type.startswith("NODE_")]
    assert len(set(named)) == len(named)


def test_attempt_numbers_never_restart() -> None:
    """Attempt numbers never restart; a retry by hand raises them for every node it re-opens."""
    run = play(draw("a>b", a=task(retry={"maxAttempts": 9}))).start()
    run.fail("a", retryable=True).skip().lose("a").lose("a", clean=True)
    run.fail("a", retryable=True).skip().succeed("a")
    dispatched = [each for each in run.log if each.startswith("NODE_DISPATCHED a")]
    assert dispatched == [f"NODE_DISPATCHED a#{number}" for number in range(1, 6)]
    assert "NODE_COMPLETED a#5" in run.log


def test_the_kinds_of_entries_are_a_closed_list() -> None:
    """Event types, a closed list that UI and tools read: `INPUT_SET, SYSTEM_SET,
    NODE_DISPATCHED, NODE_COMPLETED, NODE_FAILED, NODE_SKIPPED, NODE_CANCELLED,
    NODE_CANCEL_REQUESTED, RETRY_SCHEDULED, WAIT_OPENED, WAIT_RESOLVED, TIMER_SET,
    TIMER_FIRED, MUTEX_REQUESTED, MUTEX_GRANTED, ITERATION_STARTED, ITERATION_ENDED,
    CHILD_STARTED, CHILD_ENDED, PAUSE_REQUESTED, RESUME_REQUESTED, CANCEL_REQUESTED,
    RETRY_REQUESTED, COMPENSATION_PLANNED, COMPENSATION_DISPATCHED, COMPENSATION_COMPLETED,
    COMPENSATION_FAILED, COMPENSATION_ENDED, STATUS_CHANGED`.
    """
    [listed] = [each.text for each in sentences() if each.text.startswith("Event types")]
    assert re.findall(r"[A-Z]+(?:_[A-Z]+)+", listed) == [kind.value for kind in EventType]


def test_what_each_node_writes() -> None:
    """What a node writes: NODE_DISPATCHED means that an attempt was ordered; a node that the
    core finishes by itself has NODE_COMPLETED only; a wait WAIT_OPENED, WAIT_RESOLVED,
    NODE_COMPLETED; a delay TIMER_SET, TIMER_FIRED, NODE_COMPLETED; every instance INPUT_SET,
    STATUS_CHANGED.
    """
    document = draw("s>t t>w w>d d>e", s=start(), w=wait(), d=delay("PT5S"), e=end())
    run = play(document).start().succeed("t").event("paid").skip()
    assert run.log == [
        "INPUT_SET",
        "STATUS_CHANGED RUNNING",
        "NODE_COMPLETED s#1",
        "NODE_DISPATCHED t#1",
        "NODE_COMPLETED t#1",
        "WAIT_OPENED w#1",
        "STATUS_CHANGED WAITING_FOR_EVENT",
        "WAIT_RESOLVED w#1 event",
        "NODE_COMPLETED w#1",
        "TIMER_SET d#1",
        "STATUS_CHANGED RUNNING",
        "TIMER_FIRED d#1",
        "NODE_COMPLETED d#1",
        "NODE_COMPLETED e#1",
        "STATUS_CHANGED COMPLETED",
    ]


def test_an_idempotency_key_is_the_same_on_every_attempt_and_nowhere_else() -> None:
    """`idempotencyKey = <instanceId>:<nodeId>[:<iteration>]`: the same on retries by policy,
    after a loss and by hand; new in a rerun; compensation has its own.
    """
    run = play(draw("a>b")).start()
    keys = [run.ledger.running[NodeKey("a")].idempotency_key]
    happenings: list[Callable[[], Run]] = [
        lambda: run.fail("a", retryable=True).skip(),
        lambda: run.lose("a"),
        lambda: run.lose("a", clean=True),
    ]
    for happen in happenings:
        happen()
        keys.append(run.ledger.running[NodeKey("a")].idempotency_key)
    assert keys == [f"{ID}:a"] * 4
    run.succeed("a")
    assert run.ledger.running[NodeKey("b")].idempotency_key == f"{ID}:b"


@pytest.mark.parametrize("output", [None, "", 0, False, [], {}])
def test_a_result_that_looks_like_nothing_is_a_result(output: JSON) -> None:
    run = play(draw("a>b", a=task(outputVariable="v"), b=task(input="{{ctx.v}}"))).start()
    run.succeed("a", output)
    assert run.news == ["NODE_COMPLETED a#1", "NODE_DISPATCHED b#1"]
    assert run.ledger.running[NodeKey("b")].input == output
    with run.refusing("TEN-3003"):
        run.succeed("a", output, attempt=1)
    with run.refusing("TEN-3003"):
        run.lose("a")
    assert run.succeed("b").count("NODE_DISPATCHED a#1") == 1


def test_a_result_that_comes_twice_is_recorded_once() -> None:
    run = play(draw("a>b")).start().succeed("a", 1)
    for output in (1, 2):
        with run.refusing("TEN-3003"):
            run.succeed("a", output, attempt=1)
    with run.refusing("TEN-3003"):
        run.fail("a", attempt=1)
    with run.refusing("TEN-3003"):
        run.succeed("b", attempt=2)
