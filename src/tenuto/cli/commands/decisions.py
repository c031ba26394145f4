"""`tenuto decide`, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Instance, Output, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


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
        typer.Option("--role", help="A role of that person; may be given several times."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="JSON|@FILE|-", help="What the approval asks to fill in."),
    ] = None,
    iteration: Annotated[
        str, typer.Option("--iteration", metavar="N", help="In which iteration of a loop.")
    ] = "",
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
        from tenuto.cli.views.outcome import say_how_to_run, status_line
        from tenuto.cli.views.terminal import show, show_json

        filled_in = None if form is None else read_json(form, "--form")
        name, inside = step_and_iteration(step, iteration)
        id = (await find_instance(backend.space, instance)).id
        status = await backend.space.at(id).decide(
            name, decision, by=by, roles=role or None, form=filled_in, iteration=inside
        )
        if output == "json":
            place = {"stepId": name, "iteration": inside}
            show_json({"id": id, "status": status.value, **place, "decision": decision})
            return exits.DONE
        show(f"✓ {name}{f'[{inside}]' if inside else ''} {decision} by {by}")
        show(status_line(id, status))
        if not (backend.is_worked_on or status.is_final):
            say_how_to_run(id, backend.flag)
        return exits.DONE

    perform_on(store, work, output)
