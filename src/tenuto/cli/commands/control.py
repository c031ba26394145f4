"""Commands to an instance, and their options: cancel, pause, resume, retry, decide, rerun."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Instance, Output, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.status import Status
    from tenuto.workspace import protocol

Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the log.")]


def cancel(
    instance: Instance,
    *,
    reason: Reason = None,
    no_compensation: Annotated[
        bool, typer.Option("--no-compensation", help="Leave what it has done as it is.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """End an instance.

    Running steps are asked to stop and have their grace period; completed ones are undone by their
    compensation steps; then it is CANCELLED.
    """
    _command(
        store,
        instance,
        lambda found: found.cancel(reason, should_compensate=not no_compensation),
        output,
        note="  Running steps have their grace period, then what completed is undone.",
    )


def pause(
    instance: Instance,
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Pause an instance.

    Running steps go on to their end and are recorded; no step is started.
    """
    _command(store, instance, lambda found: found.pause(reason), output, goes_on=False)


def resume(instance: Instance, *, store: Store = STORE, output: Output = "table") -> None:
    """Let a paused instance go on."""
    _command(store, instance, lambda found: found.resume(), output)


def retry(
    instance: Instance,
    *,
    compensation: Annotated[
        str | None,
        typer.Option(
            "--compensation",
            metavar="STEP",
            help="Only this compensation step, which was given up; STEP[2] in an iteration.",
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Let a failed instance go on, or try again to undo one of its steps.

    Steps that failed, and those that the failure cancelled, run again; completed ones stay. The
    steps run in the process that has the store open, or in the next `tenuto run`. An instance that
    is quarantined is released, and goes on where it stood.

    tenuto retry @last-failed

    tenuto retry @last-failed --compensation refund_payment
    """
    if compensation is None:
        _command(store, instance, lambda found: found.retry(), output)
    step, _, iteration = compensation.removesuffix("]").partition("[")
    _command(
        store,
        instance,
        lambda found: found.retry_compensation(step, iteration),
        output,
        goes_on=True,
    )


def _command(
    store: str,
    instance: str,
    ask: Callable[[protocol.Instance], Awaitable[Status]],
    output: str,
    *,
    note: str = "",
    goes_on: bool | None = None,
) -> NoReturn:
    """Give a command, and print the status; `goes_on`: None unless it has ended then."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.views.outcome import say_how_to_run, status_line
        from tenuto.cli.views.terminal import say, show, show_json

        id = (await find_instance(backend.space, instance)).id
        status = await ask(backend.space.at(id))
        if output == "json":
            show_json({"id": id, "status": status.value})
            return exits.DONE
        show(status_line(id, status))
        if note and not status.is_final:
            say(note)
        is_open = not status.is_final if goes_on is None else goes_on
        if is_open and not backend.is_worked_on:
            say_how_to_run(id, backend.flag)
        return exits.DONE

    perform_on(store, work, output)


def decide(  # noqa: PLR0913 - one for each option
    instance: Instance,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="The approval; in a loop for example review[2].")
    ],
    decision: Annotated[
        str, typer.Argument(metavar="approved|rejected", help="What has been decided.")
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


def rerun(
    instance: Instance,
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
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Make a new instance of one, from the beginning or from a step.

    With --from, what completed and is neither that step nor after it is taken over; the rest runs.
    The instance that is named does not change.

    tenuto rerun @last-failed --from ship
    """

    async def work(backend: Backend) -> int:
        from msgspec import UNSET

        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.sources import read_json
        from tenuto.cli.views.outcome import say_how_to_run, status_line
        from tenuto.cli.views.terminal import say, show, show_json

        given = UNSET if input is None else read_json(input, "--input")
        earlier = (await find_instance(backend.space, instance)).id
        made = await backend.space.at(earlier).rerun(from_step, input=given, version=version)
        status = await made.status()
        if output == "json":
            show_json({"instanceId": made.id, "status": status.value, "rerunOf": earlier})
            return exits.DONE
        show(status_line(made.id, status))
        if (kept := await _taken_over(made)) is not None:
            say(f"  Taken over from {earlier}: {', '.join(kept) or 'nothing'}")
        if not (backend.is_worked_on or status.is_final):
            say_how_to_run(made.id, backend.flag)
        return exits.DONE

    perform_on(store, work, output)


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
