"""Trying again: the budget, the wait before each attempt, and losses, which are not failures."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from tenuto.core.attempt import backoff
from tenuto.definition import check
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKind
from tenuto.model.json import JSON, Object
from tenuto.model.policy import RetryPolicy
from tenuto.model.status import Status
from tests.core.drawing import box, condition, delay, draw, start, task, wait
from tests.core.play import ID, play

SECOND = timedelta(seconds=1)


def test_the_wait_grows_to_its_cap_with_a_quarter_of_jitter_at_most() -> None:
    """Retries first, always: `delay(n) = min(maxDelay, initialDelay · multiplier^(n−1))` plus
    0–25 % taken from a hash of (idempotencyKey, n).
    """  # noqa: RUF002 - the words of the contract
    policy: Object = {
        "maxAttempts": 9,
        "initialDelay": "PT1S",
        "multiplier": 2,
        "maxDelay": "PT10S",
    }
    run = play(draw("a a:error>b", a=task(retry=policy))).start()
    for failures, least in enumerate([1, 2, 4, 8, 10, 10, 10, 10], 1):
        run.fail("a", retryable=True)
        wait = run.timers["a"]
        assert least * SECOND <= wait <= least * 1.25 * SECOND
        assert wait == backoff(
            run.plan.retry_of(run.plan["a"].node, run.policies), f"{ID}:a", failures
        )
        run.skip()
    assert run.fail("a", retryable=True).news[0] == "NODE_FAILED a#9 OOPS route"


def test_jitter_differs_between_keys_and_attempts_and_never_between_two_readings() -> None:
    policy = RetryPolicy(initial_delay=SECOND, multiplier=1)
    waits = [backoff(policy, f"i{number}:a", 1) for number in range(200)]
    assert waits == [backoff(policy, f"i{number}:a", 1) for number in range(200)]
    assert len(set(waits)) > 100
    assert min(waits) < 1.02 * SECOND
    assert max(waits) > 1.23 * SECOND
    assert backoff(policy, "i:a", 1) != backoff(policy, "i:a", 2)


@given(
    failures=st.integers(1, 10_000),
    factor=st.floats(1, 1e6),
    first=st.integers(0, 10**9),
    cap=st.integers(0, 10**12),
)
def test_no_back_off_overflows(failures: int, factor: float, first: int, cap: int) -> None:
    first_delay, longest = timedelta(milliseconds=first), timedelta(milliseconds=cap)
    policy = RetryPolicy(initial_delay=first_delay, multiplier=factor, max_delay=longest)
    wait = backoff(policy, "i:a", failures)
    assert min(first_delay, longest) <= wait + timedelta(milliseconds=1)
    assert wait <= longest * 1.25 + timedelta(milliseconds=1)


@pytest.mark.parametrize("factor", [1.5, 2.0, 1e6])
def test_after_ten_thousand_failures_the_wait_is_the_cap(factor: float) -> None:
    policy = RetryPolicy(multiplier=factor)
    assert 30 * SECOND <= backoff(policy, "i:a", 10_000) <= 37.5 * SECOND
    assert backoff(RetryPolicy(initial_delay=0 * SECOND, multiplier=factor), "i:a", 9_999) == (
        0 * SECOND
    )


@pytest.mark.parametrize(
    ("retry", "attempts"),
    [(None, 3), ({"maxAttempts": 1}, 1), ({"maxAttempts": 2}, 2), ({"maxAttempts": 7}, 7)],
)
def test_a_step_is_tried_as_often_as_its_policy_says(retry: JSON, attempts: int) -> None:
    run = play(draw("a>b", a=task(**({"retry": retry} if retry else {})))).start()
    for _ in range(attempts - 1):
        run.fail("a", retryable=True).skip()
    assert run.fail("a", retryable=True).news == [
        f"NODE_FAILED a#{attempts} OOPS fail",
        "STATUS_CHANGED FAILED",
    ]
    assert run.count(f"NODE_DISPATCHED a#{attempts}") == 1


def test_the_definitions_policy_is_that_of_every_step_without_one() -> None:
    document = draw("a>b", options={"retry": {"maxAttempts": 2}}, b=task(retry={"maxAttempts": 1}))
    run = play(document).start().fail("a", retryable=True).skip().succeed("a")
    assert run.fail("b", retryable=True).status is Status.FAILED


@pytest.mark.parametrize("code", ["OUT_OF_STOCK", "TIMEOUT", "ValueError"])
def test_what_is_not_retryable_is_not_retried(code: str) -> None:
    document = draw("a", a=task(retry={"maxAttempts": 5, "nonRetryable": [code]}))
    assert play(document).start().fail("a", code, retryable=True).status is Status.FAILED
    assert play(document).start().fail("a", "OTHER", retryable=False).status is Status.FAILED
    assert play(document).start().fail("a", "OTHER", retryable=True).status is Status.RUNNING


def test_every_attempt_has_the_input_of_the_first() -> None:
    document = draw(
        "s>a s>b",
        s=start(),
        a=task(input="{{ctx.v ?? 'first'}}"),
        b=task(outputVariable="v"),
    )
    run = play(document).start().fail("a", retryable=True).succeed("b", "second").skip()
    assert run.ledger.running[NodeKey("a")].input == "first"
    assert run.lose("a").ledger.running[NodeKey("a")].input == "first"


def test_a_lost_attempt_is_started_again_at_once_and_costs_nothing() -> None:
    """An attempt lost with its process or lease (`LOST`) is started again at once as the next
    attempt and does not use up `maxAttempts`; five losses in a row of one node fail it
    (`POISON`) and dead-letter it.
    """
    run = play(draw("a>b", a=task(retry={"maxAttempts": 1}))).start()
    for number in range(1, 5):
        assert run.lose("a").news == [
            f"NODE_FAILED a#{number} LOST retry",
            f"NODE_DISPATCHED a#{number + 1}",
        ]
    assert run.timers == {}
    assert run.lose("a").news == [
        "SYSTEM_SET poison",
        "NODE_FAILED a#5 POISON fail",
        "STATUS_CHANGED FAILED",
    ]
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.node, letter.attempt) == ("poison", "a", 5)


def test_four_losses_are_not_five() -> None:
    run = play(draw("a", a=task(retry={"maxAttempts": 9, "initialDelay": 1}))).start()
    for _ in range(3):
        for _ in range(4):
            run.lose("a")
        run.fail("a", retryable=True).skip()
    assert run.status is Status.RUNNING, "only losses in a row count"
    assert run.succeed("a").status is Status.COMPLETED


def test_the_budget_is_whole_after_losses() -> None:
    run = play(draw("a", a=task(retry={"maxAttempts": 3, "initialDelay": 1}))).start()
    run.lose("a").lose("a").fail("a", retryable=True).skip().lose("a").fail("a", retryable=True)
    assert run.skip().status is Status.RUNNING
    assert run.fail("a", retryable=True).status is Status.FAILED


def test_poison_goes_to_the_error_handle_and_is_a_dead_letter_all_the_same() -> None:
    run = play(draw("a:error>b")).start({"n": 1})
    for _ in range(5):
        run.lose("a")
    assert run.running == ["b"]
    [letter] = run.ledger.dead_letters
    assert (letter.kind, letter.input) == ("poison", {"n": 1})


def test_what_must_never_run_twice_fails_when_it_is_lost() -> None:
    """`retry.onLost: "fail"` for what must never run twice."""
    document = draw("a a:error>b", a=task(retry={"maxAttempts": 5, "onLost": "fail"}))
    run = play(document).start().lose("a")
    assert run.news[0] == "NODE_FAILED a#1 LOST route"
    assert run.count("NODE_DISPATCHED a#2") == 0
    unhandled = play(draw("a", a=task(retry={"onLost": "fail"}))).start().lose("a")
    assert (unhandled.status, unhandled.code) == (Status.FAILED, "LOST")


def test_clean_stops_do_not_count() -> None:
    """Clean stops do not count."""
    run = play(draw("a", a=task(retry={"maxAttempts": 1, "onLost": "fail"}))).start()
    for number in range(1, 20):
        assert run.lose("a", clean=True).news == [
            f"NODE_FAILED a#{number} STOPPED retry",
            f"NODE_DISPATCHED a#{number + 1}",
        ]
    run = play(draw("a")).start()
    for _ in range(4):
        run.lose("a").lose("a", clean=True)
    assert run.lose("a").code == "POISON", "nor do they break a row of losses"


@pytest.mark.parametrize("code", ["LOST", "STOPPED", "POISON"])
def test_a_task_that_reports_one_of_our_codes_still_has_a_budget(code: str) -> None:
    run = play(draw("a", a=task(retry={"maxAttempts": 3, "initialDelay": 1}))).start()
    run.fail("a", code, retryable=True).skip().fail("a", code, retryable=True).skip()
    assert run.fail("a", code, retryable=True).status is Status.FAILED


def test_an_old_attempts_report_is_refused() -> None:
    run = play(draw("a>b")).start().lose("a")
    for attempt in (1, 3):
        with run.refusing("TEN-3003"):
            run.succeed("a", attempt=attempt)
        with run.refusing("TEN-3003"):
            run.fail("a", attempt=attempt)
        with run.refusing("TEN-3003"):
            run.lose("a", attempt=attempt)
    run.fail("a", retryable=True)
    with run.refusing("TEN-3003"):
        run.succeed("a")
    assert run.skip().succeed("a").running == ["b"]


def test_a_retry_is_a_timer() -> None:
    run = play(draw("a")).start().fail("a", retryable=True)
    due = run.timer(TimerKind.RETRY, "a")
    assert run.news == ["NODE_FAILED a#1 OOPS retry", "RETRY_SCHEDULED a#2"]
    assert run.step("a") == "RETRYING"
    assert run.at(due).fire().news == ["NODE_DISPATCHED a#2"]


@pytest.mark.parametrize(
    ("node", "executes"),
    [
        (task(), True),
        (box("http", url="https://x.test"), True),
        (box("dataQuery", dataQueryID="q"), True),
        (box("javascript", code="return 1"), True),
        (box("subWorkflow", workflowId="other"), True),
        (wait(), False),
        (delay(), False),
        (condition(x="true"), False),
        (box("emit", pattern="x"), False),
    ],
)
def test_retries_are_for_what_executes(node: Object, executes: bool) -> None:
    """`retry` is for task, http, dataQuery, javascript, subWorkflow."""
    config = node["config"]
    assert isinstance(config, dict)
    retried = node | {"config": {**config, "retry": {"maxAttempts": 2}}}
    assert (check(draw("a", a=retried)).definition is not None) is executes
