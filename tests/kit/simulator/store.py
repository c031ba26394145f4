"""The faulty store with a witness, and one that also refuses single results for ever."""

from __future__ import annotations

from typing import Any

from tenuto.model.log import LogRow
from tenuto.store.errors import DataRefused
from tenuto.store.parts.turns import InstanceWrite, Outcome, Turn, TurnResult
from tenuto.store.protocol import Store
from tenuto.testing.fault_plan import Fault, FaultPlan
from tenuto.testing.faulty_store import FaultyStore
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call
from tests.kit.simulator.ledgers import Ledgers


class WitnessedStore(FaultyStore):
    """One process's way to its store; every fault and every commit is in the ledgers."""

    def __init__(
        self, inner: Store, loop: VirtualLoop, fault_plan: FaultPlan, ledgers: Ledgers
    ) -> None:
        super().__init__(
            inner, loop, fault_plan, happened=lambda fault: ledgers.fault(fault, loop.time())
        )
        self._ledgers = ledgers

    async def _proceed(self, call: Call) -> Any:  # noqa: ANN401
        turn = call.turn
        if turn is None:
            return await super()._proceed(call)
        if self._ledgers.refused.intersection(_results(turn)):
            raise DataRefused("simulated: something in this turn cannot be stored")
        result: TurnResult = await super()._proceed(call)
        self._note(turn, result)
        return result

    def _fault_on(self, call: Call) -> Fault | None:
        """The planned fault; a refusal waits for a turn with a result in it."""
        fault, turn = super()._fault_on(call), call.turn
        if fault is Fault.REFUSED:
            self._ledgers.refusals_owed += 1
            fault = None
        is_owed = fault is None and turn is not None and self._ledgers.refusals_owed > 0
        if is_owed and self._refuse_a_result(turn):
            self._ledgers.refusals_owed -= 1
            fault = Fault.REFUSED
        return fault

    def _refuse_a_result(self, turn: Turn | None) -> bool:
        """Choose a task's result in this turn and never take it; False when there is none.

        What was taken once, also from another engine, cannot be refused when it is sent again.
        """
        for result in _results(turn):
            instance, node, *_ = result
            if self._ledgers.has_called(instance, node) and result not in self._ledgers.accepted:
                self._ledgers.refused.add(result)
                return True
        return False

    def _note(self, turn: Turn, result: TurnResult) -> None:
        for write in turn.writes:
            if not write.rows:
                continue
            outcome = result.writes[write.instance_id].outcome
            if outcome is Outcome.WON:
                self._ledgers.commit(
                    turn.id, write.instance_id, write.rows[0].seq, write.rows[-1].seq
                )
                self._ledgers.accepted.update(_results_of(write))
                for event in write.events:
                    self._ledgers.event(event.tenant, event.id)
            elif outcome is Outcome.LOST:
                self._ledgers.shut_out += 1
        for event in turn.events:
            self._ledgers.event(event.tenant, event.id)


def _results(turn: Turn | None) -> list[tuple[str, str, str, int]]:
    return [result for write in (turn.writes if turn else ()) for result in _results_of(write)]


def _results_of(write: InstanceWrite) -> list[tuple[str, str, str, int]]:
    return [
        (write.instance_id, row.node_id, row.iteration, row.attempt)
        for row in write.rows
        if row.node_id is not None and _has_result(row)
    ]


def _has_result(row: LogRow) -> bool:
    """Whether a row is the first that keeps a result, or the one that a node completes with."""
    if row.event_type == "TIMER_SET":
        return b'"held"' in (row.payload or b"")
    return row.event_type == "NODE_COMPLETED" and row.node_status == "success"
