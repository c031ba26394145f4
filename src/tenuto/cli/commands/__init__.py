"""The commands, in the order in which help lists them; groups are found in the modules here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Literal

import typer

from tenuto import __version__
from tenuto.cli.commands import control, definitions, instances, project, service, upkeep
from tenuto.cli.commands.decisions import decide, skip_delay
from tenuto.cli.commands.evaluation import eval_
from tenuto.cli.commands.group import Commands, offer_servers, words_of
from tenuto.cli.commands.reruns import rerun
from tenuto.cli.commands.run import run
from tenuto.cli.commands.shells import completion
from tenuto.cli.commands.stats import stats
from tenuto.cli.commands.worker import worker

_FIRST = (
    *("events", "dead-letters", "bulk", "workflows", "tasks", "workers"),
    *("webhooks", "subscriptions", "keys", "audit", "config"),
)
"""The order of these groups; others follow by name."""

app = typer.Typer(
    name="tenuto",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version_alone(ctx: typer.Context, is_asked: bool) -> bool:  # noqa: FBT001 - typer calls it
    """Show it before the parser loads pydantic for the value of another option."""
    if is_asked and words_of(ctx) == ("--version",) and not ctx.resilient_parsing:
        _show_version(is_json=False)
        raise typer.Exit
    return is_asked


@app.callback(invoke_without_command=True)
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


def _groups() -> list[typer.Typer]:
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    groups = {
        str(each.info.name): each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, typer.Typer)
    }
    places = {name: place for place, name in enumerate(_FIRST)}
    order = sorted(groups, key=lambda name: (places.get(name, len(places)), name))
    return [groups[name] for name in order]


app.command()(project.init)
app.command()(run)
app.command()(definitions.deploy)
app.command()(instances.start)
app.command()(instances.logs)
app.command()(instances.history)
app.command()(service.serve)
app.command()(service.dev)
app.command()(worker)
app.command()(definitions.validate)
app.command()(definitions.schema)
app.command("eval")(eval_)
app.command("list")(instances.list_)
app.command()(instances.show)
app.command()(stats)
app.command()(control.cancel)
app.command()(control.pause)
app.command()(control.resume)
app.command()(control.retry)
app.command()(decide)
app.command()(skip_delay)
app.command()(rerun)
app.command()(upkeep.verify)
app.command()(upkeep.migrate)
app.command()(upkeep.reindex)
app.command()(upkeep.prune)
app.command()(instances.explain)
app.command()(upkeep.doctor)
app.command()(completion)

for group in _groups():
    app.add_typer(group)

offer_servers(app)
