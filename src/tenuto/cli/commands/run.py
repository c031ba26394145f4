"""`tenuto run`, and its options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    CorrelationId,
    IdempotencyKey,
    Input,
    Output,
    Reason,
    Store,
    WatchTimeout,
    perform_on,
)

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


def run(  # noqa: PLR0913 - one for each option
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="The definition: a .json or .yaml file, or FILE.py[:NAME]."
        ),
    ] = None,
    *,
    input: Input = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            metavar="MODULE|FILE",
            help="Where the tasks are; may be given several times. Default: tasks.py beside FILE.",
        ),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option("--instance", metavar="ID", help="Go on with this instance, start none."),
    ] = None,
    outstanding: Annotated[
        bool,
        typer.Option("--outstanding", help="Go on with all that has not ended, start none."),
    ] = False,
    key: IdempotencyKey = None,
    correlation_id: CorrelationId = None,
    follow: Annotated[  # noqa: ARG001 - as `start` has it
        bool,
        typer.Option(
            "--follow", "-f", show_default=False, help="Watch it to its end, which is done anyway."
        ),
    ] = True,
    timeout: WatchTimeout = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Run a workflow and watch it to its end.

    Progress goes to stderr, the workflow's output as JSON to stdout (with -o json the whole
    instance). Steps whose tasks are not here are left to a process that has them.

    tenuto run order.json --input '{"orderId": 7}'

    tenuto run flows.py:order_flow --input '{"orderId": 7}'

    tenuto run order.json --instance @last
    """
    _one_of(file, instance, outstanding=outstanding, input=input)

    async def work(backend: Backend) -> int:
        from tenuto.cli.local_run import RunOptions
        from tenuto.cli.sources import read_input

        options = RunOptions(
            file=file,
            input=read_input(input),
            instance=instance,
            tasks=tasks or [],
            timeout=timeout,
            key=key,
            correlation_id=correlation_id,
            is_json=output == "json",
            reason=reason,
        )
        return await (backend.run_outstanding if outstanding else backend.run)(options)

    perform_on(store, work, output, reason=reason)


def _one_of(
    file: Path | None, instance: str | None, *, outstanding: bool, input: Sequence[str] | None
) -> None:
    """FILE says what to start; --instance and --outstanding say what to go on with."""
    if instance is not None and outstanding:
        raise typer.BadParameter("--instance and --outstanding exclude each other")
    if instance is None and not outstanding and file is None:
        raise typer.BadParameter(
            "name a FILE to start, or go on with --instance ID or --outstanding",
            param_hint="FILE",
        )
    if input and (instance is not None or outstanding):
        raise typer.BadParameter("an instance that has started has its input already")
