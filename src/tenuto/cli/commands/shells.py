"""`tenuto completion`, and its argument."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")
    ],
    *,
    output: Annotated[
        Literal["text", "json"], typer.Option("--output", "-o", help="Output format.")
    ] = "text",
) -> None:
    """Print the script with which a shell completes commands, ids, statuses and names.

    source <(tenuto completion bash)

    tenuto completion fish > ~/.config/fish/completions/tenuto.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="tenuto", complete_var="_TENUTO_COMPLETE", shell=shell)
    if output == "json":
        from tenuto.cli.views.terminal import show_json

        show_json({"shell": shell, "script": script})
    else:
        typer.echo(script)
