"""A seed as a plan: which instances start, what their tasks and clients do, what goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tenuto.core import decide
from tenuto.engine.turns.drafter import Decide
from tenuto.model.task_definition import TaskLimits
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.testing.fault_plan import FaultPlan
from tests.kit.checker.graph import read
from tests.kit.checker.record import Fields
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.poison import Poison
from tests.kit.workload import (
    Action,
    Behaviours,
    Document,
    Seeded,
    Taste,
    approval_shapes,
    event_shapes,
    loop_shapes,
    make_input,
    plan_actions,
    plan_behaviours,
    random_document,
    topologies,
)
from tests.kit.workload.business import with_working_time
from tests.kit.workload.drawing import document, edges, node, task
from tests.kit.workload.families import families, random_family
from tests.kit.workload.limits import with_limit, with_mutex, with_pace
from tests.kit.workload.undoing import with_undo


@dataclass(slots=True)
class Job:
    """One instance: what it runs, and what its client does once it has started."""

    document: Document
    input: Fields
    behaviours: Behaviours
    actions: list[Action]
    key: str
    has_key: bool = True
    """Started with an idempotency key; else under an id of the client's own."""
    at: float = 0.0
    """Seconds into the run at which it is started."""
    rerun_from: str | None = None
    """The step from which it is rerun once it has ended."""
    children: list[Document] = field(default_factory=list)
    """The workflows that its steps start."""
    tenant: str = DEFAULT_TENANT
    user: str = ""
    """Who starts it, for limits of users."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The machine's clock is set."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Declaration:
    """A tenant declares how often a task is tried."""

    at: float
    task: str
    attempts: int


@dataclass(frozen=True, slots=True)
class LimitChange:
    """An operator sets limits: those of the service under the empty name, and a tenant's."""

    at: float
    limits: Fields


@dataclass(slots=True)
class Knobs:
    """Bounds that are so wide in production that few runs would reach them."""

    snapshot_every: int = 100
    most_rows: int = 2_000
    page: int = 500
    decision_entries: int = 1_000
    mail_every: float = 100.0
    project_every: float = 100.0
    descendants: int = 100_000


_UNCOUNTED = 10
"""What processes start before they have counted."""


@dataclass(slots=True)
class Scenario:
    """All that a run depends on."""

    seed: int | str
    jobs: list[Job]
    fault_plan: FaultPlan
    jumps: list[Jump] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    """Moments at which the process is stopped in good order and started again."""
    is_divided: bool = False
    """Whether each of several engines has only some tasks, and leaves the rest to the others."""
    burials: list[float] = field(default_factory=list)
    """When one of several engines is presumed dead by the others, and is not."""
    knobs: Knobs = field(default_factory=Knobs)
    engines: int = 1
    asked: int | None = None
    """How many of the engines clients ask, the first ones; None: all of them."""
    ears: list[Ear] = field(default_factory=list)
    """Who listens outside."""
    declarations: list[Declaration] = field(default_factory=list)
    """What the tenant `default` declares, in order."""
    limits: list[LimitChange] = field(default_factory=list)
    """How limits change, in order."""
    decide: Decide = decide
    """The core, or what stands around it."""
    poison: Poison | None = None
    """A bug that kills processes."""
    task_limits: TaskLimits | None = None
    """Those of each task."""

    @property
    def tenants(self) -> list[str]:
        """Whoever has a job, the tenant `default` first; all have the same documents."""
        return [DEFAULT_TENANT, *sorted({job.tenant for job in self.jobs} - {DEFAULT_TENANT})]

    @property
    def most_descendants(self) -> int:
        """How many one instance may have led to: each engine counts, and anew after a crash."""
        return self.knobs.descendants * self.engines + _UNCOUNTED

    @property
    def documents(self) -> dict[str, Document]:
        found = [each for job in self.jobs for each in (job.document, *job.children)]
        return {str(each["id"]): each for each in found}

    def behaviours_of_children(self) -> dict[str, Behaviours]:
        """What the tasks of children do, by the id of their document."""
        children = {str(child["id"]): child for job in self.jobs for child in job.children}
        return {id: plan_behaviours(child, f"{self.seed} {id}") for id, child in children.items()}


TASTE = Taste(largest=16)
MIRROR = "mirror"
"""A tenant who has the same as the other: workflows, keys, and ids of events."""


