"""The one model that every spelling of a workflow compiles to.

Nothing here decides or evaluates: expressions and templates stay the text and JSON that the user
wrote.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.model.durations import Duration
from tenuto.model.json import JSON, Object
from tenuto.model.policy import DEFAULT_CANCEL_GRACE, RetryPolicy
from tenuto.model.slots import OnFull
from tenuto.model.working_time import BusinessDuration, WorkingDuration

DEFAULT = "default"
ERROR = "error"
TIMEOUT = "timeout"
ELSE = "else"
BODY = "loop"
"""The handle that leads to the body of a loop."""
DONE = "done"

Length: TypeAlias = Duration | BusinessDuration
"""A duration, or one that is counted in the working time of a calendar."""
PlainLength: TypeAlias = Duration | WorkingDuration
"""A duration; one in working time where a calendar is named beside it."""


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """Passes the input through."""


class End(Struct, frozen=True, kw_only=True, tag="end"):
    """Collects the workflow's output."""

    output_parameters: JSON = None
    """An object of templates, or one template; None when the node names none."""


class Task(Struct, frozen=True, kw_only=True, tag="task"):
    """Runs a task."""

    task_id: str
    input: JSON = None
    """A template; without one (`has_input` false) the task gets the workflow's input."""
    has_input: bool = False
    handles: tuple[str, ...] = ()
    heartbeat_timeout: timedelta | None = None


class Arm(Struct, frozen=True, kw_only=True):
    """One of several events that a wait accepts; the first to arrive wins."""

    id: str
    event_pattern: str
    event_condition: str | None = None
    event_payload_mapping: Object | None = None


class EventWait(Struct, frozen=True, kw_only=True, tag="eventWait"):
    """Waits for an event."""

    event_pattern: str | None = None
    event_condition: str | None = None
    event_payload_mapping: Object | None = None
    event_timeout: Length | None = None
    lookback: Duration | None = None
    """How long before the wait opened an event may have arrived; None: since the instance began."""
    correlation_id: str | None = None
    """A template."""
    arms: tuple[Arm, ...] = ()
    count: int | None = None
    """How many events it takes; None: one, which is its output itself."""


class Branch(Struct, frozen=True, kw_only=True):
    """One branch of a condition."""

    id: str
    when: str


class Condition(Struct, frozen=True, kw_only=True, tag="condition"):
    """Takes the first truthy branch, or all of them."""

    branches: tuple[Branch, ...]
    select: Literal["first", "all"] = "first"


class Delay(Struct, frozen=True, kw_only=True, tag="delay"):
    """Sleeps for a while, or until a moment."""

    duration: PlainLength | str | None = None
    """A string is a template that gives ISO 8601 or milliseconds."""
    until: str | None = None
    """A timestamp, or a template that gives one."""
    calendar: str | None = None
    """The calendar whose working time counts; beside `until`, its next working moment is meant."""


class More(Struct, frozen=True, kw_only=True):
    """Events that append items to a loop while it is under way."""

    event_pattern: str
    event_condition: str | None = None
    item: JSON = "{{event.payload}}"
    """A template that sees `event`."""


ARRIVALS = "arrivals"
"""The source of a loop whose items are its taken incoming edges."""


class Loop(Struct, frozen=True, kw_only=True, tag="loop"):
    """Runs its body for each item, or while a condition holds."""

    source: JSON = None
    while_: str | None = None
    mode: Literal["sequential", "parallel"] = "sequential"
    concurrency: int = 10
    on_item_error: Literal["fail", "continue"] = "fail"
    max_iterations: int = 1000
    result: JSON = None
    enough: int | str | None = None
    more: More | None = None

    @property
    def takes_arrivals(self) -> bool:
        """Whether each taken incoming edge is an item, which begins as it arrives."""
        return self.source == ARRIVALS

    @property
    def is_parallel(self) -> bool:
        """Whether iterations begin while others are under way, from the context at its entry."""
        return self.mode == "parallel" or self.takes_arrivals


class JavaScript(Struct, frozen=True, kw_only=True, tag="javascript"):
    """Runs code of the user in a sandbox."""

    code: str
    """The body of an async function of `(ctx, input, steps)`."""
    input: JSON = None
    """A template; without one (`has_input` false) it is the workflow's input."""
    has_input: bool = False
    memory_limit: int | None = None
    """Megabytes (of 1,048,576 bytes); None: 64."""
    allow_hosts: tuple[str, ...] = ()
    """The hosts that `fetch` may call: `api.example.org`, `*.example.org`, `example.org:8443`."""


