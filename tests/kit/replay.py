"""Calls of the core, kept as values while a run goes on, and made again afterwards.

A decision depends on its arguments alone: plan, state, input, moment and policies. So each call
that is made again, with the plan compiled anew, the state that follows from the calls before and
the input read back from JSON, has to give what it gave.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenuto.core import Decision, InstanceState, Plan, Rejection, blank, decide, snapshot
from tenuto.definition import compile_definition
from tenuto.engine.turns.drafter import Decide
from tenuto.model.effects import Effect
from tenuto.model.entries import Entry
from tenuto.model.inputs import Input
from tenuto.model.json import JSON
from tenuto.model.log import to_rows
from tenuto.model.policy import Policies
from tests.kit.checker.record import Fields
from tests.kit.simulator.collect import history_item

_encode = msgspec.json.Encoder(decimal_format="number").encode
_decode: Callable[[bytes], Input] = msgspec.json.Decoder(Input).decode


class Outcome(NamedTuple):
    """What a decision came to, beside the state."""

    entries: tuple[Entry, ...]
    effects: tuple[Effect, ...]
    rejection: Rejection | None


class Call(NamedTuple):
    """One call of the core."""

    state: bytes
    """The digest of the state that was decided on."""
    input: bytes
    """JSON."""
    now: datetime
    policies: Policies
    outcome: Outcome


class Recorder:
    """Stands around the core and keeps every call, by instance."""

    def __init__(self, around: Decide = decide) -> None:
        self._decide = around
        self.calls: defaultdict[str, list[Call]] = defaultdict(list)

    def __call__(
        self, plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        before = digest_of(state)
        decision = self._decide(plan, state, input, now, policies)
        call = Call(before, _encode(input), now, policies, outcome_of(decision))
        self.calls[state.id].append(call)
        return decision


def outcome_of(decision: Decision) -> Outcome:
    return Outcome(decision.entries, decision.effects, decision.rejection)


def digest_of(state: InstanceState) -> bytes:
    return hashlib.sha256(snapshot.encode(state)).digest()


def replay(id: str, document: JSON, calls: Sequence[Call], history: Sequence[Fields]) -> int:
    """Make every call again that was made on a state of this history; how many these were.

    Each has to give what it gave, and together they have to give the history. Calls that rest on a
    decision which was never written are not among them.
    """
    plan = Plan(compile_definition(document))
    on_state: defaultdict[bytes, list[Call]] = defaultdict(list)
    for call in calls:
        on_state[call.state].append(call)
    state, count = blank(id), 0
    while True:
        following: InstanceState | None = None
        for call in on_state[digest_of(state)]:
            decision = decide(plan, state, _decode(call.input), call.now, call.policies)
            assert outcome_of(decision) == call.outcome, f"{call.input!r} on {id}@{state.version}"
            count += 1
            rows = [history_item(row) for row in to_rows(state.version + 1, decision.entries)]
            if rows and rows == history[state.version : state.version + len(rows)]:
                following = decision.state
        if following is None:
            assert state.version == len(history), f"no call led on from {id}@{state.version}"
            return count
        state = following
