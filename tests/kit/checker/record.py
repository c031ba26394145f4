"""What a run left behind, as plain data: the checker's only input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.kit.checker.expression import Json
from tests.kit.checker.moments import moment_ms

Fields: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an instance's history."""

    seq: int
    type: str
    node: str | None
    iteration: str
    attempt: int
    status: str | None
    variable: str | None
    payload: Fields
    error: str | None
    at: int

    @property
    def code(self) -> str:
        """The failure code of a NODE_FAILED row."""
        return str((self.payload.get("error") or {}).get("code", ""))

    @property
    def handles(self) -> list[str]:
        """The handles that a NODE_COMPLETED row names."""
        return list(self.payload.get("handles", ["default"]))

    @property
    def reused(self) -> str | None:
        """The instance that a row was copied from."""
        found = self.payload.get("reusedFrom")
        return None if found is None else str(found)

    def moment(self, name: str) -> int | None:
        """A moment in the payload, in milliseconds."""
        return moment_ms(self.payload.get(name))

    def __str__(self) -> str:
        place = f" {self.node}" if self.node else ""
        place += f"[{self.iteration}]" if self.iteration else ""
        place += f" #{self.attempt}" if self.node else ""
        said = {name: value for name, value in self.payload.items() if name in _SHOWN}
        return f"{self.seq:>5} {self.at:>14} {self.type}{place}{f' {said}' if said else ''}"


_SHOWN = frozenset(
    {"then", "reason", "from", "to", "handles", "due", "outcome", "eventId", "timeoutAt"}
    | {"graceUntil", "error", "source", "until", "childId", "version", "status", "parent"}
)


_OF_SLA = {"sla": "SLA_SET", "sla-warning": "SLA_FIRED", "sla-breached": "SLA_FIRED"}


def _type_of(item: Fields) -> str:
    """What a row is called here: timers of SLAs have names of their own."""
    type = str(item["eventType"])
    if type in ("TIMER_SET", "TIMER_FIRED"):
        return _OF_SLA.get(str((item.get("payload") or {}).get("kind")), type)
    return type


def row_of(item: Fields) -> Row:
    """A row from the item that the history API gives."""
    at = moment_ms(item["at"])
    return Row(
        seq=int(item["seq"]),
        type=_type_of(item),
        node=item.get("nodeId"),
        iteration=str(item.get("iteration") or ""),
        attempt=int(item.get("attempt") or 1),
        status=item.get("nodeStatus"),
        variable=item.get("outputVariable"),
        payload=item.get("payload") or {},
        error=item.get("errorMessage"),
        at=0 if at is None else at,
    )


@dataclass(slots=True)
class Instance:
    """One instance after the run: its history, and the rows that the store keeps beside it.

    `row`: `{status, output, lastError, deadline, definitionId, definitionVersion, version, …}`,
    only what is known. `state`: the `state` that the API gives. `waits` `{node, iteration}`,
    `timers` `{kind, node, iteration, due}`, `mail` `{id}`,
    `dead_letters` `{id, kind, node, attempt}`, `deliveries` of events
    `{event, node, iteration, outcome}`.
    """

    id: str
    document: Fields
    history: list[Fields]
    row: Fields | None = None
    state: Fields | None = None
    waits: list[Fields] | None = None
    timers: list[Fields] | None = None
    mail: list[Fields] | None = None
    dead_letters: list[Fields] | None = None
    deliveries: list[Fields] | None = None
    owner: str | None = None
    tenant: str = "default"


@dataclass(slots=True)
class Run:
    """A whole run. Ledgers that were not kept are None; what rests on them is then not judged.

    `events`: the inbox, `{id, pattern, payload, receivedAt, correlationId?, after?}`, with `after`
    the last commit before it was stored.
    `effects`: `{key, instance, node, iteration, attempt, at?, outcome, output?}` for every call,
    where `outcome` is completed, failed, cancelled (it obeyed), lost, stopped or running.
    `client`: `{op: start|publish|cancel|pause|resume|retry, outcome: ok|unknown|refused, …}` with
    `instance`, `key?`, `input?` or `event`, `pattern`, `payload`; `decide` with `instance`, `node`,
    `iteration`, `decision`, `by`, `roles`.
    `faults`: `{kind, at?}`. `commits`: `{gseq, instance, first, last}` in the order of commits.
    Commits of one turn may say so by `turn`. `limits`: `{asked, done, limits}` for every change, in
    the numbers of commits; `asked` is 0 for those that were
    set before, and `done` None where nobody was answered.
    `listeners`: addresses outside from the beginning of the run on, `{id, kind, tenant, patterns,
    filter?, expiresAt?, isThere, health}`; `heard`: what came to them, `{listener, id, body,
    isAccepted}` in this order.
    """

    instances: Iterable[Instance]
    events: list[Fields] | None = None
    effects: list[Fields] | None = None
    client: list[Fields] | None = None
    faults: list[Fields] | None = None
    commits: list[Fields] | None = None
    owed: list[tuple[str, str]] | None = None
    """Every row of the whole store that goes once it is done with: its table, and for whom."""
    slots: list[Fields] | None = None
    """Every row that holds a slot or waits for one, of all tenants: `{instance, state, blockedOn,
    keys, ownKey, ownLimit}`."""
    slots_freed: list[Fields] | None = None
    """What was given back, and has not been counted: `{keys, amount}`."""
    slot_counts: dict[str, int] | None = None
    """Limit → how many are counted as taken."""
    limits: list[Fields] | None = None
    listeners: list[Fields] | None = None
    heard: list[Fields] | None = None
    now: int | None = None
    """The clock when the run had come to rest."""
    at_rest: bool = True
    """All faults are over and everything that could move has moved."""
    most_descendants: int | None = None
    """How many instances one instance may have led to at once."""
    bound_ms: int = 1_000
    """How late a timer may be at rest."""
    quotas: dict[str, int] = field(default_factory=dict)
    """What must have happened, and how often, for the run to have been worth something."""


def run_of(recorded: Fields) -> Run:
    """A run from one JSON object; instances name their document in `definitions`."""
    documents = {
        (entry["id"], entry.get("version", 1)): entry["document"]
        for entry in recorded.get("definitions") or ()
    }
    return Run(
        instances=[instance_of(item, documents) for item in recorded["instances"]],
        events=recorded.get("events"),
        effects=recorded.get("effects"),
        client=recorded.get("client"),
        faults=recorded.get("faults"),
        commits=recorded.get("commits"),
        owed=recorded.get("owed"),
        slots=recorded.get("slots"),
        slots_freed=recorded.get("slotsFreed"),
        slot_counts=recorded.get("slotCounts"),
        limits=recorded.get("limits"),
        listeners=recorded.get("listeners"),
        heard=recorded.get("heard"),
        now=recorded.get("now"),
        at_rest=recorded.get("atRest", True),
        bound_ms=recorded.get("boundMs", 1_000),
        quotas=recorded.get("quotas") or {},
    )


def instance_of(item: Fields, documents: dict[tuple[str, int], Fields]) -> Instance:
    document = item.get("document")
    if document is None:
        document = documents[item["definition"], item.get("version", 1)]
    return Instance(
        id=str(item["id"]),
        document=document,
        history=item["history"],
        row=item.get("row"),
        state=item.get("state"),
        waits=item.get("waits"),
        timers=item.get("timers"),
        mail=item.get("mail"),
        dead_letters=item.get("deadLetters"),
        deliveries=item.get("deliveries"),
        owner=item.get("owner"),
        tenant=str(item.get("tenant", "default")),
    )
