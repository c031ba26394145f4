"""A crash test finds what breaks an invariant, makes it small, and tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tenuto import Context, TenutoError
from tenuto.engine.events.event_router import EventRouter
from tenuto.engine.turns.intake import Intake
from tenuto.model.inputs import TaskSucceeded
from tenuto.store.memory.turns import MemoryTurns
from tenuto.testing import Engine, Instance, InvariantBroken, crash_test
from tenuto.testing.crash_testing import Invariant
from tenuto.testing.mishaps import Kind, Mishap, parse, spelled
from tenuto.testing.shrinking import shrunk
from tenuto.testing.timeline import path_of
from tests.testing_kit.shop import (
    APPROVED,
    ORDER,
    Json,
    a_delay,
    a_task,
    a_wait,
    charge,
    in_a_row,
    ship,
)

T = TypeVar("T")

EVENTS = ["approval.given"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def broken_by(
    kinds: Iterable[str], definition: Json, invariant: Invariant | None, **how: Json
) -> InvariantBroken:
    with pytest.raises(InvariantBroken) as caught:
        crash_test(definition, invariant, kinds=kinds, **how)
    return caught.value


def test_every_kind_of_mishap_comes_to_pass() -> None:
    tested = crash_test(APPROVED, input=ORDER, events=EVENTS)
    assert set(tested.struck) == set(Kind)
    single = 6 * tested.writes + 2 * 3 + 3 * len(EVENTS)
    twice = 2 * 2 * tested.writes
    assert tested.runs == 1 + single + twice + 100


def test_a_task_that_must_not_run_twice_is_caught_with_one_crash() -> None:
    """The effect is had and its process dies before that is written: it is had again."""

    def charged_once(run: Instance) -> None:
        assert len(run.calls(charge)) == 1, f"{len(run.calls(charge))} charges"

    found = broken_by([*Kind], APPROVED, charged_once, input=ORDER, events=EVENTS)
    assert found.mishaps == (Mishap(Kind.CRASH_BEFORE, 3),)
    story = str(found)
    assert "the invariant of approved-order is broken: 2 charges" in story
    assert "1. the process dies before durable write 3 (charge done, approval waits)" in story
    assert 'to repeat: crash_test(…, repeat="crash-before@3", seed=0)' in story
    assert "fails: LOST" in story


def test_the_key_of_a_step_makes_it_safe() -> None:
    charged: Counter[str] = Counter()

    def prepare(engine: Engine) -> None:
        charged.clear()
        engine.stub(charge, charge_once)

    def charge_once(ctx: Context, order: Any) -> None:  # noqa: ANN401
        if ctx.idempotency_key not in charged:
            charged[ctx.idempotency_key] += 1

    def charged_at_most_once(run: Instance) -> None:
        assert sum(charged.values()) <= 1

    how: dict[str, Any] = {"input": ORDER, "events": EVENTS, "prepare": prepare}
    crash_test(APPROVED, charged_at_most_once, **how, runs=20)


def test_a_story_is_repeated_from_its_words() -> None:
    def charged_once(run: Instance) -> bool:
        return len(run.calls(charge)) == 1

    how: dict[str, Any] = {"input": ORDER, "events": EVENTS}
    found = broken_by(["crash-after", "crash-before"], APPROVED, charged_once, **how)
    again = broken_by([], APPROVED, charged_once, repeat=spelled(found.mishaps), **how)
    assert str(again) == str(found)
    assert crash_test(APPROVED, charged_once, repeat="crash-after@3", **how).runs == 1


def never_cancelled(run: Instance) -> None:
    assert run.status != "CANCELLED"


def shipped(run: Instance) -> None:
    assert "escalate" not in run.path


def ended_in_time(run: Instance) -> None:
    assert str(run.history[-1]["at"]) < "2026-01-01T01:59"


def charged_once_at_most(run: Instance) -> None:
    assert len(run.calls(charge)) <= 1


def began_as_often_as_it_was_ordered(run: Instance) -> None:
    ordered = [row for row in run.history if row["eventType"] == "NODE_DISPATCHED"]
    assert run.status == "CANCELLED" or len(run.calls()) >= len(ordered)


def reserved_first(run: Instance) -> None:
    assert run.path[1:] != ["ship", "reserve"]


def slept_less_than_shipping_takes(run: Instance) -> None:
    assert run.path[1:] != ["ship", "nap"]


LOST_WHEN_EARLY = in_a_row(
    a_task("ask", "shop.escalate"), a_wait("answer", "mail.came", lookback="PT0S")
)


def beside_shipping(step: Json) -> Json:
    steps = [a_task("charge", "shop.charge"), step, a_task("ship")]
    steps[0]["transitions"] = {"default": [step["stepId"], "ship"]}
    return {"id": "beside-shipping", "steps": steps}


NAP_BESIDE_SHIPPING = beside_shipping(a_delay("nap", "PT20S"))
RESERVED_BESIDE_SHIPPING = beside_shipping(a_task("reserve", "shop.reserve"))


@pytest.mark.parametrize(
    ("kind", "definition", "events", "invariant"),
    [
        ("crash-before", APPROVED, EVENTS, charged_once_at_most),
        ("crash-after", APPROVED, EVENTS, began_as_often_as_it_was_ordered),
        ("result-late", RESERVED_BESIDE_SHIPPING, [], reserved_first),
        ("event-early", LOST_WHEN_EARLY, ["mail.came"], None),
        ("clock-back", NAP_BESIDE_SHIPPING, [], slept_less_than_shipping_takes),
        ("cancel", APPROVED, EVENTS, never_cancelled),
        ("event-late", APPROVED, EVENTS, shipped),
        ("clock-forward", in_a_row(a_task("ship"), a_delay("nap", "PT1H")), [], ended_in_time),
    ],
)
def test_what_only_one_kind_breaks_is_found_by_that_kind(
    kind: str, definition: Json, events: list[str], invariant: Invariant | None, engine: Engine
) -> None:
    engine.stub(ship, takes="PT30S")
    how: dict[str, Any] = {"input": ORDER, "events": events, "engine": engine}
    found = broken_by([kind], definition, invariant, **how)
    assert [each.kind for each in found.mishaps] == [kind]
    others = [each for each in Kind if each != kind]
    crash_test(definition, invariant, kinds=others, runs=20, **how)


def repeats(tested: Callable[[], object], where: type, name: str, of: Callable[..., T]) -> list[T]:
    """What a method of the engine was told more than once."""
    heard: list[T] = []
    method = getattr(where, name)

    def listening(self: object, *told: Json) -> object:
        heard.append(of(*told))
        return method(self, *told)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(where, name, listening)
        tested()
    return [each for number, each in enumerate(heard) if each in heard[:number]]


def each_step_once(run: Instance) -> None:
    assert run.path == ["reserve", "charge", "approval", "ship"]


def played(story: str) -> None:
    crash_test(APPROVED, each_step_once, input=ORDER, events=EVENTS, repeat=story)


@pytest.mark.parametrize(("number", "step"), [(1, "reserve"), (2, "charge"), (3, "ship")])
def test_a_result_that_comes_twice_reaches_the_engine_twice(number: int, step: str) -> None:
    story = f"result-twice@{number}"
    [told] = repeats(lambda: played(story), Intake, "report", lambda request: request.input)
    assert isinstance(told, TaskSucceeded)
    assert told.node == step


def test_an_event_that_comes_twice_reaches_the_engine_twice() -> None:
    story = "event-twice@1"
    told = repeats(lambda: played(story), EventRouter, "publish", lambda event: event.id)
    assert told == ["event-1"]


def test_a_write_without_an_answer_is_done_and_asked_for_again() -> None:
    def turns(story: str) -> list[str]:
        return repeats(lambda: played(story), MemoryTurns, "commit", lambda turn, lane: turn.id)

    [turn] = turns("unanswered@2")
    assert turn.endswith(".2")
    assert turns("crash-before@2") == []


def test_an_event_that_nobody_takes_when_it_is_early_is_found() -> None:
    definition = in_a_row(a_delay("nap", "PT1M"), a_wait("answer", "mail.came", lookback="PT0S"))
    found = broken_by(["event-early"], definition, None, events=["mail.came"])
    assert "it waits for mail.came, which is never published" in str(found)
    patient = in_a_row(a_delay("nap", "PT1M"), a_wait("answer", "mail.came"))
    assert crash_test(patient, kinds=["event-early"], events=["mail.came"]).struck == {
        Kind.EVENT_EARLY: 1
    }


def test_an_early_event_is_sent_again_by_whoever_got_no_answer() -> None:
    patient = in_a_row(a_task("ship"), a_wait("answer", "mail.came"))
    for crash in ("crash-before@1", "crash-after@1", "crash-before@2", "crash-after@2"):
        story = f"event-early@1 {crash}"
        tested = crash_test(patient, completed, events=["mail.came"], repeat=story)
        assert tested.struck[Kind.EVENT_EARLY] == 1


def completed(run: Instance) -> None:
    assert run.status == "COMPLETED"


def test_a_cancellation_comes_at_each_point() -> None:
    definition = in_a_row(a_task("one"), a_task("two"), a_task("three"))
    running: list[list[str]] = []

    def note_what_runs(run: Instance) -> None:
        types = [row["eventType"] for row in run.history]
        if "CANCEL_REQUESTED" in types:
            before = run.history[: types.index("CANCEL_REQUESTED")]
            begun = [row["nodeId"] for row in before if row["eventType"] == "NODE_DISPATCHED"]
            running.append([str(step) for step in begun if step not in path_of(before)])

    tested = crash_test(definition, note_what_runs, kinds=["cancel"], runs=0)
    assert running == [["one"], ["two"], ["three"]]
    assert tested.runs == 1 + tested.writes == 5


def test_only_a_cancellation_that_is_accepted_is_counted() -> None:
    definition = in_a_row(a_task("one"))
    assert crash_test(definition, kinds=["cancel"], runs=0).struck == {Kind.CANCEL: 1}
    found = broken_by(["cancel"], definition, never_cancelled)
    assert (
        "1. the instance is cancelled right after durable write 1 (the start, one starts)"
        in str(found)
    )


def test_two_crashes_are_found_where_it_takes_two() -> None:
    """The search draws several mishaps at once, and what is not needed is left out."""

    def at_most_two(run: Instance) -> None:
        assert len(run.calls(charge)) <= 2

    found = broken_by([*Kind], APPROVED, at_most_two, input=ORDER, events=EVENTS)
    assert spelled(found.mishaps) == "crash-before@3 crash-before@5"


def test_the_shrinker_leaves_out_and_moves_forward() -> None:
    planted = {Mishap(Kind.CRASH_AFTER, 2), Mishap(Kind.CANCEL, 4)}
    tries: list[list[Mishap]] = []

    def breaks(mishaps: Sequence[Mishap]) -> bool:
        tries.append(list(mishaps))
        kinds = {each.kind: each.at for each in mishaps}
        return kinds.get(Kind.CRASH_AFTER, 0) >= 2 and kinds.get(Kind.CANCEL, 0) >= 4

    large = [
        Mishap(Kind.CLOCK_BACK, 1),
        Mishap(Kind.CRASH_AFTER, 9),
        Mishap(Kind.UNANSWERED, 3),
        Mishap(Kind.CANCEL, 8),
    ]
    assert set(shrunk(large, breaks)) == planted
    assert len(tries) < 50


def test_equal_seeds_find_equal_stories() -> None:
    def at_most_two(run: Instance) -> None:
        assert len(run.calls(charge)) <= 2

    stories = {
        str(broken_by(["crash-before"], APPROVED, at_most_two, input=ORDER, events=EVENTS, seed=5))
        for _ in range(2)
    }
    assert len(stories) == 1


def test_what_already_breaks_without_a_fault_is_told_as_such() -> None:
    found = broken_by([*Kind], APPROVED, lambda run: False, input=ORDER, events=EVENTS)
    assert found.mishaps == ()
    assert "it is so without any fault" in str(found)


def test_what_was_found_is_told_also_when_it_does_not_break_again() -> None:
    runs: list[Instance] = []

    def breaks_once(run: Instance) -> None:
        runs.append(run)
        assert len(runs) != 5, "broken in the fifth run"

    found = broken_by([*Kind], APPROVED, breaks_once, input=ORDER, events=EVENTS)
    assert found.run is runs[4]
    assert spelled(found.mishaps) == "crash-before@4"
    story = str(found)
    assert "the invariant of approved-order is broken: broken in the fifth run" in story
    assert "but when that was replayed, it held" in story
    assert "prepare=" in story


def test_what_an_earlier_run_left_over_is_told_as_such(engine: Engine) -> None:
    charged: list[Any] = []
    engine.stub(charge, charged.append)

    def charged_once(run: Instance) -> None:
        assert len(charged) <= 1

    how: dict[str, Any] = {"input": ORDER, "events": EVENTS, "engine": engine}
    found = broken_by(["clock-back"], APPROVED, charged_once, **how)
    assert found.mishaps == ()
    assert "something is left over" in str(found)
    assert "prepare=" in str(found)
    crash_test(
        APPROVED,
        charged_once,
        kinds=["clock-back"],
        runs=0,
        prepare=lambda engine: charged.clear(),
        **how,
    )


@pytest.mark.parametrize("event", ["approval.gievn", ("approval.given", {"orderId": 8})])
def test_an_event_that_nobody_takes_is_refused(event: Json) -> None:
    wait = a_wait(
        "approval",
        "approval.given",
        eventCondition="event.payload.orderId === workflow.input.orderId",
        eventTimeout={"duration": "P3D"},
    )
    with pytest.raises(TenutoError, match="event 1 is never taken without a fault: ") as caught:
        crash_test(in_a_row(wait), input=ORDER, events=[event])
    assert caught.value.code == "TEN-2205"
    assert "approval.given" in caught.value.advice
    with pytest.raises(TenutoError, match="Leave it out"):
        crash_test(in_a_row(a_task("ship")), events=[event])


def test_an_invariant_that_nobody_awaits_is_refused() -> None:
    async def never_looked(run: object) -> None:
        raise AssertionError

    with pytest.raises(TenutoError, match="an invariant is called and not awaited"):
        crash_test(in_a_row(a_task("ship")), never_looked)
    with pytest.raises(TenutoError, match="prepare is called and not awaited"):
        crash_test(in_a_row(a_task("ship")), prepare=never_looked)


@pytest.mark.parametrize(
    ("story", "missed"),
    [
        ("crash-before@99", "crash-before@99"),
        ("crash-before@1 cancel@4", "cancel@4"),
        ("result-twice@7", "result-twice@7"),
        ("event-late@1", "event-late@1"),
    ],
)
def test_a_story_that_does_not_come_to_pass_is_refused(story: str, missed: str) -> None:
    with pytest.raises(TenutoError, match=f"{missed} never came") as caught:
        crash_test(in_a_row(a_task("ship")), repeat=story)
    assert caught.value.code == "TEN-2204"


def test_a_workflow_that_does_not_end_by_itself_is_refused() -> None:
    with pytest.raises(TenutoError, match=r"it waits for mail\.came") as caught:
        crash_test(in_a_row(a_wait("answer", "mail.came")))
    assert caught.value.code == "TEN-2205"
    assert "events=" in caught.value.advice


def test_stubs_come_with_the_engine(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"paymentId": "p"})

    def was_paid(run: Instance) -> None:
        if run.status == "COMPLETED":
            assert run.state["steps"]["charge"]["output"] == {"paymentId": "p"}  # type: ignore[index,call-overload]

    crash_test(APPROVED, was_paid, input=ORDER, events=EVENTS, engine=engine, runs=5)


@pytest.mark.parametrize("words", ["crash-before", "crash-before@0", "crash@1", "cancel@x"])
def test_stories_that_mean_nothing_are_refused(words: str) -> None:
    with pytest.raises(TenutoError) as caught:
        parse(words)
    assert caught.value.code == "TEN-2206"


def test_the_story_is_kept_in_a_file() -> None:
    broken_by([*Kind], APPROVED, lambda run: False, input=ORDER, events=EVENTS)
    [file] = Path(".tenuto/failed").iterdir()
    assert file.name == "crash_test-approved-order.json"


@pytest.mark.parametrize("events", [[], EVENTS], ids=["without events", "before its event"])
def test_a_workflow_that_fails_without_a_fault_is_refused_unless_that_is_meant(
    events: list[str], engine: Engine
) -> None:
    """A stub that fails in every run leaves nothing for a fault to change."""

    def wrong() -> None:
        raise TypeError("another signature")

    engine.stub(charge, wrong)
    how: dict[str, Any] = {"input": ORDER, "events": events, "engine": engine}
    with pytest.raises(TenutoError, match=r"ends FAILED, not COMPLETED: \w+ in charge: ") as caught:
        crash_test(APPROVED, **how)
    assert caught.value.code == "TEN-2205"
    assert 'crash_test(…, expect="FAILED")' in caught.value.advice
    if not events:
        assert crash_test(APPROVED, **how, kinds=["crash-after"], runs=0, expect="FAILED").runs > 1


def test_an_end_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TenutoError, match="'FALED' is no status of an instance"):
        crash_test(APPROVED, input=ORDER, events=EVENTS, expect="FALED")
