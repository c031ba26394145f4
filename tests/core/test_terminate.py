"""`terminate` ends the whole instance from within."""

from __future__ import annotations

import pytest

from tenuto.model.json import JSON
from tenuto.model.status import Status
from tests.core.drawing import delay, draw, end, start, task, terminate, wait
from tests.core.play import play


def test_terminate_ends_what_is_left_and_then_the_instance() -> None:
    """`terminate` ends what is left in the same way, then the instance."""
    document = draw("s>a s>b s>w a>t b>z", s=start(), w=wait(), t=terminate(output={"n": 1}))
    run = play(document).start().succeed("a")
    assert run.news == [
        "NODE_COMPLETED a#1",
        "NODE_COMPLETED t#1",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_CANCELLED w#1",
    ]
    assert run.succeed("b").news == ["NODE_COMPLETED b#1", "STATUS_CHANGED COMPLETED"]
    assert run.output == {"n": 1}
    assert run.step("z") == "PENDING"


def test_terminate_as_failed_is_a_failure_with_its_reason() -> None:
    """COMPLETED does not compensate; FAILED is a failure (`TERMINATED`, its `reason` in
    `lastError`).
    """
    document = draw("a>t", t=terminate("FAILED", reason="no {{ctx.input.what}} left"))
    run = play(document).start({"what": "stock"}).succeed("a")
    assert run.news == ["NODE_COMPLETED a#1", "NODE_COMPLETED t#1", "STATUS_CHANGED FAILED"]
    assert run.state.last_error is not None
    assert (run.code, run.state.last_error.message) == ("TERMINATED", "no stock left")
    assert run.state.last_error.step_id == "t"
    assert run.ledger.dead_letters == []
    without_a_reason = play(draw("t", t=terminate("FAILED"))).start()
    assert (without_a_reason.status, without_a_reason.code) == (Status.FAILED, "TERMINATED")


@pytest.mark.parametrize("output", [None, "", 0, False, [], {}, {"a": 1}])
def test_a_terminated_instance_gives_the_output_of_terminate(output: JSON) -> None:
    document = draw("s>e s>d d>t", s=start(), e=end({"x": 1}), d=delay("PT1S"))
    given = (
        draw("t", t=terminate(output=output)) if output is not None else draw("t", t=terminate())
    )
    assert play(given).start().output == output
    run = play(document | {"nodes": [*_nodes(document), {"id": "t", **terminate(output=9)}]})
    assert run.start().skip().output == 9, "and not what an end has collected"


def _nodes(document: dict[str, JSON]) -> list[JSON]:
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    return [node for node in nodes if isinstance(node, dict) and node["id"] != "t"]


def test_nothing_begins_beside_terminate() -> None:
    document = draw("s>t s>a s>b", s=start(), t=terminate())
    run = play(document).start()
    assert run.log[2:] == ["NODE_COMPLETED s#1", "NODE_COMPLETED t#1", "STATUS_CHANGED COMPLETED"]


def test_terminate_while_waiting_goes_through_running() -> None:
    document = draw("s>w s>u w>t", s=start(), w=wait(), u=wait("other"), t=terminate())
    run = play(document).start().event("paid")
    assert run.news == [
        "WAIT_RESOLVED w#1 event",
        "NODE_COMPLETED w#1",
        "NODE_COMPLETED t#1",
        "NODE_CANCELLED u#1",
        "STATUS_CHANGED RUNNING",
        "STATUS_CHANGED COMPLETED",
    ]


def test_a_first_terminate_counts() -> None:
    document = draw(
        "s>a s>b a>t b>u", s=start(), t=terminate(output=1), u=terminate("FAILED"), a=task()
    )
    run = play(document).start().succeed("a").succeed("b")
    assert run.output == 1
