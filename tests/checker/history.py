"""Histories written as they are told: `log().started({…}).dispatched("a").completed("a")…`."""

from __future__ import annotations

from typing import Any, TypeAlias
from uuid import UUID

Fields: TypeAlias = dict[str, Any]
ID = "i-1"
BEGIN = 1_000_000


class Log:
    """A history under construction; its clock stands still until it is told to move."""

    def __init__(self) -> None:
        self.rows: list[Fields] = []
        self.now = BEGIN
        self._status = "CREATED"

    def after(self, milliseconds: int) -> Log:
        self.now += milliseconds
        return self

    def row(self, type: str, node: str | None = None, attempt: int = 1, **more: Any) -> Log:  # noqa: ANN401
        """A row of `a`, or of `a[0]` in an iteration.

        `status` and `variable` are columns, everything else is payload.
        """
        name, _, iteration = (node or "").removesuffix("]").partition("[")
        columns = {"nodeStatus": more.pop("status", None)}
        columns["outputVariable"] = more.pop("variable", None)
        self.rows.append(
            {
                "seq": len(self.rows) + 1,
                "eventType": type,
                "nodeId": name or None,
                "iteration": iteration,
                "attempt": attempt,
                **columns,
                "payload": {name: value for name, value in more.items() if value is not None},
                "errorMessage": None,
                "at": self.now,
            }
        )
        return self

    def started(self, input: Fields | None = None, deadline: int | None = None) -> Log:
        given: Fields = {"input": input or {}, "definitionId": "d", "definitionVersion": 1}
        self.row("INPUT_SET", deadline=deadline, **given)
        return self.turned("RUNNING")

    def turned(self, status: str) -> Log:
        change: Fields = {"from": self._status, "to": status}
        self.row("STATUS_CHANGED", **change)
        self._status = status
        return self

    def dispatched(self, *nodes: str, attempt: int = 1) -> Log:
        for node in nodes:
            self.row("NODE_DISPATCHED", node, attempt)
        return self

    def completed(
        self,
        node: str,
        output: Any = None,  # noqa: ANN401
        *,
        attempt: int = 1,
        handles: list[str] | None = None,
        variable: str | None = None,
        variables: Fields | None = None,
    ) -> Log:
        said = {"output": output, "handles": handles}
        if variables is not None:
            said["variables"] = variables
        return self.row(
            "NODE_COMPLETED", node, attempt, status="success", variable=variable, **said
        )

    def failed(self, node: str, code: str = "OOPS", then: str = "fail", *, attempt: int = 1) -> Log:
        error = {"code": code, "message": "it did not work"}
        return self.row("NODE_FAILED", node, attempt, status="error", error=error, then=then)

    def routed(self, node: str, code: str, handle: str = "error", *, attempt: int = 1) -> Log:
        """A handled failure: both of its rows."""
        self.failed(node, code, "route", attempt=attempt)
        error = {"code": code, "message": "it did not work", "details": None, "attempts": attempt}
        said = {"output": {"error": error}, "handles": [handle]}
        return self.row("NODE_COMPLETED", node, attempt, status="error", **said)

    def retry(self, node: str, attempt: int, wait: int) -> Log:
        return self.row("RETRY_SCHEDULED", node, attempt, due=self.now + wait)

    def skipped(self, *nodes: str, reason: str = "dead-path") -> Log:
        for node in nodes:
            self.row("NODE_SKIPPED", node, reason=reason)
        return self

    def told_to_stop(self, node: str, grace: int = 10_000) -> Log:
        return self.row("NODE_CANCEL_REQUESTED", node, graceUntil=self.now + grace)

    def called_off(self, node: str) -> Log:
        return self.row("NODE_CANCELLED", node)

    def waits(self, node: str, pattern: str, timeout: int | None = None) -> Log:
        limit = None if timeout is None else self.now + timeout
        return self.row("WAIT_OPENED", node, pattern=pattern, since=BEGIN, timeoutAt=limit)

    def got(self, node: str, event: str, /, **more: Any) -> Log:  # noqa: ANN401
        return self.row("WAIT_RESOLVED", node, outcome="event", eventId=event, **more)

    def timed_out(self, node: str) -> Log:
        return self.row("WAIT_RESOLVED", node, outcome="timeout")

    def asks(
        self,
        node: str,
        people: Fields,
        timeout: int | None = None,
        *,
        remind: int | None = None,
        escalate: int | None = None,
        to: Fields | None = None,
    ) -> Log:
        limit = None if timeout is None else self.now + timeout
        asking: Fields = {"assignees": people, "escalateTo": to}
        asking["remindAt"] = None if remind is None else self.now + remind
        asking["escalateAt"] = None if escalate is None else self.now + escalate
        return self.row("WAIT_OPENED", node, timeoutAt=limit, approval=asking)

    def reminded(self, node: str, number: int, ahead: int, people: Fields) -> Log:
        said: Fields = {"number": number, "nextAt": self.now + ahead, "assignees": people}
        return self.row("TIMER_FIRED", node, kind="reminder", **said)

    def escalated(self, node: str, to: Fields) -> Log:
        return self.row("TIMER_FIRED", node, kind="escalation", assignees=to)

    def sleeps(self, node: str, milliseconds: int) -> Log:
        return self.row("TIMER_SET", node, due=self.now + milliseconds)

    def holds(self, node: str, output: Any, milliseconds: int) -> Log:  # noqa: ANN401
        return self.row("TIMER_SET", node, due=self.now + milliseconds, held={"output": output})

    def woke(self, node: str) -> Log:
        return self.row("TIMER_FIRED", node)

    def child(self, node: str, attempt: int = 1, *, ordered: int | None = None) -> Log:
        """A child of version 1, ordered now unless said otherwise."""
        id = child_at(self.now if ordered is None else ordered, attempt)
        return self.row("CHILD_STARTED", node, attempt, childId=id, workflowId="d", version=1)

    def child_ended(self, node: str, id: str, status: str, attempt: int = 1) -> Log:
        # `status` is a column of other rows; here it is said.
        self.row("CHILD_ENDED", node, attempt, childId=id)
        self.rows[-1]["payload"]["status"] = status
        return self

    def turn(self, place: str, items: list[Any] | None = None, fail_at: int | None = None) -> Log:
        """A loop begins an iteration: `l[0]`."""
        return self.row("ITERATION_STARTED", place, items=items, failAt=fail_at)

    def arrived(self, place: str, source: str) -> Log:
        """A loop over arrivals begins an iteration."""
        given: Fields = {"from": source}
        return self.row("ITERATION_STARTED", place, **given)

    def turned_out(self, place: str, output: Any = None) -> Log:  # noqa: ANN401
        return self.row("ITERATION_ENDED", place, output=output)

    def turned_bad(self, place: str, code: str) -> Log:
        # `status` is a word of the payload here.
        self.row("ITERATION_ENDED", place, error={"code": code, "message": "it did not work"})
        self.rows[-1]["payload"]["status"] = "error"
        return self

    def turn_called_off(self, place: str) -> Log:
        self.row("ITERATION_ENDED", place)
        self.rows[-1]["payload"]["status"] = "cancelled"
        return self

    def cancel_asked(self, source: str = "API") -> Log:
        asked: Fields = {"by": "somebody", "source": source, "shouldCompensate": True}
        return self.row("CANCEL_REQUESTED", **asked)

    def pause_asked(self, until: int | None = None) -> Log:
        return self.row("PAUSE_REQUESTED", by="somebody", until=until)

    def resume_asked(self, by: str = "somebody") -> Log:
        return self.row("RESUME_REQUESTED", by=by)