class DataQuery(Struct, frozen=True, kw_only=True, tag="dataQuery"):
    """Runs a stored query."""

    data_query_id: str
    args: Object | str | None = None
    """Names, each with a template, or one template; they are bound as parameters."""


class HttpAuth(Struct, frozen=True, kw_only=True):
    """How a request is authenticated."""

    type: Literal["bearer", "basic", "header"]
    value: str
    """A template: a token, `user:password`, or `name: value` of a header."""


class Http(Struct, frozen=True, kw_only=True, tag="http"):
    """Calls a URL."""

    url: str
    """A template, as are the other fields that are sent."""
    method: str = "GET"
    headers: Object | None = None
    query: Object | None = None
    body: JSON = None
    body_type: Literal["json", "form", "text"] = "json"
    success_codes: tuple[int, ...] = ()
    """Statuses that are a success; none: 200 to 299."""
    response_type: Literal["json", "text", "none"] = "json"
    max_bytes: int | None = None
    """The largest body of a response; None: the limit of an output."""
    retry_on: tuple[int, ...] | None = None
    """Statuses after which the request is tried again; None: 408, 425, 429 and 500 to 599."""
    auth: HttpAuth | None = None


class SubWorkflow(Struct, frozen=True, kw_only=True, tag="subWorkflow"):
    """Starts another workflow and waits for its output."""

    workflow_id: str
    version: int | None = None
    input: JSON = None
    has_input: bool = False


class Emit(Struct, frozen=True, kw_only=True, tag="emit"):
    """Publishes an event."""

    pattern: str
    payload: JSON = None
    correlation_id: str | None = None


class SetValues(Struct, frozen=True, kw_only=True, tag="set"):
    """Computes variables, without a worker."""

    values: Object
    """Names, each with a template; all of them see the context as it was before."""


class Terminate(Struct, frozen=True, kw_only=True, tag="terminate"):
    """Ends the instance."""

    status: Literal["COMPLETED", "FAILED"] = "COMPLETED"
    output: JSON = None
    reason: str | None = None
    """A template."""


class Escalation(Struct, frozen=True, kw_only=True):
    """The people who may also decide after a while without a decision."""

    after: PlainLength
    assignees: Object
    calendar: str | None = None
    """The calendar that `after` is counted in; None: that of the approval, if it names one."""


class Approval(Struct, frozen=True, kw_only=True, tag="approval"):
    """Waits for a person."""

    assignees: Object
    """Who may decide: names, or templates that give names or lists of them."""
    form_schema: JSON = None
    """What the form of a decision must fit; None: any form."""
    deadline: Length | WorkingDuration | None = None
    """How long it stays open; then the handle `timeout` is taken."""
    reminders: tuple[Length | WorkingDuration, ...] = ()
    """When to remind, each counted from when it opened."""
    escalate: Escalation | None = None
    """The people who may also decide, `after` a while without a decision."""
    calendar: str | None = None
    """The calendar that its durations are counted in, unless one names another."""


Config: TypeAlias = (
    Start
    | End
    | Task
    | EventWait
    | Condition
    | Delay
    | Loop
    | JavaScript
    | DataQuery
    | Http
    | SubWorkflow
    | Emit
    | SetValues
    | Terminate
    | Approval
)


BuiltIn: TypeAlias = JavaScript | DataQuery | Http
"""Nodes whose work a process of Tenuto does itself."""

Executed: TypeAlias = Task | JavaScript | DataQuery | Http
"""Nodes whose work is done in attempts, by a task of a user or a built-in one."""


class Route(Struct, frozen=True, kw_only=True):
    """Takes `handle` instead of `default` when `when` is truthy."""

    when: str
    handle: str


class ErrorRoute(Struct, frozen=True, kw_only=True):
    """Takes `handle` when the node fails with one of `codes`."""

    codes: tuple[str, ...]
    handle: str


class Sla(Struct, frozen=True, kw_only=True):
    """How long an instance or a step should take at most: it goes on when it takes longer."""

    warn_after: PlainLength | None = None
    breach_after: PlainLength | None = None
    calendar: str | None = None
    """The calendar that both are counted in."""


