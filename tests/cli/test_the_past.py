"""An instance as it was after an entry of its log, and loops that were cancelled."""

from __future__ import annotations

from tenuto import Tenuto
from tenuto.model.ids import NodeKey
from tenuto.model.json import Object
from tests.cli.conftest import Terminal, one_of_each
from tests.cli.waiting import until

CUT: Object = {
    "id": "cut",
    "nodes": [
        {"id": "start", "type": "START"},
        {
            "id": "parcels",
            "type": "LOOP",
            "config": {"source": "{{ctx.input}}", "mode": "parallel"},
        },
        {
            "id": "packed",
            "type": "EVENT_WAIT",
            "config": {
                "eventPattern": "packed",
                "eventCondition": "event.payload.n === ctx.item",
            },
        },
        {
            "id": "enough",
            "type": "EVENT_WAIT",
            "config": {"eventPattern": "enough", "cancels": ["parcels"]},
        },
        {"id": "late", "type": "EVENT_WAIT", "config": {"eventPattern": "late"}},
        {"id": "end", "type": "END"},
    ],
    "edges": [
        {"source": "start", "target": "parcels"},
        {"source": "start", "target": "enough"},
        {"source": "parcels", "target": "packed", "sourceHandle": "loop"},
        {"source": "enough", "target": "late"},
        {"source": "late", "target": "end"},
    ],
}


async def cut_short(app: Tenuto) -> None:
    """A loop over four items is cancelled after one of them; its instance goes on waiting."""
    await app.deploy(CUT)
    instance = await app.start("cut", [1, 2, 3, 4])
    await until(app, instance, lambda state: state.open_waits == 5)
    await app.publish("packed", {"n": 2})
    await until(app, instance, lambda state: state.open_waits == 4)
    await app.publish("enough")
    await until(app, instance, lambda state: NodeKey("late") in state.nodes)


def test_a_loop_that_was_cancelled_says_how_far_it_was(terminal: Terminal) -> None:
    terminal.past(cut_short)
    shown = terminal.call("show", "@last").out
    assert "cancelled 1 of 4 items" in " ".join(shown.split()), shown


def test_an_instance_is_shown_as_it_was_after_each_entry(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    id = terminal.call("list", "--status", "COMPLETED", "-o", "id").out.strip()
    now = terminal.call("show", id, "-o", "json").json
    count = len(terminal.call("show", id, "--history", "-o", "json").json["history"])
    then = [
        terminal.call("show", id, "--at", str(number), "-o", "json").json
        for number in range(1, count + 1)
    ]
    assert [each["status"] for each in then[:2]] == ["CREATED", "RUNNING"]
    assert then[-1] == {name: value for name, value in now.items() if name != "warnings"}
    text = terminal.call("show", id, "--at", "3", "--history")
    assert "as it was after entry 3 of its log" in text.err
    assert "log         3 entries" in text.out
    assert "NODE_DISPATCHED" in text.out
    assert "NODE_COMPLETED" not in text.out


def test_an_entry_that_is_not_there_is_refused(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    ended = terminal.call("show", "@last", "--at", "99")
    assert (ended.code, "the log has no entry 99" in ended.err.lower()) == (2, True)
