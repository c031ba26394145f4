"""What a command would keep of an instance, and what it would do again; nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from tenuto.cli.backends.log_rows import log_row
from tenuto.core import Plan, blank, decide
from tenuto.core.reopening import reopened_by_retry
from tenuto.core.rerun import reusable
from tenuto.definition import compile_definition
from tenuto.engine.definitions.reruns import refuse_misfits, refuse_step
from tenuto.model.errors import Conflict
from tenuto.model.inputs import Input, RetryAsked, Started
from tenuto.model.json import Object
from tenuto.model.log import from_row
from tenuto.model.policy import NO_POLICIES
from tenuto.model.status import NodeStatus

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.engine.turns.held import Held
    from tenuto.model.ids import NodeKey

_MOST_NAMED: Final = 12


class Foreseen(Struct, frozen=True, kw_only=True):
    """What a command would do."""

    kept: tuple[str, ...]
    """Steps whose outcomes stay."""
    again: tuple[str, ...]
    """Steps that would run, or run again."""

    def view(self) -> Object:
        """The same as JSON."""
        return {"kept": list(self.kept), "again": list(self.again)}

    def lines(self) -> list[str]:
        """For people."""
        return [f"  kept      {_listed(self.kept)}", f"  runs      {_listed(self.again)}"]


def refuse(held: Held, asked: Input, backend: Backend) -> None:
    """Conflict where an instance would refuse a command as it is now."""
    now = backend.clock.now()
    refused = decide(held.plan, held.state, asked, now, NO_POLICIES).rejection
    if refused is not None:
        raise Conflict(refused.message, code=refused.code)


def of_retry(held: Held, backend: Backend) -> Foreseen:
    """What a retry re-opens; Conflict where it would be refused."""
    refuse(held, RetryAsked(by="cli"), backend)
    again = [key for key, _ in reopened_by_retry(held.plan, held.state)]
    kept = [
        key
        for key, node in held.state.nodes.items()
        if node.status is NodeStatus.COMPLETED and not key.iteration and key not in again
    ]
    return Foreseen(kept=tuple(map(_spelled, kept)), again=tuple(map(_spelled, again)))


async def of_rerun(
    backend: Backend, held: Held, from_step: str | None, version: int | None
) -> Foreseen:
    """What a rerun takes over and what runs; InvalidInput, NotFound where it would be refused."""
    state, space = held.state, backend.space
    chosen = state.definition_version if version is None else version
    plan = Plan(
        compile_definition((await space.definition(state.definition_id, chosen)).definition)
    )
    names = [name for name, planned in plan.nodes.items() if planned.loop is None]
    if from_step is None:
        return Foreseen(kept=(), again=tuple(names))
    refuse_step(plan, from_step)
    entries = [from_row(log_row(each)) for each in await space.at(state.id).history()]
    reused = tuple(reusable(plan, state, entries, from_step, ran_by=held.plan))
    refuse_misfits(plan, chosen, held, reused)
    started = Started(
        definition_id=state.definition_id,
        definition_version=chosen,
        input=state.input,
        rerun_of=state.id,
        reused=reused,
        from_step=from_step,
    )
    refused = decide(plan, blank(state.id), started, backend.clock.now(), NO_POLICIES).rejection
    if refused is not None:
        raise Conflict(refused.message, code=refused.code)
    kept = [each.node for each in reused]
    return Foreseen(kept=tuple(kept), again=tuple(name for name in names if name not in set(kept)))


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}" if names else "nothing"
