"""`tenuto worker`, and its options."""

from __future__ import annotations

from typing import Annotated

import typer


def worker(
    modules: Annotated[
        list[str], typer.Argument(metavar="MODULE|FILE...", help="Where the tasks are.")
    ],
    *,
    server: Annotated[
        str, typer.Option("--server", envvar="TENUTO_SERVER", metavar="URL", help="The service.")
    ] = "http://127.0.0.1:8484",
    key: Annotated[
        str | None,
        typer.Option(
            "--key", envvar="TENUTO_KEY", show_envvar=True, help="An API key of the service."
        ),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", min=1, max=10_000, help="So many tasks run at once."),
    ] = 50,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=1_000, help="So many are claimed at once.")
    ] = 50,
    lease: Annotated[
        float,
        typer.Option(
            "--lease",
            metavar="SECONDS",
            min=1,
            max=3600,
            help="After so long without a word from this worker its tasks go to others.",
        ),
    ] = 30,
    grace: Annotated[
        float,
        typer.Option(
            "--grace", metavar="SECONDS", min=0, help="How long running tasks have when it stops."
        ),
    ] = 10,
) -> None:
    """Pull tasks from a service, and run them here.

    It needs no store. What it does not finish, because it is killed or cut off, comes back to
    others when its lease is over.

    tenuto worker orders.tasks --server https://tenuto.example.com
    """
    from tenuto.cli import guard
    from tenuto.cli.serving import fast_loop
    from tenuto.cli.working import Wish, work

    wish = Wish(
        modules=modules,
        server=server,
        key=key,
        concurrency=concurrency,
        batch=batch,
        lease=lease,
        grace=grace,
    )
    raise typer.Exit(guard.perform(lambda: work(wish), is_json=False, loop=fast_loop()))
