"""`tenuto validate`, `list`, `show`, `explain` and `doctor`, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import ListOutput, Output, Store, perform


def validate(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The definition: a .json file, or FILE.py[:NAME]."),
    ],
    *,
    output: Output = "table",
) -> None:
    """Find everything that is wrong with a definition.

    tenuto validate order.json

    tenuto validate flows.py
    """
    from tenuto.cli.validating import validate as validate_it

    perform(lambda: validate_it(file, is_json=output == "json"), output)


def list_(
    *,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", help="Only of this status; may be given several times."),
    ] = None,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="Only of this definition.")
    ] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(
            "--variable",
            metavar="NAME=VALUE",
            help="Only those in which a searchable variable of --workflow has this value, "
            "as JSON or text; may be given several times.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 20,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List instances, newest first.

    tenuto list --status FAILED

    tenuto list --workflow order --variable input.orderId=7
    """
    from tenuto.cli.views.instances import Which, list_instances

    which = Which(status or [], workflow, variable or [])
    perform(lambda: list_instances(store, which, limit, output), output)


def show(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE",
            help="An instance: its id or how it begins, @last or @last-failed; or a definition.",
        ),
    ],
    *,
    as_: Annotated[
        Literal["graph", "json", "mermaid"] | None,
        typer.Option("--as", help="How a definition is shown."),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show the whole log.")] = False,
    undo_plan: Annotated[
        bool, typer.Option("--undo-plan", help="Show what cancelling it would undo.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show one instance, or the definition in a file.

    Of an instance its steps, waits, last error and output; --history adds the log, --undo-plan what
    would be undone if it were cancelled now, in which order and with which input. Of a
    definition (a .json file, or FILE.py[:NAME]) its graph; --as json gives the document that
    would be deployed, --as mermaid a picture for Markdown.

    tenuto show @last --history

    tenuto show flows.py:order_flow --as mermaid
    """
    from tenuto.cli.views.definition import is_definition, show_definition
    from tenuto.cli.views.instance import show_instance

    if as_ is not None or is_definition(instance):
        form = as_ or ("json" if output == "json" else "graph")
        perform(lambda: show_definition(Path(instance), form), output)
    perform(
        lambda: show_instance(
            store,
            instance,
            with_history=history,
            with_undo_plan=undo_plan,
            is_json=output == "json",
        ),
        output,
    )


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CODE|ID",
            help="A code such as TEN-1042; or an instance: its id or how it begins, @last or "
            "@last-failed.",
        ),
    ],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Explain an error code, or why an instance is not moving."""
    from tenuto.cli.views.explanation import explain as explain_it

    perform(lambda: explain_it(store, what, is_json=output == "json"), output)


def doctor(*, store: Store = STORE, output: Output = "table") -> None:
    """Find what is wrong with this machine, its store or its server, and say what to do.

    tenuto doctor --server http://127.0.0.1:8484
    """
    from tenuto.cli.doctor import doctor as look

    perform(lambda: look(store, is_json=output == "json"), output)
