"""Approvals: who may decide, how long, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from tenuto.core.approval import MAY_NOT_DECIDE, NO_SUCH_APPROVAL, NOT_OPEN
from tenuto.core.open_approvals import approval_marks
from tenuto.core.view import MOST_SHOWN
from tenuto.model.entries import WaitOpened
from tenuto.model.inputs import TimerKind
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.status import Status
from tests.core.drawing import approval, delay, draw, loop, start, step, steps, task, wait
from tests.core.play import BEGIN, ID, Run, decisions_of, play

BOTH_WAYS = "ok:approved>yes ok:rejected>no"
ESCALATED: Object = {"after": "P1D", "assignees": {"users": ["zoe"], "roles": ["board"]}}


def asking(*users: str, **config: JSON) -> Run:
    """An instance that waits for a decision, with a step on each of the two answers."""
    return play(draw(BOTH_WAYS, ok=approval(*users, **config))).start({"boss": "ann"})


def why(run: Run) -> str:
    """What the last refusal said."""
    assert run.rejection is not None
    return run.rejection.message


def open_approval(run: Run) -> Any:  # noqa: ANN401
    [found] = run.view["waits"]
    return found["approval"]


def test_a_decision_takes_its_handle_and_says_who_when_and_why() -> None:
    """`approval {assignees: {users?, roles?}, formSchema?, deadline?, reminders?: [durations],
    escalate?: {after, assignees}}`, output `{decision, by, at, form}`.
    """
    run = asking(outputVariable="said").later(hours=2)
    run.decide("ok", "approved", form={"note": "fine"})
    assert run.news == [
        "WAIT_RESOLVED ok#1 decision",
        "NODE_COMPLETED ok#1 -> approved",
        "NODE_SKIPPED no#1 dead-path",
        "NODE_DISPATCHED yes#1",
        "STATUS_CHANGED RUNNING",
    ]
    said = {"decision": "approved", "by": "ann", "at": "2026-01-01T02:00:00.000Z"}
    assert run.ctx["said"] == {**said, "form": {"note": "fine"}}
    assert asking().decide("ok", "rejected").running == ["no"]


def test_an_open_approval_makes_the_instance_wait() -> None:
    """WAITING_FOR_EVENT: an open wait or approval and no task attempt, due retry, delay, child
    or queue for a mutex; otherwise RUNNING.
    """
    run = asking()
    assert run.status is Status.WAITING_FOR_EVENT
    assert not run.state.needs_owner
    assert run.ledger.waits == {}, "nothing that an event could match"
    busy = play(draw("s>ok s>d", s=start(), ok=approval(), d=delay())).start()
    assert busy.status is Status.RUNNING
    assert busy.skip().status is Status.WAITING_FOR_EVENT


def test_what_is_open_says_who_may_decide_and_until_when() -> None:
    form: Object = {"type": "object"}
    run = asking(deadline="P3D", reminders=["PT1H"], escalate=ESCALATED, formSchema=form)
    [shown] = run.view["waits"]
    assert shown == {
        "stepId": "ok",
        "iteration": "",
        "eventPattern": None,
        "eventCondition": None,
        "since": "2026-01-01T00:00:00.000Z",
        "timeoutAt": "2026-01-04T00:00:00.000Z",
        "approval": {
            "users": ["ann"],
            "roles": [],
            "formSchema": {"type": "object"},
            "reminders": 0,
            "escalatedAt": None,
        },
    }
    assert run.view["waitingForEvent"] is None, "no event ends it"
    run.skip().skip()
    assert open_approval(run) == {
        "users": ["ann", "zoe"],
        "roles": ["board"],
        "formSchema": {"type": "object"},
        "reminders": 1,
        "escalatedAt": "2026-01-02T00:00:00.000Z",
    }


def test_what_a_loop_has_open_is_shown_in_bounded_bytes_however_large_its_form_is() -> None:
    """A form of 300,000 characters, two thousand times over, would be shown in 600 MB."""
    form: Object = {"description": "f" * 300_000}
    asked = approval(formSchema=form)
    document = draw("l:loop>ok", l=loop("{{ctx.input}}", mode="parallel", concurrency=50), ok=asked)
    run = play(document).start(list(range(50)))
    shown = [each["approval"] for each in run.view["waits"]]
    assert [each["formSchema"] for each in shown[:4]] == [form] * 4
    assert all(each["formSchema"] is None and each["isFormLeftOut"] for each in shown[4:])
    assert len(shown) == 50
    assert size_of(run.view["waits"]) < 2 * MOST_SHOWN


def test_the_conditions_of_what_a_loop_waits_for_are_shown_in_bounded_bytes() -> None:
    condition = f"event.payload.x == '{'x' * 4_000}'"
    waiting = wait(eventCondition=condition)
    document = draw(
        "l:loop>w", l=loop("{{ctx.input}}", mode="parallel", concurrency=500), w=waiting
    )
    run = play(document).start(list(range(500))).settle()
    shown = run.view["waits"]
    assert len(shown) == 500
    assert (shown[0]["eventCondition"], shown[-1]["eventCondition"]) == (condition, None)
    assert shown[-1]["isConditionLeftOut"]
    assert size_of(shown) < 2 * MOST_SHOWN


def test_the_oldest_wait_for_an_event_is_shown_also_behind_an_older_approval() -> None:
    run = play(draw("s>ok s>a a>w", s=start(), ok=approval(), w=wait())).start()
    run.later(seconds=1).succeed("a")
    assert [each["stepId"] for each in run.view["waits"]] == ["ok", "w"]
    assert run.view["waitingForEvent"]["stepId"] == "w"


# -- who


@pytest.mark.parametrize(
    ("by", "roles", "may"),
    [
        ("ann", (), True),
        ("bob", (), True),
        ("Ann", (), False),
        ("eve", (), False),
        ("eve", ("boss",), True),
        ("eve", ("staff", "boss"), True),
        ("boss", (), False),
        ("eve", ("ann",), False),
    ],
)
def test_who_is_named_or_has_a_role_may_decide(by: str, roles: tuple[str, ...], may: bool) -> None:
    run = asking(assignees={"users": ["ann", "bob"], "roles": ["boss"]})
    if may:
        assert run.decide("ok", by=by, roles=roles).running == ["yes"]
        return
    with run.refusing(MAY_NOT_DECIDE):
        run.decide("ok", by=by, roles=roles)
    assert (
        why(run) == f"{by} may not decide on ok: that is for ann, bob or anybody with the role boss"
    )
    assert run.decide("ok", by="ann").running == ["yes"], "it is still open"


def test_assignees_may_be_templates_and_are_read_once() -> None:
    people: Object = {
        "users": ["{{ctx.input.boss}}", "{{ctx.input.team}}", "zoe"],
        "roles": ["lead-{{ctx.input.unit}}"],
    }
    document = draw(BOTH_WAYS, ok=approval(assignees=people))
    run = play(document).start({"boss": "ann", "team": ["bob", "ann"], "unit": 7})
    assert open_approval(run)["users"] == ["ann", "bob", "zoe"]
    assert open_approval(run)["roles"] == ["lead-7"]


@pytest.mark.parametrize(
    ("boss", "said"),
    [
        (None, "assignees.users: expected a name, found null"),
        (7, "assignees.users: expected a name, found a number"),
        ("", "assignees.users: expected a name, found empty text"),
        ([], "assignees: no user or role is named, so no decision is possible"),
        ([["ann"]], "assignees.users: expected a name, found an array"),
    ],
)
def test_an_approval_that_nobody_could_decide_fails(boss: JSON, said: str) -> None:
    run = play(draw("ok", ok=approval("{{ctx.input.boss}}"))).start({"boss": boss})
    assert (run.status, run.code) == (Status.FAILED, "EXPRESSION_ERROR")
    assert run.state.last_error is not None
    assert run.state.last_error.message == said
    handled = play(draw("ok:error>a", ok=approval("{{ctx.input.boss}}"))).start({"boss": boss})
    assert handled.running == ["a"]


def test_whom_it_escalates_to_is_seen_when_it_opens() -> None:
    nobody: Object = {"after": "P1D", "assignees": {"users": ["{{ctx.input.nobody}}"]}}
    run = asking(escalate=nobody)
    assert (run.status, run.code) == (Status.FAILED, "EXPRESSION_ERROR")


# -- refusals


def test_what_is_no_approval_cannot_be_decided_on() -> None:
    run = play(draw("s>ok s>b", s=start(), ok=approval(), b=approval())).start()
    with run.refusing(NO_SUCH_APPROVAL):
        run.decide("okk")
    assert why(run) == "okk is no step of the workflow; its approvals are ok, b"
    with run.refusing(NO_SUCH_APPROVAL):
        run.decide("s")
    assert why(run) == "s is no approval; its approvals are ok, b"
    with run.refusing(NO_SUCH_APPROVAL):
        run.decide("ok[0]")
    assert why(run) == "ok is in no loop: it has no iteration 0"
    without = play(draw("a")).start()
    with without.refusing(NO_SUCH_APPROVAL):
        without.decide("a")
    assert why(without) == "a is no approval; it has no approvals"


def test_what_was_decided_stays_decided() -> None:
    run = asking("ann", "bob").later(minutes=5).decide("ok", "rejected", by="bob")
    for decision, by in (("approved", "bob"), ("rejected", "ann"), ("approved", "eve")):
        with run.refusing(NOT_OPEN):
            run.decide("ok", decision, by=by)  # type: ignore[arg-type]
        assert why(run) == "ok was rejected by bob at 2026-01-01T00:05:00.000Z"
    with run.refusing(NOT_OPEN):
        run.decide("ok", "rejected", by="bob", form={"note": "another"})


def test_true_and_one_are_not_the_same_answer() -> None:
    run = play(draw("p:approved>a", p=approval())).start()
    run.decide("p", form={"items": [1, {"n": 1}]})
    assert run.decide("p", form={"items": [1.0, {"n": 1}]}).news == []
    others: list[JSON] = [{"items": [True, {"n": 1}]}, {"items": [1, {"n": True}]}, {"items": [1]}]
    for form in (*others, None):
        with run.refusing("TEN-3021"):
            run.decide("p", form=form)


def test_to_decide_the_same_again_is_no_mistake_and_changes_nothing() -> None:
    run = asking().decide("ok", "rejected", form=[1])
    assert run.later(hours=1).decide("ok", "rejected", form=[1]).news == []
    assert run.succeed("no").status is Status.COMPLETED
    assert run.decide("ok", "rejected", form=[1]).news == []


def test_it_is_too_early_too_late_or_was_never_asked() -> None:
    early = play(draw("a>ok", ok=approval())).start()
    with early.refusing(NOT_OPEN):
        early.decide("ok")
    assert why(early) == ("ok is not open: the instance has not come to it, or has left it behind")
    never = play(draw("c:error>ok c>a", c=task(), ok=approval())).start().succeed("c")
    with never.refusing(NOT_OPEN):
        never.decide("ok")
    assert why(never) == "ok was passed over at 2026-01-01T00:00:00.000Z"
    ended = play(draw("a>ok", ok=approval())).start().fail("a")
    with ended.refusing(NOT_OPEN):
        ended.decide("ok")
    assert why(ended) == "the instance is FAILED and never came to ok"
    cancelled = asking().cancel()
    with cancelled.refusing(NOT_OPEN):
        cancelled.decide("ok")
    assert why(cancelled) == "ok was cancelled at 2026-01-01T00:00:00.000Z"


def test_a_deadline_is_over_by_the_clock_also_before_its_timer_is_heard_of() -> None:
    for config in ({"deadline": "PT1H"}, {"timeout": "PT1H"}):
        run = asking(**config).later(hours=1)
        with run.refusing(NOT_OPEN):
            run.decide("ok")
        assert (
            why(run)
            == "no decision was made on ok in time: that was until 2026-01-01T01:00:00.000Z"
        )
    just = asking(deadline="PT1H").later(hours=1, milliseconds=-1)
    assert just.decide("ok").running == ["yes"]


# -- time


def test_without_a_decision_the_deadline_takes_the_handle_timeout() -> None:
    document = draw(f"{BOTH_WAYS} ok:timeout>late", ok=approval(deadline="P3D"))
    run = play(document).start().skip()
    assert run.news[:2] == ["WAIT_RESOLVED ok#1 timeout", "NODE_COMPLETED ok#1 -> timeout"]
    assert (run.running, run.now) == (["late"], BEGIN + timedelta(days=3))
    with run.refusing(NOT_OPEN):
        run.decide("ok")
    assert (
        why(run) == "no decision was made on ok in time: it timed out at 2026-01-04T00:00:00.000Z"
    )


def test_a_deadline_with_nothing_on_timeout_is_a_failure() -> None:
    run = asking(deadline="P3D").skip()
    assert (run.status, run.code) == (Status.FAILED, "WAIT_TIMEOUT")
    assert run.state.last_error is not None
    assert run.state.last_error.message == "no decision was made in time; it was for ann"
    with run.refusing(NOT_OPEN):
        run.decide("ok")
    assert why(run).startswith(
        "ok has failed at 2026-01-04T00:00:00.000Z: no decision was made in time"
    )
    handled = play(draw("ok:error>a", ok=approval(deadline="P3D"))).start().skip()
    assert handled.running == ["a"]


def test_the_timeout_of_the_step_bounds_the_whole_approval() -> None:
    """`timeout` is one attempt, from when it starts to run (start or claim), default 10 min,
    retryable; on waits, approvals, delays, loops and children it bounds the whole node.
    """
    document = draw("ok:timeout>late", ok=approval(timeout="PT1H", deadline="P3D"))
    run = play(document).start().skip()
    assert (run.status, run.code) == (Status.FAILED, "TIMEOUT")
    assert run.ledger.timers == {}


def test_reminders_come_one_after_the_other_counted_from_the_beginning() -> None:
    run = asking(reminders=["P3D", "P1D", "P1M"])
    assert run.timers == {"ok": timedelta(days=1)}
    seen = [(run.skip().news, run.now - BEGIN) for _ in range(3)]
    assert seen == [
        (["TIMER_FIRED ok#1 reminder 1"], timedelta(days=1)),
        (["TIMER_FIRED ok#1 reminder 2"], timedelta(days=3)),
        (["TIMER_FIRED ok#1 reminder 3"], timedelta(days=31)),
    ]
    assert run.ledger.timers == {}
    assert run.decide("ok").running == ["yes"]


def test_reminders_that_nobody_was_there_for_are_all_recorded() -> None:
    run = asking(reminders=["P1D", "P2D", "P9D"]).later(days=5).fire().fire()
    assert run.count("TIMER_FIRED ok#1 reminder") == 2
    assert run.timer(TimerKind.REMINDER, "ok") == BEGIN + timedelta(days=9)


def test_an_escalation_adds_others_and_takes_nobody_away() -> None:
    run = asking(escalate=ESCALATED)
    with run.refusing(MAY_NOT_DECIDE):
        run.decide("ok", by="zoe")
    assert run.skip().news == ["TIMER_FIRED ok#1 escalation"]
    for by, roles in (("zoe", ()), ("eve", ("board",)), ("ann", ())):
        again = asking(escalate=ESCALATED).skip()
        assert again.decide("ok", by=by, roles=roles).running == ["yes"]


def test_a_decision_takes_every_timer_with_it() -> None:
    everything: dict[str, JSON] = {
        "deadline": "P3D",
        "timeout": "P4D",
        "reminders": ["P1D", "P2D"],
        "escalate": ESCALATED,
    }
    assert len(asking(**everything).ledger.timers) == 4
    assert asking(**everything).decide("ok").ledger.timers == {}
    assert asking(**everything).skip().cancel().ledger.timers == {}


# -- beside others


def test_exactly_one_of_decision_deadline_and_cancel_wins() -> None:
    document = draw(f"{BOTH_WAYS} ok:timeout>late", ok=approval(deadline="PT1H"))
    outcomes = set()
    for order in permutations(("decide", "fire", "cancel", "reject")):
        run = play(document).start().later(minutes=59)
        run._refusing = True
        for each in order:
            if each == "fire":
                run.later(minutes=1)
                if run.ledger.timers:
                    run.fire()
            elif each == "cancel":
                run.cancel()
            else:
                run.decide("ok", "approved" if each == "decide" else "rejected")
        assert sum(run.count(f"WAIT_RESOLVED ok#1 {how}") for how in ("decision", "timeout")) <= 1
        assert run.count("NODE_COMPLETED ok#1") + run.count("NODE_CANCELLED ok#1") == 1
        ends = ("-> approved", "-> rejected", "-> timeout")
        outcomes.add(next((e for e in ends if run.count(f"NODE_COMPLETED ok#1 {e}")), "cancelled"))
    assert outcomes == {"-> approved", "-> rejected", "-> timeout", "cancelled"}


def test_in_a_loop_each_iteration_asks_for_itself() -> None:
    document = draw(
        "l:loop>ok ok:approved>a l:done>z",
        l=loop("{{ctx.input}}", mode="parallel", outputVariable="all"),
        ok=approval("{{item}}", outputVariable="said", deadline="P3D", reminders=["P1D"]),
        a=task(input="{{ctx.said.by}}"),
    )
    run = play(document).start(["ann", "bob", "cid"])
    assert [each["iteration"] for each in run.view["waits"]] == ["0", "1", "2"]
    with run.refusing(NO_SUCH_APPROVAL):
        run.decide("ok")
    assert why(run) == "ok is in the loop l: say in which iteration; open are 0, 1, 2"
    with run.refusing(MAY_NOT_DECIDE):
        run.decide("ok[1]", by="ann")
    run.decide("ok[1]", by="bob").decide("ok[0]", "rejected", by="ann")
    with run.refusing(NOT_OPEN):
        run.decide("ok[0]", by="ann")
    assert run.running == ["a[1]"]
    assert run.succeed("a[1]", "done").skip().news == ["TIMER_FIRED ok[2]#1 reminder 1"]
    run.decide("ok[2]", "rejected", by="cid")
    assert run.running == ["z"]
    results = run.ctx["all"]
    assert isinstance(results, list)
    assert results[1] == "done"
    with run.refusing(NO_SUCH_APPROVAL):
        run.decide("ok")
    assert why(run).endswith("none of them is open")


def test_the_first_of_two_approvals_in_parallel_calls_off_the_other() -> None:
    document = draw(
        "s>p s>q p:approved>j q:approved>j j>z",
        s=start(),
        p=approval("ann", reminders=["P1D"]),
        q=approval("bob", deadline="P1D"),
        j=task(joinMode="any", cancelRest=True),
    )
    run = play(document).start().decide("q", by="bob")
    assert run.running == ["j"]
    assert run.step("p") == "CANCELLED"
    assert run.ledger.timers == {}
    with run.refusing(NOT_OPEN):
        run.decide("p")
    assert why(run) == "p was cancelled at 2026-01-01T00:00:00.000Z"


def test_in_the_steps_form_the_answers_are_transitions() -> None:
    ask = step(
        "ok",
        "APPROVAL",
        assignees={"roles": ["boss"]},
        deadline="P1D",
        transitions={"approved": "yes", "rejected": "no", "timeout": "no"},
    )
    run = play(steps(ask, step("yes"), step("no"))).start()
    assert run.decide("ok", by="ann", roles=("boss",)).running == ["yes"]
    assert play(steps(ask, step("yes"), step("no"))).start().skip().running == ["no"]


def test_an_approval_that_when_passes_over_asks_nobody() -> None:
    document = draw("ok>a ok:approved>b", ok=approval(when="ctx.input.large"))
    assert play(document).start({"large": False}).running == ["a"]
    assert play(document).start({"large": True}).decide("ok").running == ["b"]


# -- pause, retry, rerun


def test_while_paused_a_decision_is_recorded_and_nothing_follows_until_resumed() -> None:
    run = asking(reminders=["PT1H"], escalate=ESCALATED).pause()
    assert run.skip().news == ["TIMER_FIRED ok#1 reminder 1"]
    assert run.decide("ok").news == [
        "WAIT_RESOLVED ok#1 decision",
        "NODE_COMPLETED ok#1 -> approved",
    ]
    assert (run.status, run.running) == (Status.PAUSED, [])
    assert run.resume().running == ["yes"]


def test_a_deadline_passes_while_paused() -> None:
    run = play(draw("ok:timeout>late", ok=approval(deadline="PT1H"))).start().pause().skip()
    assert run.step("ok") == "COMPLETED"
    assert run.resume().running == ["late"]


def test_retried_by_hand_it_asks_anew_with_all_its_time() -> None:
    run = asking(deadline="P1D", reminders=["PT1H"], escalate=ESCALATED).skip().later(days=1)
    run.fire(TimerKind.WAIT_TIMEOUT)
    assert run.status is Status.FAILED
    run.later(days=5).retry()
    assert "WAIT_OPENED ok#2" in run.news
    assert run.timer(TimerKind.WAIT_TIMEOUT, "ok") == run.now + timedelta(days=1)
    assert open_approval(run) == {
        "users": ["ann"],
        "roles": [],
        "formSchema": None,
        "reminders": 0,
        "escalatedAt": None,
    }
    assert run.skip().news == ["TIMER_FIRED ok#2 reminder 1"]
    assert run.decide("ok").running == ["yes"]


def test_what_a_failure_withdrew_is_asked_again_by_a_retry() -> None:
    document = draw("s>ok s>a", s=start(), ok=approval(reminders=["P1D"]), a=task())
    run = play(document).start().fail("a", "BROKEN")
    assert run.step("ok") == "CANCELLED"
    with run.refusing(NOT_OPEN):
        run.decide("ok")
    run.retry().succeed("a").decide("ok")
    assert run.status is Status.COMPLETED


def test_what_ends_takes_no_decision_any_more_however_much_is_left_to_call_off() -> None:
    many = {f"p{number}": approval() for number in range(6)}
    document = draw(" ".join(f"s>{name}" for name in many), s=start(), **many)
    with decisions_of(4):
        run = play(document).start()
        run.settle().cancel()
        last = next(name for name in many if run.step(name) == "WAITING")
        with run.refusing(NOT_OPEN):
            run.decide(last)
        assert why(run) == "the instance is ending"
        assert run.settle().status is Status.CANCELLED


def test_the_log_keeps_who_was_asked() -> None:
    run = asking(deadline="P3D", reminders=["P1D"], escalate=ESCALATED)
    [opened] = [entry for entry in run.entries if isinstance(entry, WaitOpened)]
    assert opened.approval is not None
    assert opened.approval.assignees.users == ("ann",)
    assert opened.approval.escalate_at == BEGIN + timedelta(days=1)
    assert opened.timeout_at == BEGIN + timedelta(days=3)
    assert (opened.pattern, opened.since) == ("", None)
    assert run.state.id == ID


def test_an_instance_is_marked_with_those_who_may_decide_in_it_and_no_longer() -> None:
    escalate: Object = {"after": "P2D", "assignees": {"roles": ["boss"]}}
    run = asking("ann", reminders=["P1D"], escalate=escalate)

    def marks() -> set[str]:
        return {term.name for term in approval_marks(run.plan, run.state)}

    asked = {"@approval", "@approval:user:ann"}
    assert marks() == asked
    late = {"@overdue", "@overdue:user:ann"}
    assert (run.later(days=1).fire(), marks()) == (run, asked | late)
    boss = {"@approval:role:boss", "@overdue:role:boss"}
    assert (run.later(days=1).fire(), marks()) == (run, asked | late | boss)
    assert (run.decide("ok", by="ann"), marks()) == (run, set())
