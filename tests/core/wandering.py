"""Random walks: whatever can happen to an instance happens, in any order, until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from tenuto.model.events import Event
from tenuto.model.graph import Task
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKind
from tenuto.model.json import JSON
from tenuto.model.status import Status
from tests.core.play import Run, key_of, spelled
from tests.kit.workload.actions import PEOPLE
from tests.kit.workload.choices import Choices, chance, pick

Move = Callable[[], object]

LONGEST = 2_000
"""So many steps are enough for every document of the generator."""
VALUES: list[JSON] = [None, 0, "", False, {}, [], {"value": 3}, {"value": 7}]


def wander(
    run: Run,
    choices: Choices,
    *,
    restless: int = 60,
    retries: int = 0,
    to_the_end: bool = True,
) -> None:
    """First anything at all, `restless` times; then only what brings the instance to its end.

    A failed instance is retried up to `retries` times.
    """
    run._refusing = True
    for _ in range(restless):
        if not run.status.is_final:
            moves = _progress(run, choices) + _disturbances(run, choices)
            if moves:
                pick(choices, moves)()
        elif retries:
            retries -= 1
            run.later(seconds=choices.below(30)).retry()
    for _ in range(LONGEST if to_the_end else 0):
        if run.status.is_final:
            if not retries:
                break
            retries -= 1
            run.retry()
        else:
            _go_on(run, choices)
    run._refusing = False


def _go_on(run: Run, choices: Choices) -> None:
    if run.state.pause is not None:
        run.resume()
        return
    moves = _progress(run, choices)
    assert moves, f"nothing can happen any more and it has not ended: {run.log}"
    pick(choices, moves)()


def _progress(run: Run, choices: Choices) -> list[Move]:
    """Results, events, decisions and timers: one of them there always is until the end."""
    moves: list[Move] = [partial(_report, run, node, choices) for node in run.running]
    moves += [partial(_hand, run, spelled(key), choices) for key in sorted(run.ledger.waits)]
    moves += [partial(_decide, run, spelled(key), choices) for key in sorted(run.ledger.approvals)]
    moves += [partial(_resolve, run, spelled(key), choices) for key in sorted(run.ledger.resolving)]
    moves += [partial(_child, run, spelled(key), choices) for key in sorted(run.ledger.children)]
    moves += _undoings(run, choices)
    if run.ledger.timers:
        moves.append(run.skip)
    return moves


def _undoings(run: Run, choices: Choices) -> list[Move]:
    """A child that is being undone says how that went."""
    undoing = run.state.compensation
    if undoing is None or undoing.work is None or undoing.work.child_id is None:
        return []
    assert undoing.current is not None
    name = spelled(undoing.plan[undoing.current].key)
    status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"] = (
        "COMPLETED_WITH_ERRORS" if chance(choices, 30) else "COMPLETED"
    )
    return [partial(run.child_undone, name, status)]


def _disturbances(run: Run, choices: Choices) -> list[Move]:
    moves: list[Move] = []
    if chance(choices, 40):
        for node in run.running:
            moves.append(partial(run.lose, node, clean=chance(choices, 50)))
            moves.append(partial(run.fail, node, "FLAKY", retryable=True))
            moves.append(partial(run.succeed, node, attempt=run.attempt(node) + 1))
    if chance(choices, 10):
        called_off = [key for key, node in run.state.nodes.items() if node.status == "CANCELLED"]
        names = [spelled(key) for key in sorted(called_off)]
        moves += [partial(run.succeed, name, attempt=run.attempt(name)) for name in names]
        moves += [
            partial(run.child_ends, name, child_id=child)
            for name in names
            if (child := run.state.nodes[key_of(name)].child_id) is not None
        ]
    if chance(choices, 30):
        moves += [run.pause, run.resume, partial(run.later, seconds=choices.below(30))]
    if chance(choices, 3):
        moves.append(run.cancel)
    if chance(choices, 10):
        moves += [partial(run.time_out, spelled(key)) for key in sorted(run.state.nodes)]
    if run.plan.rehearsal is not None:
        delays = [key for key in run.state.timers if key.kind is TimerKind.DELAY]
        names = [spelled(NodeKey(key.node, key.iteration)) for key in sorted(delays)]
        moves += [partial(run.skip_delay, name) for name in names]
    return moves


def _report(run: Run, node: str, choices: Choices) -> None:
    if chance(choices, 8):
        run.fail(node, pick(choices, ["OUT", "BAD", "GONE", "CANCELLED"]))
        return
    planned = run.plan.nodes.get(key_of(node).node)
    config = None if planned is None else planned.node.config
    handles = config.handles if isinstance(config, Task) else ()
    run.succeed(node, pick(choices, VALUES), handle=pick(choices, ["default", *handles]))


def _resolve(run: Run, node: str, choices: Choices) -> None:
    if chance(choices, 15):
        run.fail(node, "UNKNOWN_WORKFLOW")
    else:
        run.resolve(node, version=1 + choices.below(2))


def _child(run: Run, node: str, choices: Choices) -> None:
    """A child ends, in any of the ways in which an instance can."""
    if chance(choices, 20):
        run.child_ends(node, code=pick(choices, ["OUT", "BAD"]), retryable=chance(choices, 50))
    elif chance(choices, 15):
        run.child_ends(node, status=Status.CANCELLED, reason="for a reason of its own")
    else:
        run.child_ends(node, pick(choices, VALUES), can_be_undone=chance(choices, 50))


def _decide(run: Run, node: str, choices: Choices) -> None:
    by, roles = pick(choices, PEOPLE)
    run.decide(node, "approved" if chance(choices, 60) else "rejected", by=by, roles=roles)


def _hand(run: Run, node: str, choices: Choices) -> None:
    number = choices.below(5)
    payload: JSON = {"k": number, "amount": number}
    event = Event(id=f"e{number}", pattern="paid", payload=payload, received_at=run.now)
    run.hand(node, event, by_lookback=chance(choices, 20))
