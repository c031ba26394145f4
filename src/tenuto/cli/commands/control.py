"""Commands to instances, and their options: cancel, pause, resume, retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tenuto.cli.backends.place import STORE
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
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.bulk import Many
    from tenuto.cli.selection import Asked
    from tenuto.model.edited import EditedInput
    from tenuto.model.ids import NodeKey
    from tenuto.model.json import Object
    from tenuto.model.status import Status
    from tenuto.workspace import protocol


def cancel(  # noqa: PLR0913 - one for each option
    instances: Instances = None,
    *,
    reason: Reason = None,
    no_compensation: Annotated[
        bool, typer.Option("--no-compensation", help="Leave what it has done as it is.")
    ] = False,
    status: OfStatus = None,
    workflow: OfWorkflow = None,
    correlation_id: OfCorrelation = None,
    query: Query = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """End instances.

    Running steps are asked to stop and have their grace period; completed ones are undone by their
    compensation steps; then it is CANCELLED. With --dry-run of one instance, what would be undone.

    tenuto cancel @last --reason "ordered twice"

    tenuto cancel --workflow order --status RUNNING --dry-run
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id, query)
    many = Many(
        action="cancel",
        asked=asked,
        one=lambda found: found.cancel(reason, should_compensate=not no_compensation),
        reason=reason,
        should_compensate=not no_compensation,
        dry_run=dry_run,
        yes=yes,
    )
    note = "  Running steps have their grace period, then what completed is undone."
    _command(store, many, output, note=note)


def pause(  # noqa: PLR0913 - one for each option
    instances: Instances = None,
    *,
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
    """Pause instances.

    Running steps go on to their end and are recorded; no step is started.

    tenuto pause --workflow order --yes
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id, query)
    many = Many(
        action="pause",
        asked=asked,
        one=lambda found: found.pause(reason),
        reason=reason,
        dry_run=dry_run,
        yes=yes,
    )
    _command(store, many, output, goes_on=False)


def resume(  # noqa: PLR0913 - one for each option
    instances: Instances = None,
    *,
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
    """Let paused instances go on.

    tenuto resume --workflow order --yes
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id, query)
    many = Many(
        action="resume",
        asked=asked,
        one=lambda found: found.resume(),
        dry_run=dry_run,
        yes=yes,
    )
    _command(store, many, output, reason=reason)