def scenario_of(seed: int, *, taste: Taste = TASTE) -> Scenario:
    """The scenario of a seed: topologies and random documents, several instances, faults."""
    random = Random(f"scenario {seed}")
    drawn = [_document(f"{seed}-{n}", random, taste) for n in range(random.randint(1, 3))]
    documents = [_now_and_then_timed(_now_and_then_undone(each, seed), seed) for each in drawn]
    jobs = [
        job_of(f"{seed}-{number}", random.choice(documents), random)
        for number in range(random.randint(1, 5))
    ]
    if random.random() < 0.15:
        made = family_job(f"{seed}-family", random)
        made.document = _now_and_then_undone(made.document, seed)
        made.children = [_now_and_then_undone(child, seed) for child in made.children]
        made.behaviours = plan_behaviours(made.document, f"{seed}-family")
        jobs.append(made)
    told = Random(f"events {seed}")
    if told.random() < 0.3:
        jobs.append(event_job(f"{seed}-events", told))
    if Random(f"tenants {seed}").random() < 0.1:
        jobs += mirrored(jobs)
    fault_plan = RandomFaults(
        random=Random(f"weather {seed}"),
        faults=random.choice((3, 6, 12, 20)),
        rate=random.choice((0.05, 0.1, 0.25)),
    )
    return Scenario(
        seed=seed,
        jobs=jobs,
        fault_plan=fault_plan,
        jumps=_jumps(random),
        stops=[random.uniform(0.5, 60.0)] if random.random() < 0.25 else [],
        knobs=_knobs(random),
    )


def limited(seed: int, *, engines: int = 1) -> Scenario:
    """Instances that compete for slots and mutexes, while limits are set, changed and removed."""
    scenario = scenario_of(seed)
    random = Random(f"limited {seed}")
    drawn = [_document(f"{seed}-{n}", random, TASTE) for n in range(2)]
    drawn = [with_limit(each, f"{seed}-{n}") for n, each in enumerate(drawn)]
    if seed % 2:
        drawn = [with_mutex(each, f"{seed}-{n}") for n, each in enumerate(drawn)]
    if seed % 3 == 1:
        drawn = [with_undo(each, f"{seed}-{n}") for n, each in enumerate(drawn)]
    scenario.jobs = [
        job_of(f"{seed}-{number}", random.choice(drawn), random)
        for number in range(random.randint(3, 7))
    ]
    if seed % 4 == 3:
        family = family_job(f"{seed}-family", random)
        family.document = with_mutex(family.document, f"{seed}")
        family.children = [with_mutex(with_limit(each, f"{seed}"), "") for each in family.children]
        family.behaviours = plan_behaviours(family.document, f"{seed}-family")
        scenario.jobs.append(family)
    for job in scenario.jobs:
        job.user = random.choice(("ann", "bob", ""))
    if seed % 3:
        moments = [0.0, *sorted(random.uniform(0.5, 60.0) for _ in range(random.randint(0, 3)))]
        scenario.limits = [LimitChange(at, drawn_limits(random)) for at in moments]
    scenario.engines = engines
    return scenario


def drawn_limits(random: Random) -> Fields:
    """Limits of some kinds; none at all now and then."""
    if random.random() < 0.2:
        return {"": {}, DEFAULT_TENANT: {}}
    few = (1, 1, 2, 3)
    service: Fields = {}
    own: Fields = {}
    if random.random() < 0.6:
        service["globalMaxConcurrent"] = random.choice(few)
    if random.random() < 0.3:
        service["tenantLimits"] = {random.choice(("*", DEFAULT_TENANT)): random.choice(few)}
    if random.random() < 0.3:
        own["workflowTypeLimits"] = {"*": random.choice(few)}
    if random.random() < 0.3:
        own["userLimits"] = {random.choice(("*", "ann")): random.choice(few)}
    return {"": service, DEFAULT_TENANT: own}


def paced(seed: int, *, engines: int = 1) -> Scenario:
    """Instances of one or two workflows that are debounced, or begin at a rate, beside limits.

    No clock is set back: moments of starts decide.
    """
    scenario = scenario_of(seed)
    random = Random(f"paced {seed}")
    drawn = [_document(f"{seed}-{n}", random, TASTE) for n in range(2)]
    drawn = [with_pace(each, f"{seed}-{n}") for n, each in enumerate(drawn)]
    if seed % 3 == 0:
        drawn = [with_limit(each, f"{seed}-{n}") for n, each in enumerate(drawn)]
    scenario.jobs = [
        job_of(f"{seed}-{number}", random.choice(drawn), random)
        for number in range(random.randint(4, 8))
    ]
    scenario.jumps = [each for each in scenario.jumps if each.seconds > 0]
    scenario.engines = engines
    return scenario


