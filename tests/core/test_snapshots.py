"""Snapshots: small however large the values are, and as good as the whole log."""

from __future__ import annotations

import pytest

from tenuto.core import InstanceState, blank, fold, snapshot
from tenuto.core.snapshot import LARGE
from tenuto.model.entries import Entry
from tenuto.model.json import JSON
from tests.core.drawing import draw, end, task, wait
from tests.core.holding import folded
from tests.core.play import Run, play
from tests.core.situations import SHELF

LONG = "x" * (LARGE + 1)
VALUES: list[JSON] = [LONG, [LONG], {"a": {"b": LONG}}, list(range(LARGE)), "y" * LARGE, 2**80]


def restored(run: Run) -> InstanceState:
    stored = snapshot.encode(run.state)
    needed = {seq: run.entries[seq - 1] for seq in snapshot.references(stored)}
    return snapshot.decode(stored, needed)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_large_values_stay_in_the_log(value: JSON) -> None:
    document = draw(
        "a>w w>b b>e",
        a=task(outputVariable="v"),
        w=wait(eventPayloadMapping={"small": "n", "whole": "big"}, outputVariable="event"),
        e=end({"n": "{{ctx.small}}"}),
    )
    run = play(document).start(value).succeed("a", value).event("paid", {"n": 1, "big": value})
    before_the_end = len(snapshot.encode(run.state))
    run.succeed("b", value)
    assert restored(run) == run.state
    if value in (LONG, [LONG]):
        assert snapshot.references(snapshot.encode(run.state))[:2] == [1, 4]
        assert before_the_end < LARGE


def test_a_snapshot_and_the_tail_give_what_the_whole_log_gives() -> None:
    for tell in SHELF.values():
        run = tell()
        for cut in range(1, len(run.entries)):
            head = folded(run.plan, run.state.id, run.entries[:cut])
            stored = snapshot.encode(head)
            needed: dict[int, Entry] = {
                seq: run.entries[seq - 1] for seq in snapshot.references(stored)
            }
            state = snapshot.decode(stored, needed)
            for entry in run.entries[cut:]:
                state = fold(run.plan, state, entry)
            assert state == run.state


def test_equal_states_give_equal_bytes() -> None:
    for tell in SHELF.values():
        assert snapshot.encode(tell().state) == snapshot.encode(tell().state)
    assert snapshot.encode(blank("a")) != snapshot.encode(blank("b"))


def test_an_older_state_stays_as_it_was() -> None:
    run = SHELF["running"]()
    before = run.state
    stored = snapshot.encode(before)
    run.succeed("a", {"n": 1}).cancel()
    assert snapshot.encode(before) == stored
