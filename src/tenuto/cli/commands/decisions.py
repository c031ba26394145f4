"""Commands to one step, and their options: `tenuto decide`, `tenuto skip-delay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Instance, Output, Reason, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.json import Object


def decide(  # noqa: PLR0913 - one for each option
    instance: Instance,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="The approval; in a loop for example review[2].")
    ],
    decision: Annotated[
        str,
        typer.Argument(
            metavar="approved|rejected",
            help="What has been decided.",
            autocompletion=completion.decisions,
        ),
    ],
    *,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who has decided.")],
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role", metavar="ROLE", help="A role of that person; may be given several times."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="JSON|@FILE|-", help="What the approval asks to fill in."),
    ] = None,
    iteration: Annotated[
        str, typer.Option("--iteration", metavar="N", help="In which iteration of a loop.")
    ] = "",
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Decide on an approval that an instance waits for.

    `tenuto show` lists open approvals and who may decide. The same decision by the same person
    again changes nothing. Steps that follow run in the process that has the store open, or in the
    next `tenuto run`.

    tenuto decide @last review approved --by ann --form '{"limit": 500}'
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance, step_and_iteration
        from tenuto.cli.sources import read_json
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.outcome import if_not_worked_on, status_line
        from tenuto.cli.views.terminal import show, show_json

        filled_in = None if form is None else read_json(form, "--form")
        name, inside = step_and_iteration(step, iteration)
        id = (await find_instance(backend.space, instance)).id
        status = await backend.space.at(id).decide(
            name, decision, by=by, roles=role or None, form=filled_in, iteration=inside
        )
        found = [] if status.is_final else if_not_worked_on(backend, id)
        if output == "json":
            place = {"stepId": name, "iteration": inside}
            view: Object = {"id": id, "status": status.value, **place, "decision": decision}
            show_json(with_warnings(view, found))
            return exits.DONE
        show(f"✓ {name}{f'[{inside}]' if inside else ''} {decision} by {by}")
        show(status_line(id, status))
        say_advice(found)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def skip_delay(
    instance: Instance,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="The delay; in a loop for example wait[2].")
    ],
    *,
    iteration: Annotated[
        str, typer.Option("--iteration", metavar="N", help="In which iteration of a loop.")
    ] = "",
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """End a delay of a test run before its time.

    Delays of other instances are not skipped: that is refused with TEN-3022.

    tenuto skip-delay 0190f0f0-0000-7000-8000-000000000000 cool-down
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance, step_and_iteration
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.outcome import if_not_worked_on, status_line
        from tenuto.cli.views.terminal import show, show_json

        name, inside = step_and_iteration(step, iteration)
        id = (await find_instance(backend.space, instance)).id
        status = await backend.space.at(id).skip_delay(name, inside)
        found = [] if status.is_final else if_not_worked_on(backend, id)
        if output == "json":
            view: Object = {"id": id, "status": status.value, "stepId": name, "iteration": inside}
            show_json(with_warnings(view, found))
            return exits.DONE
        show(f"✓ the delay {name}{f'[{inside}]' if inside else ''} is over")
        show(status_line(id, status))
        say_advice(found)
        return exits.DONE

    perform_on(store, work, output, reason=reason)
