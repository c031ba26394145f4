"""The pure core: `decide`, `fold` and `outstanding`.

    input ─► decide(plan, state, input, now, policies) ─► Decision(entries, effects, state)
    entry ─► fold(plan, state, entry) ─► state
    state ─► outstanding(plan, state, policies) ─► effects

Nothing in this package waits, reads a clock, makes up an id, rolls dice or logs. The same arguments
give the same answer, on every machine, for ever: recovery, simulation, time travel and `tenuto
verify` rest on it.
"""

from __future__ import annotations

from tenuto.core.claimed import claimed
from tenuto.core.decide import decide
from tenuto.core.deciding import Decision, Rejection
from tenuto.core.fold import fold, fold_all
from tenuto.core.outstanding import (
    attempts_in_flight,
    outstanding,
    outstanding_attempt,
    outstanding_counted,
)
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState, blank

__all__ = [
    "Decision",
    "InstanceState",
    "Plan",
    "Rejection",
    "attempts_in_flight",
    "blank",
    "claimed",
    "decide",
    "fold",
    "fold_all",
    "outstanding",
    "outstanding_attempt",
    "outstanding_counted",
]
