"""`tenuto test-runs`: its commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Input, Output, Reason, Store, WatchTimeout, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend

test_runs = typer.Typer(
    name="test-runs",
    help="Runs of definitions that are not saved, with mocks of their steps.",
    no_args_is_help=True,
)
RunId = Annotated[str, typer.Argument(metavar="ID", help="The id that `start` has shown.")]


@test_runs.command("start")
def start(  # noqa: PLR0913 - one for each option
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The definition: a .json or .yaml file, or FILE.py[:NAME]."
        ),
    ],
    *,
    input: Input = None,
    mock: Annotated[
        list[str] | None,
        typer.Option(
            "--mock",
            metavar="STEP=JSON",
            help="The output of a step, which is not run; may be given several times.",
        ),
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(
            "--fail",
            metavar="STEP=CODE[:MESSAGE]",
            help="The failure of a step, which is not run; may be given several times.",
        ),
    ] = None,
    mocks: Annotated[
        str | None,
        typer.Option(
            "--mocks",
            metavar="JSON|@FILE|-",
            help='All of them: {"charge": {"output": 1}, "ship": {"error": {"code": "X"}}}.',
        ),
    ] = None,
    event: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            metavar="PATTERN=JSON",
            help="An event that this test run alone sees; may be given several times.",
        ),
    ] = None,
    skip_delays: Annotated[bool, typer.Option("--skip-delays", help="Delays end at once.")] = False,
    allow_effects: Annotated[
        bool,
        typer.Option(
            "--allow-effects", help="Steps without a mock run; else each of them gives {}."
        ),
    ] = False,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            metavar="MODULE|FILE",
            help="Where tasks are that run; may be given several times. Default: tasks.py beside "
            "FILE.",
        ),
    ] = None,
    up_to: Annotated[
        str | None,
        typer.Option("--up-to", metavar="STEP", help="End it when this step has ended."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="STEP",
            help="Run this step alone, and end it then; the others have mocks, or give {}.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep it for an hour after its end, to look at it.")
    ] = False,
    timeout: WatchTimeout = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Run a definition that is not saved, and watch it to its end.

    Nothing is deployed, no list shows the run, and it is erased at its end. Steps with a mock are
    not run; steps without one give {} unless --allow-effects is given. With --up-to or --only the
    output is that of the step.

    tenuto test-runs start order.json -i '{"id": 7}' --mock charge='{"paid": true}' --skip-delays

    tenuto test-runs start order.json --fail charge=CARD_DECLINED --event order.paid='{"id": 7}'
    """
    if up_to is not None and only is not None:
        raise typer.BadParameter("one of the two is given", param_hint="--up-to, --only")

    async def work(backend: Backend) -> int:
        from tenuto.cli.sources import read_input, read_json
        from tenuto.cli.test_runs import TestRunOptions, read_events, read_mocks

        document = None if mocks is None else read_json(mocks, "--mocks")
        options = TestRunOptions(
            file=file,
            input=read_input(input),
            tasks=tasks or (),
            mocks=read_mocks(document, mock or (), fail or ()),
            events=read_events(event or ()),
            skip_delays=skip_delays,
            allow_effects=allow_effects,
            keep=keep,
            up_to=only or up_to,
            is_only=only is not None,
            timeout=timeout,
            is_json=output == "json",
            reason=reason,
        )
        return await backend.run_test(options)

    perform_on(store, work, output, reason=reason)


@test_runs.command("send")
def send(
    id: RunId,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="The name of the event.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="[JSON|@FILE|-]", help="What it says.")
    ] = None,
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Publish an event that one test run alone sees.

    tenuto test-runs send 0190f0f0-0000-7000-8000-000000000000 order.paid '{"id": 7}'
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli.sources import read_json
        from tenuto.cli.test_runs import show_sent

        value = None if payload is None else read_json(payload, "the payload")
        results = await backend.space.test_runs.publish(id, {"pattern": pattern, "payload": value})
        return show_sent(id, pattern, is_json=output == "json", results=results)

    perform_on(store, work, output, reason=reason)


@test_runs.command("stop")
def stop(
    id: RunId, *, reason: Reason = None, store: Store = STORE, output: Output = "table"
) -> None:
    """End a test run and erase it.

    tenuto test-runs stop 0190f0f0-0000-7000-8000-000000000000
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json

        await backend.space.test_runs.stop(id)
        if output == "json":
            show_json({"id": id, "isErased": True})
        else:
            show(f"✓ the test run {id} is erased")
        return exits.DONE

    perform_on(store, work, output, reason=reason)
