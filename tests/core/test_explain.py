"""Why an instance is not moving: every situation has its cause, and says what is behind it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto.core.deciding import GO_ON
from tenuto.core.explain import Facts, explain
from tenuto.core.explain_steps import MOST_CAUSES, position
from tenuto.core.incomplete_joins import join_message
from tenuto.model.causes import (
    Cause,
    CauseKind,
    Estimate,
    Explanation,
    Holder,
    Queued,
    RequestWait,
)
from tenuto.model.durations import iso
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import ScheduleCause
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.calendars import policies
from tests.core.drawing import box, draw, start, task, undoing, wait
from tests.core.play import BEGIN, Run, play
from tests.core.test_working_time import FRIDAY, berlin
from tests.core.wandering import wander
from tests.kit.workload import Seeded, Taste, make_input, random_document

CROWDED = RequestWait(target="api.example", obstacle="concurrency", since=BEGIN)
NOBODY = "no process or worker has taken its task work"


def explained(run: Run, **facts: Any) -> Explanation:  # noqa: ANN401
    return explain(run.plan, run.state, Facts(now=run.now, **facts))


def only(run: Run, **facts: Any) -> Cause:  # noqa: ANN401
    [cause] = explained(run, **facts).causes
    return cause


def kinds(causes: tuple[Cause, ...]) -> list[Any]:
    """The tree as kinds: `["paused", ["running"]]`."""
    found: list[Any] = []
    for cause in causes:
        found.append(cause.kind.value)
        if cause.causes:
            found.append(kinds(cause.causes))
    return found


def test_a_wait_names_its_event_until_when_and_what_came_near() -> None:
    run = Run(draw("w", w=wait("paid", eventCondition="event.payload.n === 1", timeout="PT1H")))
    run.start({})
    near = [{"eventId": "e1"}]
    cause = only(run, near={("w", "", ""): near})
    assert cause.kind is CauseKind.EVENT
    assert (cause.step_id, cause.iteration, cause.since) == ("w", "", BEGIN)
    assert cause.until == BEGIN + timedelta(hours=1)
    assert cause.message.startswith("waits for the event paid where event.payload.n === 1")
    assert cause.details["nearMisses"] == near
    assert explained(run).summary == f"w: {only(run).message}"


def test_the_schedule_that_started_an_instance_is_a_cause_after_all_others() -> None:
    run = Run(draw("w", w=wait("paid")))
    run.start({}, schedule=ScheduleCause(id="daily", nominal=BEGIN))
    nominal = iso(BEGIN)
    [event, schedule] = explained(run).causes
    assert (event.kind, schedule.kind) == (CauseKind.EVENT, CauseKind.SCHEDULE)
    assert schedule.message == f"schedule daily started it for {nominal}"
    assert schedule.details == {"scheduleId": "daily", "nominal": nominal}
    assert schedule.since == BEGIN
    assert explained(run).summary == f"w: {event.message}", "it holds nothing up"
    waiting = explained(run, queued_ticks=2).causes[-1]
    assert waiting.message.endswith("; 2 later ticks wait for its end")
    assert waiting.details["queued"] == 2


def test_each_arm_of_a_wait_is_a_cause() -> None:
    arms: list[Any] = [{"id": "yes", "eventPattern": "ok"}, {"id": "no", "eventPattern": "ko"}]
    run = Run(draw("w", w=box("eventWait", arms=arms))).start({})
    assert [cause.details["armId"] for cause in explained(run).causes] == ["yes", "no"]


def test_an_approval_names_who_may_decide() -> None:
    asked = box("approval", assignees={"users": ["ann"], "roles": ["boss"]}, deadline="P1D")
    cause = only(Run(draw("a", a=asked)).start({}))
    assert cause.kind is CauseKind.APPROVAL
    assert cause.message == "waits for ann or anybody with the role boss to decide"
    assert cause.until == BEGIN + timedelta(days=1)
    assert cause.details["users"] == ["ann"]


def test_a_large_form_is_not_part_of_an_explanation() -> None:
    """A family of a hundred instances may each have twenty decisions open."""
    forms: list[JSON] = [{"type": "object"}, {"description": "f" * 300_000}]
    asked = [box("approval", assignees={"users": ["ann"]}, formSchema=each) for each in forms]
    small, large = (only(Run(draw("a", a=each)).start({})).details for each in asked)
    assert small["formSchema"] == {"type": "object"}
    assert (large["formSchema"], large["isFormLeftOut"]) == (None, True)


def test_a_delay_says_until_when_it_sleeps() -> None:
    cause = only(Run(draw("d", d=box("delay", duration="PT1H"))).start({}))
    assert (cause.kind, cause.until) == (CauseKind.TIMER, BEGIN + timedelta(hours=1))


def test_a_task_says_which_attempt_runs_and_for_how_long_it_may() -> None:
    run = Run(draw("a", a=task(timeout="PT1M"))).start({})
    cause = only(run)
    assert cause.kind is CauseKind.RUNNING
    assert cause.details == {"attempt": 1, "taskId": "work"}
    assert (cause.since, cause.until) == (BEGIN, BEGIN + timedelta(minutes=1))


@pytest.mark.parametrize(("token", "kind"), [(0, CauseKind.WORKER), (2, CauseKind.RUNNING)])
def test_a_task_that_was_offered_waits_for_a_worker_until_one_takes_it(
    token: int, kind: CauseKind
) -> None:
    run = Run(draw("a")).start({})
    cause = only(run, jobs={("a", "", 1): token})
    assert cause.kind is kind
    assert cause.until is None
    assert cause.message == ("attempt 1 runs in a worker" if token else NOBODY)


def test_a_task_that_waits_says_how_many_workers_take_it() -> None:
    run = Run(draw("a")).start({})
    cause = only(run, jobs={("a", "", 1): 0}, takers={"work": 2})
    assert cause.message == f"{NOBODY}; 2 connected workers take such tasks"
    assert cause.details["workers"] == 2
    assert only(run, jobs={("a", "", 1): 0}).details["workers"] == 0


def test_a_task_that_is_not_known_names_the_one_that_may_be_meant() -> None:
    run = Run(draw("a")).start({})
    cause = only(run, jobs={("a", "", 1): 0}, meant={"work": "wok"})
    assert cause.message == f"{NOBODY}. Did you mean wok?"


@pytest.mark.parametrize("owner", ["silent", "nobody"])
def test_an_attempt_whose_process_is_gone_is_not_said_to_run(owner: str) -> None:
    run = Run(draw("a", a=task(timeout="PT1M"))).start({})
    [_, cause] = explained(run, owner=owner).causes
    assert cause.message == "attempt 1 does not run until a process goes on with it"
    assert cause.until is None


def test_a_join_says_what_it_has_and_what_it_lacks() -> None:
    run = Run(draw("arms>merge legs>merge")).start({}).succeed("arms")
    [legs, join] = explained(run).causes
    assert (legs.step_id, join.step_id, join.kind) == ("legs", "merge", CauseKind.JOIN)
    assert join.message == "1 of 2 are in; legs is missing"
    assert join.details == {"missing": ["legs"]}
    assert kinds(explained(run.succeed("legs")).causes) == ["running"]


def test_a_join_of_a_failing_instance_says_what_cannot_arrive_any_more() -> None:
    edges = "s>in s>bad s>rest s>runs in>merge bad>merge rest>merge runs>merge"
    document = draw(edges, s=start(), rest=box("delay", duration="PT1H"))
    run = Run(document).start({}).succeed("in").fail("bad", "BROKEN", retryable=False)
    missing = "bad (failed), rest (cancelled), runs"
    [ending] = explained(run).causes
    [_, join] = ending.causes
    assert join.message == f"1 of 4 are in; {missing} (asked to stop) are missing"
    assert join.details == {
        "missing": ["bad", "rest", "runs"],
        "lost": {"bad": "failed", "rest": "cancelled", "runs": "asked to stop"},
    }
    run.lose("runs")
    assert run.state.status is Status.FAILED
    message = join_message(run.plan, run.state, NodeKey("merge"))
    assert message == f"1 of 4 are in; {missing} (cancelled) are missing"


def test_a_retry_says_when_and_after_which_error() -> None:
    run = Run(draw("a")).start({}).fail("a", "BUSY", retryable=True)
    cause = only(run)
    assert cause.kind is CauseKind.RETRY
    assert cause.until is not None
    assert cause.until > run.now
    assert cause.message == "is tried again, attempt 2 after BUSY: BUSY in a"


def test_a_pause_names_who_and_what_still_goes_on() -> None:
    until = BEGIN + timedelta(days=1)
    run = Run(draw("a")).start({}).pause(until=until, reason="lunch")
    found = explained(run)
    assert kinds(found.causes) == ["paused", ["running"]]
    assert found.causes[0].until == until
    assert found.causes[0].message.endswith("paused it: lunch")


def test_a_loop_has_its_iterations_below_it() -> None:
    loop = box("loop", source="{{workflow.input.items}}", mode="parallel", concurrency=50)
    run = Run(draw("l l:loop>a", l=loop)).start({"items": list(range(30))})
    cause = only(run)
    assert cause.kind is CauseKind.LOOP
    assert len(cause.causes) == MOST_CAUSES + 1
    assert cause.causes[-1].details == {"more": 10}
    assert {each.iteration for each in cause.causes[:-1]} == {str(n) for n in range(20)}


def test_a_child_is_explained_below_its_step() -> None:
    run = Run(draw("c", c=box("subWorkflow", workflowId="other"))).start({})
    assert only(run).kind is CauseKind.CHILD
    run.resolve("c")
    child_id = next(iter(run.state.nodes.values())).child_id
    assert child_id is not None
    assert only(run).causes == ()
    below = explained(Run(draw("w", w=wait())).start({}))
    cause = only(run, children={child_id: below})
    assert cause.causes == below.causes
    assert cause.details == {"childId": child_id, "status": "WAITING_FOR_EVENT"}


def test_what_was_told_to_stop_is_waited_for() -> None:
    run = Run(draw("a")).start({}).cancel("enough")
    found = explained(run)
    assert kinds(found.causes) == ["ending", ["stopping"]]
    assert found.causes[0].details["reason"] == "enough"
    assert found.causes[0].causes[0].until is not None


def test_undoing_says_how_far_it_is_and_what_it_waits_for() -> None:
    run = Run(undoing(draw("a>b"), a={})).start({}).succeed("a").fail("b")
    found = explained(run)
    assert kinds(found.causes) == ["compensation", ["running"]]
    assert found.causes[0].causes[0].step_id == "undo_a"
    assert kinds(explained(run, jobs={("undo_a", "", 1): 0}).causes) == ["compensation", ["worker"]]
    run.fail("undo_a", "BUSY", retryable=True)
    assert kinds(explained(run).causes) == ["compensation", ["retry"]]
    run.skip().fail("undo_a", "NEVER")
    assert run.status is Status.FAILED
    found = explained(run)
    assert kinds(found.causes) == ["failed", "compensation", ["failed"]]
    assert found.causes[0].details["canRetry"] is False


def test_a_failure_names_its_error_and_what_to_do() -> None:
    run = Run(draw("a")).start({}).fail("a", "BROKEN")
    cause = only(run)
    assert (cause.kind, cause.step_id) == (CauseKind.FAILED, "a")
    assert cause.message == "it has failed: BROKEN: BROKEN in a"
    assert cause.details["canRetry"] is True
    assert "retry" in str(cause.details["advice"])


def test_ends_are_explained_too() -> None:
    assert only(Run(draw("a")).start({}).succeed("a")).kind is CauseKind.COMPLETED
    cancelled = Run(draw("w", w=wait())).start({}).cancel("enough")
    assert only(cancelled).kind is CauseKind.CANCELLED
    assert only(cancelled).message.endswith("cancelled it: enough")


@pytest.mark.parametrize("owner", ["silent", "nobody"])
def test_a_silent_owner_comes_first(owner: str) -> None:
    run = Run(draw("a")).start({})
    assert kinds(explained(run, owner=owner).causes) == ["owner", "running"]
    waiting = Run(draw("w", w=wait())).start({})
    assert kinds(explained(waiting, owner=owner).causes) == ["event"], "it needs none"


def every(causes: tuple[Cause, ...]) -> list[Cause]:
    return [each for cause in causes for each in (cause, *every(cause.causes))]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_rests_has_a_cause(seed: int) -> None:
    """In every world at rest: something is named that it waits for, and each step is its own."""
    run = Run(random_document(seed, Taste(largest=12)), check=None)
    plain = run.tell
    rests = 0

    def tell(input: Any) -> Run:  # noqa: ANN401
        nonlocal rests
        plain(input)
        found = explained(run)
        assert found.causes
        assert found.summary
        if not run.state.has_ended and GO_ON not in run.ledger.timers:
            rests += 1
            told = every(found.causes)
            assert CauseKind.DECIDING not in {cause.kind for cause in told}
            leaves = {cause.step_id for cause in told if not cause.causes}
            assert leaves - {None} or run.state.pause, "something of the workflow is named"
        return run

    run.tell = tell  # type: ignore[method-assign]
    run.start(make_input(Seeded(seed)))
    wander(run, Seeded(seed), restless=40, retries=seed % 3)
    assert rests or run.status.is_final


def test_a_delay_in_working_time_says_of_which_calendar_and_until_when_there() -> None:
    run = Run(draw("d", d=box("delay", duration="PT4H", calendar="office")), policies=policies())
    run.at(FRIDAY).start({})
    cause = only(run, policies=run.policies)
    assert cause.kind is CauseKind.WORKING_TIME
    assert cause.message == (
        "waits for 4 working hours of calendar `office`, until Mon 11:00 Europe/Berlin"
    )
    assert (cause.since, cause.until) == (FRIDAY, berlin(12, 11))
    assert "2026-01-12T10:00:00.000Z" in only(run).message


def test_a_retry_in_working_time_says_so() -> None:
    retry: Any = {"initialDelay": "P9D", "calendar": "office"}
    run = Run(draw("a", a=task(retry=retry)), policies=policies()).at(FRIDAY).start({})
    cause = only(run.fail("a", retryable=True), policies=run.policies)
    when = "Thu 22 Jan 2026 15:00 Europe/Berlin"
    expected = f"is tried again in working time of calendar `office`, at {when}, attempt 2 of 3"
    assert cause.message.startswith(expected)


MISSED = "it is missed at Mon 11:00 Europe/Berlin"


def test_an_sla_says_how_it_stands_and_holds_nothing_up() -> None:
    """`explain` has the cause `working-time` for a delay in working time, and the cause `sla` for
    each SLA under way: kept, warned or breached, and what comes next.
    """
    promise: Any = {"warnAfter": "PT2H", "breachAfter": "PT4H", "calendar": "office"}
    run = Run(draw("a", options={"sla": promise}), policies=policies()).at(FRIDAY).start({})
    states = []
    for _ in range(3):
        found = explained(run, policies=run.policies)
        work, sla = found.causes
        assert (work.kind, sla.kind, found.summary) == (
            CauseKind.RUNNING,
            CauseKind.SLA,
            f"a: {work.message}",
        )
        states.append((sla.details["state"], sla.message, sla.until))
        run.skip() if run.ledger.timers else None
    assert states == [
        (
            "kept",
            "its SLA is kept so far; it is warned of at Fri 17:00 Europe/Berlin",
            berlin(9, 17),
        ),
        (
            "warned",
            f"its SLA was warned of at {iso(berlin(9, 17))}; {MISSED}",
            berlin(12, 11),
        ),
        ("breached", "its SLA was missed at 2026-01-12T10:00:00.000Z", None),
    ]


def test_the_sla_of_a_step_names_it() -> None:
    run = Run(draw("a", a=task(sla={"breachAfter": "PT4H"}))).start({})
    _, sla = explained(run).causes
    assert (sla.step_id, sla.details["calendar"]) == ("a", None)
    assert sla.message == "its SLA is kept so far; it is missed at 2026-01-01T04:00:00.000Z"


USUAL = Estimate(p50=40_000, p90=90_000, count=20)


def test_a_step_without_its_mutex_names_its_position_and_the_holders() -> None:
    run = Run(draw("a", a=task(mutex="printer"))).start({})
    assert only(run).message == "it waits for the mutex 'printer'"
    held = Holder(instance_id="other", step_id="print", iteration="2", since=BEGIN)
    queued = Queued(
        since=BEGIN, limit="mutex:default/printer", place=2, length=3, holders=(held,), most=1
    )
    cause = only(run, mutexes={("a", ""): queued}, estimates={("mutex", "a"): USUAL})
    assert cause.kind is CauseKind.MUTEX
    said = "position 2 of 3; mutex 'printer', held by print[2] of other; usually 40 s"
    assert (cause.message, cause.since, cause.estimate) == (said, BEGIN, USUAL)
    assert cause.details == {
        "mutex": "printer",
        "position": 2,
        "of": 3,
        "holders": [
            {"instanceId": "other", "stepId": "print", "iteration": "2", "since": iso(BEGIN)}
        ],
    }


@pytest.mark.parametrize(
    ("document", "past", "facts", "said"),
    [
        (draw("a"), "attempt", {}, "attempt 1 runs"),
        (draw("a"), "queue", {"jobs": {("a", "", 1): 0}}, NOBODY),
        (draw("a"), "queue", {"queued": frozenset({("a", "", 1)})}, "attempt 1 waits for a thread"),
        (draw("a"), "queue", {"waits": {("a", "", 1): CROWDED}}, "its request waits until one"),
        (draw("a", a=wait("paid")), "wait", {}, "waits for the event paid"),
        (draw("a", a=box("approval", assignees={"users": ["ana"]})), "wait", {}, "waits for ana"),
        (draw("a", a=task(mutex="m")), "mutex", {}, "it waits for the mutex 'm'"),
    ],
)
def test_a_cause_says_how_long_it_usually_takes_where_earlier_ones_tell(
    document: Object, past: str, facts: dict[str, Any], said: str
) -> None:
    """`explain` has the causes slot, mutex, event, approval, worker, breaker, rate limit, retry,
    timer, working time, schedule, child, pause, each with since when, until when where known, who
    holds it, and an estimate `{p50, p90, from}` where 20 or more earlier ones give one."""
    run = Run(document).start({})
    assert only(run, **facts).estimate is None
    cause = only(run, estimates={(past, "a"): USUAL}, **facts)
    assert cause.estimate == USUAL
    assert cause.message.startswith(said)
    assert cause.message.endswith("; usually 40 s")


def test_a_child_says_how_long_earlier_ones_ran() -> None:
    run = Run(draw("c", c=box("subWorkflow", workflowId="other"))).start({})
    run.resolve("c")
    cause = only(run, estimates={("child", "c"): USUAL})
    assert (cause.estimate, cause.message.endswith("; usually 40 s")) == (USUAL, True)


def test_a_breaker_is_not_estimated_from_attempts_that_had_none() -> None:
    run = Run(draw("a")).start({})
    wait = RequestWait(target="api.example", obstacle="breaker", since=BEGIN, until=BEGIN)
    cause = only(run, waits={("a", "", 1): wait}, estimates={("queue", "a"): USUAL})
    assert (cause.kind, cause.estimate) == (CauseKind.BREAKER, None)


@pytest.mark.parametrize(
    ("queued", "said"),
    [
        ({"limit": ""}, "it waits for a slot, and is about to be looked at"),
        ({"limit": "", "is_on_hold": True}, "it is on hold: it waits until it is released"),
        (
            {"limit": "tenant:acme", "held": 10, "most": 10, "place": 3, "length": 9},
            "position 3 of 9; limit tenant:acme 10 of 10, held by other; usually 40 s",
        ),
        (
            {"limit": "k", "held": 1, "most": 1, "place": 2, "length": 2, "queue_place": 8},
            "position 2 of 2 for this limit, 8 in the queue; limit k 1 of 1, held by other; usually 40 s",  # noqa: E501
        ),
    ],
)
def test_a_queued_instance_names_its_position_the_limit_and_the_holders(
    queued: dict[str, Any], said: str
) -> None:
    document: Object = {**draw("a"), "workflowOptions": {"concurrency": {"limit": 1}}}
    run = play(document).start({})
    slot = Queued(since=BEGIN, holders=(Holder(instance_id="other"),), **queued)
    [cause, *_] = explained(run, slot=slot, estimates={("slot", ""): USUAL}).causes
    assert (cause.kind, cause.message, cause.since) == (CauseKind.SLOT, said, BEGIN)
    assert (cause.estimate is None) is bool(queued.get("is_on_hold"))


@pytest.mark.parametrize(
    ("names", "more", "of_others", "said"),
    [
        ("ab", 0, 0, ", held by a, b"),
        ("ab", 7, 0, ", held by a, b and 7 more"),
        ("ab", 0, 3, ", held by a, b and 3 of other tenants"),
        ("ab", 7, 3, ", held by a, b, 7 more and 3 of other tenants"),
        ("", 0, 3, ", held by instances of other tenants"),
        ("", 1, 3, ", held by 1 instance and 3 of other tenants"),
        ("", 2, 0, ", held by 2 instances"),
        ("", 0, 0, ""),
    ],
)
def test_all_holders_of_a_full_limit_are_named_or_counted(
    names: str, more: int, of_others: int, said: str
) -> None:
    """Instances of other tenants are never named."""
    holders = tuple(Holder(instance_id=name) for name in names)
    queued = Queued(since=BEGIN, limit="global", holders=holders, more=more, of_others=of_others)
    assert position(queued, "limit global 5 of 4") == f"position 1 of 1; limit global 5 of 4{said}"
