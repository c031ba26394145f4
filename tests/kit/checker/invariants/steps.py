"""Attempts and their outcomes: I10 to I13, poison, and the dead letters that follow."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Moment, Rest
from tests.kit.checker.life import Life
from tests.kit.checker.picture import UNCOUNTED, Picture
from tests.kit.checker.record import Row

LOSSES_UNTIL_POISON = 5
_OUTCOMES = ("NODE_COMPLETED", "NODE_FAILED")
_STARTS = ("NODE_DISPATCHED", "WAIT_OPENED", "TIMER_SET", "RETRY_SCHEDULED", "ITERATION_STARTED")


def one_order_one_outcome(moment: Moment) -> Iterator[str]:
    """I10: For each (instance, node, iteration, attempt): one SCHEDULED, at most one outcome."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type.startswith("NODE_"):
        key = (row.node, row.iteration, row.type, row.attempt)
        if key in moment.picture.seen:
            yield f"a second {row.type} of {row.node} #{row.attempt}"
            return
    if row.type not in _OUTCOMES:
        return
    handled = life.then == "route" and row.type == "NODE_COMPLETED" and row.status == "error"
    if row.attempt in life.outcomes and row.attempt >= life.attempt and not handled:
        yield f"{row.node} #{row.attempt} has two outcomes"
    elif (
        row.type == "NODE_COMPLETED"
        and row.status != "error"
        and life.node.runs_outside
        and row.reused is None
        and (row.node, row.iteration, "NODE_DISPATCHED", row.attempt) not in moment.picture.seen
    ):
        yield f"{row.node} #{row.attempt} has an outcome and was never ordered"


def attempts_follow_each_other(moment: Moment) -> Iterator[str]:
    """I11: Attempts 1…k without holes; k+1 only after outcome, timeout or lease loss of k."""
    row, life = moment.row, moment.life
    if row.type != "NODE_DISPATCHED" or life is None or life.ended:
        return
    if (row.node, row.iteration, row.type, row.attempt) in moment.picture.seen:
        return
    # One that was re-opened while it waited for its mutex has a number, and had no attempt.
    last = max(life.attempt, life.reopened)
    if row.attempt != last + 1:
        yield f"{row.node} #{row.attempt} ordered after #{last}"
    elif life.running:
        yield f"{row.node} #{row.attempt} ordered while #{life.attempt} is open"
    elif life.attempt and life.then != "retry" and (life.begun or not life.reopened):
        yield f"{row.node} #{row.attempt} ordered though #{life.attempt} was not to be repeated"


def attempts_never_restart(moment: Moment) -> Iterator[str]:
    """I11: a retry by hand raises the number of attempts of every node that it re-opens."""
    row, life = moment.row, moment.life
    if life is not None and 0 < row.attempt <= life.reopened and not life.ended:
        yield f"{row.type} of {row.node} #{row.attempt}, which was re-opened after #{life.reopened}"


def budget_is_kept(moment: Moment) -> Iterator[str]:
    """I11: k ≤ limit (losses do not count); retries come first, always, while there are some."""
    row, life = moment.row, moment.life
    if row.type != "NODE_FAILED" or life is None or life.ended or row.code == "POISON":
        return
    if life.node.type == "loop":
        return  # it fails as its item did
    policy, then = life.node.policy, row.payload.get("then")
    if row.code in UNCOUNTED:
        repeats = policy.on_lost == "retry" or row.code == "STOPPED"
        if then != "retry" and repeats and not _being_ended(moment.picture, life):
            yield f"{row.node} #{row.attempt} was {row.code} and is not started again"
        return
    failures = life.failures + 1
    if failures > policy.max_attempts and life.node.runs_outside:
        yield f"{row.node} failed {failures} times, allowed are {policy.max_attempts}"
        return
    retryable = (row.payload.get("error") or {}).get("retryable", True)
    retries = life.node.runs_outside and retryable and failures < policy.max_attempts
    retries = retries and row.code not in policy.non_retryable
    if then == "retry" and not retries:
        yield f"{row.node} #{row.attempt} is repeated after {row.code}, which must not be"
    given_up = then in ("route", "fail", "iteration") and not _being_ended(moment.picture, life)
    if given_up and retries and row.attempt == life.attempt:
        yield f"{row.node} #{row.attempt} is given up after {failures} of {policy.max_attempts}"


def retries_wait_as_told(moment: Moment) -> Iterator[str]:
    """I11: waits ≥ policy minimum and ≤ cap + jitter (0 to 25 %)."""
    row, life = moment.row, moment.life
    if row.type != "RETRY_SCHEDULED" or life is None:
        return
    due = row.moment("due")
    if due is None or life.then != "retry":
        yield f"a retry of {row.node} without a failure that asks for one"
        return
    if life.code in UNCOUNTED:
        return
    policy = life.node.policy
    least = policy.due(life.failed_at, policy.wait_ms(life.failures))
    longest = policy.wait_ms(max(life.failures, life.attempt)) * 1.25 + 1
    most = policy.due(life.failed_at, longest)
    if not least <= due <= most:
        told = f"{least - life.failed_at} to {most - life.failed_at} ms"
        yield f"retry #{row.attempt} of {row.node} after {due - life.failed_at} ms, told {told}"


