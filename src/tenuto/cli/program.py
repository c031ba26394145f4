"""The program: its commands in the order in which help lists them.

Of a command that is named, its own module is loaded and no other. Groups are found in the modules
of `tenuto.cli.commands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Final, Literal

import typer

from tenuto import __version__
from tenuto.cli import commands
from tenuto.cli.commands.group import Commands, offer_servers, words_of

_COMMANDS: Final = {
    "init": ("project", "init"),
    "run": ("run", "run"),
    "deploy": ("definitions", "deploy"),
    "start": ("instances", "start"),
    "logs": ("instances", "logs"),
    "history": ("instances", "history"),
    "serve": ("service", "serve"),
    "dev": ("service", "dev"),
    "worker": ("worker", "worker"),
    "validate": ("definitions", "validate"),
    "schema": ("definitions", "schema"),
    "eval": ("evaluation", "eval_"),
    "list": ("instances", "list_"),
    "show": ("instances", "show"),
    "stats": ("stats", "stats"),
    "cancel": ("control", "cancel"),
    "pause": ("control", "pause"),
    "resume": ("control", "resume"),
    "retry": ("control", "retry"),
    "decide": ("decisions", "decide"),
    "skip-delay": ("decisions", "skip_delay"),
    "rerun": ("reruns", "rerun"),
    "verify": ("upkeep", "verify"),
    "migrate": ("upkeep", "migrate"),
    "reindex": ("upkeep", "reindex"),
    "prune": ("upkeep", "prune"),
    "explain": ("instances", "explain"),
    "doctor": ("upkeep", "doctor"),
    "completion": ("shells", "completion"),
}
"""The commands outside of groups: the module and the function of each."""

_FIRST: Final = (
    *("events", "dead-letters", "bulk", "workflows", "tasks", "workers"),
    *("webhooks", "subscriptions", "keys", "audit", "config"),
)
"""The order of these groups; others follow by name."""

_MODULES: Final = {
    "audit": ("access",),
    "concurrency": ("limits",),
    "config": ("service", "profiles"),
    "keys": ("access",),
    "queue": ("limits",),
    "subscriptions": ("listeners",),
    "views": ("saved_views",),
    "webhooks": ("listeners",),
}
"""The modules of groups that are not named after their module."""


def program(words: Sequence[str] = ()) -> typer.Typer:
    """The program for a command line of these words: the command that is named, else all."""
    app = _without_commands()
    named = words[0] if words else ""
    if named == "--version":
        return app
    if named in _COMMANDS:
        _add(app, named)
    elif (group := _group(named)) is not None:
        app.add_typer(group)
    else:
        for name in _COMMANDS:
            _add(app, name)
        for group in _groups():
            app.add_typer(group)
    offer_servers(app)
    return app


def _without_commands() -> typer.Typer:
    app = typer.Typer(
        name="tenuto",
        cls=Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(tenuto)
    return app


def _add(app: typer.Typer, name: str) -> None:
    module, function = _COMMANDS[name]
    app.command(name)(getattr(_loaded(module), function))


def _group(name: str) -> typer.Typer | None:
    """The group with this name, from its own modules."""
    modules = _MODULES.get(name, (name.replace("-", "_"),))
    if not {*modules} <= {*_names()}:
        return None
    return _groups_in(modules).get(name)


def _groups() -> list[typer.Typer]:
    groups = _groups_in(_names())
    places = {name: place for place, name in enumerate(_FIRST)}
    order = sorted(groups, key=lambda name: (places.get(name, len(places)), name))
    return [groups[name] for name in order]


def _groups_in(modules: Sequence[str]) -> dict[str, typer.Typer]:
    return {
        str(each.info.name): each
        for module in [_loaded(name) for name in modules]
        for each in vars(module).values()
        if isinstance(each, typer.Typer)
    }


def _names() -> list[str]:
    return [each.name for each in iter_modules(commands.__path__)]


def _loaded(module: str) -> object:
    return import_module(f"{commands.__name__}.{module}")


def _version_alone(ctx: typer.Context, is_asked: bool) -> bool:  # noqa: FBT001 - typer calls it
    """Show it before the parser loads pydantic for the value of another option."""
    if is_asked and words_of(ctx) == ("--version",) and not ctx.resilient_parsing:
        _show_version(is_json=False)
        raise typer.Exit
    return is_asked


def tenuto(
    ctx: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version_alone,
            is_eager=True,
            help="Show the version; with -o json as JSON.",
        ),
    ] = False,
    output: Annotated[
        Literal["table", "json"] | None, typer.Option("--output", "-o", hidden=True)
    ] = None,
) -> None:
    """Durable workflows: what has started reaches its end.

    tenuto init shop && cd shop && tenuto dev

    tenuto run order.json --input '{"orderId": 7}'
    """
    if version:
        _show_version(is_json=output == "json")
        raise typer.Exit
    if output is not None:
        raise typer.BadParameter(
            "it is an option of each command: write it after the command, as in "
            "`tenuto list -o json`",
            param_hint="-o",
        )
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")


def _show_version(*, is_json: bool) -> None:
    if not is_json:
        typer.echo(f"tenuto {__version__}")
        return
    import platform

    from tenuto.cli.views.terminal import show_json

    show_json({"version": __version__, "python": platform.python_version()})
