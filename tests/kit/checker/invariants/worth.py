"""Whether the run came to an end, and whether it was worth anything: I45 and I46."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Rest, Whole
from tests.kit.checker.violation import Violation


def every_instance_ends_or_rightly_waits(rest: Rest) -> Iterator[str]:
    """I45: After faults end and the recovery bound passes, every instance is terminal or rightly
    waiting.
    """
    picture = rest.picture
    if not rest.run.at_rest or picture.is_final or picture.status == "PAUSED" or picture.ending:
        return
    if picture.status == "CREATED":
        yield "accepted and never started"
        return
    sources = 0
    for life in picture.lives.values():
        if life.running:
            yield f"{life.name} #{life.attempt} is in flight at rest"
        elif life.then == "retry" and life.retry is None and life.open:
            yield f"{life.name} is to be tried again and nothing is scheduled"
        sources += life.open and life.node.type != "loop"
    if not sources:
        yield "nothing is open and it has not ended"


def not_vacuous(whole: Whole) -> Iterator[Violation]:
    """I46: Not vacuous: every fault kind hit at least its quota; every shape completed."""
    counts = whole.counts.copy()
    for fault in whole.ledgers.run.faults or ():
        counts[f"fault {fault['kind']}"] += 1
    for request in whole.ledgers.run.client or ():
        counts[f"{request['op']} {request['outcome']}"] += 1
    for name, quota in whole.ledgers.run.quotas.items():
        if counts[name] < quota:
            yield Violation(
                "I46", "", 0, f"{counts[name]} times {name}, at least {quota} are needed"
            )
