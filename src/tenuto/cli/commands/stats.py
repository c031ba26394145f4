"""`tenuto stats`, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import RowsOutput, Store, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


def stats(
    *,
    hours: Annotated[
        int,
        typer.Option(
            "--hours", metavar="N", min=1, max=168, help="Count those of the last so many hours."
        ),
    ] = 24,
    store: Store = STORE,
    output: RowsOutput = "table",
) -> None:
    """Count instances by status and workflow, and what waits for workers and webhooks.

    With -o csv a line for each minute of the last hour.

    tenuto stats --hours 1
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.csv_rows import show_csv
        from tenuto.cli.views.idle import if_idle
        from tenuto.cli.views.pages import say_nothing
        from tenuto.cli.views.stats import minutes_of, show_stats
        from tenuto.cli.views.terminal import show_json
        from tenuto.model.status import read_status

        found = await backend.space.stats(hours)
        counts = found["byStatus"]
        assert isinstance(counts, dict)
        are_open = any(not read_status(name).is_final for name in counts)
        warnings = await if_idle(backend) if are_open else []
        if output == "json":
            show_json(with_warnings(found, warnings))
            return exits.DONE
        if output == "csv":
            show_csv(minutes_of(found))
            return exits.DONE
        show_stats(found, backend.clock.now(), backend.described)
        say_advice(warnings)
        if not found["total"]:
            say_nothing(
                f"no instance was started in the last {hours} h; to list older ones, or start one",
                [f"tenuto list{backend.flag}", f"tenuto start WORKFLOW --input JSON{backend.flag}"],
            )
        return exits.DONE

    perform_on(store, work, output)
