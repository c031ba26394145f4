"""Timers: I19 and I20."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Moment, Rest
from tests.kit.checker.life import Life
from tests.kit.checker.moments import end_of, moment_ms
from tests.kit.checker.picture import FINAL, Picture, Promise
from tests.kit.checker.record import Fields, Row

_BY_THE_CLOCK = frozenset({"system", "timer", "clock"})


def no_timer_fires_early(moment: Moment) -> Iterator[str]:
    """I19: No timer fires before due by `store_time`."""
    row, life = moment.row, moment.life
    if life is not None and _fails_with_its_item(moment, life):
        return
    due = _due_of_instance(moment) if life is None else _due_of_node(row, life)
    if due is not None and row.at < due:
        place = f" of {row.node}" if row.node else ""
        yield f"{row.type}{place} is {due - row.at} ms early"


def timers_are_set_as_told(moment: Moment) -> Iterator[str]:
    """I19: a timer is due exactly as long after it was set as the definition says."""
    row, life = moment.row, moment.life
    if life is None:
        return
    config = life.node.config
    if row.type == "TIMER_SET" and row.payload.get("held") is not None:
        return
    if row.type == "TIMER_SET":
        yield from _as_long_as(row, "due", config.get("duration"), config.get("calendar"))
    if row.type == "WAIT_OPENED":
        told = config.get("deadline", config.get("eventTimeout"))
        yield from _as_long_as(row, "timeoutAt", told, config.get("calendar"))
        yield from _asked_as_long_as(row, config)
    first_child = row.type == "CHILD_STARTED" and life.fail_at is None
    enters_loop = row.type == "ITERATION_STARTED" and not life.begun
    if row.type in ("TIMER_SET", "WAIT_OPENED") or first_child or enters_loop:
        yield from _as_long_as(row, "failAt", config.get("timeout"))


def timers_end_once(moment: Moment) -> Iterator[str]:
    """I20: Every timer ends as exactly one of fired, cancelled, superseded."""
    row, life = moment.row, moment.life
    if row.type == "TIMER_FIRED" and life is not None and _fires_at(row, life) is None:
        yield f"the timer of {row.node} fires and is not set"


def no_timer_is_overdue(rest: Rest) -> Iterator[str]:
    """I20: at rest none is overdue beyond the bound."""
    now = rest.run.now
    if now is None or not rest.run.at_rest or rest.picture.is_final:
        return
    latest = now - rest.run.bound_ms
    for life in rest.picture.lives.values():
        for kind, due in _pending(life, paused=rest.picture.status == "PAUSED"):
            if due is not None and due < latest:
                yield f"{kind} of {life.name} was due {now - due} ms ago"
    deadline = _deadline(rest.picture)
    if deadline is not None and deadline < latest and not rest.picture.ending:
        yield f"the instance was to end {now - deadline} ms ago"
    pause = rest.picture.pause
    if rest.picture.status == "PAUSED" and pause is not None:
        until = pause.moment("until")
        if until is not None and until < latest:
            yield f"it was to be resumed {now - until} ms ago"


def no_stored_timer_is_overdue(rest: Rest) -> Iterator[str]:
    """I20: a stored timer whose moment has passed is gone, at rest."""
    now = rest.run.now
    if now is None or not rest.run.at_rest or rest.picture.is_final:
        return
    for timer in rest.instance.timers or ():
        due = moment_ms(timer["due"])
        waits_for_resume = timer["kind"] == "retry" and rest.picture.status == "PAUSED"
        if due is not None and due < now - rest.run.bound_ms and not waits_for_resume:
            yield f"stored {timer['kind']} timer of {timer.get('node') or 'it'} is overdue"


def _pending(life: Life, *, paused: bool) -> Iterator[tuple[str, int | None]]:
    yield "the delay", life.due
    if life.retry is not None and not paused:
        yield "the retry", life.retry.moment("due")
    if life.wait is not None:
        yield "the time-out", life.wait.timeout_at
    yield from ((f"the {kind}", due) for kind, due in life.pending_of_approval())
    in_loop = life.node.type == "loop" and life.open
    if life.wait is not None or life.due is not None or life.child is not None or in_loop:
        yield "the time limit", life.fail_at
    if life.told is not None and not life.ended:
        yield "the grace", life.told.moment("graceUntil")


def _fails_with_its_item(moment: Moment, life: Life) -> bool:
    """Whether a loop hands on what an item failed with, which may be that item's own time-out."""
    turns = moment.picture.turns.get((life.node.id, life.iteration))
    return life.node.type == "loop" and turns is not None and turns.must_fail is not None


def _due_of_node(row: Row, life: Life) -> int | None:
    match row.type:
        case "TIMER_FIRED":
            return _fires_at(row, life)
        case "NODE_DISPATCHED" if life.retry is not None and life.retry.attempt == row.attempt:
            return life.retry.moment("due")
        case "WAIT_RESOLVED" if row.payload.get("outcome") == "timeout" and life.wait is not None:
            return life.wait.timeout_at
        case "NODE_FAILED" if row.code == "TIMEOUT" and life.node.starts_a_child:
            return life.fail_at
        case "NODE_FAILED" if row.code == "TIMEOUT" and life.node.runs_outside:
            return life.node.timed_out_at(life.ordered_at) if life.running else None
        case "NODE_FAILED" if row.code == "TIMEOUT":
            return life.fail_at
    return None


def _fires_at(row: Row, life: Life) -> int | None:
    """When the timer is due that a row says has fired; None when none is set."""
    kind = row.payload.get("kind", "delay")
    return life.due if kind == "delay" else dict(life.pending_of_approval()).get(str(kind))