def outcome_is_of_the_current_attempt(moment: Moment) -> Iterator[str]:
    """I12: Accepted outcome carries the current fence; stale ones appear as refused."""
    row, life = moment.row, moment.life
    if row.type in _OUTCOMES and life is not None and not life.ended and row.attempt < life.attempt:
        yield f"{row.node}: outcome of #{row.attempt} accepted while #{life.attempt} is current"


def nothing_starts_after_the_end(moment: Moment) -> Iterator[str]:
    """I13: Nothing is handed out after terminal or acknowledged cancel; none while paused."""
    picture, row = moment.picture, moment.row
    starts = row.type in _STARTS or (picture.begins(row) and row.type != "NODE_FAILED")
    if not starts:
        return
    if picture.is_final:
        if row.type == "NODE_DISPATCHED":
            yield f"{row.node} ordered after {picture.status}"
    elif picture.ending:
        status, cause = picture.ending[0]
        yield f"{row.type} of {row.node} after row {cause.seq} decided for {status}"
    elif picture.paused and row.type in ("NODE_DISPATCHED", "ITERATION_STARTED"):
        yield f"{row.node} ordered while paused"


def poison_after_five_losses(moment: Moment) -> Iterator[str]:
    """POISON: five losses in a row of one node fail it (`POISON`), not before and not later."""
    row, life = moment.row, moment.life
    if row.type != "NODE_FAILED" or life is None or life.ended or life.node.type == "loop":
        return
    if row.code == "POISON" and life.losses not in (LOSSES_UNTIL_POISON - 1, LOSSES_UNTIL_POISON):
        yield f"{row.node} is POISON after {life.losses + 1} losses"
    if (
        row.code == "LOST"
        and life.losses >= LOSSES_UNTIL_POISON - 1
        and not _being_ended(moment.picture, life)
        and row.payload.get("then") == "retry"
    ):
        yield f"{row.node} was lost {life.losses + 1} times in a row and goes on"


def poison_is_told(rest: Rest) -> Iterator[str]:
    """POISON: a `SYSTEM_SET` entry says so, and a dead letter is kept."""
    for row in rest.rows:
        life = rest.picture.life(row)
        if row.type != "NODE_FAILED" or row.code != "POISON" or life is None:
            continue
        if life.node.type == "loop":
            continue
        if not any(_names(other, row.node) for other in rest.rows):
            yield f"no SYSTEM_SET says that {row.node} is POISON"
        letters = rest.instance.dead_letters
        if letters is None or row.seq < _last_retry(rest):
            continue
        if not _letter(letters, row, ("poison", "task-failed")):
            yield f"no dead letter for {row.node}, which is POISON"


def unhandled_failures_are_kept(rest: Rest) -> Iterator[str]:
    """DEAD-LETTER: tasks whose failure nothing handled become dead letters; handled ones do not.

    The letters of what is retried go with the retry.
    """
    letters, retried = rest.instance.dead_letters, _last_retry(rest)
    if letters is None:
        return
    for row in rest.rows:
        if row.type != "NODE_FAILED" or row.code == "POISON":
            continue
        node = rest.picture.graph.nodes.get(row.node or "")
        if node is None or not node.runs_outside or node.starts_a_child:
            continue
        kept = _letter(letters, row, ("task-failed",))
        if row.payload.get("then") == "fail" and not kept and row.seq > retried:
            yield f"no dead letter for {row.node} #{row.attempt}, which failed the workflow"
        if row.payload.get("then") != "fail" and kept:
            yield f"a dead letter for {row.node} #{row.attempt}, which was handled"


def what_is_tried_again_is_no_dead_letter(rest: Rest) -> Iterator[str]:
    """DEAD-LETTER: what is retried has none, but for results that came too late.

    The compensation of a child has the name of the step that it was.
    """
    tried: dict[tuple[bool, str | None, str], int] = {}
    for row in rest.rows:
        if row.type in ("NODE_DISPATCHED", "COMPENSATION_DISPATCHED"):
            place = row.type == "COMPENSATION_DISPATCHED", row.node, row.iteration
            tried[place] = max(tried.get(place, 0), row.attempt)
    for letter in rest.instance.dead_letters or ():
        node, attempt = letter.get("node"), letter.get("attempt")
        if letter["kind"] == "late-result" or not isinstance(attempt, int):
            continue
        is_undone = letter["kind"] == "compensation-failed"
        last = tried.get((is_undone, node, letter.get("iteration", "")), 0)
        if attempt < last:
            yield f"a dead letter for {node} #{attempt}, which was tried again: #{last}"


def _last_retry(rest: Rest) -> int:
    """The number of the last entry by which somebody had it tried again; 0: nobody has."""
    return max((row.seq for row in rest.rows if row.type == "RETRY_REQUESTED"), default=0)


def _letter(letters: list[dict[str, object]], row: Row, kinds: tuple[str, ...]) -> bool:
    return any(
        letter["kind"] in kinds
        and letter.get("node") == row.node
        and letter.get("iteration", row.iteration) == row.iteration
        and letter.get("attempt", row.attempt) == row.attempt
        for letter in letters
    )


def _names(row: Row, node: str | None) -> bool:
    return row.type == "SYSTEM_SET" and f'"{node}"' in json.dumps(row.payload)


def _being_ended(picture: Picture, life: Life) -> bool:
    return bool(picture.ending) or life.called_off