def retry(  # noqa: PLR0913 - one for each option
    instances: Instances = None,
    *,
    compensation: Annotated[
        str | None,
        typer.Option(
            "--compensation",
            metavar="STEP",
            help="Only this compensation step, which was given up; STEP[2] in an iteration.",
        ),
    ] = None,
    input: Annotated[
        str | None,
        typer.Option(
            "--input",
            "-i",
            metavar="JSON|@FILE|-",
            help="Another input for the task that failed, or for the compensation.",
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="STEP",
            help="The step that --input is for; STEP[2] in an iteration. Default: the one that "
            "failed last.",
        ),
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
    """Let failed instances go on, or try again to undo a step of one.

    Steps that failed, and those that the failure cancelled, run again; completed ones stay:
    --dry-run names both. The steps run in the process that has the store open, or in the next
    `tenuto run`. An instance that is quarantined is released, and goes on where it stood.

    tenuto retry @last-failed

    tenuto retry @last-failed --input '{"amount": 12}'

    tenuto retry --status FAILED --workflow order --dry-run

    tenuto retry @last-failed --compensation refund_payment
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id, query)
    _refuse_unclear_input(asked, input, step, compensation)
    if compensation is None:

        async def one(found: protocol.Instance) -> Status:
            return await found.retry(edited=await _edited(found, input, step))

        many = Many(
            action="retry",
            asked=asked,
            one=one,
            dry_run=dry_run,
            yes=yes,
            is_edited=input is not None,
        )
        _command(store, many, output, is_foreseen=True, reason=reason)
    if asked.single is None or dry_run:
        raise typer.BadParameter(
            "a compensation step is tried again in one instance, which is named, and without "
            "--dry-run",
            param_hint="--compensation",
        )
    from tenuto.model.ids import NodeKey

    name, _, iteration = compensation.removesuffix("]").partition("[")

    async def undo(found: protocol.Instance) -> Status:
        from msgspec import UNSET

        from tenuto.cli.sources import read_json

        given = UNSET if input is None else read_json(input, "--input")
        return await found.retry_compensation(name, iteration, input=given)

    many = Many(action="retry", asked=asked, one=undo)
    undone = NodeKey(name, iteration)
    _command(store, many, output, goes_on=True, reason=reason, undone_by=undone)


def _refuse_unclear_input(
    asked: Asked, input: str | None, step: str | None, compensation: str | None
) -> None:
    """An input is that of one step of one instance."""
    if input is not None and asked.single is None:
        raise typer.BadParameter(
            "an input is for one instance, which is named by its id; for many, "
            "`tenuto dead-letters retry` takes one",
            param_hint="--input",
        )
    if step is not None and (input is None or compensation is not None):
        raise typer.BadParameter(
            "it names the step that --input is for, and --compensation names one itself",
            param_hint="--step",
        )


async def _edited(
    found: protocol.Instance, input: str | None, step: str | None
) -> EditedInput | None:
    """The input that replaces the one of a step; without a name, of the step that failed last."""
    from tenuto.cli.lookup import step_and_iteration
    from tenuto.cli.sources import read_json
    from tenuto.model.edited import EditedInput

    if input is None:
        return None
    given = read_json(input, "--input")
    name, iteration = step_and_iteration(step, "") if step is not None else ("", "")
    if step is None:
        last = (await found.details()).get("lastError")
        if isinstance(last, dict) and last.get("stepId"):
            name, iteration = str(last["stepId"]), str(last.get("iteration") or "")
    if not name:
        raise typer.BadParameter(
            "no step has failed; name the one that it is for", param_hint="--step"
        )
    return EditedInput(step_id=name, iteration=iteration, input=given)


def asked_for(
    instances: list[str] | None,
    status: list[str] | None,
    workflow: str | None,
    correlation_id: str | None,
    query: str | None = None,
) -> Asked:
    """Which instances; wrong usage where that is not clear."""
    from tenuto.cli.selection import Asked

    asked = Asked(
        words=tuple(instances or ()),
        status=tuple(status or ()),
        workflow=workflow,
        correlation_id=correlation_id,
        query=query,
    )
    asked.refuse_unclear()
    return asked


def _command(
    store: str,
    many: Many,
    output: str,
    *,
    note: str = "",
    goes_on: bool | None = None,
    is_foreseen: bool = False,
    reason: str | None = None,
    undone_by: NodeKey | None = None,
) -> NoReturn:
    """Give a command, and print the status; `goes_on`: None unless it has ended then.

    `is_foreseen`: the steps that it runs again are listed before. `undone_by`: the compensation
    step that runs again.
    """

    async def work(backend: Backend) -> int:
        is_json = output == "json"
        if many.asked.single is None:
            from tenuto.cli.bulk import act_on_many

            return await act_on_many(backend, many, is_json=is_json)
        from tenuto.cli import exits
        from tenuto.cli.foreseen import basis_of
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.compensation import say_undoing_again, undoing_again
        from tenuto.cli.views.foreseen import say_retry, show_foreseen
        from tenuto.cli.views.outcome import if_not_worked_on, status_line
        from tenuto.cli.views.terminal import say, show, show_json
        from tenuto.model.status import Status

        found = await find_instance(backend.space, many.asked.single)
        id = found.id
        if many.dry_run:
            await show_foreseen(backend, id, many.action, is_json=is_json, is_edited=many.is_edited)
            return exits.DONE
        if is_foreseen and not is_json:
            await say_retry(backend, id, is_edited=many.is_edited)
        status = await many.one(backend.space.at(id))
        assert isinstance(status, Status)
        is_open = not status.is_final if goes_on is None else goes_on
        warnings = if_not_worked_on(backend, id) if is_open else []
        if is_json:
            view: Object = {"id": id, "status": status.value}
            if is_foreseen:
                basis = await basis_of(
                    backend, found.workflow, found.version, is_edited=many.is_edited
                )
                view |= basis.view()
            if undone_by is not None:
                view["compensation"] = await undoing_again(backend, id, undone_by)
            show_json(with_warnings(view, warnings))
            return exits.DONE
        show(status_line(id, status))
        if note and not status.is_final:
            say(note)
        if undone_by is not None:
            await say_undoing_again(backend, id, undone_by)
        say_advice(warnings)
        return exits.DONE

    perform_on(store, work, output, reason=reason)
