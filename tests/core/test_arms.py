"""A wait for whichever of several events comes first."""

from __future__ import annotations

from tenuto.model.entries import WaitOpened, WaitResolved
from tenuto.model.events import Event
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import arms, box, draw, start, task, wait
from tests.core.play import BEGIN, Run, play

TWO = draw("w:paid>a w:refused>b w:timeout>c", w=arms("order.paid", "order.refused"))
MATCHING: list[JSON] = [
    {
        "id": "mine",
        "eventPattern": "order.*",
        "eventCondition": "event.payload.id === ctx.input.id",
        "eventPayloadMapping": {"amount": "amount"},
    },
    {"id": "any", "eventPattern": "order.paid", "eventPayloadMapping": {"note": "{{event.id}}"}},
]
OVERLAPPING = draw("w:mine>a w:any>b", w=box("eventWait", arms=MATCHING))


def entry(run: Run, kind: type[WaitOpened | WaitResolved]) -> Object:
    [found] = [each for each in run.entries if isinstance(each, kind)]
    return {name: getattr(found, name) for name in found.__struct_fields__}


def test_the_arm_that_an_event_comes_by_is_the_handle() -> None:
    run = play(TWO).start().event("order.refused", id="no")
    assert run.running == ["b"]
    assert entry(run, WaitResolved)["arm"] == "refused"
    assert entry(run, WaitResolved)["event_id"] == "no"
    assert (
        run.log[-4:-1]
        == [
            "WAIT_RESOLVED w#1 event",
            "NODE_COMPLETED w#1 -> refused",
            "NODE_SKIPPED a#1 dead-path",
        ]
        or "NODE_COMPLETED w#1 -> refused" in run.log
    )


def test_all_arms_are_open_at_once_and_closed_with_the_first() -> None:
    run = play(TWO).start()
    assert [each.arm for each in run.ledger.arms[NodeKey("w")]] == ["paid", "refused"]
    opened = entry(run, WaitOpened)
    assert (opened["pattern"], len(opened["arms"])) == ("", 2)  # type: ignore[arg-type]
    run.event("order.paid")
    assert run.ledger.arms == {}
    late = Event(id="late", pattern="order.refused", payload=None, received_at=BEGIN)
    with run.refusing("TEN-3003"):
        run.hand("w", late, arm="refused")


def test_of_two_arms_that_match_the_first_listed_wins() -> None:
    """If two arms of one wait match, the first listed wins; one `lookback` serves all arms."""
    run = play(OVERLAPPING).start({"id": 7}).event("order.paid", {"id": 7, "amount": 9})
    assert run.running == ["a"]
    assert run.ctx == {"input": {"id": 7}, "amount": 9}
    run = play(OVERLAPPING).start({"id": 7}).event("order.paid", {"id": 8}, id="other")
    assert run.running == ["b"]
    assert run.ctx["note"] == "other"
    back = play(draw("w:a>x", w=arms("x.a", "x.b", lookback="PT1H"))).start()
    assert len({each.since for each in back.ledger.arms[NodeKey("w")]}) == 1


def test_an_arm_captures_its_own_side_of_its_condition() -> None:
    run = play(OVERLAPPING).start({"id": 7})
    mine, other = run.ledger.arms[NodeKey("w")]
    assert (mine.term_paths, mine.term_values) == ('["payload.id"]', '["7"]')
    assert (other.term_paths, other.condition) == ("", None)


def test_a_time_out_ends_all_arms() -> None:
    document = draw("w:timeout>c", w=arms("x.a", "x.b", eventTimeout={"duration": "P3D"}))
    run = play(document).start().skip()
    assert (run.running, run.ledger.arms) == (["c"], {})
    alone = play(draw("w", w=arms("x.a", "x.b", eventTimeout={"duration": "P3D"}))).start().skip()
    assert alone.code == "WAIT_TIMEOUT"
    assert alone.state.last_error is not None
    assert "x.a or x.b" in alone.state.last_error.message


def test_a_handle_of_an_arm_without_an_edge_ends_the_branch() -> None:
    run = play(draw("w:a>x", w=arms("x.a", "x.b"))).start().event("x.b")
    assert run.status is Status.COMPLETED


def test_an_arm_that_is_not_there_takes_nothing() -> None:
    run = play(TWO).start()
    with run.refusing("TEN-3003"):
        run.hand("w", Event(id="e", pattern="x", payload=None, received_at=BEGIN), arm="lost")
    assert run.ledger.arms


def test_waits_show_one_line_for_each_arm() -> None:
    run = play(draw("s>w s>v", s=start(), w=arms("x.a", "x.b"), v=wait())).start()
    shown = [(each["stepId"], each.get("armId")) for each in run.view["waits"]]
    assert shown == [("w", "a"), ("w", "b"), ("v", None)]


def test_calling_off_a_wait_closes_its_arms() -> None:
    join = task(joinMode="any", cancelRest=True)
    run = play(draw("s>w s>a w:b>j a>j", s=start(), w=arms("x.b", "x.c"), j=join)).start()
    run.succeed("a")
    assert (run.ledger.arms, run.running) == ({}, ["j"])
    run = play(draw("s>w s>u", s=start(), w=arms("x.b", "x.c"), u=wait("u"))).start().cancel()
    assert (run.ledger.arms, run.status) == ({}, Status.CANCELLED)
