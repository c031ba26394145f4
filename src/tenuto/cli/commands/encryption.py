"""`tenuto encryption`: keys that encrypt stored values, and their rotation."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.commands.options import Output, perform

encryption = typer.Typer(
    name="encryption",
    help="Keys that encrypt what is stored: make one, see which are in use, rotate.",
    no_args_is_help=True,
)


@encryption.command("generate")
def generate(
    id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The id of the key; else of this day, 2026-11-30."),
    ] = None,
    *,
    output: Output = "table",
) -> None:
    """Make an encryption key and print it; it is stored nowhere.

    export TENUTO_ENCRYPTION_KEYS="$(tenuto encryption generate)"

    Keys are named one after the other, with commas between them; the first one encrypts.
    """

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json
        from tenuto.encryption.key_ring import new_key
        from tenuto.ports import SystemClock

        key = new_key(id or SystemClock().now().date().isoformat())
        if output == "json":
            show_json({"id": key.id, "key": key.text})
        else:
            show(key.text)
        return exits.DONE

    perform(work, output)
