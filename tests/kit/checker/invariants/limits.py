"""Limits, rebuilt from the logs: I31."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Whole
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields, Row, row_of
from tests.kit.checker.violation import Violation


def no_limit_is_exceeded(whole: Whole) -> Iterator[Violation]:
    """I31: Rebuilt from the log, running count <= every limit at every instant; slots taken = slots
    returned; zero at rest.
    """
    run = whole.ledgers.run
    changes: dict[str, dict[int, list[tuple[str, int, int]]]] = {}
    for instance in run.instances:
        concurrency = _concurrency(instance.document)
        if concurrency is None:
            continue
        mine = changes.setdefault(instance.id, {})
        is_held = False
        for row in map(row_of, instance.history):
            now = _holds(row, before=is_held)
            if now != is_held:
                key = f"{instance.document['id']}/{_key(concurrency, instance.history)}"
                made = (key, 1 if now else -1, int(concurrency["limit"]))
                mine.setdefault(row.seq, []).append(made)
                is_held = now
        if run.at_rest and is_held and _is_over(instance.history):
            yield Violation("I31", instance.id, 0, "it has ended and holds a slot")
    held: Counter[str] = Counter()
    for commit in run.commits or ():
        of_instance = changes.get(str(commit["instance"]), {})
        for seq in range(int(commit["first"]), int(commit["last"]) + 1):
            for key, change, limit in of_instance.get(seq, ()):
                held[key] += change
                if held[key] > limit:
                    message = f"{held[key]} of {key} run at once, and {limit} may"
                    yield Violation("I31", str(commit["instance"]), seq, message)


def nothing_runs_without_a_slot(whole: Whole) -> Iterator[Violation]:
    """I31: what needs a slot dispatches nothing without one."""
    for instance in whole.ledgers.run.instances:
        if _concurrency(instance.document) is None:
            continue
        is_held = False
        steps = {str(each["stepId"]) for each in instance.document.get("compensationSteps", ())}
        for row in map(row_of, instance.history):
            is_held = _holds(row, before=is_held)
            if row.type == "NODE_DISPATCHED" and not is_held and row.node not in steps:
                message = f"{row.node} was dispatched without a slot"
                yield Violation("I31", instance.id, row.seq, message)


def one_step_has_a_mutex(whole: Whole) -> Iterator[Violation]:
    """I31: a mutex is a limit of one: from its grant to the final outcome of the step."""
    run = whole.ledgers.run
    rows = {
        (instance.id, row.seq): row
        for instance in run.instances
        for row in map(row_of, instance.history)
        if row.type in _ABOUT_MUTEXES
    }
    asked: dict[tuple[str, str, str], str] = {}
    held: dict[str, tuple[str, str, str]] = {}
    for commit in run.commits or ():
        id = str(commit["instance"])
        for seq in range(int(commit["first"]), int(commit["last"]) + 1):
            row = rows.get((id, seq))
            if row is None:
                continue
            place = (id, str(row.node), row.iteration)
            if row.type == "MUTEX_REQUESTED":
                asked[place] = str(row.payload["mutex"])
            elif row.type == "MUTEX_GRANTED":
                mutex = asked[place]
                if mutex in held:
                    message = f"{place} and {held[mutex]} have the mutex {mutex}"
                    yield Violation("I31", id, seq, message)
                held[mutex] = place
            else:
                is_over = row.type == "STATUS_CHANGED" and row.payload["to"] in FINAL
                is_tried_again = row.payload.get("then") == "retry"
                for mutex, holder in list(held.items()):
                    ends = holder[0] == id if is_over else holder == place and not is_tried_again
                    if ends and (is_over or row.type != "STATUS_CHANGED"):
                        del held[mutex]
    if run.at_rest and run.commits is not None:
        for mutex, (id, node, _) in held.items():
            if _is_final(whole, id):
                yield Violation("I31", id, 0, f"{node} has the mutex {mutex} after the end")


_ABOUT_MUTEXES = frozenset(
    {"MUTEX_REQUESTED", "MUTEX_GRANTED", "NODE_COMPLETED", "NODE_FAILED", "NODE_CANCELLED"}
    | {"STATUS_CHANGED"}
)


def _is_final(whole: Whole, id: str) -> bool:
    return any(each.id == id and each.status in FINAL for each in whole.summaries)


def _concurrency(document: Fields) -> Fields | None:
    options = document.get("options") or document.get("workflowOptions") or {}
    found = options.get("concurrency")
    return None if found is None else dict(found)


def _key(concurrency: Fields, history: list[Fields]) -> object:
    """The keys that the workload draws are all `ctx.input.k`."""
    if concurrency.get("key") is None:
        return ""
    return history[0]["payload"]["input"]["k"]


def _holds(row: Row, *, before: bool) -> bool:
    if row.type == "SYSTEM_SET" and "slot" in row.payload.get("values", {}):
        return bool(row.payload["values"]["slot"].get("state") == "held")
    return before and not (row.type == "STATUS_CHANGED" and row.payload["to"] in FINAL)


def _is_over(history: list[Fields]) -> bool:
    changes = [row for row in history if row["eventType"] == "STATUS_CHANGED"]
    return bool(changes) and changes[-1]["payload"]["to"] in FINAL
