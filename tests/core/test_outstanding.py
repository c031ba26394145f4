"""What an instance has outstanding is found without a look at what is not asked for."""

from __future__ import annotations

from importlib import import_module

import pytest

from tenuto.core import outstanding, outstanding_attempt
from tenuto.core.attempt import start_attempt
from tenuto.core.deciding import Deciding
from tenuto.model.effects import StartAttempt
from tenuto.model.ids import NodeKey
from tenuto.model.policy import Policies
from tests.core.drawing import draw, loop, task
from tests.core.play import play

WIDTH = 50
WIDE = draw(
    "l:loop>t",
    l=loop("{{ctx.input}}", mode="parallel", concurrency=WIDTH),
    t=task(input={"item": "{{item}}"}),
)


def test_one_attempt_is_found_and_others_left_out_without_their_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wide loop has thousands in flight, and each is claimed by itself."""
    run = play(WIDE).start(list(range(WIDTH)))
    policies = Policies()
    all_of_them = [
        each
        for each in outstanding(run.plan, run.state, policies)
        if isinstance(each, StartAttempt)
    ]
    assert sorted(str(each.input) for each in all_of_them) == sorted(
        str({"item": item}) for item in range(WIDTH)
    )
    looked_at: list[NodeKey] = []

    def noted(d: Deciding, key: NodeKey) -> StartAttempt:
        looked_at.append(key)
        return start_attempt(d, key)

    monkeypatch.setattr(import_module(outstanding.__module__), "start_attempt", noted)
    keys = [(each.node, each.iteration, each.attempt) for each in all_of_them]
    for key, each in zip(keys, all_of_them, strict=True):
        assert outstanding_attempt(run.plan, run.state, policies, key) == each
    assert len(looked_at) == WIDTH
    assert outstanding_attempt(run.plan, run.state, policies, ("t", keys[0][1], 2)) is None
    assert outstanding_attempt(run.plan, run.state, policies, ("l", "", 1)) is None
    left = [
        each
        for each in outstanding(run.plan, run.state, policies, keys[1:])
        if isinstance(each, StartAttempt)
    ]
    assert left == all_of_them[:1]
    assert len(looked_at) == WIDTH + 1