def job_of(name: str, document: Document, random: Random, *, interrupts: bool = True) -> Job:
    """A job for an instance of `document`."""
    input = make_input(Seeded(f"input {name}"))
    return Job(
        document=document,
        input=input,
        behaviours=plan_behaviours(document, name),
        actions=plan_actions(
            document,
            input,
            name,
            prefix=f"{name}/",
            interrupts=interrupts,
            finishing=random.random() < 0.5,
        ),
        key=f"key {name}",
        has_key=random.random() < 0.7,
        at=random.choice((0.0, 0.0, random.uniform(0.0, 5.0))),
        rerun_from=_rerun_from(document, Random(f"rerun {name}")) if interrupts else None,
    )


def mirrored(jobs: Sequence[Job]) -> list[Job]:
    """The same once more, by another tenant."""
    return [replace(job, tenant=MIRROR, actions=list(job.actions)) for job in jobs]


def family_job(name: str, random: Random) -> Job:
    """A job whose steps start instances of their own."""
    family = random.choice([*families().values(), random_family(name)])
    job = job_of(name, family.parent, random)
    job.children = list(family.children)
    return job


def event_job(name: str, random: Random, shape: str | None = None) -> Job:
    """A job that meets events in other ways than by a plain wait."""
    told = event_shapes()[shape or random.choice([*event_shapes()])]
    job = job_of(name, told.document, random)
    job.children = [*told.started, *told.refusing]
    return job


def _rerun_from(document: Document, random: Random) -> str | None:
    steps = sorted(id for id, node in read(document).nodes.items() if node.loop is None)
    return random.choice(steps) if random.random() < 0.3 else None


def _now_and_then_undone(drawn: Document, seed: int) -> Document:
    """Of some documents a part can be undone; the same one is the same throughout a scenario."""
    name = f"{seed} {drawn['id']}"
    return with_undo(drawn, name) if Random(f"undone {name}").random() < 0.3 else drawn


def _now_and_then_timed(drawn: Document, seed: int) -> Document:
    """Of some documents a part is counted in working time, and has SLAs."""
    name = f"{seed} {drawn['id']}"
    is_timed = Random(f"timed {name}").random() < 0.3
    return with_working_time(drawn, name) if is_timed else drawn


def _document(name: str, random: Random, taste: Taste) -> Document:
    if random.random() < 0.6:
        return random_document(name, taste)
    shapes = topologies() | loop_shapes() | approval_shapes()
    # Waits are where most goes wrong in this trade.
    seldom = [shapes["event-wait"], shapes["event-wait"], terminated()]
    return random.choice([*shapes.values(), *seldom])


def terminated() -> Document:
    """One branch ends the instance, while the other is at work or waits."""
    nodes = [
        task("a"),
        task("b", "slow"),
        node("wait", "eventWait", eventPattern="evt.wait"),
        node("enough", "terminate", output={"k": "{{ctx.input.k}}"}),
    ]
    return document("terminated", nodes, edges("a > enough", "b > wait"))


def plain_jobs(documents: Sequence[Document], seed: int | str) -> list[Job]:
    """One job for each document, all started at once."""
    random = Random(f"jobs {seed}")
    return [
        job_of(f"{seed}-{number}", document, random) for number, document in enumerate(documents)
    ]


def two_engines(seed: int) -> Scenario:
    """A drawn scenario on two engines that share a store; now and then one is presumed dead."""
    scenario = scenario_of(seed)
    scenario.engines = 2
    random = Random(f"burials {seed}")
    scenario.is_divided = random.random() < 0.4
    scenario.burials = sorted(random.uniform(0.2, 40.0) for _ in range(random.choice([0, 0, 1, 3])))
    return scenario


def _jumps(random: Random) -> list[Jump]:
    if random.random() < 0.6:
        return []
    ahead = (0.5, 45.0, 3_600.0, 86_400.0)
    back = (-0.5, -45.0, -3_600.0)
    return sorted(
        (
            Jump(random.uniform(0.0, 30.0), random.choice(ahead + back))
            for _ in range(random.randint(1, 3))
        ),
        key=lambda jump: jump.at,
    )


def _knobs(random: Random) -> Knobs:
    return Knobs(
        snapshot_every=random.choice((1, 4, 100)),
        most_rows=random.choice((10, 2_000)),
        page=random.choice((1, 2, 500)),
        mail_every=random.choice((40.0, 200.0)),
        project_every=random.choice((80.0, 200.0)),
    )
