"""`tenuto dead-letters`: its commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    Cursor,
    DryRun,
    Limit,
    ListOutput,
    OfWorkflow,
    Output,
    Reason,
    Reveal,
    RowsOutput,
    Store,
    Yes,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

dead_letters = typer.Typer(
    name="dead-letters",
    help="Dead letters: failed tasks, poison tasks and late results.",
    no_args_is_help=True,
)

LetterId = Annotated[
    str, typer.Argument(metavar="ID", help="As `list` shows it, or @last for the newest.")
]
OneOrNone = Annotated[
    str | None, typer.Argument(metavar="ID", help="As `list` shows it, or @last for the newest.")
]
OfTask = Annotated[str | None, typer.Option("--task", metavar="ID", help="All of this task.")]
OfStep = Annotated[str | None, typer.Option("--step", metavar="STEP", help="All of this step.")]
OfCode = Annotated[
    str | None, typer.Option("--code", metavar="CODE", help="All with this code of the error.")
]
OfKind = Annotated[
    Literal["task-failed", "poison", "late-result", "compensation-failed"] | None,
    typer.Option("--kind", metavar="KIND", help="All of this kind: task-failed, poison, …"),
]


@dead_letters.command("list")
def list_them(  # noqa: PLR0913 - one for each option
    *,
    task: OfTask = None,
    workflow: OfWorkflow = None,
    step: OfStep = None,
    code: OfCode = None,
    kind: OfKind = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    reveal: Reveal = False,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List dead letters.

    Tasks whose failure nothing handled, poison tasks, and results that came too late.

    tenuto dead-letters list --task pay --code TIMEOUT
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.letters import LetterFilter
        from tenuto.cli.lookup import refuse_unknown_workflow
        from tenuto.cli.views.dead_letters import letters_table
        from tenuto.cli.views.pages import show_page

        if reveal:
            await backend.reveal("list_dead_letters", "")
        which = LetterFilter(task=task, workflow=workflow, step=step, code=code, kind=kind)
        page = await backend.space.dead_letters.page(**which.query, limit=limit, cursor=cursor)
        if not page.items:
            await refuse_unknown_workflow(backend.space, workflow)
        like_that = " like that" if which.is_given else ""
        show_page(
            page,
            output,
            table=lambda found: letters_table(found, backend.clock.now()),
            item=lambda each: each,
            nothing=f"no dead letters{like_that} in {backend.described}",
            then=[
                f"tenuto dead-letters list{backend.flag}"
                if which.is_given
                else f"tenuto list --status FAILED{backend.flag}"
            ],
        )
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


@dead_letters.command("groups")
def groups(
    *,
    task: OfTask = None,
    workflow: OfWorkflow = None,
    step: OfStep = None,
    code: OfCode = None,
    kind: OfKind = None,
    store: Store = STORE,
    output: RowsOutput = "table",
) -> None:
    """Count dead letters by cause: the code of the error, the workflow and the step.

    Each group with the commands that list its letters and retry them.

    tenuto dead-letters groups --workflow order
    """

    async def work(backend: Backend) -> int:
        from msgspec import to_builtins

        from tenuto.cli import exits
        from tenuto.cli.letters import LetterFilter
        from tenuto.cli.lookup import refuse_unknown_workflow
        from tenuto.cli.next_steps import say_group_steps
        from tenuto.cli.views.csv_rows import show_csv
        from tenuto.cli.views.dead_letters import groups_table
        from tenuto.cli.views.pages import say_nothing
        from tenuto.cli.views.terminal import say, show, show_json

        which = LetterFilter(task=task, workflow=workflow, step=step, code=code, kind=kind)
        found = await backend.space.dead_letters.groups(which.letters)
        if not found.items:
            await refuse_unknown_workflow(backend.space, workflow)
        if output == "json":
            show_json(to_builtins(found))
            return exits.DONE
        if not found.items:
            nothing = f"no dead letters in {backend.described}"
            say_nothing(nothing, [f"tenuto list --status FAILED{backend.flag}"])
            return exits.DONE
        if output == "csv":
            show_csv(to_builtins(found.items))
            return exits.DONE
        show(groups_table(found.items, backend.clock.now()))
        if not found.is_complete:
            say("only the newest dead letters are counted; there are more")
        say_group_steps(found.items, backend.flag)
        return exits.DONE

    perform_on(store, work, output)


@dead_letters.command("show")
def show(
    id: LetterId, *, reveal: Reveal = False, store: Store = STORE, output: Output = "table"
) -> None:
    """Show a dead letter, with its input and error."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.letters import letter_id
        from tenuto.cli.next_steps import say_letter_steps
        from tenuto.cli.views.dead_letters import letter_lines
        from tenuto.cli.views.masking import masked
        from tenuto.cli.views.terminal import show, show_json

        named = await letter_id(backend.space, id)
        if reveal:
            await backend.reveal("get_dead_letter", named)
        item = await backend.space.dead_letters.get(named)
        if output == "json":
            show_json(masked(item))
        else:
            for line in letter_lines(item):
                show(line)
            await say_letter_steps(backend, item)
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


