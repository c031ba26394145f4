"""`tenuto init`, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tenuto.cli.commands.options import Output, perform


def init(
    name: Annotated[
        Path | None,
        typer.Argument(metavar="[NAME]", help="The new folder; else this one, which is empty."),
    ] = None,
    *,
    template: Annotated[
        Literal["python", "json", "worker", "fastapi"],
        typer.Option(
            "--template",
            help="A workflow in Python or JSON, with a worker of its own, or in a web application.",
        ),
    ] = "python",
    force: Annotated[
        bool,
        typer.Option("--force", help="Also in a folder that has files; replaces those in the way."),
    ] = False,
    output: Output = "table",
) -> None:
    """Make a project that runs: a workflow, tasks, a test, settings and a README.

    tenuto init shop && cd shop && tenuto dev

    tenuto init shop --template json
    """

    async def work() -> int:
        import os
        import shlex

        from tenuto.cli import exits
        from tenuto.cli.project import make_project
        from tenuto.cli.views.terminal import say, say_command, show, show_json

        folder = name or Path()
        made = make_project(folder, template, force=force)
        if output == "json":
            show_json({"folder": str(folder), "files": [str(each) for each in made]})
            return exits.DONE
        for each in made:
            show(str(each))
        say("  To see it working:")
        enter = "" if folder == Path() else f"cd {shlex.quote(os.fspath(folder))} && "
        say_command(f"{enter}tenuto dev")
        return exits.DONE

    perform(work, output)
