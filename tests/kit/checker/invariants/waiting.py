"""Waits, events and wake-ups: I8 for events that are owed, I24 to I27."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Moment, Rest, Whole, truth
from tests.kit.checker.life import Arm, Wait
from tests.kit.checker.moments import duration_ms, moment_ms
from tests.kit.checker.patterns import fits
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields
from tests.kit.checker.violation import Violation

_TO_BE_TOLD = ("outbox", "webhook_deliveries")
_SUBSCRIPTIONS = "workflow_event_subscriptions"

_LEEWAY = 100
"""Milliseconds by which the clocks of processes may differ."""


def every_waiting_instance_can_wake(rest: Rest) -> Iterator[str]:
    """I24: Every waiting instance has at least one live wake source that names it."""
    if not rest.run.at_rest or rest.picture.is_final:
        return
    owned = rest.instance.owner is not None
    waits, timers = rest.instance.waits, rest.instance.timers
    stored = {(str(row["node"]), str(row.get("iteration") or "")) for row in waits or ()}
    kinds = {
        (str(row["kind"]), str(row.get("node") or ""), str(row.get("iteration") or ""))
        for row in timers or ()
    }
    for key, life in rest.picture.lives.items():
        id = life.name
        listens = life.wait is not None and life.node.type != "approval"
        listens |= life.open and "more" in life.node.config
        if listens and waits is not None and key not in stored:
            yield f"{id} waits in the log and has no stored wait"
        if timers is None or owned:
            continue
        if life.due is not None and ("delay", *key) not in kinds:
            yield f"{id} sleeps, nobody owns it and no timer is stored"
        if life.retry is not None and ("retry", *key) not in kinds:
            yield f"{id} is to be tried again, nobody owns it and no timer is stored"
        timed = life.wait is not None and life.wait.timeout_at is not None
        if timed and ("wait-timeout", *key) not in kinds:
            yield f"{id} waits with a time limit, nobody owns it and no timer is stored"
        for kind, due in life.pending_of_approval():
            if due is not None and (kind, *key) not in kinds:
                yield f"{id} has a {kind} to come, nobody owns it and no timer is stored"
    in_flight = any(life.running for life in rest.picture.lives.values())
    if in_flight and not owned and not rest.instance.mail:
        yield "an attempt is in flight and nobody owns the instance"


def nothing_outlives_an_end(rest: Rest) -> Iterator[str]:
    """I25: Every subscription, timer, lease, slot, token, queue row belongs to a live instance."""
    instance, picture = rest.instance, rest.picture
    if picture.is_final:
        for name, rows in (
            ("wait", instance.waits),
            ("timer", instance.timers),
            ("mail", instance.mail),
        ):
            if rows:
                yield f"{len(rows)} {name} rows of an instance that is {picture.status}"
        if instance.owner is not None:
            yield f"{instance.owner} still owns an instance that is {picture.status}"
        return
    for row in instance.waits or ():
        if not row["node"]:
            continue  # a trigger: see `triggers_are_open`
        life = picture.lives.get((str(row["node"]), str(row.get("iteration") or "")))
        if life is not None and life.open and "more" in life.node.config:
            continue
        if life is None or life.wait is None or life.node.type == "approval":
            yield f"a stored wait of {row['node']}, which waits for nothing"


def no_row_outlives_what_it_is_for(whole: Whole) -> Iterator[Violation]:
    """I25, over every table: a row is for an instance that is there and has not ended.

    What is to be told of an instance outlives it. Who starts instances by events is for none. Who
    owns what has ended is judged with the instance.
    """
    statuses = {summary.id: summary.status for summary in whole.summaries}
    events = whole.ledgers.events or {}
    for table, id in whole.ledgers.run.owed or ():
        status = statuses.get(id)
        # An event of nobody's is told by itself: its stream is its tenant and its id.
        is_to_be_told = table in _TO_BE_TOLD and (not id or id.partition(":")[2] in events)
        if status is None and not is_to_be_told and (id or table != _SUBSCRIPTIONS):
            yield Violation("I25", id, 0, f"a row of {table} for what is not there")
        elif status in FINAL and table not in (*_TO_BE_TOLD, "owners"):
            yield Violation("I25", id, 0, f"a row of {table} for what is {status}")


def nothing_is_open_at_the_end(rest: Rest) -> Iterator[str]:
    """I25: none after terminal: no attempt, wait or timer is open in the log either."""
    if not rest.picture.is_final or not rest.picture.ending or rest.picture.was_set_aside:
        return
    for life in rest.picture.lives.values():
        if life.open:
            yield f"{rest.picture.status} while {life.name} is open"


def one_wins(moment: Moment) -> Iterator[str]:
    """I26: Of event / timeout / cancel on one wait exactly one wins."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type == "WAIT_RESOLVED" and life.wait is None and life.node.type != "loop":
        yield f"the wait of {row.node} ends a second time, or was never open"
    if (
        row.type == "NODE_COMPLETED"
        and row.status != "error"
        and life.node.type in ("eventWait", "approval")
        and life.wait is not None
    ):
        yield f"{row.node} completes while its wait is open"


