"""The shape of a history, and the rows that are derived from it: I1, I3 to I6, and the status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.kit.checker.expression import Json
from tests.kit.checker.invariants.judgement import Moment, Rest, Whole
from tests.kit.checker.life import Life
from tests.kit.checker.moments import moment_ms
from tests.kit.checker.picture import FINAL, Picture
from tests.kit.checker.record import Fields
from tests.kit.checker.turns import outcome_of
from tests.kit.checker.violation import Violation

TRANSITIONS = {
    "CREATED": ("RUNNING", "CANCELLED"),
    "RUNNING": ("COMPLETED", "FAILED", "CANCELLED", "WAITING_FOR_EVENT", "PAUSED"),
    "WAITING_FOR_EVENT": ("RUNNING", "CANCELLED", "FAILED", "PAUSED"),
    "PAUSED": ("RUNNING", "WAITING_FOR_EVENT", "CANCELLED"),
    "FAILED": ("RUNNING",),
    "COMPLETED": (),
    "CANCELLED": (),
}
_OF_PROMISES = {"sla-warning": "sla-warning", "sla-breach": "sla-breached"}
_AFTER_FINAL = ("RETRY_REQUESTED", "COMPENSATION_", "NODE_DISPATCHED")


def numbered_without_holes(moment: Moment) -> Iterator[str]:
    """I1: `seq` of every instance is 1…n without hole or repeat."""
    expected = moment.picture.version + 1
    if moment.row.seq != expected:
        yield f"seq {moment.row.seq} where {expected} belongs"


def commits_rise(whole: Whole) -> Iterator[Violation]:
    """I1: `gseq` strictly rises, and commits hold each row of an instance once, in order."""
    last, upto = None, dict[str, int]()
    for commit in whole.ledgers.run.commits or ():
        gseq, instance = commit["gseq"], str(commit["instance"])
        if last is not None and gseq <= last:
            yield Violation("I1", instance, commit["first"], f"commit {gseq} after {last}")
        last = gseq
        if commit["first"] != upto.get(instance, 0) + 1:
            message = f"commit {gseq} begins at {commit['first']} after {upto.get(instance, 0)}"
            yield Violation("I1", instance, commit["first"], message)
        upto[instance] = commit["last"]
    if whole.ledgers.run.commits is None:
        return
    for summary in whole.summaries:
        if upto.get(summary.id, 0) != summary.last_seq:
            message = f"{summary.last_seq} rows, of which {upto.get(summary.id, 0)} were committed"
            yield Violation("I1", summary.id, summary.last_seq, message)


def fold_equals_stored(rest: Rest) -> Iterator[str]:
    """I3: fold(log) = stored row (status, variables, version, counters) for every instance."""
    picture, row = rest.picture, rest.instance.row
    if row is not None:
        if row.get("status", picture.status) != picture.status:
            yield f"stored status {row['status']}, by the log {picture.status}"
        if row.get("version", picture.version) != picture.version:
            yield f"stored version {row['version']}, the log has {picture.version} rows"
        if rest.run.at_rest and "currentSteps" in row:
            yield from _same_open(picture, row["currentSteps"])
    if rest.instance.state is not None:
        yield from _same_state(picture, rest.instance.state)


def _same_state(picture: Picture, state: Fields) -> Iterator[str]:
    if state.get("input") != picture.ctx.get("input"):
        yield f"state.input is {state.get('input')!r}, by the log {picture.ctx.get('input')!r}"
    variables = {name: value for name, value in picture.ctx.items() if name != "input"}
    if "variables" in state and state["variables"] != variables:
        yield f"state.variables are {state['variables']!r}, by the log {variables!r}"
    steps: dict[str, Fields] = state.get("steps") or {}
    at_the_top = {id: life for (id, path), life in picture.lives.items() if not path}
    for id, life in at_the_top.items():
        yield from _same_step(life, steps.get(id))
        yield from _same_errors(picture, id, steps.get(id) or {})
    for id in steps.keys() - at_the_top.keys():
        yield f"state.steps has {id}, which is no node outside of loops"


def _same_errors(picture: Picture, id: str, step: Fields) -> Iterator[str]:
    turns, life = picture.turns.get((id, "")), picture.lives[id, ""]
    if turns is None or not life.ended or life.outcome == "CANCELLED":
        return
    until = life.ended
    right = [
        (index, row.code)
        for index, row in sorted(turns.ends.items())
        if outcome_of(row) == "error" and row.seq < until
    ]
    shown = [(each["index"], each["error"]["code"]) for each in step.get("errors") or ()]
    if "output" in step and life.outcome == "COMPLETED" and shown != right:
        yield f"steps.{id}.errors are {shown}, by the log {right}"


def _same_step(life: Life, step: Fields | None) -> Iterator[str]:
    id = life.node.id
    if step is None:
        if life.begun or life.ended:
            yield f"state.steps lacks {id}, which is {min(life.statuses)}"
        return
    if step.get("status") not in life.statuses:
        yield f"step {id} is {step.get('status')}, by the log {' or '.join(sorted(life.statuses))}"
    if step.get("output") != life.output:
        yield f"step {id} has output {step.get('output')!r}, by the log {life.output!r}"


def _same_open(picture: Picture, current: list[str]) -> Iterator[str]:
    open_now = {life.node.id for life in picture.lives.values() if life.open}
    if picture.is_final:
        open_now = set()
    if set(current) != open_now:
        yield f"current steps {sorted(current)}, by the log {sorted(open_now)}"


def only_legal_transitions(moment: Moment) -> Iterator[str]:
    """I4: Only legal transitions; exactly one terminal record; after it only audit records."""
    picture, row = moment.picture, moment.row
    if row.type == "STATUS_CHANGED":
        before, after = row.payload.get("from"), row.payload.get("to")
        if before != picture.status:
            yield f"status changed from {before} while it was {picture.status}"
        elif after not in TRANSITIONS.get(str(before), ()):
            yield f"{before} → {after} is no legal transition"
        elif before == "FAILED" and len(picture.finals) > picture.counts.get("RETRY_REQUESTED", 0):
            yield "FAILED → RUNNING without a retry by hand"
    elif row.type == "RETRY_REQUESTED" and picture.status != "FAILED":
        yield f"retried while it was {picture.status}"
    elif picture.status in FINAL and not row.type.startswith(_AFTER_FINAL):
        yield f"{row.type} after {picture.status}"


def final_status_has_a_cause(moment: Moment) -> Iterator[str]:
    """I4: an end is COMPLETED unless a failure, a cancel or a `terminate` said otherwise."""
    after = moment.row.payload.get("to")
    if moment.row.type != "STATUS_CHANGED" or after not in FINAL or moment.picture.is_final:
        return
    causes = {status for status, _ in moment.picture.ending} or {"COMPLETED"}
    if after not in causes:
        yield f"ended {after}, for which there is no cause (there is {sorted(causes)})"


def begins_with_its_input(moment: Moment) -> Iterator[str]:
    """I6: `def_version` constant; a history begins with its one INPUT_SET, which names it."""
    if (moment.row.type == "INPUT_SET") != (moment.picture.inputs == 0):
        yield f"{moment.row.type} where {moment.picture.inputs} INPUT_SET have been"


def definition_stays(rest: Rest) -> Iterator[str]:
    """I6: `def_version` constant unless a migration record says so."""
    row, by_log = rest.instance.row, rest.picture.definition
    if row is None or by_log is None:
        return
    stored = (row.get("definitionId", by_log[0]), row.get("definitionVersion", by_log[1]))
    if stored != by_log:
        yield f"stored definition {stored}, the log began with {by_log}"


def ids_are_unique(whole: Whole) -> Iterator[Violation]:
    """I5: Every id is unique over all runs and restarts."""
    seen: set[str] = set()
    for summary in whole.summaries:
        if summary.id in seen:
            yield Violation("I5", summary.id, 0, "two instances have this id")
        seen.add(summary.id)
    events = Counter(str(event["id"]) for event in whole.ledgers.run.events or ())
    for id, number in events.items():
        if number > 1:
            yield Violation("I5", "", 0, f"{number} events have the id {id}")


def causes_are_known(moment: Moment) -> Iterator[str]:
    """I5: every `cause` names an earlier record or an accepted input."""
    row, events = moment.row, moment.ledgers.events
    if (
        row.type == "WAIT_RESOLVED"
        and row.payload.get("outcome") == "event"
        and events is not None
        and str(row.payload.get("eventId")) not in events
    ):
        yield f"event {row.payload.get('eventId')} was never accepted"
    if row.node is not None and moment.life is None:
        yield f"{row.node}[{row.iteration}] is no node of the definition"


def waiting_means_only_waits(moment: Moment) -> Iterator[str]:
    """STATUS: WAITING_FOR_EVENT is an open wait and no attempt, due retry or delay."""
    if (
        moment.row.type == "STATUS_CHANGED"
        and moment.row.payload.get("to") == "WAITING_FOR_EVENT"
        and derived_status(moment.picture) != "WAITING_FOR_EVENT"
    ):
        yield "WAITING_FOR_EVENT while something is in flight, or nothing waits"


def status_fits_at_rest(rest: Rest) -> Iterator[str]:
    """STATUS: at rest an instance that only waits is WAITING_FOR_EVENT, otherwise RUNNING."""
    picture = rest.picture
    if not rest.run.at_rest or picture.is_final or not rest.moves:
        return
    if (derived := derived_status(picture)) != picture.status:
        yield f"{picture.status} at rest, but what is open says {derived}"


def derived_status(picture: Picture) -> str:
    """RUNNING or WAITING_FOR_EVENT, from what is open."""
    waits = False
    for life in picture.lives.values():
        if life.open and life.wait is None and life.node.type != "loop":
            return "RUNNING"
        waits = waits or life.wait is not None
    return "WAITING_FOR_EVENT" if waits else "RUNNING"


def deadlines_stay(rest: Rest) -> Iterator[str]:
    """I23: Deadlines are equal before and after any restart: each stored moment is the log's."""
    picture, row = rest.picture, rest.instance.row
    if row is not None and "deadline" in row:
        stored = moment_ms(row["deadline"])
        if stored != picture.deadline:
            yield f"stored deadline {stored}, accepted with {picture.deadline}"
    for timer in rest.instance.timers or ():
        expected = due_of(picture, timer)
        if expected is not None and moment_ms(timer["due"]) != expected:
            yield f"{timer['kind']} timer of {timer.get('node')} due {timer['due']}, not {expected}"


def due_of(picture: Picture, timer: Fields) -> Json:
    """When a stored timer must be due by the log; None when the log does not say."""
    kind = timer["kind"]
    if kind in _OF_PROMISES:
        place = (str(timer.get("node") or ""), str(timer.get("iteration") or ""))
        promise = picture.promises.get(place)
        return None if promise is None else promise.due.get(_OF_PROMISES[kind])
    if kind == "resume":
        return None if picture.pause is None else picture.pause.moment("until")
    life = picture.lives.get((str(timer.get("node") or ""), str(timer.get("iteration") or "")))
    if life is None:
        return None
    match kind:
        case "delay":
            return life.due
        case "retry":
            return None if life.retry is None else life.retry.moment("due")
        case "wait-timeout":
            return None if life.wait is None else life.wait.timeout_at
        case "reminder" | "escalation":
            return dict(life.pending_of_approval()).get(kind)
        case "node-timeout":
            return life.fail_at
        case "grace":
            return None if life.told is None else life.told.moment("graceUntil")
        case _:
            return None
