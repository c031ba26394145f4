"""`tenuto rerun`, and its options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.control import asked_for
from tenuto.cli.commands.options import (
    DryRun,
    Instances,
    OfCorrelation,
    OfStatus,
    OfWorkflow,
    Output,
    Query,
    Reason,
    Store,
    Yes,
    perform_on,
)

if TYPE_CHECKING:
    from msgspec import UnsetType

    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.foreseen import Basis
    from tenuto.model.json import JSON
    from tenuto.workspace import protocol
    from tenuto.workspace.values import Summary


def rerun(  # noqa: PLR0913 - one for each option
    instances: Instances = None,
    *,
    from_step: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="What completed before it is taken over."),
    ] = None,
    input: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="Another input."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version of the definition."),
    ] = None,
    reason: Reason = None,
    status: OfStatus = None,
    workflow: OfWorkflow = None,
    correlation_id: OfCorrelation = None,
    query: Query = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Make new instances of others, from the beginning or from a step.

    With --from, what completed and is neither that step nor after it is taken over; the rest runs:
    --dry-run names both. The instances that are named do not change. A filter without --status
    finds those that have failed.

    tenuto rerun @last-failed --from ship

    tenuto rerun --workflow order --status FAILED --yes
    """
    asked = asked_for(instances, status, workflow, correlation_id, query)

    async def work(backend: Backend) -> int:
        from msgspec import UNSET

        from tenuto.cli.bulk import Many, act_on_many
        from tenuto.cli.sources import read_json

        given = UNSET if input is None else read_json(input, "--input")

        async def one(earlier: protocol.Instance) -> protocol.Instance:
            return await earlier.rerun(from_step, input=given, version=version)

        wanted = _Wanted(from_step, given, version)
        is_json = output == "json"
        if asked.single is None:
            many = Many(
                action="rerun",
                asked=asked,
                one=one,
                dry_run=dry_run,
                yes=yes,
                version=version,
                is_edited=input is not None,
                is_alone=True,
            )
            return await act_on_many(backend, many, is_json=is_json)
        if dry_run:
            return await _foresee(backend, asked.single, wanted, is_json=is_json)
        return await _rerun_one(backend, asked.single, one, wanted, is_json=is_json)

    perform_on(store, work, output, reason=reason)


class _Wanted(NamedTuple):
    """What a rerun is asked to do differently."""

    from_step: str | None
    input: JSON | UnsetType
    version: int | None

    async def basis(self, backend: Backend, earlier: Summary) -> Basis:
        """What it runs with."""
        from msgspec import UnsetType

        from tenuto.cli.foreseen import basis_of

        is_edited = False
        if not isinstance(self.input, UnsetType):
            before = (await backend.space.at(earlier.id).state()).get("input")
            is_edited = self.input != before
        version = self.version or earlier.version
        return await basis_of(backend, earlier.workflow, version, is_edited=is_edited)


async def _foresee(backend: Backend, text: str, wanted: _Wanted, *, is_json: bool) -> int:
    from tenuto.cli import exits
    from tenuto.cli.foreseen import if_of_other_input, of_rerun
    from tenuto.cli.lookup import find_instance
    from tenuto.cli.views.foreseen import show_steps

    earlier = await find_instance(backend.space, text)
    held = await backend.held(earlier.id)
    found = await of_rerun(backend, held, wanted.from_step, wanted.version, input=wanted.input)
    basis = await wanted.basis(backend, earlier)
    warnings = if_of_other_input(earlier.id, found.kept, basis, backend.flag)
    show_steps(earlier.id, "rerun", found, basis, is_json=is_json, warnings=warnings)
    return exits.DONE


async def _rerun_one(
    backend: Backend,
    text: str,
    one: Callable[[protocol.Instance], Awaitable[protocol.Instance]],
    wanted: _Wanted,
    *,
    is_json: bool,
) -> int:
    from tenuto.cli import exits
    from tenuto.cli.foreseen import if_of_other_input
    from tenuto.cli.lookup import find_instance
    from tenuto.cli.views.advice import Advice, say_advice, with_warnings
    from tenuto.cli.views.outcome import if_not_worked_on, status_line
    from tenuto.cli.views.terminal import say, show, show_json

    earlier = await find_instance(backend.space, text)
    made = await one(backend.space.at(earlier.id))
    status = await made.status()
    basis = await wanted.basis(backend, earlier)
    beside: list[Advice] = []
    if not earlier.status.is_final:
        message = f"{earlier.id} has not ended and goes on beside it; to end it"
        beside.append(Advice(message, f"tenuto cancel {earlier.id}{backend.flag}"))
    idle = [] if status.is_final else if_not_worked_on(backend, made.id)
    kept = await _taken_over(made)
    beside += if_of_other_input(earlier.id, kept or (), basis, backend.flag)
    if is_json:
        view = {"instanceId": made.id, "status": status.value, "rerunOf": earlier.id}
        show_json(with_warnings({**view, **basis.view()}, [*beside, *idle]))
        return exits.DONE
    show(status_line(made.id, status))
    say_advice(beside)
    for line in basis.lines():
        say(line, style="dim")
    if kept is not None:
        said = ", ".join(kept) or f"nothing: {await _why_nothing(backend, earlier.id, wanted)}"
        say(f"  Taken over from {earlier.id}: {said}")
    say_advice(idle)
    return exits.DONE


async def _why_nothing(backend: Backend, earlier: str, wanted: _Wanted) -> str:
    from tenuto.cli.foreseen import why_nothing_is_kept

    undoing = None
    if wanted.from_step is not None:
        undoing = (await backend.space.at(earlier).details()).get("compensationState")
    return why_nothing_is_kept(wanted.from_step, isinstance(undoing, dict) and undoing.get("plan"))


async def _taken_over(made: protocol.Instance) -> list[str] | None:
    """The steps whose outcomes come from the earlier instance; None where that cannot be read."""
    from tenuto.model.errors import TenutoError

    try:
        history = await made.history()
    except TenutoError:
        # The instance is made: what is only printed about it does not fail the command.
        return None
    return [
        str(each["nodeId"])
        for each in history
        if each["eventType"] == "NODE_COMPLETED"
        and isinstance(each["payload"], dict)
        and "reusedFrom" in each["payload"]
    ]