def _asked_as_long_as(row: Row, config: Fields) -> Iterator[str]:
    asking = row.payload.get("approval") or {}
    further = config.get("escalate") or {}
    calendar = config.get("calendar")
    told = {
        "remindAt": min(reminders_of(config, row.at), default=None),
        "escalateAt": end_of(further.get("after"), row.at, further.get("calendar", calendar)),
    }
    for name, right in told.items():
        if (found := moment_ms(asking.get(name))) != right:
            yield f"{row.type} of {row.node}: {name} is {found}, told {right}"


def reminders_of(config: Fields, opened: int) -> list[int]:
    """When an approval reminds, in order."""
    calendar = config.get("calendar")
    found = (end_of(each, opened, calendar) for each in config.get("reminders") or ())
    return sorted(each or 0 for each in found)


def _due_of_instance(moment: Moment) -> int | None:
    picture, row = moment.picture, moment.row
    if row.type == "CANCEL_REQUESTED" and row.payload.get("source") == "TIMEOUT":
        return _deadline(picture)
    if row.type == "RESUME_REQUESTED" and row.payload.get("by") in _BY_THE_CLOCK:
        return None if picture.pause is None else picture.pause.moment("until")
    return None


def _deadline(picture: Picture) -> int | None:
    limits = [] if picture.deadline is None else [picture.deadline]
    told = end_of(picture.graph.options.get("timeout"), picture.started_at)
    if told is not None and picture.started_at:
        limits.append(told)
    return min(limits, default=None)


def _as_long_as(row: Row, name: str, told: object, calendar: object = None) -> Iterator[str]:
    right, moment = end_of(told, row.at, calendar), row.moment(name)
    if right is not None and moment != right:
        set_for = "never" if moment is None else f"{moment - row.at} ms"
        yield f"{row.type} of {row.node}: {name} after {set_for}, told {right - row.at} ms"
    if right is not None and _calendar_of(told, calendar) not in (None, *_recorded(row)):
        yield f"{row.type} of {row.node}: {name} does not say by which calendar"


def _calendar_of(told: object, calendar: object) -> object:
    return told.get("calendar") if isinstance(told, dict) else calendar


def _recorded(row: Row) -> list[object]:
    """The calendars that the moments of a row were computed with."""
    return [each.get("id") for each in row.payload.get("calendars") or ()]


def promises_are_kept_count_of(moment: Moment) -> Iterator[str]:
    """SLA: each of its two moments is told once, as long after the beginning as was promised."""
    row, picture = moment.row, moment.picture
    if row.type not in ("SLA_SET", "SLA_FIRED"):
        return
    place = (row.node or "", row.iteration)
    begun = picture.promises.get(place)
    if row.type == "SLA_SET":
        yield from _promised(moment, begun)
        return
    kind = str(row.payload.get("kind"))
    due = None if begun is None else begun.due.get(kind)
    if begun is None or due is None:
        yield f"a {kind} of {row.node or 'the instance'}, which promises nothing of that"
    elif kind in begun.told:
        yield f"a second {kind} of {row.node or 'the instance'}"
    elif row.at < due:
        yield f"the {kind} of {row.node or 'the instance'} is {due - row.at} ms early"
    elif row.moment("due") != due:
        yield f"the {kind} of {row.node or 'the instance'} was due {due}, told {row.moment('due')}"


def _promised(moment: Moment, begun: Promise | None) -> Iterator[str]:
    row, life = moment.row, moment.life
    config = moment.picture.graph.options if life is None else life.node.config
    sla = config.get("sla") or {}
    for kind, name, told in (
        ("sla-warning", "warnAt", sla.get("warnAfter")),
        ("sla-breached", "breachAt", sla.get("breachAfter")),
    ):
        right = end_of(told, row.at, sla.get("calendar"))
        if begun is not None:
            right = begun.due.get(kind)
        if row.moment(name) != right:
            yield f"{name} of {row.node or 'the instance'} is {row.moment(name)}, told {right}"


def no_promise_is_overdue(rest: Rest) -> Iterator[str]:
    """SLA: at rest, what is open and overdue was told."""
    now, picture = rest.run.now, rest.picture
    if now is None or not rest.run.at_rest or picture.is_final:
        return
    for (node, path), promise in picture.promises.items():
        life = picture.lives.get((node, path))
        if node and (life is None or not life.open):
            continue
        for kind, due in promise.due.items():
            if due < now - rest.run.bound_ms and kind not in promise.told:
                yield f"the {kind} of {node or 'the instance'} was due {now - due} ms ago"


def ends_are_told_in_time(moment: Moment) -> Iterator[str]:
    """SLA: nothing ends later than it promised without a word about it, whatever ends it.

    A step that a retry re-opens may end with it: it was not open when its moment passed.
    """
    row, picture = moment.row, moment.picture
    is_end = row.type == "STATUS_CHANGED" and row.payload.get("to") in FINAL
    if not is_end and row.type not in ("NODE_COMPLETED", "NODE_CANCELLED"):
        return
    place = ("", "") if is_end else (row.node or "", row.iteration)
    promise = picture.promises.get(place)
    if promise is None or picture.was_set_aside or (place[0] and picture.retried_at == row.at):
        return
    for kind, due in promise.due.items():
        if due <= row.at and kind not in promise.told:
            whose = place[0] or "the instance"
            yield f"{whose} ends {row.at - due} ms after its {kind}, which was not told"
