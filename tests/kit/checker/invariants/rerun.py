"""What a rerun may take over from the instance before it: RERUN."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Summary, Whole
from tests.kit.checker.record import Row
from tests.kit.checker.violation import Violation


def reruns_take_over_what_was(whole: Whole) -> Iterator[Violation]:
    """RERUN: what is copied is as it was recorded, runs no more, and was asked for.

    A request `{op: "rerun", instance, of, kept}` names the steps that had to be kept.
    """
    instances = {summary.id: summary for summary in whole.summaries}
    kept = {
        str(request["instance"]): set(request["kept"])
        for request in whole.ledgers.run.client or ()
        if request["op"] == "rerun" and request["outcome"] == "ok"
    }
    for summary in whole.summaries:
        earlier = instances.get(summary.rerun_of or "")
        for message in _misdeeds(summary, earlier, kept.get(summary.id)):
            yield Violation("RERUN", summary.id, 0, message)


def _misdeeds(summary: Summary, earlier: Summary | None, kept: set[str] | None) -> Iterator[str]:
    if summary.rerun_of is None:
        if summary.reused:
            yield f"{sorted(summary.reused)} are copied, and it is no rerun"
        return
    if earlier is None:
        yield f"a rerun of {summary.rerun_of}, which does not exist"
        return
    for node, row in summary.reused.items():
        if row.reused != earlier.id:
            yield f"{node} is copied from {row.reused}, it is a rerun of {earlier.id}"
        if node in summary.ordered:
            yield f"{node} is copied and was ordered all the same"
        if row.type == "NODE_COMPLETED" and not _same(row, earlier.completed.get(node)):
            yield f"{node} is copied with {row.payload.get('output')!r}, which it never gave"
        if row.type == "NODE_SKIPPED" and node in earlier.completed:
            yield f"{node} is copied as passed over, and had run"
    copied = {node for node, row in summary.reused.items() if row.type == "NODE_COMPLETED"}
    if kept is not None and copied != kept:
        yield f"{sorted(copied)} are copied, to be kept are {sorted(kept)}"


def _same(copy: Row, original: Row | None) -> bool:
    """Whether a copy says what the original does; one that was called off goes on nowhere."""
    if original is None or copy.handles not in ([], original.handles):
        return False
    return copy.status == original.status and all(
        copy.payload.get(name) == original.payload.get(name) for name in ("output", "variables")
    )
