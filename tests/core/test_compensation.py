"""Compensation: what was done is undone, in reverse order, once the instance does not complete."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tenuto.core import foreseen_undo
from tenuto.core.foreseen_undo import undo_plan
from tenuto.model.entries import CompensationDispatched
from tenuto.model.failure import POISON
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import AttemptLost, CancelAsked, CompensationRetryAsked
from tenuto.model.json import JSON, Object
from tenuto.model.policy import LOSSES_UNTIL_POISON, MOST_ENTRIES
from tenuto.model.status import Status
from tests.core.drawing import draw, end, loop, start, task, terminate, undoing, wait
from tests.core.play import ID, Run, decisions_of, play
from tests.core.test_long_decisions import limited, until_settled
from tests.definition.test_samples import sample

LINE = undoing(draw("a>b b>c c>w", w=wait()), a={}, b={}, c={})
ONCE: Object = {"maxAttempts": 1}


def given(run: Run, step: str) -> Any:  # noqa: ANN401
    """What the compensation under way was given."""
    [effect] = [each for each in run.ledger.running.values() if each.node == step]
    return effect.input


def at_the_wait(document: JSON = LINE, input: JSON = None) -> Run:
    run = play(document).start(input)
    return run.succeed("a", {"n": "a"}).succeed("b", {"n": "b"}).succeed("c", {"n": "c"})


def test_the_order_of_the_first_seed_is_undone_in_reverse() -> None:
    """The compensation example of the first seed, word for word."""
    run = play(sample("compensation")).start({"orderId": 7})
    run.succeed("reserve_inventory", {"reservationId": "r1"})
    run.succeed("process_payment", {"paymentId": "p1", "amount": 12.5})
    run.cancel("customer changed their mind")
    assert run.running == ["ship_order"]
    run.fail("ship_order", "CANCELLED")
    assert run.news == [
        "NODE_CANCELLED ship_order#1",
        "COMPENSATION_PLANNED refund_payment,release_inventory",
        "COMPENSATION_DISPATCHED refund_payment#1",
    ]
    assert given(run, "refund_payment") == {
        "paymentId": "p1",
        "amount": 12.5,
        "reason": "customer changed their mind",
    }
    assert run.ledger.running[next(iter(run.ledger.running))].idempotency_key == (
        f"{ID}:refund_payment"
    )
    assert run.status is Status.RUNNING
    assert run.undoing["status"] == "IN_PROGRESS"
    run.later(seconds=2).succeed("refund_payment", {"refunded": True})
    assert run.news == [
        "COMPENSATION_COMPLETED refund_payment#1",
        "COMPENSATION_DISPATCHED release_inventory#1",
    ]
    released = given(run, "release_inventory")
    assert released["originalOutput"] == {"reservationId": "r1"}
    assert released["workflowInput"] == {"orderId": 7}
    assert released["workflowState"]["steps"]["process_payment"]["status"] == "COMPLETED"
    assert released["cancellation"]["reason"] == "customer changed their mind"
    run.succeed("release_inventory")
    assert run.news == [
        "COMPENSATION_COMPLETED release_inventory#1",
        "COMPENSATION_ENDED COMPLETED",
        "STATUS_CHANGED CANCELLED",
    ]
    assert run.undoing == {
        "status": "COMPLETED",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "completedAt": "2026-01-01T00:00:02.000Z",
        "plan": ["refund_payment", "release_inventory"],
        "completed": ["refund_payment", "release_inventory"],
        "failed": [],
    }
    assert run.state.compensation is not None
    assert [(each.step_id, each.reason) for each in run.state.compensation.skipped] == [
        ("cancel_shipment", "not-completed")
    ]


def test_only_one_runs_at_a_time_and_the_status_changes_at_the_end() -> None:
    """Conditions are evaluated when the plan is made; the plan is then fixed and runs one at a
    time.
    """
    run = at_the_wait().cancel()
    assert run.news == [
        "CANCEL_REQUESTED API",
        "NODE_CANCELLED w#1",
        "STATUS_CHANGED RUNNING",
        "COMPENSATION_PLANNED undo_c,undo_b,undo_a",
        "COMPENSATION_DISPATCHED undo_c#1",
    ]
    for name in ("undo_c", "undo_b", "undo_a"):
        assert run.running == [name]
        run.succeed(name)
    assert run.news[-1] == "STATUS_CHANGED CANCELLED"


def test_nothing_is_undone_where_nobody_wants_it() -> None:
    kept = at_the_wait().cancel(should_compensate=False)
    assert (kept.status, kept.undoing) == (Status.CANCELLED, None)
    done = at_the_wait().event("paid")
    assert (done.status, done.undoing) == (Status.COMPLETED, None)
    nothing_done = play(LINE).start().fail("a")
    assert (nothing_done.status, nothing_done.undoing) == (Status.FAILED, None)
    document = undoing(draw("a>b", options={"compensateOnFailure": False}), a={})
    failed = play(document).start().succeed("a").fail("b")
    assert (failed.status, failed.undoing) == (Status.FAILED, None)
    cancelled = play(document).start().succeed("a").cancel().fail("b", "CANCELLED")
    assert cancelled.running == ["undo_a"], "the option is about failure alone"


def test_a_failure_undoes_what_was_done_before_the_instance_is_failed() -> None:
    """An unhandled failure: nothing new starts; waits, timers and children are withdrawn; running
    tasks are told and have `options.cancelGrace` (10 s); a result within it is recorded and will be
    compensated; then compensation, then FAILED.
    """
    document = undoing(
        draw("s>a s>b s>c s>w", s=start(), w=wait(), c=task(retry=ONCE)), a={}, b={}, c={}
    )
    run = play(document).start().succeed("a").fail("c")
    assert run.news == [
        "NODE_FAILED c#1 OOPS fail",
        "NODE_CANCEL_REQUESTED b#1",
        "NODE_CANCELLED w#1",
    ]
    run.succeed("b", "late but in time")
    assert run.news == [
        "NODE_COMPLETED b#1",
        "COMPENSATION_PLANNED undo_b,undo_a",
        "COMPENSATION_DISPATCHED undo_b#1",
    ]
    assert given(run, "undo_b")["originalOutput"] == "late but in time"
    assert given(run, "undo_b")["cancellation"] is None
    run.succeed("undo_b").succeed("undo_a")
    assert (run.status, run.code) == (Status.FAILED, "OOPS")


def test_a_task_that_ignores_cancellation_holds_up_nothing_beyond_its_grace() -> None:
    """Later results get 409 and become dead letters of kind `late-result`. The same order for
    cancel and terminate.
    """
    document = undoing(draw("s>a s>b", s=start()), a={}, b={})
    run = play(document).start().succeed("a").cancel()
    assert run.running == ["b"]
    run.later(seconds=10).fire()
    assert run.news == [
        "NODE_CANCELLED b#1",
        "COMPENSATION_PLANNED undo_a",
        "COMPENSATION_DISPATCHED undo_a#1",
    ]
    with run.refusing("TEN-3005"):
        run.succeed("b", "too late", attempt=1)
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.node, letter.output) == ("late-result", "b", "too late")
    assert run.succeed("undo_a").status is Status.CANCELLED


def test_what_a_part_called_off_and_ended_well_all_the_same_is_undone() -> None:
    """A result within it is recorded (NODE_COMPLETED, compensated later if need be) but starts
    nothing; otherwise NODE_CANCELLED.
    """
    document = undoing(
        draw("s>a s>b a>j b>j j>w", s=start(), j=task(joinMode="any", cancelRest=True), w=wait()),
        b={"input": "steps.b.output"},
    )
    run = play(document).start().succeed("a").succeed("b", "done all the same").succeed("j")
    assert given(run.cancel(), "undo_b") == "done all the same"


def test_terminate_undoes_when_it_fails_and_not_when_it_completes() -> None:
    """COMPLETED does not compensate; FAILED is a failure (`TERMINATED`, its `reason` in
    `lastError`).
    """
    done = play(undoing(draw("a>t", t=terminate()), a={})).start().succeed("a")
    assert (done.status, done.undoing) == (Status.COMPLETED, None)
    failed = play(undoing(draw("a>t", t=terminate("FAILED")), a={})).start().succeed("a")
    assert failed.running == ["undo_a"]
    assert failed.succeed("undo_a").code == "TERMINATED"


def test_a_cancel_overtakes_a_terminate_that_has_not_come_to_its_end() -> None:
    document = undoing(draw("s>a s>b a>t", s=start(), t=terminate()), a={})
    run = play(document).start().succeed("a")
    assert run.status is Status.RUNNING, "b has its grace"
    run.cancel("enough").fail("b", "CANCELLED")
    assert run.running == ["undo_a"]
    assert run.succeed("undo_a").status is Status.CANCELLED


def test_a_handled_failure_is_not_undone() -> None:
    """A handled failure is NODE_FAILED of that attempt and one NODE_COMPLETED with `nodeStatus:
    error`, handle `error`, output `{error: {code, message, details, attempts}}`; the step's
    status is FAILED; it is not compensated and no dead letter.
    """
    document = undoing(draw("a>b b:error>w", b=task(retry=ONCE), w=wait()), a={}, b={})
    run = play(document).start().succeed("a").fail("b").cancel()
    assert run.running == ["undo_a"]


def test_a_condition_is_read_once_when_the_plan_is_made() -> None:
    document = undoing(
        draw("a>b b>w", w=wait(), b=task(outputVariable="b")),
        a={"condition": "steps.b.output.n > 1"},
        b={"condition": "ctx.b.n > 2"},
    )
    run = play(document).start().succeed("a").succeed("b", {"n": 2}).cancel()
    assert run.undoing["plan"] == ["undo_a"]
    assert run.state.compensation is not None
    [skipped] = run.state.compensation.skipped
    assert (skipped.step_id, skipped.reason) == ("undo_b", "condition")
    nothing = play(document).start().succeed("a").succeed("b", {"n": 0}).cancel()
    assert nothing.status is Status.CANCELLED
    assert nothing.undoing["plan"] == []


def test_a_condition_that_cannot_be_worked_out_is_a_failed_compensation() -> None:
    document = undoing(draw("a>b b>w", w=wait()), a={"condition": "ctx.input.x.nope()"}, b={})
    run = play(document).start({"x": 1}).succeed("a").succeed("b").cancel().succeed("undo_b")
    assert run.news[1] == "COMPENSATION_FAILED undo_a#1 EXPRESSION_ERROR fail"
    assert run.undoing["status"] == "COMPLETED_WITH_ERRORS"
    assert [letter.node for letter in run.ledger.dead_letters] == ["undo_a"]


@pytest.mark.parametrize(
    ("input", "expected"),
    [
        ("steps.a.output", {"n": "a", "list": [1, 2]}),
        ("steps.a.output.list[1] + 1", 3),
        ("ctx.nothing", None),
        ("{{steps.a.output.n}}!", "a!"),
        (
            {
                "path": "steps.a.output.n",
                "template": "{{ctx.input.who}}",
                "text": "for {{ctx.input.who}}",
                "plain": "steps of ctx",
                "root": "ctx",
                "call": "steps.a.output.n.length",
                "sum": "ctx.input.who + 1",
                "undefined": "workflow.input.nothing",
                "deep": [{"path": "workflow.instance.cancellation.reason"}, "ctx.nothing", 1],
            },
            {
                "path": "a",
                "template": "ada",
                "text": "for ada",
                "plain": "steps of ctx",
                "root": "ctx",
                "call": 1,
                "sum": "ctx.input.who + 1",
                "deep": [{"path": "why"}, None, 1],
            },
        ),
    ],
)
def test_inputs_are_expressions_templates_and_paths(input: JSON, expected: JSON) -> None:
    """A string `input` is one expression; in an object a string is resolved if it has `{{`, or if
    all of it is a path rooted at `workflow`, `ctx` or `steps` (this second rule only in
    compensation input); undefined is left out (a path has at least one `.name`).
    """
    document = undoing(draw("a>w", w=wait()), a={"input": input})
    run = play(document).start({"who": "ada"}).succeed("a", {"n": "a", "list": [1, 2]})
    assert given(run.cancel("why"), "undo_a") == expected


def test_without_an_output_the_original_output_is_an_empty_object() -> None:
    """`originalOutput` is `{}` where there was none."""
    run = play(undoing(draw("a>w", w=wait()), a={})).start().succeed("a").cancel()
    assert given(run, "undo_a")["originalOutput"] == {}


def test_an_input_that_cannot_be_worked_out_fails_its_compensation_alone() -> None:
    document = undoing(draw("a>b b>w", w=wait()), a={}, b={"input": "steps.b.output.nope()"})
    run = play(document).start().succeed("a").succeed("b", {}).cancel()
    assert run.news[4:] == [
        "COMPENSATION_FAILED undo_b#1 EXPRESSION_ERROR fail",
        "COMPENSATION_DISPATCHED undo_a#1",
    ]
    assert run.succeed("undo_a").undoing["status"] == "COMPLETED_WITH_ERRORS"


def test_a_failed_compensation_is_tried_again_then_given_up_and_the_rest_go_on() -> None:
    policy: Object = {"maxAttempts": 2, "initialDelay": "PT1S"}
    document = undoing(
        draw("a>b b>w", w=wait()), a={}, b={"retry": policy, "input": "steps.b.output"}
    )
    run = play(document).start().succeed("a").succeed("b", {"n": 1}).cancel()
    run.fail("undo_b", "DOWN", retryable=True)
    assert run.news == ["COMPENSATION_FAILED undo_b#1 DOWN retry", "RETRY_SCHEDULED undo_b#2"]
    assert run.undoing["failed"] == []
    run.skip()
    assert run.news == ["COMPENSATION_DISPATCHED undo_b#2"]
    assert given(run, "undo_b") == {"n": 1}
    run.fail("undo_b", "DOWN", retryable=True)
    assert run.news == [
        "COMPENSATION_FAILED undo_b#2 DOWN fail",
        "COMPENSATION_DISPATCHED undo_a#1",
    ]
    run.succeed("undo_a")
    assert run.status is Status.CANCELLED
    assert run.undoing["status"] == "COMPLETED_WITH_ERRORS"
    assert run.undoing["completed"] == ["undo_a"]
    [failed] = run.undoing["failed"]
    assert (failed["stepId"], failed["error"]) == ("undo_b", "DOWN in undo_b")
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.node, letter.task_id) == ("compensation-failed", "undo_b", "undo")
    assert (letter.input, letter.attempt) == ({"n": 1}, 2)


def test_a_compensation_lost_with_its_process_starts_again_until_it_is_poison() -> None:
    run = at_the_wait().cancel()
    for attempt in range(1, LOSSES_UNTIL_POISON):
        run.lose("undo_c")
        assert run.news == [
            f"COMPENSATION_FAILED undo_c#{attempt} LOST retry",
            f"COMPENSATION_DISPATCHED undo_c#{attempt + 1}",
        ]
    run.lose("undo_c")
    assert run.news[0] == f"COMPENSATION_FAILED undo_c#{LOSSES_UNTIL_POISON} {POISON} fail"
    assert run.running == ["undo_b"]
    clean = at_the_wait().cancel()
    for _ in range(LOSSES_UNTIL_POISON + 1):
        clean.lose("undo_c", clean=True)
    assert clean.running == ["undo_c"], "clean stops do not count"


def test_what_must_never_run_twice_is_given_up_when_it_is_lost() -> None:
    document = undoing(draw("a>w", w=wait()), a={"retry": {"onLost": "fail"}})
    run = play(document).start().succeed("a").cancel().lose("undo_a")
    assert run.undoing["status"] == "COMPLETED_WITH_ERRORS"


def test_stale_reports_about_compensations_are_refused() -> None:
    run = at_the_wait().cancel().lose("undo_c")
    for attempt in (1, 3):
        with run.refusing("TEN-3003"):
            run.succeed("undo_c", attempt=attempt)
    run.succeed("undo_c")
    with run.refusing("TEN-3003"):
        run.succeed("undo_c", attempt=2)
    with run.refusing("TEN-3003"):
        run.succeed("undo_a", attempt=1)
    run.succeed("undo_b").succeed("undo_a")
    with run.refusing("TEN-3003"):
        run.succeed("undo_a", attempt=1)
    with run.refusing("TEN-3003"):
        run.tell(AttemptLost(node="undo_a", attempt=1))


def test_an_answer_with_a_handle_fails_a_compensation() -> None:
    run = play(undoing(draw("a>w", w=wait()), a={})).start().succeed("a").cancel()
    run.succeed("undo_a", handle="else")
    assert run.news[0] == "COMPENSATION_FAILED undo_a#1 UNKNOWN_HANDLE fail"


def test_while_compensation_runs_cancel_answers_and_pause_and_retry_are_refused() -> None:
    """Cancel is idempotent: a second one, or one while compensation runs, answers 200 with the
    state as it is; pause and retry then get 409.
    """
    for run in (at_the_wait().cancel(), play(LINE).start().succeed("a").fail("b")):
        before = run.state
        assert run.cancel("again").news == []
        assert run.state.version == before.version
        with run.refusing("TEN-3002"):
            run.pause()
        with run.refusing("TEN-3002"):
            run.retry()


def test_a_failed_instance_is_retried_only_if_nothing_was_undone() -> None:
    """`retry` of a FAILED instance re-opens every node that failed unhandled and every node that
    the failure withdrew, with fresh budget and timeouts; completed ones stay; triggers are
    subscribed again in the same transaction; 409 once a compensation was dispatched or after
    `terminate`.
    """
    undone = play(LINE).start().succeed("a").fail("b").succeed("undo_a")
    with undone.refusing("TEN-3009"):
        undone.retry()
    document = undoing(draw("a>b"), a={"condition": "ctx.input.undo"})
    kept = play(document).start({"undo": False}).succeed("a").fail("b")
    assert (kept.status, kept.undoing["plan"]) == (Status.FAILED, [])
    assert kept.retry().undoing is None
    assert kept.succeed("b").status is Status.COMPLETED


def test_an_instance_that_is_paused_is_undone_after_it_goes_on() -> None:
    run = play(LINE).start().succeed("a").pause().fail("b")
    assert (run.status, run.undoing) == (Status.PAUSED, None)
    assert run.resume().running == ["undo_a"]


def test_many_that_fail_at_once_are_given_up_over_several_decisions() -> None:
    names = [f"n{number}" for number in range(8)]
    edges = " ".join(f"s>{name}" for name in names)
    broken: Object = {"input": "steps.s.output.nope()"}
    document = undoing(draw(f"{edges} s>w", s=start(), w=wait()), **dict.fromkeys(names, broken))
    run = play(document).start()
    for name in names:
        run.succeed(name)
    with decisions_of(3):
        run.cancel().settle()
    assert run.status is Status.CANCELLED
    assert run.count("COMPENSATION_FAILED") == 8


def test_end_nodes_and_waits_can_be_undone_as_well() -> None:
    document = undoing(draw("w>e w>z", w=wait(), e=end({"n": 1}), z=wait("never")), w={}, e={})
    run = play(document).start().event("paid", {"n": 1}).cancel()
    assert run.undoing["plan"] == ["undo_e", "undo_w"]


def test_a_deadline_that_passes_while_it_is_undone_changes_nothing() -> None:
    document = undoing(draw("a>b", options={"timeout": "PT1M"}, b=task(retry=ONCE)), a={})
    run = play(document).start().succeed("a").fail("b")
    assert run.timers == {}
    run.later(hours=1).lose("undo_a").succeed("undo_a")
    assert (run.status, run.code) == (Status.FAILED, "OOPS")


def test_the_plan_and_its_inputs_depend_on_no_moment() -> None:
    seen: Object = {"status": "workflow.instance.status"}
    document = undoing(
        draw("a>b b>w", w=wait()),
        a={"input": seen, "retry": ONCE},
        b={"condition": "workflow.instance.status === 'RUNNING'", "input": seen},
    )
    for pauses in (False, True):
        run = play(document).start().succeed("a").succeed("b")
        run = run.pause() if pauses else run
        foreseen: Any = undo_plan(run.plan, run.state, CancelAsked(by="ada"))
        inputs = [item["input"] for item in foreseen["plan"]]
        run.cancel()
        assert [given(run, "undo_b"), given(run.succeed("undo_b"), "undo_a")] == inputs
        assert inputs == [{"status": "RUNNING"}, {"status": "RUNNING"}]
        run.fail("undo_a")
        assert run.status is Status.CANCELLED
        run.tell(CompensationRetryAsked(by="ada", step_id="undo_a"))
        assert given(run, "undo_a") == {"status": "RUNNING"}, "the key is the same, so is the input"


def test_a_compensation_is_given_what_somebody_edited() -> None:
    document = undoing(draw("a>b", b=task(retry=ONCE)), a={"retry": ONCE})
    run = play(document).start().succeed("a", 1).fail("b").fail("undo_a")
    run.tell(CompensationRetryAsked(by="ada", step_id="undo_a", input={"by": "hand"}))
    assert given(run, "undo_a") == {"by": "hand"}
    assert [letter.node for letter in run.ledger.dead_letters] == ["b"], "the other letter is gone"
    run.lose("undo_a")
    assert given(run, "undo_a") == {"by": "hand"}
    assert run.succeed("undo_a").undoing["status"] == "COMPLETED"


def _of_large_input(monkeypatch: pytest.MonkeyPatch, count: int, **undo: JSON) -> list[Any]:
    """The undo plan of so many steps, while few bytes of inputs are shown."""
    monkeypatch.setattr(foreseen_undo, "WHOLE_BYTES", 10_000)
    monkeypatch.setattr(foreseen_undo, "MOST_BYTES", 20_000)
    names = [f"n{number}" for number in range(count)]
    edges = " ".join(f"s>{name}" for name in [*names, "w"])
    document = undoing(draw(edges, s=start(), w=wait()), **dict.fromkeys(names, undo))
    run = play(document, check=None).start({"text": "x" * 3_000})
    for name in names:
        run.succeed(name, "y" * 1_000)
    foreseen: Any = undo_plan(run.plan, run.state, CancelAsked(by="ada"))
    assert len(foreseen["plan"]) == count
    return list(foreseen["plan"])


def test_an_undo_plan_repeats_a_large_state_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = _of_large_input(monkeypatch, 30)
    whole = [each for each in planned if "workflowState" in (each["input"] or {})]
    own = [each for each in planned if each["input"] and each not in whole]
    assert whole == planned[: len(whole)] != []
    assert len(msgspec.json.encode(whole[:-1])) <= 12_000
    assert own == planned[len(whole) : len(whole) + len(own)]
    assert all(each["input"].keys() == {"originalOutput", "cancellation"} for each in own)


def test_an_undo_plan_shows_no_input_behind_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = _of_large_input(monkeypatch, 30, input={"all": "{{ctx.input}}"})
    shown = [each for each in planned if each["input"] is not None]
    assert shown == planned[: len(shown)]
    assert 20_000 < len(msgspec.json.encode(shown)) < 30_000
    assert {each["error"] for each in planned[len(shown) :]} == {
        "not shown: those before it have more than 20,000 bytes"
    }


def test_a_default_input_is_kept_as_far_as_it_is_about_its_step() -> None:
    """`undo-plan` shows the whole input."""
    names = [f"n{number}" for number in range(30)]
    edges = " ".join(f"s>{name}" for name in names)
    once: Object = {"retry": ONCE}
    document = undoing(draw(edges, s=start()), **dict.fromkeys(names, once))
    run = play(document, check=None).start({"who": "ada"})
    for name in names[1:]:
        run.succeed(name, f"{name} did {'x' * 100}")
    foreseen = undo_plan(run.plan, run.state, CancelAsked(by="ada"))
    run.fail(names[0])
    while run.running:
        assert given(run, run.running[0])["workflowInput"] == {"who": "ada"}
        run.fail(run.running[0])
    letters = [each for each in run.ledger.dead_letters if each.kind == "compensation-failed"]
    assert len(letters) == len(names) - 1
    assert letters[0].input == {"originalOutput": f"n29 did {'x' * 100}", "cancellation": None}
    assert len(msgspec.json.encode(letters)) < 20_000
    planned: Any = foreseen["plan"]
    assert all(each["input"]["workflowInput"] == {"who": "ada"} for each in planned)
    assert all(set(each["input"]["workflowState"]["steps"]) >= set(names) for each in planned)
    dispatched = [each for each in run.entries if isinstance(each, CompensationDispatched)]
    assert {each.input for each in dispatched} == {UNSET}, "it can be worked out again"


def test_the_longest_log_is_undone_to_its_end() -> None:
    body = loop("{{ctx.input}}", mode="parallel", concurrency=1_000)
    document = undoing(draw("l:loop>a l:done>z", l=body), a={"input": "ctx.item"})
    run = limited(document, log_entries=100).start(list(range(340)))
    for number in range(340):
        run.succeed(f"a[{number}]")
    assert run.code == "TOO_LARGE"
    until_settled(run)
    undone = 0
    while run.running:
        run.succeed(run.running[0])
        undone += 1
    assert (undone, run.status, run.undoing["status"]) == (340, Status.FAILED, "COMPLETED")
    assert run.state.version > 100 + MOST_ENTRIES
    assert run.state.system == {}, "it was not set aside"


def test_a_task_that_fails_before_it_could_be_told_to_stop_is_no_dead_letter() -> None:
    names = [f"n{number}" for number in range(8)]
    document = draw(" ".join(f"s>{name}" for name in names), s=start())
    run = play(document).start()
    with decisions_of(3):
        run.cancel()
        untold = [name for name in run.running if NodeKey(name) not in run.ledger.told_to_stop]
        run.fail(untold[0], "CANCELLED")
        assert run.news == [f"NODE_CANCELLED {untold[0]}#1"]
        run.fail(untold[1], "BROKEN")
        assert run.news[0] == f"NODE_FAILED {untold[1]}#1 BROKEN cancel"
        run.settle()
    for name in run.running:
        run.fail(name, "CANCELLED")
    assert (run.status, run.ledger.dead_letters) == (Status.CANCELLED, [])