def child_at(at: int, number: int = 1) -> str:
    """The id of a child that was ordered at a moment."""
    return str(UUID(int=at << 80 | 7 << 76 | 2 << 62 | number))


def log() -> Log:
    return Log()


def record(document: Fields, history: Log, /, **more: Any) -> Fields:  # noqa: ANN401
    """A recorded run of one instance; `instance` holds its stored rows, the rest is the run's."""
    stored: Fields = {"waits": [], "timers": [], "mail": [], "deadLetters": []}
    instance = {"id": ID, "document": document, "history": history.rows, **stored}
    return {"now": history.now, "instances": [instance | more.pop("instance", {})], **more}


def graph(*nodes: Fields, edges: str, **more: Any) -> Fields:  # noqa: ANN401
    """A document in graph form; edges are written `a>b a:error>c`."""
    drawn = []
    for edge in edges.split():
        place, target = edge.split(">")
        source, _, handle = place.partition(":")
        arrow = {"upstreamNodeID": source, "downstreamNodeID": target}
        drawn.append(arrow | ({"sourceHandle": handle} if handle else {}))
    return {"id": "d", "title": "d", "nodes": list(nodes), "edges": drawn, **more}


def task(id: str, **config: Any) -> Fields:  # noqa: ANN401
    return {"id": id, "type": "task", "config": {"taskId": "work", **config}}


def box(type: str, id: str, **config: Any) -> Fields:  # noqa: ANN401
    return {"id": id, "type": type, "config": config}
