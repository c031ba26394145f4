"""Logs as the API shows them, with what the engine shows of their instances."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tenuto.core import InstanceState, Plan, blank
from tenuto.core.fold import fold_into
from tenuto.core.iterations import progress_of, unended
from tenuto.core.view import context_of, waits_of
from tenuto.definition import compile_definition, to_graph_form
from tenuto.engine.turns.held import Held
from tenuto.model.durations import epoch_ms
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow, from_row, to_rows
from tenuto.model.status import NodeStatus
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.workspace.history import history_view
from tenuto.workspace.instance_views import instance_view
from tests.core.play import ID, Run
from tests.core.wandering import wander
from tests.golden.shelf import NAMES, stored
from tests.kit.checker.moments import moment_ms
from tests.kit.checker.record import Fields
from tests.kit.simulator.scenario import scenario_of
from tests.kit.simulator.world import World
from tests.kit.workload import Seeded, Taste, make_input, random_document
from tests.kit.workload.undoing import with_undo

_OUTCOMES = {
    NodeStatus.RUNNING: "running",
    NodeStatus.FAILED: "error",
    NodeStatus.CANCELLED: "cancelled",
}
SIMULATED = 200
WALKS = 60
STATES = 4
"""Of each simulated log so many prefixes are compared, and all of each stored one."""


class Case(msgspec.Struct, kw_only=True):
    """One log with its definition, and the states of some of its prefixes."""

    name: str
    id: str
    document: JSON
    """As its author wrote it."""
    graph: JSON
    """As `GET /instances/{id}/graph` shows it."""
    log: list[Object]
    states: list[Object]


def cases() -> Iterator[Case]:
    """Every stored example log, simulated runs, and random walks of the core."""
    yield from map(case_of, NAMES)
    yield from simulated()
    for seed in range(WALKS):
        run = walked(seed)
        rows = to_rows(1, run.entries)
        yield _case(f"walk {seed}", ID, run.document, rows, every=max(len(rows) // STATES, 1))


def case_of(name: str) -> Case:
    """A stored example log, with all its prefixes."""
    log = stored(name)
    return _case(name, ID, log.definition, log.rows, every=1)


def simulated() -> Iterator[Case]:
    """Instances of the simulator, with its faults, in the order of seeds."""
    count = 0
    for seed in range(SIMULATED):
        finished = World(scenario_of(seed)).run()
        for run in (finished.run, *finished.others):
            for instance in run.instances:
                rows = [_row(item) for item in instance.history]
                every = max(len(rows) // STATES, 1)
                name = f"seed {seed}, {instance.id}"
                yield _case(name, instance.id, instance.document, rows, every=every)
                count += 1
                if count == SIMULATED:
                    return


def walked(seed: int) -> Run:
    """An instance to which anything happens, retried and undone."""
    document = random_document(f"fold-{seed}", Taste(largest=14))
    document = with_undo(document, f"fold {seed}") if seed % 2 else document
    run = Run(document, check=None)
    run.worker = None if seed % 3 else f"worker-{seed}"
    run.start(make_input(Seeded(f"fold input {seed}")))
    choices = Seeded(f"fold walk {seed}")
    wander(run, choices, restless=10 + seed % 40, retries=seed % 4, to_the_end=seed % 5 != 0)
    return run


def _row(item: Fields) -> LogRow:
    """The row behind an item of the simulator's history."""
    at = moment_ms(item["at"])
    assert at is not None
    payload = msgspec.json.encode(item["payload"]) if item["payload"] else None
    return LogRow(
        seq=item["seq"],
        event_type=item["eventType"],
        node_id=item["nodeId"],
        iteration=item["iteration"],
        attempt=item["attempt"],
        node_status=item["nodeStatus"],
        output_variable=item["outputVariable"],
        payload=payload,
        error_message=item["errorMessage"],
        at_ms=at,
    )


def _case(name: str, id: str, document: JSON, rows: list[LogRow], *, every: int) -> Case:
    definition = compile_definition(document)
    plan, state = Plan(definition), blank(id)
    states: list[Object] = []
    for row in rows:
        entry = from_row(row)
        assert epoch_ms(entry.at) == row.at_ms
        state = state.copied()
        fold_into(plan, state, entry)
        if row.seq % every == 0 or row.seq == len(rows):
            states.append(_shown(plan, state))
    graph = to_graph_form(definition)
    return Case(
        name=name,
        id=id,
        document=document,
        graph={"nodes": graph["nodes"], "edges": graph["edges"]},
        log=[history_view(row) for row in rows],
        states=states,
    )


def _shown(plan: Plan, state: InstanceState) -> Object:
    """What the API shows of an instance, and what it keeps of joins, loops and iterations."""
    instance = instance_view(Held(state, plan, DEFAULT_TENANT))
    del instance["tenant"]
    return {
        "version": state.version,
        "instance": instance,
        "context": {"ctx": context_of(plan, state), "system": state.system},
        "waits": waits_of(plan, state, in_full=True),
        "inner": {
            _spelled(key): {"status": node.status.value, "attempt": node.attempt}
            for key, node in state.nodes.items()
            if key.iteration
        },
        "joins": {
            _spelled(key): {"taken": join.taken, "dead": join.dead}
            for key, join in state.joins.items()
        },
        "loops": {
            _spelled(key): {
                "started": loop.started,
                "active": loop.active,
                "succeeded": loop.succeeded,
                "skipped": loop.skipped,
                "length": None if loop.items is None else state.loops[key].length,
            }
            for key, loop in state.loops.items()
        },
        "outcomes": {
            _spelled(key): _OUTCOMES[found.status]
            for key in state.iterations
            if (found := unended(plan, state, key)) is not None
        },
        "failed": {
            _spelled(key): progress.failed
            for key in state.loops
            if (progress := progress_of(plan, state, key)) is not None
        },
        "iterations": {
            _spelled(key): {
                name: variable.value
                for name, variable in iteration.variables.items()
                if variable.written > state.nodes[NodeKey(key.node, _around(key))].opened
            }
            for key, iteration in state.iterations.items()
            if plan.nodes[key.node].node.config.is_parallel  # type: ignore[union-attr]
        },
    }


def _around(key: NodeKey) -> str:
    return key.iteration.rpartition("/")[0]


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node
