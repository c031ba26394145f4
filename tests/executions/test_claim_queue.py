"""Who of those that wait for tasks is told to look."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from tenuto.executions.claim_queue import MOST_CALLED, ClaimQueue, WaitingClaim
from tenuto.model.errors import Overloaded
from tenuto.store.parts.jobs import WorkerClaim


def wanted(*ids: str, tenant: str = "t") -> WorkerClaim:
    return WorkerClaim(tenant, "w", ids or None, 1, timedelta(seconds=1))


def test_whoever_leaves_the_line_lets_the_first_of_each_kind_look() -> None:
    queue = ClaimQueue()
    first = queue.join(wanted("a", "b"))
    others = [queue.join(wanted(*ids)) for ids in (("a",), ("a", "c"), ("b",), ("b",), ("c",))]
    for each in others:
        each.called.clear()
    left_with_tasks(queue, first)
    assert [each.called.is_set() for each in others] == [True, False, True, False, False]
    anyone = queue.join(wanted())
    anyone.called.clear()
    for each in others:
        each.called.clear()
    left_with_tasks(queue, anyone)
    assert [each.called.is_set() for each in others] == [True, True, True, False, False]


def test_whoever_waits_holds_up_nobody_who_can_do_something_else_too() -> None:
    queue = ClaimQueue()
    queue.join(wanted("x", "y"))
    assert queue.join(wanted("y", "z")).called.is_set()
    assert queue.join(wanted()).called.is_set()


def test_those_who_want_the_same_look_one_after_the_other() -> None:
    queue = ClaimQueue()
    first = queue.join(wanted("x", "y"))
    behind = [queue.join(wanted(*ids)) for ids in (("y", "x"), ("x",))]
    assert first.called.is_set()
    assert not any(each.called.is_set() for each in behind)
    assert queue.join(wanted("x", tenant="other")).called.is_set()
    anyone = queue.join(wanted())
    assert anyone.called.is_set()
    assert not queue.join(wanted("z")).called.is_set()
    assert not queue.join(wanted()).called.is_set()


def left_with_tasks(queue: ClaimQueue, one: WaitingClaim) -> None:
    one.has_looked = False
    queue.leave(one)


def called(claims: list[WaitingClaim]) -> list[int]:
    """The places of those that are called, which is forgotten."""
    found = [place for place, each in enumerate(claims) if each.called.is_set()]
    for each in claims:
        each.called.clear()
    return found


def test_whoever_found_nothing_calls_nobody_when_leaving() -> None:
    queue = ClaimQueue()
    first, second = queue.join(wanted("a")), queue.join(wanted("a"))
    first.called.clear()
    queue.leave(first)
    assert not second.called.is_set(), "there was no job when the first looked"
    third = queue.join(wanted("a"))
    queue.call("t", "a")
    queue.leave(second)
    assert third.called.is_set(), "the second was called, and did not look"


def test_one_that_leaves_calls_few_and_one_that_joins_compares_few() -> None:
    queue = ClaimQueue()
    wide = queue.join(wanted(*(f"a{n}" for n in range(500))))
    others = [queue.join(wanted(f"a{n}", f"b{n}")) for n in range(500)]
    called(others)
    left_with_tasks(queue, wide)
    assert called(others) == [*range(MOST_CALLED)], "the others look at one of the next polls"

    queue = ClaimQueue()
    names = [f"n{n}" for n in range(100)]
    for n in range(100):
        queue.join(wanted(*names[:n], *names[n + 1 :], f"m{n}"))
    compared = Counter[str]()

    def wants_all_of(one: WaitingClaim, others: frozenset[str]) -> bool:
        compared["claims"] += 1
        return others <= (one.ids or frozenset())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WaitingClaim, "wants_all_of", wants_all_of)
        assert queue.join(wanted(*names)).called.is_set()
        assert compared["claims"] <= 100
        for n in range(1, 100):
            assert queue.join(wanted(*names, f"o{n}")).called.is_set()
    assert compared["claims"] <= 100, "a task that nobody waits for needs no comparing"


def test_a_poll_calls_for_a_number_of_names_and_goes_on_behind_them() -> None:
    queue = ClaimQueue()
    few = [queue.join(wanted(f"f{n}", tenant="few")) for n in range(3)]
    many = [queue.join(wanted(*(f"{k}-{n}" for n in range(500)))) for k in range(10)]
    same = [queue.join(wanted(*(f"9-{n}" for n in range(500)))) for _ in range(3)]
    called([*few, *many, *same])
    rounds = []
    for _ in range(4):
        queue.call_first()
        assert called(few) == [0, 1, 2]
        assert not called(same)
        rounds.append(called(many))
    assert rounds == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 8, 9], [2, 3, 4, 5]]
    queue.call_first(lambda tenant: tenant == "few")
    assert (called(few), called(many)) == ([0, 1, 2], [])


def test_the_claims_of_a_tenant_that_wait_and_their_names_are_bounded() -> None:
    queue = ClaimQueue(6, 3, 20)
    claims = [queue.join(wanted("a")) for _ in range(3)]
    with pytest.raises(Overloaded, match="3 workers are waiting"):
        queue.join(wanted("a"))
    queue.join(wanted(*(f"n{n}" for n in range(19)), tenant="other"))
    queue.join(wanted("x", tenant="other"))
    with pytest.raises(Overloaded, match="waiting for 20 tasks by name"):
        queue.join(wanted("y", tenant="other"))
    queue.join(wanted(*(f"n{n}" for n in range(30)), tenant="third"))
    with pytest.raises(Overloaded, match="6 workers are waiting"):
        queue.join(wanted("z", tenant="fourth"))
    for each in claims:
        queue.leave(each)
    assert len(queue) == 3
    assert queue.join(wanted("a")).called.is_set()
