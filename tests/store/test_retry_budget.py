"""The budget of retries: a part of the first tries, and a few that were saved up."""

from __future__ import annotations

from tenuto.store.retry_budget import MOST_SAVED, SHARE, RetryBudget


def test_retries_are_at_most_a_part_of_first_tries() -> None:
    budget = RetryBudget()
    done = 0
    for _ in range(10_000):
        budget.tried()
        for _ in range(4):  # everything fails, and is tried as often as it may be
            done += budget.take()
    assert done <= 10_000 * SHARE + MOST_SAVED
    assert done >= 10_000 * SHARE
    assert budget.counts.repeated == done
    assert budget.counts.refused == 40_000 - done


def test_single_faults_are_always_repeated() -> None:
    budget = RetryBudget()
    for number in range(1_000):
        budget.tried()
        if number % 10 == 0:
            assert budget.take()
