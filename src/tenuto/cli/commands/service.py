"""`tenuto serve`, `tenuto dev` and `tenuto config`, and their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn

import typer

from tenuto.cli.commands.group import without_server
from tenuto.cli.commands.options import (
    AllowHost,
    AllowOrigin,
    Auth,
    Chosen,
    ConfigFile,
    Host,
    LogFormat,
    OidcAudience,
    OidcIssuer,
    OidcPrivate,
    Output,
    Port,
    RateLimit,
    ServedStore,
    SourceRateLimit,
    Tasks,
    perform,
)

if TYPE_CHECKING:
    from tenuto.cli.dev_files import Tolerance

config = typer.Typer(
    name="config", help="What a service is configured to do.", no_args_is_help=True
)


ServedOutput = Annotated[
    Literal["table", "json"],
    typer.Option("--output", "-o", help="How it says where it serves."),
]


class Flags(NamedTuple):
    """The flags of the command line; None: not given."""

    host: str | None = None
    port: int | None = None
    tasks: list[str] | None = None
    store: str | None = None
    log_format: str | None = None
    file: Path | None = None
    chosen: list[str] | None = None
    access: Mapping[str, object] = MappingProxyType({})
    """Who may ask, by the names of the settings."""


def read_flags(  # noqa: PLR0913 - one for each option
    *,
    host: Host = None,
    port: Port = None,
    auth: Auth = None,
    oidc_issuer: OidcIssuer = None,
    oidc_audience: OidcAudience = None,
    oidc_private: OidcPrivate = None,
    allow_origin: AllowOrigin = None,
    allow_host: AllowHost = None,
    rate_limit: RateLimit = None,
    source_rate_limit: SourceRateLimit = None,
    tasks: Tasks = None,
    store: ServedStore = None,
    log_format: LogFormat = None,
    config: ConfigFile = None,
    chosen: Chosen = None,
) -> Flags:
    """The flags of a service: each is an option of its commands."""
    access = {
        "auth": auth,
        "oidc_issuer": oidc_issuer,
        "oidc_audience": oidc_audience,
        "oidc_private": oidc_private,
        "allow_origin": allow_origin,
        "allow_host": allow_host,
        "rate_limit": rate_limit,
        "source_rate_limit": source_rate_limit,
    }
    # A repeatable one that was not given is None or empty.
    given = {name: value for name, value in access.items() if value is not None and value != []}
    return Flags(host, port, tasks, store, log_format, config, chosen, given)


def with_flags(command: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
    """The command with an option for each flag, in place of its parameter `flags`."""
    own = inspect.signature(command, eval_str=True)
    options = inspect.signature(read_flags, eval_str=True).parameters

    @wraps(command)
    def called(**values: Any) -> NoReturn:  # noqa: ANN401 - of any option
        flags = read_flags(**{name: values.pop(name) for name in options})
        command(flags=flags, **values)

    others = [each for name, each in own.parameters.items() if name != "flags"]
    called.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*others, *options.values()]
    )
    return called


@config.command("show")
@without_server
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
    """Show each setting and its origin: a flag, a variable, a line of a file, or the default.

    tenuto config show --config production.toml
    """
    from tenuto.cli.settings import show_settings

    flags = Flags(host, port, tasks, store, log_format, config, chosen)
    perform(lambda: show_settings(flags, is_json=output == "json"), output)


@without_server
@with_flags
def serve(*, output: ServedOutput = "table", flags: Flags) -> NoReturn:
    """Serve the API over HTTP, and run workflows.

    Steps whose tasks are not here wait for a process that has them. With -o json a line on stdout
    says where it serves, once it does; --log-format json is for the log.

    tenuto serve --store postgresql://tenuto@db/tenuto --tasks orders.tasks
    """
    _serve(flags, [], is_json=output == "json")


@without_server
@with_flags
def dev(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Definitions to deploy: .json, .yaml, or FILE.py."
        ),
    ] = None,
    *,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="WORKFLOW=JSON",
            help="Begin an instance, unless one is under way; may be given several times.",
        ),
    ] = None,
    output: ServedOutput = "table",
    reload: Annotated[
        bool, typer.Option(help="Begin again when a file beside the definitions changes.")
    ] = True,
    listener: Annotated[int | None, typer.Option(hidden=True)] = None,
    ready: Annotated[int | None, typer.Option(hidden=True)] = None,
    again: Annotated[bool, typer.Option("--again", hidden=True)] = False,
    flags: Flags,
) -> NoReturn:
    """Serve everything from this machine, for development.

    A change of a definition or of a task is there as soon as its file is written; what was under
    way goes on. With -o json a line on stdout says where it serves, once it does.

    tenuto dev order.json --tasks tasks.py
    """
    if reload and listener is None:
        from tenuto.cli import exits
        from tenuto.cli.reloader import serve_and_reload
        from tenuto.cli.settings import effective

        async def serve_again_and_again() -> int:
            settings = effective(flags).config
            given = files or [Path(each) for each in settings.dev.files]

            def read() -> list[Path]:
                # The file may name more by now.
                config = effective(flags).config
                named = files or [Path(each) for each in config.dev.files]
                return [*named, *(Path(each) for each in config.tasks if each.endswith(".py"))]

            return await serve_and_reload(settings, given, read)

        raise typer.Exit(exits.perform(serve_again_and_again, is_json=output == "json"))
    tolerance: Tolerance = "definitions" if again else "files"
    _serve(
        flags,
        files or [],
        listener=listener,
        ready=ready,
        tolerance=tolerance,
        starts=start or [],
        is_json=output == "json",
    )


def _serve(
    flags: Flags,
    files: list[Path],
    *,
    listener: int | None = None,
    ready: int | None = None,
    tolerance: Tolerance = "none",
    starts: list[str] | None = None,
    is_json: bool = False,
) -> NoReturn:
    from tenuto.cli import exits
    from tenuto.cli.dev_sample import FILE, START, is_sample_wanted
    from tenuto.cli.event_loop import fast_loop
    from tenuto.cli.service import ServeOptions, serve as serve_it
    from tenuto.cli.settings import effective, shown_settings

    async def work() -> int:
        found = effective(flags)
        config = found.config
        given, begun = files, starts
        if starts is not None:
            given = files or [Path(each) for each in config.dev.files]
            begun = starts or list(config.dev.start)
        is_sample = (
            starts is not None
            and not (given or begun or flags.file)
            and is_sample_wanted(config, Path())
        )
        if is_sample:
            given, begun = [FILE], [START]
        options = ServeOptions(
            config=config,
            settings=shown_settings(found),
            files=given,
            listener=listener,
            ready=ready,
            tolerance=tolerance,
            starts=begun,
            is_sample=is_sample,
            is_json=is_json,
        )
        return await serve_it(options)

    raise typer.Exit(exits.perform(work, is_json=is_json, loop=fast_loop()))
