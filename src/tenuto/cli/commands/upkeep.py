"""`tenuto verify`, `migrate`, `reindex`, `prune` and `doctor`, and their options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.group import of_no_tenant, on_stores_alone
from tenuto.cli.commands.options import Output, Reason, Store, perform, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


@on_stores_alone
def verify(*, store: Store = STORE, output: Output = "table") -> None:
    """Check that the stored state follows from the logs.

    Folds every log from its beginning and compares with the stored state, waits and timers.
    """
    from tenuto.cli.upkeep import verify_store

    perform(lambda: verify_store(store, is_json=output == "json"), output)


@on_stores_alone
def migrate(
    *,
    beside_older: Annotated[
        bool,
        typer.Option(
            "--beside-older",
            help="Migrate although processes of an older program are running, which the new "
            "schema does not support.",
        ),
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Create the store, or bring its schema up to date."""
    from tenuto.cli.upkeep import migrate_store

    perform(
        lambda: migrate_store(store, is_beside_older=beside_older, is_json=output == "json"),
        output,
    )


@on_stores_alone
def reindex(
    *,
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", metavar="ID", help="Only instances of this definition."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Index searchable values and open approvals of instances that older programs wrote.

    Of every tenant. Once, after an upgrade to the first version with that index, when the last
    process is a new one; it may run beside them, and may be stopped and started again.
    """
    from tenuto.cli.upkeep import reindex as reindex_it

    perform(lambda: reindex_it(store, workflow, is_json=output == "json"), output)


@partial(
    on_stores_alone,
    instead="a server forgets by itself, every hour: set `retention` in the options of a "
    "definition, or start the server with --set engine.instance_retention=P90D",
)
def prune(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            help="What ended so long ago, such as P90D; else what definitions say.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be forgotten.")
    ] = False,
    with_dead_letters: Annotated[
        bool,
        typer.Option("--with-dead-letters", help="Also what left dead letters, and those."),
    ] = False,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", metavar="NAME", help="Only instances of this tenant; else all of all."
        ),
    ] = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Forget instances that ended long ago, with all that they started.

    Of every tenant; and events, listeners, bulk operations and test runs that are kept no longer.
    The number of each is printed, and kept in the audit log with the reason.

    tenuto prune --older-than P90D --dry-run
    """
    from tenuto.cli.upkeep import PruneOptions, prune as prune_it

    options = PruneOptions(
        older_than=older_than,
        dry_run=dry_run,
        with_dead_letters=with_dead_letters,
        tenant=tenant,
        reason=reason,
    )
    perform(lambda: prune_it(store, options, is_json=output == "json"), output)


@of_no_tenant
def doctor(*, store: Store = STORE, output: Output = "table") -> None:
    """Check this machine, its store or its server, and advise on problems.

    tenuto doctor --server http://127.0.0.1:8484
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli.doctor import examine

        return await examine(backend, is_json=output == "json")

    perform_on(store, work, output)