def counted_as_told(moment: Moment) -> Iterator[str]:
    """I27: a wait for n events takes n different ones, and its output has all of them, in order."""
    row, life = moment.row, moment.life
    if life is None or life.node.type != "eventWait" or life.ended:
        return
    count = life.node.config.get("count")
    taken = [str(each.payload.get("eventId")) for each in life.counted]
    if row.type == "WAIT_RESOLVED" and row.payload.get("outcome") == "event":
        remaining = 0 if count is None else count - len(taken) - 1
        if int(row.payload.get("remaining") or 0) != remaining:
            yield f"{row.node} needs {row.payload.get('remaining')} further, told {remaining}"
        if str(row.payload.get("eventId")) in taken:
            yield f"{row.node} takes {row.payload.get('eventId')} a second time"
    if row.type != "NODE_COMPLETED" or row.status == "error" or count is None or row.reused:
        return
    if life.resolved is not None and life.resolved.payload.get("outcome") == "event":
        taken.append(str(life.resolved.payload.get("eventId")))
    shown = [str(each["eventId"]) for each in (row.payload.get("output") or {}).get("events", ())]
    if shown != taken:
        yield f"{row.node} gives {shown}, it took {taken}"


def deliveries_say_who_won(rest: Rest) -> Iterator[str]:
    """I26: exactly one wins; the others are recorded as discarded.

    What an event did, by its delivery, is what the log says; and at rest none is undecided.
    """
    if rest.instance.deliveries is None or not rest.run.at_rest:
        return
    known = rest.ledgers.events or {}
    by_log = {
        (str(row.payload["eventId"]), row.node or "", row.iteration)
        for row in rest.rows
        if row.payload.get("eventId") in known
        and (
            (row.type == "WAIT_RESOLVED" and row.payload.get("outcome") == "event")
            or (row.type == "CANCEL_REQUESTED" and row.payload.get("source") == "EVENT")
        )
    }
    won = set[tuple[str, str, str]]()
    for each in rest.instance.deliveries:
        place = (str(each["event"]), str(each["node"]), str(each["iteration"]))
        if each["outcome"] in ("resumed", "cancelled"):
            won.add(place)
        elif each["outcome"] == "matched" and not rest.instance.mail:
            yield f"what became of {place} was never recorded"
    if won != by_log:
        yield f"by their deliveries {sorted(won)} won, by the log {sorted(by_log)}"


