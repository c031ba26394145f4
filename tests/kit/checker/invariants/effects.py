"""What tasks really did, by the effect ledger: I17 and I18."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Rest
from tests.kit.checker.record import Fields, Row


def effects_have_their_key(rest: Rest) -> Iterator[str]:
    """I17: key equal over attempts, distinct over (node, iteration, kind)."""
    for effect in _effects(rest):
        iteration = effect.get("iteration") or ""
        right = f"{rest.instance.id}:{effect['node']}" + (f":{iteration}" if iteration else "")
        if effect["key"] != right:
            yield f"{effect['node']} #{effect['attempt']} ran with the key {effect['key']}"


def effects_were_ordered(rest: Rest) -> Iterator[str]:
    """I17: at most (accepted + refused + lost attempts) raw calls, each ordered before it ran."""
    if rest.ledgers.effects is None:
        return
    orders = {_place(row): row for row in rest.rows if row.type.endswith("_DISPATCHED")}
    calls = Counter(_call(effect) for effect in _effects(rest))
    for call, number in calls.items():
        if call not in orders:
            yield f"{call[0]} #{call[2]} ran and was never ordered"
        if number > 1:
            yield f"{call[0]} #{call[2]} ran {number} times"
    for effect in _effects(rest):
        order = orders.get(_call(effect))
        if order is not None and effect.get("at") is not None and effect["at"] < order.at:
            yield f"{effect['node']} #{effect['attempt']} ran before it was ordered"


def completed_steps_ran(rest: Rest) -> Iterator[str]:
    """I17: for every completed step exactly one effect per key if the sink dedupes."""
    if rest.ledgers.effects is None:
        return
    calls = {_call(effect) for effect in _effects(rest) if effect.get("outcome") == "completed"}
    for row in _completions(rest):
        if _place(row) not in calls:
            yield f"{row.node} #{row.attempt} is recorded as completed and no such call completed"


def recorded_results_are_real(rest: Rest) -> Iterator[str]:
    """I18: The recorded result equals the ledger's result for that key."""
    if rest.ledgers.effects is None:
        return
    results = {
        _call(effect): effect["output"]
        for effect in _effects(rest)
        if effect.get("outcome") == "completed" and "output" in effect
    }
    for row in _completions(rest):
        given = row.payload.get("output")
        if _place(row) in results and results[_place(row)] != given:
            yield f"{row.node} gave {results[_place(row)]!r}, recorded is {given!r}"


def _effects(rest: Rest) -> list[Fields]:
    return (rest.ledgers.effects or {}).get(rest.instance.id, [])


def _completions(rest: Rest) -> Iterator[Row]:
    for row in rest.rows:
        node = rest.picture.graph.nodes.get(row.node or "")
        if (
            row.type == "NODE_COMPLETED"
            and row.status != "error"
            and row.reused is None
            and node is not None
            and node.runs_outside
            and not node.starts_a_child
        ):
            yield row


def _place(row: Row) -> tuple[str, str, int]:
    return (row.node or "", row.iteration, row.attempt)


def _call(effect: Fields) -> tuple[str, str, int]:
    return (str(effect["node"]), str(effect.get("iteration") or ""), int(effect["attempt"]))
