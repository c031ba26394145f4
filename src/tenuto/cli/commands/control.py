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
    Reason,
    Store,
    Yes,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.bulk import Many
    from tenuto.cli.selection import Asked
    from tenuto.model.ids import NodeKey
    from tenuto.model.json import Object


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

    asked = asked_for(instances, status, workflow, correlation_id)
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

    asked = asked_for(instances, status, workflow, correlation_id)
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
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Let paused instances go on.

    tenuto resume --workflow order --yes
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id)
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
    reason: Reason = None,
    status: OfStatus = None,
    workflow: OfWorkflow = None,
    correlation_id: OfCorrelation = None,
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

    tenuto retry --status FAILED --workflow order --dry-run

    tenuto retry @last-failed --compensation refund_payment
    """
    from tenuto.cli.bulk import Many

    asked = asked_for(instances, status, workflow, correlation_id)
    if compensation is None:
        many = Many(
            action="retry",
            asked=asked,
            one=lambda found: found.retry(),
            dry_run=dry_run,
            yes=yes,
        )
        _command(store, many, output, is_foreseen=True, reason=reason)
    if asked.single is None or dry_run:
        raise typer.BadParameter(
            "a compensation step is tried again in one instance, which is named, and without "
            "--dry-run",
            param_hint="--compensation",
        )
    from tenuto.model.ids import NodeKey

    step, _, iteration = compensation.removesuffix("]").partition("[")
    many = Many(
        action="retry", asked=asked, one=lambda found: found.retry_compensation(step, iteration)
    )
    undone = NodeKey(step, iteration)
    _command(store, many, output, goes_on=True, reason=reason, undone_by=undone)


def asked_for(
    instances: list[str] | None,
    status: list[str] | None,
    workflow: str | None,
    correlation_id: str | None,
) -> Asked:
    """Which instances; wrong usage where that is not clear."""
    from tenuto.cli.selection import Asked

    asked = Asked(
        words=tuple(instances or ()),
        status=tuple(status or ()),
        workflow=workflow,
        correlation_id=correlation_id,
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

    `is_foreseen`: the steps that it runs again are told before. `undone_by`: the compensation step
    that runs again.
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
            await show_foreseen(backend, id, many.action, is_json=is_json)
            return exits.DONE
        if is_foreseen and not is_json:
            await say_retry(backend, id)
        status = await many.one(backend.space.at(id))
        assert isinstance(status, Status)
        is_open = not status.is_final if goes_on is None else goes_on
        warnings = if_not_worked_on(backend, id) if is_open else []
        if is_json:
            view: Object = {"id": id, "status": status.value}
            if is_foreseen:
                view |= (await basis_of(backend, found.workflow, found.version)).view()
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