def delivered_only_where_it_fits(moment: Moment) -> Iterator[str]:
    """I27: Delivery only where tenant, pattern, condition and time match."""
    row, life = moment.row, moment.life
    if row.type == "WAIT_OPENED" and life is not None and life.node.type != "approval":
        yield from _since_is_right(moment)
    if row.type != "WAIT_RESOLVED" or row.payload.get("outcome") != "event" or life is None:
        return
    event = (moment.ledgers.events or {}).get(str(row.payload.get("eventId")))
    if event is None or life.wait is None:
        return
    for reason in _misfits(moment, life.wait, event):
        yield f"{event['id']} was given to {row.node}: {reason}"
    said = str(row.payload.get("arm") or "")
    names = [arm.id for arm in life.wait.arms]
    if said not in names:
        yield f"{event['id']} came by {said!r} of {row.node}, which has {names}"
        return
    for arm in life.wait.arms:
        takes = _takes(moment, life.wait, arm, event)
        if arm.id == said:
            if takes is False:
                yield f"{event['id']} was given to {row.node}: {arm} does not take it"
            return
        if takes is True:
            yield f"{event['id']} came by {said} of {row.node}, first listed is {arm.id}"


def taken_once(moment: Moment) -> Iterator[str]:
    """I27: at most once per subscription; looking back takes the oldest that no wait has taken."""
    row, life = moment.row, moment.life
    events = moment.ledgers.events
    if row.type != "WAIT_RESOLVED" or row.payload.get("outcome") != "event" or life is None:
        return
    if life.wait is None or events is None:
        return
    event = events.get(str(row.payload.get("eventId")))
    if event is None or _came_after(moment, life.wait, event):
        return
    for node, earlier in moment.picture.taken_events.get(str(event["id"]), ()):
        if earlier.seq < life.wait.opened.seq:
            yield f"{event['id']} was given to {node} before {row.node} opened, and again to it"
    for other in _owed(events, life.wait, moment):
        if (
            _received(other) < _received(event)
            and not _came_after(moment, life.wait, other)
            and str(other["id"]) not in moment.picture.taken_events
        ):
            yield f"{row.node} takes {event['id']}, older is {other['id']}"


def accepted_events_arrive(rest: Rest) -> Iterator[str]:
    """I8: accepted = delivered + buffered: at rest no open wait is owed an event of the inbox."""
    events = rest.ledgers.events
    if events is None or not rest.run.at_rest or rest.picture.is_final or rest.picture.ending:
        return
    for life in rest.picture.lives.values():
        if life.wait is None or life.node.type == "approval":
            continue
        for event in _owed(events, life.wait, rest):
            if str(event["id"]) not in rest.picture.taken_events:
                yield f"{life.name} waits for {event['id']}, which was accepted"


def triggers_are_open(rest: Rest) -> Iterator[str]:
    """I24, I25: events can cancel an instance from its acceptance until its end begins."""
    stored = rest.instance.waits
    if stored is None or rest.picture.is_final:
        return
    found = sum(not row["node"] for row in stored)
    wanted = 0 if rest.picture.ending else len(rest.picture.graph.cancelled_by)
    if found != wanted and not (rest.picture.ending and rest.picture.status == "PAUSED"):
        yield f"{found} of its cancellation triggers are open, not {wanted}"


def cancelled_by_what_fits(moment: Moment) -> Iterator[str]:
    """I27: an event cancels only where pattern, condition and time match."""
    row, events = moment.row, moment.ledgers.events
    if row.type != "CANCEL_REQUESTED" or row.payload.get("source") != "EVENT" or events is None:
        return
    event = events.get(str(row.payload.get("eventId")))
    if event is None:
        yield f"event {row.payload.get('eventId')} was never accepted"
        return
    triggers = moment.picture.graph.cancelled_by
    fitting = [each for each in triggers if _cancels(moment, each, event) is not False]
    if row.payload.get("reason") not in [each.get("reason") for each in fitting]:
        yield f"{event['id']} cancels it, and fits none of {triggers}"
    if not _came_after_start(moment, event):
        yield f"{event['id']} cancels it, and is older than it"


