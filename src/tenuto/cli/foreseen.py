"""What a command would keep of an instance, and what it would do again; nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct, UnsetType

from tenuto.cli.backends.log_rows import log_row
from tenuto.cli.views.advice import Advice
from tenuto.core import Plan, blank, decide
from tenuto.core.reopening import reopened_by_retry
from tenuto.core.rerun import reusable
from tenuto.definition import compile_definition
from tenuto.engine.definitions.reruns import refuse_misfits, refuse_step
from tenuto.engine.definitions.start_checks import raise_rejection, refuse_bad_input
from tenuto.engine.turns.requests import Answer
from tenuto.model.errors import Conflict, TenutoError
from tenuto.model.inputs import Input, RetryAsked, Reused, Started
from tenuto.model.json import JSON, Object
from tenuto.model.log import from_row
from tenuto.model.policy import DEFAULT_LIMITS, FORESEEN
from tenuto.model.status import NodeStatus

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.engine.turns.held import Held
    from tenuto.model.ids import NodeKey
    from tenuto.workspace.values import Summary

_MOST_NAMED: Final = 12


class Foreseen(Struct, frozen=True, kw_only=True):
    """What a command would do."""

    kept: tuple[str, ...]
    """Steps whose outcomes stay."""
    again: tuple[str, ...]
    """Steps that would run, or run again."""
    why_nothing: str = ""
    """Why no outcome stays, where that may surprise."""

    def view(self) -> Object:
        """The same as JSON."""
        return {
            "kept": list(self.kept),
            "again": list(self.again),
            **({"whyNothingKept": self.why_nothing} if self.why_nothing else {}),
        }

    def lines(self) -> list[str]:
        """For people."""
        why = f": {self.why_nothing}" if self.why_nothing else ""
        return [f"  kept      {_listed(self.kept)}{why}", f"  runs      {_listed(self.again)}"]


class Basis(Struct, frozen=True, kw_only=True):
    """What an instance goes on with: a version of its definition, and its input."""

    workflow: str
    version: int
    newest: int | None
    """None: its workflow was removed, or may not be read."""
    is_edited: bool = False
    """Whether the input is another one than before."""

    def view(self) -> Object:
        """The same as JSON."""
        return {
            "workflowDefinitionId": self.workflow,
            "definitionVersion": self.version,
            "newestVersion": self.newest,
            "inputEdited": self.is_edited,
        }

    def lines(self) -> list[str]:
        """For people."""
        newest = "" if self.newest is None else f" (newest is {self.newest})"
        if self.newest == self.version:
            newest = " (the newest)"
        return [
            f"  version   {self.workflow}@{self.version}{newest}",
            f"  input     {'edited' if self.is_edited else 'unchanged'}",
        ]


async def basis_of(
    backend: Backend, workflow: str, version: int, *, is_edited: bool = False
) -> Basis:
    """What is used, beside the newest version that there is."""
    newest: int | None = None
    with suppress(TenutoError):
        newest = (await backend.space.definition(workflow)).version
    return Basis(workflow=workflow, version=version, newest=newest, is_edited=is_edited)


async def bases_of(
    backend: Backend, found: Iterable[Summary], version: int | None, *, is_edited: bool
) -> list[tuple[Basis, int]]:
    """What many instances go on with, and how many with each; those of the most come first.

    `version`: the one that all get instead of their own.
    """
    counts = Counter((each.workflow, version or each.version) for each in found)
    return [
        (await basis_of(backend, workflow, number, is_edited=is_edited), count)
        for (workflow, number), count in counts.most_common(_MOST_NAMED)
    ]


def if_of_other_input(id: str, kept: Sequence[str], basis: Basis, flag: str) -> list[Advice]:
    """Where outcomes are taken over that were computed from another input."""
    if not kept or not basis.is_edited:
        return []
    verb = "was" if len(kept) == 1 else "were"
    message = f"{_listed(tuple(kept))} {verb} computed from the earlier input; to run all of it"
    return [Advice(message, f"tenuto rerun {id} --input JSON{flag}")]


def outermost(plan: Plan, step: str) -> str:
    """The step itself, or the outermost loop around it: a rerun begins outside of loops."""
    while (loop := plan[step].loop) is not None:
        step = loop
    return step


def why_nothing_is_kept(from_step: str | None, undoing: object) -> str:
    """Why a rerun takes over nothing; `undoing` is what the earlier instance undid, if it did."""
    if from_step is None:
        return "without --from it runs from the beginning"
    if undoing:
        return "its steps were undone, and run again"
    return f"nothing before {from_step} has completed"


def refuse(held: Held, asked: Input, backend: Backend) -> None:
    """Conflict where an instance would refuse a command as it is now."""
    now = backend.clock.now()
    refused = decide(held.plan, held.state, asked, now, FORESEEN).rejection
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
    backend: Backend,
    held: Held,
    from_step: str | None,
    version: int | None,
    *,
    input: JSON | UnsetType = UNSET,
) -> Foreseen:
    """What a rerun takes over and what runs; InvalidInput, NotFound where it would be refused."""
    state, space = held.state, backend.space
    given = state.input if isinstance(input, UnsetType) else input
    chosen = state.definition_version if version is None else version
    plan = Plan(
        compile_definition((await space.definition(state.definition_id, chosen)).definition)
    )
    refuse_bad_input(plan, given, DEFAULT_LIMITS)
    names = [name for name, planned in plan.nodes.items() if planned.loop is None]
    reused: tuple[Reused, ...] = ()
    if from_step is not None:
        refuse_step(plan, from_step)
        entries = [from_row(log_row(each)) for each in await space.at(state.id).history()]
        reused = tuple(reusable(plan, state, entries, from_step, ran_by=held.plan))
        refuse_misfits(plan, chosen, held, reused)
    started = Started(
        definition_id=state.definition_id,
        definition_version=chosen,
        input=given,
        rerun_of=state.id,
        reused=reused,
        from_step=from_step,
    )
    decision = decide(plan, blank(state.id), started, backend.clock.now(), FORESEEN)
    status, refused = decision.state.status, decision.rejection
    raise_rejection(Answer(instance_id=state.id, status=status, version=0, rejection=refused))
    kept = [each.node for each in reused]
    undoing = state.compensation
    return Foreseen(
        kept=tuple(kept),
        again=tuple(name for name in names if name not in set(kept)),
        why_nothing=""
        if kept
        else why_nothing_is_kept(from_step, undoing is not None and undoing.plan),
    )


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}" if names else "nothing"