@dead_letters.command("retry")
def retry(  # noqa: PLR0913 - one for each option
    id: OneOrNone = None,
    *,
    input: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="Another input for the task."),
    ] = None,
    task: OfTask = None,
    workflow: OfWorkflow = None,
    step: OfStep = None,
    code: OfCode = None,
    kind: OfKind = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Run a dead letter again, or all that a filter finds: the instance goes on where it failed.

    tenuto dead-letters retry @last

    tenuto dead-letters retry --task pay --code TIMEOUT --dry-run
    """
    from tenuto.cli.letters import LetterFilter, refuse_unclear

    which = LetterFilter(task=task, workflow=workflow, step=step, code=code, kind=kind)
    refuse_unclear(id, which)
    if input is not None and id is None:
        raise typer.BadParameter(
            "--input works with one dead letter only: name its id", param_hint="--input"
        )

    async def work(backend: Backend) -> int:
        from msgspec import UNSET

        from tenuto.cli import exits
        from tenuto.cli.letters import act_on_letters, letter_id, refuse_retry
        from tenuto.cli.sources import read_json
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.outcome import if_not_worked_on, status_line
        from tenuto.cli.views.terminal import show, show_json

        given = UNSET if input is None else read_json(input, "--input")
        if id is None or dry_run:
            meant = which if id is None else LetterFilter(id=await letter_id(backend.space, id))
            if meant.id is not None:
                await refuse_retry(backend, meant.id, given)
            return await act_on_letters(
                backend,
                "retry",
                meant,
                dry_run=dry_run,
                yes=yes,
                is_json=output == "json",
                is_edited=None if id is None else input is not None,
            )
        found = await letter_id(backend.space, id)
        status = await backend.space.dead_letters.retry(found, input=given)
        instance_id = found.partition(":")[0]
        warnings = [] if status.is_final else if_not_worked_on(backend, instance_id)
        if output == "json":
            show_json(with_warnings({"id": instance_id, "status": status.value}, warnings))
            return exits.DONE
        show(status_line(instance_id, status))
        say_advice(warnings)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@dead_letters.command("discard")
def discard(  # noqa: PLR0913 - one for each option
    id: OneOrNone = None,
    *,
    task: OfTask = None,
    workflow: OfWorkflow = None,
    step: OfStep = None,
    code: OfCode = None,
    kind: OfKind = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Remove a dead letter, or all that a filter finds; the instance stays as it is.

    tenuto dead-letters discard --kind late-result --yes
    """
    from tenuto.cli.letters import LetterFilter, refuse_unclear

    which = LetterFilter(task=task, workflow=workflow, step=step, code=code, kind=kind)
    refuse_unclear(id, which)

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.letters import act_on_letters, letter_id
        from tenuto.cli.views.terminal import show, show_json

        if id is None or dry_run:
            meant = which if id is None else LetterFilter(id=await letter_id(backend.space, id))
            return await act_on_letters(
                backend, "discard", meant, dry_run=dry_run, yes=yes, is_json=output == "json"
            )
        found = await letter_id(backend.space, id)
        await backend.space.dead_letters.discard(found)
        if output == "json":
            show_json({"id": found, "discarded": True})
        else:
            show(f"✓ {found} is discarded; the instance stays as it is")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
