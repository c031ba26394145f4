"""What each open step of an instance waits for; those of a loop's iterations are the loop's."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from msgspec import Struct, field

from tenuto.calendars.words import local_text
from tenuto.core.arrivals import may_arrive
from tenuto.core.built_in import JAVASCRIPT_TASK
from tenuto.core.incomplete_joins import join_message, missing_steps
from tenuto.core.plan import Plan
from tenuto.core.scope import scope_of
from tenuto.core.state import Compensation, InstanceState, NodeState
from tenuto.core.view import error_view
from tenuto.core.wait import arms_of, correlation_id_of
from tenuto.expr import ExpressionError, Steps as StepCount
from tenuto.model.causes import (
    Breaker,
    Cause,
    CauseKind,
    Estimate,
    Explanation,
    Holder,
    Past,
    ProcessBound,
    Queued,
    RequestWait,
    TaskLimit,
)
from tenuto.model.durations import iso
from tenuto.model.graph import Approval, Delay, EventWait, SubWorkflow
from tenuto.model.ids import NodeKey, around
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON, Object, is_small
from tenuto.model.pauses import between_parts
from tenuto.model.policy import NO_POLICIES, NO_POLICY, BusinessRetryPolicy, Policies
from tenuto.model.status import NodeStatus
from tenuto.model.working_time import BusinessDuration, WorkingDuration, in_words

MOST_CAUSES = 20
"""So many steps are explained in one place: in the instance, or in one loop."""
LARGEST_FORM = 5_000
"""Characters and items of a form that is shown; a larger one is among the waits."""
MOST_STEPS = 50_000
"""Once their expressions have taken so many steps, no further correlation id is worked out."""

_OBSTACLES = {
    "breaker": (CauseKind.BREAKER, "the circuit breaker of {} is open"),
    "rate": (CauseKind.RATE_LIMIT, "its request waits for the rate limit of {}"),
    "concurrency": (CauseKind.SLOT, "its request waits until one of those to {} has ended"),
}


class Steps(Struct, frozen=True):
    """The open steps of one instance."""

    plan: Plan
    state: InstanceState
    jobs: Mapping[tuple[str, str, int], int]
    heartbeats: Mapping[tuple[str, str, int], datetime]
    near: Mapping[tuple[str, str, str], list[JSON]]
    children: Mapping[str, Explanation]
    policies: Policies
    breakers: Mapping[str, Breaker]
    waits: Mapping[tuple[str, str, int], RequestWait]
    takers: Mapping[str, int]
    estimates: Mapping[tuple[Past, str], Estimate]
    has_process: bool
    """Whether the process that its tasks run in is there, as far as is known."""
    meant: Mapping[str, str]
    now: datetime
    queued: frozenset[tuple[str, str, int]]
    bounded: Mapping[tuple[str, str, int], ProcessBound]
    limited: Mapping[str, TaskLimit]
    here: frozenset[tuple[str, str, int]]
    mutexes: Mapping[tuple[str, str], Queued]
    taken: StepCount = field(default_factory=StepCount)
    """What the expressions have taken that are read for it."""

    def open(self) -> list[Cause]:
        """What each of them waits for, the oldest first."""
        inside: defaultdict[NodeKey, list[NodeKey]] = defaultdict(list)
        outside: list[NodeKey] = []
        for key in self.state.open_nodes():
            between_parts()
            loop = self.plan[key.node].loop
            place = None if loop is None else NodeKey(loop, around(key.iteration))
            # A loop that is over, and whose iterations are still ending, is not a step to wait for.
            if place is None or not self.state.nodes[place].is_open:
                outside.append(key)
            else:
                inside[place].append(key)
        return self._all(outside, inside)

    def joins(self) -> list[Cause]:
        """Joins at which some steps have arrived, and which are missing; those outside loops."""
        causes: list[Cause] = []
        for key in sorted(key for key in self.state.joins if not key.iteration):
            message = join_message(self.plan, self.state, key)
            if message is not None and len(causes) < MOST_CAUSES:
                missing = missing_steps(self.plan, self.state, key)
                details: Object = {"missing": [*missing]}
                if lost := {name: why for name, why in missing.items() if why is not None}:
                    details["lost"] = {**lost}
                causes.append(
                    Cause(kind=CauseKind.JOIN, message=message, step_id=key.node, details=details)
                )
        return causes

    def undoing(self, undoing: Compensation) -> list[Cause]:
        """What the compensation that is under way waits for."""
        work, place = undoing.work, undoing.place
        if work is None or place is None:
            return []
        key = NodeKey(*place[:2])
        if work.status is NodeStatus.RETRYING:
            return [self._retry(key, work)]
        if work.child_id is not None:
            return [self._child(key, work, work.child_id)]
        step = self.plan.undo_steps.get(key.node)
        if step is None:
            return [self._attempt(key, work, "", None)]
        patience, _ = self.plan.undo_patience(step, self.policies.policy(step.task_id))
        return [self._attempt(key, work, step.task_id, patience)]

    def _all(
        self, keys: Collection[NodeKey], inside: Mapping[NodeKey, list[NodeKey]]
    ) -> list[Cause]:
        oldest = heapq.nsmallest(MOST_CAUSES, keys, key=self._age)
        causes = [cause for key in oldest for cause in self._of(key, inside)]
        hidden = len(keys) - MOST_CAUSES
        if hidden > 0:
            message = f"{hidden} more steps are open"
            causes.append(Cause(kind=CauseKind.RUNNING, message=message, details={"more": hidden}))
        return causes

    def _age(self, key: NodeKey) -> tuple[int, NodeKey]:
        between_parts()
        return self.state.nodes[key].opened, key

    def _of(self, key: NodeKey, inside: Mapping[NodeKey, list[NodeKey]]) -> list[Cause]:
        node = self.state.nodes[key]
        match node.status:
            case NodeStatus.WAITING if node.approval is not None:
                return [self._approval(key, node)]
            case NodeStatus.WAITING if node.is_wait:
                return self._events(key, node)
            case NodeStatus.WAITING if node.mutex is not None and node.held is None:
                return [self._mutex(key, node)]
            case NodeStatus.WAITING:
                return [self._sleep(key, node)]
            case NodeStatus.RETRYING:
                return [self._retry(key, node)]
            case _ if node.grace_until is not None:
                return [self._stopping(key, node)]
            case _ if node.is_loop:
                return [self._loop(key, node, self._all(inside.get(key, ()), inside))]
            case _ if node.child_id is not None:
                return [self._child(key, node, node.child_id)]
            case _:
                return [self._running(key, node)]

    def _mutex(self, key: NodeKey, node: NodeState) -> Cause:
        estimate = self.estimates.get(("mutex", key.node))
        details: Object = {"mutex": node.mutex}
        message = f"it waits for the mutex {node.mutex!r}"
        queued = self.mutexes.get((key.node, key.iteration))
        if queued is not None and queued.limit:
            message = position(queued, f"mutex {node.mutex!r}")
            details |= {
                "position": queued.place,
                "of": queued.length,
                "holders": [_holder(each) for each in queued.holders],
            }
        return Cause(
            kind=CauseKind.MUTEX,
            message=f"{message}{usually(estimate)}",
            step_id=key.node,
            iteration=key.iteration,
            since=node.started_at,
            details=details,
            estimate=estimate,
        )

    def _events(self, key: NodeKey, node: NodeState) -> list[Cause]:
        config = self.plan[key.node].node.config
        assert isinstance(config, EventWait)
        belongs: Object = {}
        if config.correlation_id is not None:
            belongs["correlationId"] = self._correlation_id(key, config)
        causes: list[Cause] = []
        estimate = self.estimates.get(("wait", key.node))
        for arm in arms_of(config):
            condition = f" where {arm.event_condition}" if arm.event_condition else ""
            near = self.near.get((key.node, key.iteration, arm.id), [])
            nearly = f"; {len(near)} came near" if near else ""
            nearly += usually(estimate)
            details: Object = {
                "eventPattern": arm.event_pattern,
                "eventCondition": arm.event_condition,
                "nearMisses": near,
            }
            causes.append(
                Cause(
                    kind=CauseKind.EVENT,
                    message=f"waits for the event {arm.event_pattern}{condition}{nearly}",
                    step_id=key.node,
                    iteration=key.iteration,
                    since=node.started_at,
                    until=self._due(key, TimerKind.WAIT_TIMEOUT, TimerKind.NODE_TIMEOUT),
                    details=details | belongs | ({"armId": arm.id} if arm.id else {}),
                    estimate=estimate,
                )
            )
        return causes

    def _correlation_id(self, key: NodeKey, config: EventWait) -> str | None:
        """What its events belong to, by the values of now; None if they do not tell."""
        if self.taken.taken > MOST_STEPS:
            return None
        try:
            scope = scope_of(self.plan, self.state, key, steps=self.taken)
            return correlation_id_of(self.plan, key, config, scope)
        except ExpressionError:
            return None

    def _approval(self, key: NodeKey, node: NodeState) -> Cause:
        asked, config = node.approval, self.plan[key.node].node.config
        assert asked is not None
        assert isinstance(config, Approval)
        details: Object = {
            "users": list(asked.assignees.users),
            "roles": list(asked.assignees.roles),
            "reminders": asked.reminded,
            "escalatedAt": iso(asked.escalated_at) if asked.escalated_at else None,
        }
        if config.form_schema is not None:
            # A hundred instances may each have twenty of these.
            is_shown = is_small(config.form_schema, LARGEST_FORM)
            details["formSchema"] = config.form_schema if is_shown else None
            details |= {} if is_shown else {"isFormLeftOut": True}
        estimate = self.estimates.get(("wait", key.node))
        return Cause(
            kind=CauseKind.APPROVAL,
            message=f"waits for {asked.assignees} to decide{usually(estimate)}",
            step_id=key.node,
            iteration=key.iteration,
            since=node.started_at,
            until=self._due(key, TimerKind.WAIT_TIMEOUT, TimerKind.NODE_TIMEOUT),
            details=details,
            estimate=estimate,
        )

    def _sleep(self, key: NodeKey, node: NodeState) -> Cause:
        config = self.plan[key.node].node.config
        if isinstance(config, Delay) and config.calendar is not None:
            return self._works_on(key, node, config, config.calendar)
        return Cause(
            kind=CauseKind.TIMER,
            message="sleeps" if node.held is None else "is done; what follows is delayed",
            step_id=key.node,
            iteration=key.iteration,
            since=self._set_at(key) or node.started_at,
            until=self._due(key, TimerKind.DELAY, TimerKind.NODE_TIMEOUT),
        )

    def _works_on(self, key: NodeKey, node: NodeState, config: Delay, calendar: str) -> Cause:
        since = self._set_at(key) or node.started_at
        until = self._due(key, TimerKind.DELAY, TimerKind.NODE_TIMEOUT)
        length = "working time"
        if isinstance(config.duration, WorkingDuration):
            length = in_words(config.duration)
        moment = self._local(calendar, until)
        end = f", until {moment}" if moment else ""
        return Cause(
            kind=CauseKind.WORKING_TIME,
            message=f"waits for {length} of calendar `{calendar}`{end}",
            step_id=key.node,
            iteration=key.iteration,
            since=since,
            until=until,
            details={"calendar": calendar},
        )

    def _local(self, calendar: str, moment: datetime | None) -> str | None:
        """A moment by the clock of a calendar, or else of UTC."""
        if moment is None:
            return None
        known = self.policies.calendars.get(calendar)
        return iso(moment) if known is None else local_text(known, moment, self.now)

    def slas(self) -> list[Cause]:
        """The SLAs that are under way: of the instance first, then of its steps."""
        keys = sorted(self.state.sla, key=lambda key: (self._began(key), key))
        return [self._sla(key) for key in keys[:MOST_CAUSES]]

    def _began(self, key: NodeKey) -> int:
        node = self.state.nodes.get(key)
        return 0 if node is None else node.opened

    def _sla(self, key: NodeKey) -> Cause:
        begun = self.state.sla[key]
        planned = self.plan.nodes.get(key.node)
        sla = self.plan.definition.options.sla if planned is None else planned.node.sla
        calendar = None if sla is None else sla.calendar
        upcoming = [
            (due, what)
            for due, told, what in (
                (begun.warn_at, begun.warned_at, "it is warned of"),
                (begun.breach_at, begun.breached_at, "it is missed"),
            )
            if due is not None and told is None
        ]
        due, what = min(upcoming, default=(None, ""))
        moment = self._local(calendar or "", due)
        if begun.breached_at is not None:
            stands = f"its SLA was missed at {iso(begun.breached_at)}"
        elif begun.warned_at is not None:
            stands = f"its SLA was warned of at {iso(begun.warned_at)}"
        else:
            stands = "its SLA is kept so far"
        state = "breached" if begun.breached_at else "warned" if begun.warned_at else "kept"
        details: Object = {
            "state": state,
            "warnAt": _shown(begun.warn_at),
            "breachAt": _shown(begun.breach_at),
            "warnedAt": _shown(begun.warned_at),
            "breachedAt": _shown(begun.breached_at),
            "calendar": calendar,
        }
        return Cause(
            kind=CauseKind.SLA,
            message=f"{stands}; {what} at {moment}" if moment else stands,
            step_id=key.node or None,
            iteration=key.iteration,
            since=begun.breached_at or begun.warned_at,
            until=due,
            details=details,
        )

    def _retry(self, key: NodeKey, node: NodeState) -> Cause:
        error = node.error
        said = "" if error is None else f" after {error.code}: {error.message}"
        upcoming = node.attempt + 1
        details: Object = {"attempt": upcoming}
        of = ""
        if (most := self._most_attempts(key)) is not None:
            details["maxAttempts"] = most
            # Attempts that were lost with their process are not counted.
            of = f" of {most + max(upcoming - 1 - node.failures, 0)}"
        until = self._due(key, TimerKind.RETRY)
        when = ""
        if (calendar := self._retry_calendar(key)) is not None:
            details["calendar"] = calendar
            when = f" in working time of calendar `{calendar}`, at {self._local(calendar, until)}"
        return Cause(
            kind=CauseKind.RETRY,
            message=f"is tried again{when}, attempt {upcoming}{of}{said}",
            step_id=key.node,
            iteration=key.iteration,
            since=None if error is None else error.at,
            until=until,
            details=details if error is None else details | {"error": error_view(error)},
        )

    def _retry_calendar(self, key: NodeKey) -> str | None:
        planned, step = self.plan.nodes.get(key.node), self.plan.undo_steps.get(key.node)
        if planned is not None:
            policy = self.plan.retry_of(planned.node, self.policies)
        elif step is not None:
            policy = self.plan.undo_retry(key.node, self.policies)
        else:
            return None
        return policy.calendar if isinstance(policy, BusinessRetryPolicy) else None

    def _most_attempts(self, key: NodeKey) -> int | None:
        """How often a step is tried; None where the policies of tasks are not known here."""
        planned = self.plan.nodes.get(key.node)
        if planned is None or (planned.node.retry is None and self.policies is NO_POLICIES):
            return None
        return self.plan.retry_of(planned.node, self.policies).max_attempts

    def _stopping(self, key: NodeKey, node: NodeState) -> Cause:
        return Cause(
            kind=CauseKind.STOPPING,
            message=f"attempt {node.attempt} was asked to stop",
            step_id=key.node,
            iteration=key.iteration,
            until=node.grace_until,
            details={"attempt": node.attempt},
        )

    def _loop(self, key: NodeKey, node: NodeState, causes: list[Cause]) -> Cause:
        loop = self.state.loops[key]
        details: Object = {"started": loop.started, "active": loop.active}
        if loop.items is not None:
            details["items"] = self.state.length_of(key)
        return Cause(
            kind=CauseKind.LOOP,
            message=_turns(self.plan, self.state, key),
            step_id=key.node,
            iteration=key.iteration,
            since=node.started_at,
            until=self._due(key, TimerKind.NODE_TIMEOUT),
            details=details,
            causes=tuple(causes),
        )

    def _child(self, key: NodeKey, node: NodeState, child_id: str) -> Cause:
        child = self.children.get(child_id)
        details: Object = {"childId": child_id}
        if child is not None:
            details["status"] = child.status.value
        estimate = self.estimates.get(("child", key.node))
        return Cause(
            kind=CauseKind.CHILD,
            message=f"runs as instance {child_id}{usually(estimate)}",
            step_id=key.node,
            iteration=key.iteration,
            since=node.dispatched_at or node.started_at,
            until=self._due(key, TimerKind.NODE_TIMEOUT),
            details=details,
            estimate=estimate,
            causes=() if child is None else child.causes,
        )

    def _running(self, key: NodeKey, node: NodeState) -> Cause:
        work, config = self.plan[key.node].work, self.plan[key.node].node.config
        if work is not None:
            policy = NO_POLICY if work.built_in else self.policies.policy(work.task_id)
            patience, _ = self.plan.patience_with(work, policy)
            return self._attempt(key, node, work.task_id, patience)
        if isinstance(config, SubWorkflow):
            return Cause(
                kind=CauseKind.CHILD,
                message=f"an instance of {config.workflow_id} is about to be started for it",
                step_id=key.node,
                iteration=key.iteration,
                since=node.dispatched_at or node.started_at,
            )
        return self._attempt(key, node, "", self.plan[key.node].node.timeout)

    def _attempt(
        self,
        key: NodeKey,
        node: NodeState,
        task_id: str,
        patience: timedelta | BusinessDuration | None,
    ) -> Cause:
        token = self.jobs.get((key.node, key.iteration, node.attempt))
        since = node.dispatched_at or node.started_at
        details: Object = {"attempt": node.attempt, "taskId": task_id}
        way = self.estimates.get(("queue", key.node))
        if (wait := self.waits.get((key.node, key.iteration, node.attempt))) is not None:
            kind, message = _OBSTACLES[wait.obstacle]
            # A breaker opens seldom: other attempts tell nothing of it.
            way = None if kind is CauseKind.BREAKER else way
            return Cause(
                kind=kind,
                message=f"{message.format(wait.target)}{usually(way)}",
                step_id=key.node,
                iteration=key.iteration,
                since=wait.since,
                until=wait.until,
                details={**details, "target": wait.target},
                estimate=way,
            )
        breaker = self.breakers.get(task_id)
        if token == 0 and breaker is not None:
            return Cause(
                kind=CauseKind.BREAKER,
                message=f"the circuit breaker of the push target of its task {task_id} is open",
                step_id=key.node,
                iteration=key.iteration,
                since=breaker.since,
                until=breaker.until,
                details=details,
            )
        limit = self.limited.get(task_id)
        if token == 0 and limit is not None:
            return self._held_back(key, since, details, limit)
        if token == 0:
            takers = self.takers.get(task_id, 0)
            details["workers"] = takers
            take = "connected worker takes" if takers == 1 else "connected workers take"
            others = f"; {takers} {take} such tasks" if takers else ""
            others += usually(way)
            if task_id in self.meant:
                details["meant"] = self.meant[task_id]
                others += f". Did you mean {self.meant[task_id]}?"
            return Cause(
                kind=CauseKind.WORKER,
                message=f"no process or worker has taken its task {task_id}{others}",
                step_id=key.node,
                iteration=key.iteration,
                since=since,
                details=details,
                estimate=way,
            )
        if not token and not self.has_process:
            return Cause(
                kind=CauseKind.RUNNING,
                message=f"attempt {node.attempt} does not run until a process goes on with it",
                step_id=key.node,
                iteration=key.iteration,
                since=since,
                details=details,
            )
        bound = self.bounded.get((key.node, key.iteration, node.attempt))
        if bound is not None:
            of = "attempts" if bound.task_id is None else f"attempts of {bound.task_id}"
            return Cause(
                kind=CauseKind.SLOT,
                message=f"attempt {node.attempt} waits: {bound.held} of {bound.most} {of} run in "
                "its process",
                step_id=key.node,
                iteration=key.iteration,
                since=since,
                details={**details, "held": bound.held, "max": bound.most},
            )
        if (key.node, key.iteration, node.attempt) in self.queued:
            is_code = task_id == JAVASCRIPT_TASK
            place = "process of the sandbox" if is_code else "thread or process of its program"
            return Cause(
                kind=CauseKind.SLOT,
                message=f"attempt {node.attempt} waits for a {place}{usually(way)}",
                step_id=key.node,
                iteration=key.iteration,
                since=since,
                details=details,
                estimate=way,
            )
        if not isinstance(patience, timedelta):
            patience = node.patience
        is_here = (key.node, key.iteration, node.attempt) in self.here
        where = " in a worker" if token and not is_here else ""
        if (beat := self.heartbeats.get((key.node, key.iteration, node.attempt))) is not None:
            details["lastHeartbeat"] = iso(beat)
        estimate = self.estimates.get(("attempt", key.node))
        return Cause(
            kind=CauseKind.RUNNING,
            message=f"attempt {node.attempt} runs{where}{usually(estimate)}",
            step_id=key.node,
            iteration=key.iteration,
            since=since,
            # A worker's time counts from when it took the task, which the log does not know.
            until=None if token or since is None or patience is None else since + patience,
            details=details,
            estimate=estimate,
        )

    def _held_back(
        self, key: NodeKey, since: datetime | None, details: Object, limit: TaskLimit
    ) -> Cause:
        """Its task has a limit that lets no attempt begin now."""
        task_id = details["taskId"]
        details |= {"limit": f"task:{task_id}", "held": limit.held, "max": limit.most}
        if limit.obstacle == "rate":
            return Cause(
                kind=CauseKind.RATE_LIMIT,
                message=f"waits for the rate of its task {task_id}, {limit.most:g} a second",
                step_id=key.node,
                iteration=key.iteration,
                since=since,
                until=limit.until,
                details=details,
            )
        holders: list[JSON] = [
            {"instanceId": each.instance_id, "stepId": each.step_id, "by": each.by}
            for each in limit.holders
        ]
        named = [f"{each.instance_id} ({each.step_id})" for each in limit.holders]
        held_by = _held_by(named, max(0, limit.held - len(named)) if named else 0)
        return Cause(
            kind=CauseKind.SLOT,
            message=f"{limit.held} of {limit.most:g} attempts of its task {task_id} run{held_by}",
            step_id=key.node,
            iteration=key.iteration,
            since=since,
            details={**details, "holders": holders},
        )

    def _set_at(self, key: NodeKey) -> datetime | None:
        timer = self.state.timers.get(TimerKey(TimerKind.DELAY, key.node, key.iteration))
        return None if timer is None else timer.set_at

    def _due(self, key: NodeKey, *kinds: TimerKind) -> datetime | None:
        """What comes first of some timers of a step."""
        timers = (self.state.timers.get(TimerKey(kind, key.node, key.iteration)) for kind in kinds)
        return min((timer.due for timer in timers if timer is not None), default=None)


def position(queued: Queued, full: str) -> str:
    """Such as "position 3 of 9; limit tenant:acme 10 of 10, held by …"."""
    named = [*map(str, queued.holders)]
    held_by = _held_by(named, queued.more, queued.of_others)
    return f"{standing(queued)}; {full}{held_by}"


def _held_by(named: list[str], more: int, of_others: int = 0) -> str:
    """Such as ", held by a, b and 7 more"; those of other tenants are counted, never named."""
    if not named and not more:
        return ", held by instances of other tenants" if of_others else ""
    rest = []
    if more:
        rest.append(f"{more} more" if named else f"{more} instance{'' if more == 1 else 's'}")
    if of_others:
        rest.append(f"{of_others} of other tenants")
    parts = (", ".join([*named, *rest[:-1]]), *rest[-1:])
    return f", held by {' and '.join(filter(None, parts))}"


def standing(queued: Queued) -> str:
    """Such as "position 3 of 9"; beside another place in the whole queue, which it counts for."""
    said = f"position {queued.place} of {queued.length}"
    if queued.queue_place in (None, queued.place):
        return said
    return f"{said} for this limit, {queued.queue_place} in the queue"


def usually(estimate: Estimate | None) -> str:
    """What is said of earlier ones, behind what is said of this one."""
    return "" if estimate is None else f"; {estimate}"


def _holder(holder: Holder) -> Object:
    return {
        "instanceId": holder.instance_id,
        "stepId": holder.step_id,
        "iteration": holder.iteration,
        "since": _shown(holder.since),
    }


def _shown(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)


def _turns(plan: Plan, state: InstanceState, key: NodeKey) -> str:
    loop = state.loops[key]
    if loop.items is None:
        return f"is in iteration {loop.started}"
    done = f"{loop.started - loop.active} of {state.length_of(key)} items are done"
    return f"{done}, further edges may arrive" if may_arrive(plan, state, key) else done
