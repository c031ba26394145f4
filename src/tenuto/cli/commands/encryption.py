"""`tenuto encryption`: keys that encrypt stored values, and their rotation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.group import of_no_tenant, on_stores_alone
from tenuto.cli.commands.options import Output, Store, perform

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
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="Write it there, before the keys that are in it."
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Make an encryption key, and print it or write it into a file of keys.

    tenuto encryption generate --file keys.txt

    The variable TENUTO_ENCRYPTION_KEYS has the same text. Keys are named one after the other, with
    commas between them; the first one encrypts.
    """

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json
        from tenuto.encryption.key_ring import new_key
        from tenuto.ports import SystemClock

        key = new_key(id or SystemClock().now().date().isoformat())
        if file is not None:
            from tenuto.cli.key_files import put_first

            ids = put_first(file, key)
            if output == "json":
                show_json({"id": key.id, "file": str(file), "ids": [*ids]})
            else:
                show(
                    f"{key.id} is the first of {len(ids)} in {file}"
                    if ids[1:]
                    else f"{key.id} written to {file}"
                )
        elif output == "json":
            show_json({"id": key.id, "key": key.text})
        else:
            show(key.text)
        return exits.DONE

    perform(work, output)


@encryption.command("status")
@of_no_tenant
@on_stores_alone
def show_status(*, store: Store = STORE, output: Output = "table") -> None:
    """Count the encrypted values of each key; reads every row that may have one."""
    from tenuto.cli.encryption import show_status as show_it

    perform(lambda: show_it(store, is_json=output == "json"), output)


@encryption.command("reencrypt")
@of_no_tenant
@on_stores_alone
def encrypt_again(*, store: Store = STORE, output: Output = "table") -> None:
    """Encrypt all encrypted values with the current key.

    Beside running processes, which have to know that key. It may be stopped and started again: what
    is done stays done. A key of which nothing is left may be removed.
    """
    from tenuto.cli.encryption import encrypt_again as do_it

    perform(lambda: do_it(store, is_json=output == "json"), output)
