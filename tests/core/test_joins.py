"""Joins: an outcome table of every mode, every mix of branch outcomes and every order of arrival.

A branch ends in one of five ways; each brings its edge to the join taken or dead:

    taken       it succeeded                                     taken
    routed      it failed and its `error` edge leads to the join taken
    passed      it was passed over by `when`                     taken
    unchosen    a condition did not choose it                    dead
    failed      it failed, and the error went elsewhere          dead
    cancelled   another step called it off                       dead
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, permutations, product

import pytest

from tenuto.model.errors import InvalidDefinition
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tests.core.drawing import condition, draw, start, task
from tests.core.holding import check_new_entries
from tests.core.play import Run, play

TAKEN = {"taken", "routed", "passed"}
DEAD = {"unchosen", "failed", "cancelled"}
OUTCOMES = sorted(TAKEN | DEAD)


def race(outcomes: tuple[str, ...], mode: JSON, **more: JSON) -> Object:
    """Branches b0, b1 … into a join j; `k` calls off those that are to be cancelled."""
    edges, nodes = ["s>k", "j>after"], {"s": start(), "j": task(joinMode=mode, **more)}
    doomed: list[JSON] = []
    for number, outcome in enumerate(outcomes):
        branch = f"b{number}"
        nodes[branch] = task()
        edges.append(f"{branch}{':error' if outcome == 'routed' else ''}>j")
        if outcome == "unchosen":
            nodes[f"c{number}"] = condition(yes="false")
            edges += [f"s>c{number}", f"c{number}:yes>{branch}"]
        else:
            edges.append(f"s>{branch}")
        if outcome == "passed":
            nodes[branch] = task(when="false")
        if outcome == "failed":
            edges.append(f"{branch}:error>x{number}")
        if outcome == "cancelled":
            doomed.append(branch)
    nodes["k"] = task(cancels=doomed)
    return draw(" ".join(edges), **nodes)


def bring(run: Run, branch: str, outcome: str) -> None:
    """Let a branch come to its outcome."""
    if outcome == "taken":
        run.succeed(branch)
    elif outcome in ("routed", "failed"):
        run.fail(branch)
    elif outcome == "cancelled" and "k" in run.running:
        run.succeed("k")


def finish(run: Run) -> None:
    """Bring everything that still runs to its end."""
    while run.running:
        for node in run.running:
            run.succeed(node)


def needed(mode: JSON, width: int) -> int:
    match mode:
        case "any":
            return 1
        case {"atLeast": int(count)}:
            return count
        case _:
            return width


def check_race(outcomes: tuple[str, ...], order: tuple[int, ...], mode: JSON) -> Run:
    taken = sum(outcome in TAKEN for outcome in outcomes)
    fires = taken >= 1 if mode == "all" else taken >= needed(mode, len(outcomes))
    run = play(race(outcomes, mode), check=check_new_entries).start()
    for number in order:
        bring(run, f"b{number}", outcomes[number])
    finish(run)
    assert run.status is Status.COMPLETED
    assert run.count("NODE_DISPATCHED j#1") == fires
    assert run.count("NODE_COMPLETED j#1") == fires
    assert run.count("NODE_COMPLETED after#1") == fires
    assert run.count("NODE_SKIPPED j#1 dead-path") == (not fires)
    return run


@pytest.mark.parametrize("mode", ["all", "any", {"atLeast": 1}, {"atLeast": 2}], ids=str)
@pytest.mark.parametrize("outcomes", list(product(OUTCOMES, repeat=2)), ids="-".join)
def test_a_join_of_two_fires_once_or_is_skipped(outcomes: tuple[str, ...], mode: JSON) -> None:
    """A join fires exactly once per activation: per instance, and per iteration inside a loop."""
    for order in permutations(range(2)):
        check_race(outcomes, order, mode)


@pytest.mark.parametrize(
    "mode", ["all", "any", {"atLeast": 1}, {"atLeast": 2}, {"atLeast": 3}], ids=str
)
@pytest.mark.parametrize("outcomes", list(combinations_with_replacement(OUTCOMES, 3)), ids="-".join)
def test_a_join_of_three_fires_once_or_is_skipped(outcomes: tuple[str, ...], mode: JSON) -> None:
    for order in permutations(range(3)):
        check_race(outcomes, order, mode)


def test_at_least_n_counts_taken_edges() -> None:
    """`atLeast` n counts taken edges; when fewer than n can still be taken the node is skipped;
    n above the number of edges is refused.
    """
    run = play(race(("failed", "taken", "taken"), {"atLeast": 2})).start()
    assert "NODE_DISPATCHED j#1" not in run.fail("b0").succeed("b1").log
    assert "NODE_DISPATCHED j#1" in run.succeed("b2").news
    run = play(race(("failed", "failed", "taken"), {"atLeast": 2})).start()
    assert "NODE_SKIPPED j#1 dead-path" not in run.fail("b0").log
    assert run.fail("b1").news[:4] == [
        "NODE_FAILED b1#1 OOPS route",
        "NODE_COMPLETED b1#1 error -> error",
        "NODE_SKIPPED j#1 dead-path",
        "NODE_DISPATCHED x1#1",
    ]
    assert run.news[4:] == ["NODE_SKIPPED after#1 dead-path"]
    with pytest.raises(InvalidDefinition, match="joinMode"):
        play(race(("taken", "taken"), {"atLeast": 3}))


def test_arrivals_after_firing_are_recorded_and_ignored() -> None:
    """Arrivals after firing are recorded and ignored; without `cancelRest` the instance is done
    only when they too have ended.
    """
    run = play(race(("taken", "taken", "taken"), "any")).start().succeed("k")
    assert "NODE_DISPATCHED j#1" in run.succeed("b1").news
    run.succeed("j").succeed("after")
    assert run.status is Status.RUNNING
    assert run.succeed("b0").news == ["NODE_COMPLETED b0#1"]
    assert run.succeed("b2").news == ["NODE_COMPLETED b2#1", "STATUS_CHANGED COMPLETED"]


def test_an_all_join_fires_on_the_last_arrival_whoever_is_last() -> None:
    for order in permutations(range(3)):
        run = play(race(("taken", "taken", "taken"), "all")).start()
        for number in order[:-1]:
            assert "NODE_DISPATCHED j#1" not in run.succeed(f"b{number}").log
        assert "NODE_DISPATCHED j#1" in run.succeed(f"b{order[-1]}").news


def test_when_is_read_once_after_the_join() -> None:
    """`when` is read after the join and before the mutex."""
    document = draw(
        "s>a s>b a>j b>j j>after",
        s=start(),
        a=task(outputVariable="x"),
        b=task(outputVariable="y"),
        j=task(when="ctx.x + ctx.y > 2"),
    )
    low = play(document).start().succeed("a", 1).succeed("b", 1)
    assert low.news == [
        "NODE_COMPLETED b#1",
        "NODE_SKIPPED j#1 when",
        "NODE_DISPATCHED after#1",
    ]
    high = play(document).start().succeed("b", 1).succeed("a", 2)
    assert high.news == ["NODE_COMPLETED a#1", "NODE_DISPATCHED j#1"]


def test_a_join_that_is_reached_while_paused_fires_once_when_resumed() -> None:
    run = play(race(("taken", "taken", "taken"), "any")).start().succeed("k")
    run.pause().succeed("b0").succeed("b1").succeed("b2")
    assert "NODE_DISPATCHED j#1" not in run.log
    assert run.resume().count("NODE_DISPATCHED j#1") == 1


def test_the_same_source_may_bring_several_edges() -> None:
    document = draw("s>a a>j a:error>j a:x>j", s=start(), a=task(handles=["x"]), j=task())
    ways: list[Callable[[Run], Run]] = [
        lambda run: run.succeed("a"),
        lambda run: run.fail("a"),
        lambda run: run.succeed("a", handle="x"),
    ]
    for end_it in ways:
        run = end_it(play(document).start())
        assert run.count("NODE_DISPATCHED j#1") == 1
        assert run.succeed("j").status is Status.COMPLETED


@pytest.mark.parametrize("width", [100])
def test_a_wide_join_fires_once(width: int) -> None:
    names = [f"n{number}" for number in range(width)]
    edges = " ".join(f"s>{name} {name}>j" for name in names)
    run = play(draw(edges, s=start(), j=task(joinMode={"atLeast": width // 2})), check=None)
    run.start()
    for name in reversed(names):
        run.succeed(name)
    assert run.count("NODE_DISPATCHED j#1") == 1
    assert run.succeed("j").status is Status.COMPLETED
