"""A rerun as a start: its checks, and the entries taken over from the earlier instance."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from tenuto.core import Plan
from tenuto.core.rerun import DOES_NOT_FIT, NOT_FROM_THERE, misfits, reusable
from tenuto.definition.report import did_you_mean
from tenuto.engine.definitions.plans import Deployed, Plans
from tenuto.engine.turns.held import Held
from tenuto.model.entries import Entry, EventType
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.inputs import Reused, Started
from tenuto.model.json import JSON, kind_of
from tenuto.model.log import from_row
from tenuto.store.protocol import Store

_OUTCOMES = frozenset({EventType.NODE_COMPLETED, EventType.NODE_SKIPPED})


class Rerun(NamedTuple):
    """A start that takes over what an earlier instance did."""

    deployed: Deployed
    started: Started
    tenant: str
    is_sealed: bool = False
    """Whether its values are encrypted, since those of the earlier instance are."""


async def plan_rerun(
    store: Store,
    plans: Plans,
    earlier: Held,
    *,
    from_step: str | None = None,
    input: JSON | UnsetType = UNSET,
    version: int | None = None,
) -> Rerun:
    """The start that reruns `earlier`, which stays as it is.

    Without `from_step` nothing is taken over; without `input` and `version` those of the earlier
    instance hold. Its deadline does not: that was about the earlier one. NotFound where its
    workflow was removed: nothing starts of that any more.
    """
    _refuse_arguments(from_step, version)
    state = earlier.state
    chosen = state.definition_version if version is None else version
    deployed = await plans.for_new(earlier.tenant, state.definition_id, chosen)
    reused: tuple[Reused, ...] = ()
    if from_step is not None:
        refuse_step(deployed.plan, from_step)
        entries = [entry async for entry in _outcomes(store, state.id, state.version)]
        reused = tuple(reusable(deployed.plan, state, entries, from_step, ran_by=earlier.plan))
        refuse_misfits(deployed.plan, deployed.version, earlier, reused)
    started = Started(
        definition_id=state.definition_id,
        definition_version=deployed.version,
        input=state.input if isinstance(input, UnsetType) else input,
        correlation_id=state.correlation_id,
        priority=state.priority,
        rerun_of=state.id,
        reused=reused,
        from_step=from_step,
    )
    return Rerun(deployed, started, earlier.tenant, is_sealed=earlier.is_sealed)


async def _outcomes(store: Store, instance_id: str, until: int) -> AsyncIterator[Entry]:
    """The entries of a log that end steps outside of loops.

    A running instance goes on meanwhile: entries that its state does not know yet are not read.
    """
    after = 0
    while rows := await store.instances.entries(instance_id, after=after):
        for row in rows:
            if row.seq > until:
                return
            if row.event_type in _OUTCOMES and not row.iteration:
                yield from_row(row)
        after = rows[-1].seq


def _refuse_arguments(from_step: object, version: object) -> None:
    """Both come from users, and types do not hold them."""
    if not (from_step is None or isinstance(from_step, str)):
        message = f"a step is named by its id, and this is {kind_of(from_step)}"
        advice = "Pass the id of a step, or nothing to rerun everything."
        raise _refused(NOT_FROM_THERE, "$.fromStep", message, advice)
    is_number = isinstance(version, int) and not isinstance(version, bool)
    if version is not None and not is_number:
        message = f"a version is a whole number, and this is {kind_of(version)}"
        advice = "Pass the number that `deploy` gave, or nothing for the version it ran by."
        raise _refused("TEN-2000", "$.version", message, advice)


def _refused(code: str, path: str, message: str, advice: str) -> InvalidInput:
    problem = Problem(code=code, path=path, message=message, advice=advice)
    return InvalidInput("it cannot be rerun like that", [problem])


def refuse_step(plan: Plan, step: str) -> None:
    """InvalidInput unless a rerun may begin at a step."""
    planned = plan.nodes.get(step)
    if planned is None:
        names = [name for name, each in plan.nodes.items() if each.loop is None]
        message = f"there is no step {step!r} in {plan.definition.id}"
        advice = did_you_mean(step, names, f"It has {_listed(names)}.")
    elif planned.loop is not None:
        outermost = planned.loop
        while (around := plan.nodes[outermost].loop) is not None:
            outermost = around
        message = f"the step {step} is in the loop {outermost}, and runs once for each iteration"
        advice = f"Rerun from {outermost}: the whole loop runs again."
    else:
        return
    problem = Problem(code=NOT_FROM_THERE, path="$.fromStep", message=message, advice=advice)
    raise InvalidInput("it cannot be rerun from there", [problem])


def refuse_misfits(plan: Plan, version: int, earlier: Held, reused: tuple[Reused, ...]) -> None:
    """InvalidInput where outcomes of the earlier instance mean nothing in this version."""
    was = earlier.state.definition_version
    problems = [
        Problem(
            code=DOES_NOT_FIT,
            path=f"$.steps.{step}",
            message=f"the step {step} ended under version {was}, and in version {version} {why}",
            advice=f"Rerun from {step} or a step before it, or by version {was}.",
        )
        for step, why in misfits(plan, earlier.plan, reused)
    ]
    if problems:
        raise InvalidInput("what has ended does not fit the other version", problems)


def _listed(names: list[str]) -> str:
    most = 10
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