class Node(Struct, frozen=True, kw_only=True):
    """A box in a graph: what it does (`config`) and the settings that all boxes share."""

    id: str
    config: Config
    name: str | None = None
    description: str | None = None
    output_variable: str | None = None
    timeout: timedelta | BusinessDuration | None = None
    sla: Sla | None = None
    error_handling: Literal["continue", "fail_workflow"] = "continue"
    at_least: int | None = None
    """How many incoming edges must be taken; None: all are settled, and at least one is taken."""
    cancel_rest: bool = False
    cancels: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()
    """Loops that end, with the results so far, when it completes."""
    when: str | None = None
    conditions: tuple[Route, ...] = ()
    on_error: tuple[ErrorRoute, ...] = ()
    retry: RetryPolicy | None = None
    """None: the definition's policy, else the server's; for a child, one attempt."""
    mutex: str | None = None


class Edge(Struct, frozen=True, kw_only=True):
    """An arrow from a handle of one node to another node."""

    source: str
    target: str
    handle: str = DEFAULT


class Graph(Struct, frozen=True, kw_only=True):
    """Nodes and edges; `starts` are the nodes that a new instance begins with."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    starts: tuple[str, ...]


class CompensationStep(Struct, frozen=True, kw_only=True):
    """The compensation of a completed step, for an instance that fails or is cancelled."""

    step_id: str
    compensation_for: str
    task_id: str
    type: str | None = None
    """How the document spells the type `task`, if it gives it."""
    input: JSON = None
    """One expression, or an object of templates and paths; without one (`has_input` false) the
    task gets the step's output, the workflow's input and state, and the cancellation."""
    has_input: bool = False
    condition: str | None = None
    """A condition, evaluated when the undo plan is made; None: always."""
    retry: RetryPolicy | None = None
    timeout: timedelta | BusinessDuration | None = None


class Concurrency(Struct, frozen=True, kw_only=True):
    """A limit on how many instances of a definition run at once, of those with the same key."""

    limit: int
    key: str | None = None
    """A template that gives the key; None: all instances count together."""
    hold_while_waiting: bool = False
    """Whether an instance that only waits, sleeps or is paused keeps its slot."""
    on_full: OnFull = "queue"


class Debounce(Struct, frozen=True, kw_only=True):
    """Starts with the same key within `period` become one: the newest, once none has followed."""

    period: timedelta
    key: str | None = None
    """A template that gives the key; None: all starts count together."""
    max: timedelta | None = None
    """The longest time from the first start until one begins; None: any."""


class Rate(Struct, frozen=True, kw_only=True):
    """At most `limit` instances with the same key begin within any time of the length `per`."""

    limit: int
    per: timedelta
    key: str | None = None
    """A template that gives the key; None: all instances count together."""


class Options(Struct, frozen=True, kw_only=True):
    """Settings of a whole definition."""

    compensate_on_failure: bool | None = None
    timeout: Length | None = None
    sla: Sla | None = None
    deadline: str | None = None
    """A timestamp, or a template that gives one."""
    cancel_grace: timedelta = DEFAULT_CANCEL_GRACE
    retry: RetryPolicy | None = None
    concurrency: Concurrency | None = None
    debounce: Debounce | None = None
    rate: Rate | None = None
    retention: Duration | None = None
    searchable: tuple[str, ...] = ()
    encrypt: JSON = None


class CancellationTrigger(Struct, frozen=True, kw_only=True):
    """An event that cancels an instance."""

    event_pattern: str
    event_condition: str | None = None
    """Read in the instance's context as it is when the event comes."""
    reason: str | None = None
    should_compensate: bool = True


class Trigger(Struct, frozen=True, kw_only=True):
    """An event that starts an instance."""

    event_pattern: str
    event_condition: str | None = None
    """It sees the event alone."""
    input_mapping: Object | None = None
    """Names, each with a path into the payload or a template; None: the payload is the input."""


class Definition(Struct, frozen=True, kw_only=True):
    """What a user wrote, compiled: a graph and what surrounds it."""

    id: str
    graph: Graph
    name: str | None = None
    description: str | None = None
    input_schema: JSON = None
    """A JSON Schema; None: any input."""
    options: Options = Options()
    compensation_steps: tuple[CompensationStep, ...] = ()
    cancellation_triggers: tuple[CancellationTrigger, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    spelling: Literal["steps", "graph"] = "steps"
    """The form it was written in; messages name places as that form does."""
