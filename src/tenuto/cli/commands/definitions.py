"""`tenuto deploy`, `start` and `logs`, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    CorrelationId,
    IdempotencyKey,
    Input,
    Instance,
    Output,
    Store,
    WatchTimeout,
    perform,
)


def deploy(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Definitions: .json, or FILE.py[:NAME]."),
    ],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save definitions, to be started by their ids.

    The same content again makes no new version; instances that run keep theirs.

    tenuto deploy order.json --server http://127.0.0.1:8484
    """
    from tenuto.cli.deploying import deploy as deploy_it

    perform(lambda: deploy_it(store, files, is_json=output == "json"), output)


def start(  # noqa: PLR0913 - one for each option
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="The id of a definition that is deployed.")
    ],
    *,
    input: Input = None,
    key: IdempotencyKey = None,
    correlation_id: CorrelationId = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version than the newest."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Watch it to its end, like `tenuto run`.")
    ] = False,
    timeout: WatchTimeout = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Start an instance of a workflow that is deployed.

    Its steps run in the processes that work on the store, or at the server.

    tenuto start order --input '{"orderId": 7}' --server http://127.0.0.1:8484 --follow
    """
    from tenuto.cli.sources import read_json
    from tenuto.cli.starting import Wish, start as start_it

    async def work() -> int:
        wish = Wish(
            workflow=workflow,
            input=None if input is None else read_json(input, "--input"),
            key=key,
            correlation_id=correlation_id,
            version=version,
            follows=follow,
            timeout=timeout,
            is_json=output == "json",
        )
        return await start_it(store, wish)

    perform(work, output)


def logs(
    instance: Instance,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the instance has ended.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Print the log of an instance, an entry a line.

    With -o json each line is an object with all that the entry says.

    tenuto logs @last -f
    """
    from tenuto.cli.views.log import show_logs

    perform(lambda: show_logs(store, instance, follows=follow, is_json=output == "json"), output)
