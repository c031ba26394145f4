"""Commands to an instance, and their options: cancel, pause, resume, retry, decide, rerun."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.defaults import STORE
from tenuto.cli.options import Instance, Output, Store, perform

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

    Running steps are told and have their grace period; what completed is undone by its compensation
    steps; then it is CANCELLED.
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import CancelAsked

    asked = CancelAsked(by="cli", reason=reason, should_compensate=not no_compensation)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


def pause(
    instance: Instance,
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Hold an instance.

    What runs goes on to its end and is recorded; nothing new begins.
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import PauseAsked

    asked = PauseAsked(by="cli", reason=reason)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


def resume(instance: Instance, *, store: Store = STORE, output: Output = "table") -> None:
    """Let a paused instance go on."""
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import ResumeAsked

    asked = ResumeAsked(by="cli")
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


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

    Steps that failed, and those that the failure called off, run again; completed ones stay. The
    steps run in the process that has the store open, or in the next `tenuto run`.

    tenuto retry @last-failed

    tenuto retry @last-failed --compensation refund_payment
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import CompensationRetryAsked, Input, RetryAsked

    asked: Input = RetryAsked(by="cli")
    if compensation is not None:
        step, _, iteration = compensation.removesuffix("]").partition("[")
        asked = CompensationRetryAsked(by="cli", step_id=step, iteration=iteration)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


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

    `tenuto show` lists what is open and who may decide. The same decision by the same person again
    changes nothing. Steps that follow run in the process that has the store open, or in the next
    `tenuto run`.

    tenuto decide @last review approved --by ann --form '{"limit": 500}'
    """
    from tenuto.cli.deciding import decide_on, place_of
    from tenuto.cli.sources import read_json
    from tenuto.engine.turns.approvals import decision_asked

    async def work() -> int:
        name, inside = place_of(step, iteration)
        asked = decision_asked(
            name,
            decision,
            by=by,
            roles=role or (),
            form=None if form is None else read_json(form, "--form"),
            iteration=inside,
        )
        return await decide_on(store, instance, asked, is_json=output == "json")

    perform(work, output)


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
    from msgspec import UNSET

    from tenuto.cli.rerunning import rerun as rerun_it
    from tenuto.cli.sources import read_json

    async def work() -> int:
        return await rerun_it(
            store,
            instance,
            from_step=from_step,
            input=UNSET if input is None else read_json(input, "--input"),
            version=version,
            is_json=output == "json",
        )

    perform(work, output)
