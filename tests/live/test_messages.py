"""Which entries of a log are told to those who watch, as what, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import msgspec
import pytest

from tenuto.core import blank, fold_all
from tenuto.core.view import context_of
from tenuto.live.messages import (
    MOST_CONTEXT,
    MOST_OUTPUT,
    Message,
    changes_status,
    messages_of,
    node_messages,
)
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object
from tenuto.model.log import LogRow, from_row, to_rows
from tenuto.model.status import NodeStatus
from tests.core.drawing import draw, task
from tests.core.play import ID, Run
from tests.core.wandering import wander
from tests.golden.shelf import NAMES, stored
from tests.kit.workload import Seeded, Taste, make_input, random_document


def rows_of(run: Run) -> list[LogRow]:
    return to_rows(1, run.entries)


def read(messages: list[Message]) -> list[Object]:
    return [msgspec.json.decode(message.data) for message in messages]


def all_of(run: Run) -> list[Message]:
    return messages_of(run.plan, blank(ID), rows_of(run))[0]


def wandered(seed: int) -> Run:
    run = Run(random_document(seed, Taste(largest=12)), check=None)
    run.start(make_input(Seeded(seed)))
    wander(run, Seeded(seed), restless=40, retries=seed % 3)
    return run


def test_a_step_is_told_as_it_goes() -> None:
    """Socket messages are flat: `{"event": "workflow_node_update", "seq": n, "instanceID": …}`;
    they keep the seed's `instanceID/nodeID`, REST uses `instanceId/nodeId`; `contextData`
    is left out above 256 KB.
    """
    run = Run(draw("a"))
    run.start({"n": 1}).succeed("a", {"x": 2})
    node = {"event": "workflow_node_update", "instanceID": ID, "nodeID": "a", "iteration": ""}
    status = {"event": "workflow_status_update", "instanceID": ID}
    running, dispatched, completed, ended = read(all_of(run))
    assert running == status | {"seq": 2, "status": "RUNNING", "contextData": {"input": {"n": 1}}}
    assert dispatched == node | {"seq": 3, "status": "RUNNING", "output": None, "error": None}
    output = {"x": 2}
    assert completed == node | {"seq": 4, "status": "COMPLETED", "output": output, "error": None}
    assert ended["status"] == "COMPLETED"
    assert ended["contextData"] == context_of(run.plan, run.state)


def test_a_failure_is_told_with_its_error_and_what_becomes_of_it() -> None:
    run = Run(draw("a"))
    run.start({}).fail("a", "FIRST", retryable=True)
    run.later(seconds=60).fire().fail("a", "LAST")
    of_node = [each for each in read(all_of(run)) if each["event"] == "workflow_node_update"]
    assert [each["status"] for each in of_node] == ["RUNNING", "RETRYING", "RUNNING", "FAILED"]
    errors = [each["error"] for each in of_node]
    assert [error and error["code"] for error in errors if isinstance(error, dict)] == [
        "FIRST",
        "LAST",
    ]


def test_what_is_large_is_left_out() -> None:
    large = "x" * MOST_OUTPUT
    run = Run(draw("a>b", b=task(outputVariable="b")))
    run.start({}).succeed("a", large).succeed("b", "x" * MOST_CONTEXT)
    by_seq = {each["seq"]: each for each in read(all_of(run))}
    outputs = [each for each in by_seq.values() if each.get("status") == "COMPLETED"]
    assert ["output" in each for each in outputs[:2]] == [False, False]
    assert "contextData" not in outputs[-1]
    assert "contextData" in by_seq[2]


def cuts(rows: list[LogRow], random: Random) -> Iterator[list[LogRow]]:
    while rows:
        size = random.randint(1, 7)
        yield rows[:size]
        rows = rows[size:]


@pytest.mark.parametrize("seed", range(40))
def test_a_log_tells_the_same_however_it_is_cut(seed: int) -> None:
    run = wandered(seed)
    rows, whole = rows_of(run), all_of(run)
    assert [each.seq for each in whole] == sorted({each.seq for each in whole})
    state, pieces = blank(ID), list[Message]()
    for page in cuts(rows, Random(seed)):
        messages, after = messages_of(run.plan, state, page)
        if not changes_status(page):
            assert node_messages(ID, page) == messages
        pieces += messages
        state = after
    assert pieces == whole
    assert state.version == run.state.version
    for since in range(0, len(rows), 5):
        state = fold_all(run.plan, blank(ID), map(from_row, rows[:since]))
        rest = [each for each in whole if each.seq > since]
        assert messages_of(run.plan, state, rows[since:])[0] == rest


@pytest.mark.parametrize("seed", range(40))
def test_who_takes_in_every_message_knows_where_each_step_stands(seed: int) -> None:
    run = wandered(seed)
    known: dict[NodeKey, str] = {}
    for each in read(all_of(run)):
        if each["event"] == "workflow_node_update":
            known[NodeKey(str(each["nodeID"]), str(each["iteration"]))] = str(each["status"])
        else:
            known[NodeKey("", "")] = str(each["status"])
    assert known[NodeKey("", "")] == run.state.status
    for key, node in run.state.nodes.items():
        if node.status is not NodeStatus.PENDING:
            assert known[key] == node.status, key


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_log_can_be_told(name: str) -> None:
    story = stored(name)
    run = Run(story.definition)
    messages, state = messages_of(run.plan, blank(ID), story.rows)
    statuses = [each for each in read(messages) if each["event"] == "workflow_status_update"]
    assert statuses[-1]["status"] == story.folds_to["status"] == state.status
    assert statuses[-1]["contextData"] == story.folds_to["ctx"] or len(statuses) > 1
