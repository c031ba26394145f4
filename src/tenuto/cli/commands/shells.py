"""`tenuto completion`, and its argument."""

from __future__ import annotations

from typing import Annotated, Literal

import typer


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")
    ],
) -> None:
    """Print the script with which a shell completes commands, ids, statuses and names.

    source <(tenuto completion bash)

    tenuto completion fish > ~/.config/fish/completions/tenuto.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(
        get_completion_script(prog_name="tenuto", complete_var="_TENUTO_COMPLETE", shell=shell)
    )
