"""`tenuto config`, and the options by which a service is configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

import typer

from tenuto.cli.commands.options import Output, perform

config = typer.Typer(help="What a service is configured to do.", no_args_is_help=True)

Host = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="0 takes one that is free."),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks", metavar="MODULE|FILE", help="Where tasks are; may be given several times."
    ),
]
ServedStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store: sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/DATABASE.",
    ),
]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option("--log-format", help="How lines are written.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings in TOML; else tenuto.toml, if it is there."
    ),
]
Chosen = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting, such as engine.jobs_every=1; may be given several times.",
    ),
]


class Flags(NamedTuple):
    """What the command line says; None: nothing."""

    host: str | None = None
    port: int | None = None
    tasks: list[str] | None = None
    store: str | None = None
    log_format: str | None = None
    file: Path | None = None
    chosen: list[str] | None = None
    access: Mapping[str, object] = MappingProxyType({})
    """Who may ask, by the names of the settings."""


def access_flags(**flags: object) -> Mapping[str, object]:
    """Those that were given; an option that may be repeated and was not is None or empty."""
    return {name: value for name, value in flags.items() if value is not None and value != []}


@config.command("show")
def show_config(
    *,
    host: Host = None,
    port: Port = None,
    tasks: Tasks = None,
    store: ServedStore = None,
    log_format: LogFormat = None,
    config: ConfigFile = None,
    chosen: Chosen = None,
    output: Output = "table",
) -> None:
    """Show each setting, and who says so: a flag, a variable, a line of a file, or nobody.

    tenuto config show --config production.toml
    """
    from tenuto.cli.settings import show_settings

    flags = Flags(host, port, tasks, store, log_format, config, chosen)
    perform(lambda: show_settings(flags, is_json=output == "json"), output)
