"""Approvals: who decides, who is reminded, and what is told about it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.clock import reminders_of
from tests.kit.checker.invariants.judgement import Moment, Whole
from tests.kit.checker.life import Asked
from tests.kit.checker.record import Fields, Row
from tests.kit.checker.violation import Violation

_WORDS = ("approved", "rejected")


def only_approvals_are_decided(moment: Moment) -> Iterator[str]:
    """APPROVAL: an event ends a wait for one, a decision an approval; its timers are its own."""
    row, life = moment.row, moment.life
    if life is None:
        return
    is_approval = life.node.type == "approval"
    if row.type == "WAIT_OPENED" and is_approval != ("approval" in row.payload):
        yield f"{row.node} opens as what it is not"
    outcome = row.payload.get("outcome")
    is_wrong = outcome == ("event" if is_approval else "decision")
    if row.type == "WAIT_RESOLVED" and is_wrong:
        yield f"{row.node} is ended by {outcome}"
    kind = row.payload.get("kind", "delay")
    if row.type == "TIMER_FIRED" and is_approval != (kind in ("reminder", "escalation")):
        yield f"a {kind} of {row.node}, which is a {life.node.type}"


def asked_as_told(moment: Moment) -> Iterator[str]:
    """APPROVAL: those are asked whom the definition names, and reminded of it as it says."""
    row, life = moment.row, moment.life
    if life is None or life.node.type != "approval":
        return
    config = life.node.config
    if row.type == "WAIT_OPENED":
        asking = row.payload.get("approval") or {}
        yield from _same_people(row, asking.get("assignees"), config.get("assignees"))
        further = config.get("escalate") or {}
        yield from _same_people(row, asking.get("escalateTo"), further.get("assignees"))
    if row.type != "TIMER_FIRED" or life.asked is None:
        return
    if row.payload.get("kind") == "reminder":
        if row.payload.get("number") != life.asked.reminded + 1:
            yield f"reminder {row.payload.get('number')} of {row.node} after {life.asked.reminded}"
        moments = reminders_of(config, life.asked.opened.at)
        following = moments[life.asked.reminded + 1 :]
        right = following[0] if following else None
        if (told := row.moment("nextAt")) != right:
            yield f"the reminder after this one of {row.node} is at {told}, not {right}"
    elif _people(row.payload.get("assignees")) != _people(life.asked.escalate_to):
        yield f"{row.node} escalates to others than it said when it opened"


def decided_by_who_may(moment: Moment) -> Iterator[str]:
    """APPROVAL: a decision is somebody's who was asked, in time, and takes the handle it names."""
    row, life = moment.row, moment.life
    if row.type != "NODE_COMPLETED" or life is None or life.node.type != "approval":
        return
    resolved = life.resolved
    if row.reused is not None or row.status == "error" or resolved is None:
        return
    said = row.payload.get("output") or {}
    if resolved.payload.get("outcome") != "decision":
        if said or row.handles != ["timeout"]:
            yield f"{row.node} timed out, and takes {row.handles} with {said}"
        return
    if said.get("decision") not in _WORDS or row.handles != [said["decision"]]:
        yield f"{row.node} was {said.get('decision')}, and takes {row.handles}"
    limits = [limit for limit in (life.limit_at, life.fail_at) if limit is not None]
    if limits and resolved.at >= min(limits):
        yield f"{row.node} was decided {resolved.at - min(limits)} ms too late"
    asked, client = life.asked, moment.ledgers.run.client
    if asked is None or client is None:
        return
    wanted = {"node": row.node, "iteration": row.iteration, "by": said.get("by")}
    wanted |= {"instance": moment.picture.instance, "decision": said.get("decision")}
    requests = [
        each
        for each in client
        if each["op"] == "decide" and all(each.get(name) == wanted[name] for name in wanted)
    ]
    if not requests:
        yield f"{row.node} was {said.get('decision')} by {said.get('by')}, who never said so"
    elif not any(_may_decide(asked, each) for each in requests):
        yield f"{row.node} was decided by {said.get('by')}, who was not asked"


def acknowledged_decisions_stand(whole: Whole) -> Iterator[Violation]:
    """APPROVAL: a decision that was acknowledged is the one in the log."""
    instances = {summary.id: summary for summary in whole.summaries}
    for request in whole.ledgers.run.client or ():
        if request["op"] != "decide" or request["outcome"] != "ok":
            continue
        summary = instances.get(str(request["instance"]))
        said = tuple(str(request[name]) for name in ("node", "iteration", "decision", "by"))
        if summary is not None and said not in summary.decided:
            message = f"{said} was acknowledged, and is not in the log"
            yield Violation("APPROVAL", summary.id, 0, message)


def _may_decide(asked: Asked, request: Fields) -> bool:
    roles = set(request.get("roles") or ())
    return request["by"] in asked.users or bool(roles & asked.roles)


def _same_people(row: Row, found: Fields | None, told: Fields | None) -> Iterator[str]:
    if "{{" not in str(told) and _people(found) != _people(told):
        yield f"{row.node} asks {found}, told {told}"


def _people(found: Fields | None) -> tuple[list[str], list[str]]:
    found = found or {}
    return sorted(found.get("users") or ()), sorted(found.get("roles") or ())
