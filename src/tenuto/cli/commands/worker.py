"""`tenuto worker`, and its options."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.commands.group import KEY_HELP
from tenuto.cli.commands.options import Chosen, ConfigFile, LogFormat, Output


def worker(  # noqa: PLR0913 - one for each option
    modules: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE|FILE]...", help="Where the tasks are; else what `tasks` is set to."
        ),
    ] = None,
    *,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            envvar="TENUTO_SERVER",
            metavar="URL",
            help="The service; several addresses of it with commas between them.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            envvar="TENUTO_KEY",
            metavar="KEY",
            help=KEY_HELP,
            show_envvar=True,
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file",
            envvar="TENUTO_TOKEN_FILE",
            show_envvar=True,
            metavar="FILE",
            help="The file of a token; it is read again before it expires.",
        ),
    ] = None,
    token_command: Annotated[
        str | None,
        typer.Option(
            "--token-command",
            envvar="TENUTO_TOKEN_COMMAND",
            show_envvar=True,
            metavar="COMMAND",
            help="A command that prints a token; run again, without a shell, before that expires.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, max=10_000, help="So many tasks run at once."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, max=1_000, help="So many are claimed at once.")
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(
            "--lease",
            metavar="SECONDS",
            min=1,
            max=3600,
            help="After so long without a heartbeat of this worker its tasks go to others.",
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(
            "--grace", metavar="SECONDS", min=0, help="How long running tasks have when it stops."
        ),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Begin again when a file beside the tasks changes.")
    ] = False,
    ready: Annotated[int | None, typer.Option(hidden=True)] = None,
    again: Annotated[bool, typer.Option("--again", hidden=True)] = False,  # noqa: ARG001 - of a reload
    log_format: LogFormat = None,
    config: ConfigFile = None,
    chosen: Chosen = None,
    output: Output = "table",
) -> None:
    """Pull tasks from a service, and run them here.

    It needs no store. When it is stopped, what does not end in its grace is given back; a second
    Ctrl-C waits no longer. What it does not finish because it is killed or cut off comes back to
    others when its lease is over. What no option says, the environment and the file do, as for
    `serve`: `worker.lease`, or TENUTO_WORKER_LEASE.

    tenuto worker orders.tasks --server https://tenuto.example.com
    """
    from tenuto.cli import exits
    from tenuto.cli.event_loop import fast_loop
    from tenuto.cli.settings import configured
    from tenuto.cli.worker import at_found_server, work

    given = {
        "tasks": modules or None,
        "log_format": log_format,
        "worker.server": server,
        "worker.key": key,
        "worker.token_file": token_file,
        "worker.token_command": token_command,
        "worker.concurrency": concurrency,
        "worker.batch": batch,
        "worker.lease": lease,
        "worker.grace": grace,
    }

    is_json = output == "json"

    async def pull() -> int:
        found = at_found_server(configured(given, chosen, config))
        if reload and ready is None:
            from tenuto.cli.reloader import work_and_reload

            return await work_and_reload(found)
        return await work(found, is_json=is_json, ready=ready)

    raise typer.Exit(exits.perform(pull, is_json=is_json, loop=fast_loop()))