def accepted_events_cancel(rest: Rest) -> Iterator[str]:
    """I8: at rest no instance goes on that an event of the inbox was to cancel."""
    picture, events = rest.picture, rest.ledgers.events
    if events is None or not rest.run.at_rest or picture.is_final or picture.ending:
        return
    if picture.counts.get("RETRY_REQUESTED"):
        return  # what came while it had failed does not count
    for event in events.values():
        for trigger in picture.graph.cancelled_by:
            if _cancels(rest, trigger, event) and _came_after_start(rest, event):
                yield f"it goes on, and {event['id']} was accepted"


def published_once_completed(rest: Rest) -> Iterator[str]:
    """I8: what a step published is in the inbox, and nothing is there that none did."""
    events = rest.ledgers.events
    if events is None:
        return
    told = {
        str((row.payload.get("output") or {}).get("eventId"))
        for row in rest.rows
        if row.type == "NODE_COMPLETED"
        and row.status != "error"
        and row.reused is None
        and row.node is not None
        and rest.picture.graph.nodes[row.node].type == "emit"
    }
    found = {id for id in events if id.startswith(f"{rest.instance.id}:")}
    if told != found:
        yield f"it published {sorted(told)}, and in the inbox are {sorted(found)}"


def _cancels(judge: Moment | Rest, trigger: Fields, event: Fields) -> bool | None:
    if not fits(str(trigger["eventPattern"]), str(event["pattern"])):
        return False
    condition = trigger.get("eventCondition")
    if condition is None:
        return True
    scope = {**judge.picture.scope(str(condition)), "event": event}
    return truth(judge.evaluate, str(condition), scope)


def _came_after_start(judge: Moment | Rest, event: Fields) -> bool:
    after, begun = event.get("after"), judge.ledgers.commit_of(judge.picture.instance, 1)
    if after is None or begun is None:
        return _received(event) >= judge.picture.created_at
    return bool(after >= begun)


def _owed(events: dict[str, Fields], wait: Wait, judge: Moment | Rest) -> Iterator[Fields]:
    for event in events.values():
        if any(True for _ in _misfits(judge, wait, event)):
            continue
        if any(_takes(judge, wait, arm, event) for arm in wait.arms):
            yield event


def _takes(judge: Moment | Rest, wait: Wait, arm: Arm, event: Fields) -> bool | None:
    """Whether an arm asks for an event; None when that cannot be told."""
    if not fits(arm.pattern, str(event["pattern"])):
        return False
    if arm.condition is None:
        return True
    if wait.scope is None:
        return None
    return truth(judge.evaluate, arm.condition, {**wait.scope, "event": event})


def _came_after(judge: Moment | Rest, wait: Wait, event: Fields) -> bool:
    """Whether the wait was open when the event was stored; by the clock where no order is known."""
    after, opened = (
        event.get("after"),
        judge.ledgers.commit_of(judge.picture.instance, wait.opened.seq),
    )
    if after is None or opened is None:
        return _received(event) >= wait.opened.at
    return bool(after >= opened)


def _misfits(judge: Moment | Rest, wait: Wait, event: Fields) -> Iterator[str]:
    if _is_too_old(judge, wait, event) and not _came_after(judge, wait, event):
        yield "it came before the time that counts"
    if wait.correlation is not None and event.get("correlationId") != wait.correlation:
        yield f"it is about {event.get('correlationId')}, not {wait.correlation}"


def _is_too_old(judge: Moment | Rest, wait: Wait, event: Fields) -> bool:
    """By the order of storing where a wait looks back to the start, else by the clock."""
    if wait.since is None:
        return False
    if wait.since == judge.picture.created_at:
        return not _came_after_start(judge, event)
    return _received(event) < wait.since - _LEEWAY


def _since_is_right(moment: Moment) -> Iterator[str]:
    row, life = moment.row, moment.life
    assert life is not None
    lookback = life.node.config.get("lookback")
    length = duration_ms(lookback)
    if lookback is not None and length is None:
        return
    right = moment.picture.created_at if length is None else row.at - length
    if (since := row.moment("since")) != right:
        yield f"{row.node} takes events since {since}, told {right}"


def _received(event: Fields) -> int:
    return moment_ms(event["receivedAt"]) or 0
