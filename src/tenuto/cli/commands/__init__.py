"""The commands, in the order in which help lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto import __version__
from tenuto.cli.commands import control, definitions, instances, service, upkeep
from tenuto.cli.commands.access import audit, keys
from tenuto.cli.commands.dead_letters import dead_letters
from tenuto.cli.commands.events import events
from tenuto.cli.commands.group import Commands, offer_servers
from tenuto.cli.commands.listeners import subscriptions, webhooks
from tenuto.cli.commands.run import run
from tenuto.cli.commands.worker import worker

app = typer.Typer(
    name="tenuto",
    cls=Commands,
    help="Durable workflows: what has started reaches its end.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(is_asked: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if is_asked:
        typer.echo(f"tenuto {__version__}")
        raise typer.Exit


@app.callback()
def tenuto(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Durable workflows: what has started reaches its end."""


app.command()(run)
app.command()(definitions.deploy)
app.command()(instances.start)
app.command()(instances.logs)
app.command()(service.serve)
app.command()(service.dev)
app.command()(worker)
app.command()(definitions.validate)
app.command("list")(instances.list_)
app.command()(instances.show)
app.command()(control.cancel)
app.command()(control.pause)
app.command()(control.resume)
app.command()(control.retry)
app.command()(control.decide)
app.command()(control.rerun)
app.command()(upkeep.verify)
app.command()(upkeep.migrate)
app.command()(upkeep.reindex)
app.command()(upkeep.prune)
app.command()(instances.explain)
app.command()(upkeep.doctor)

app.add_typer(events, name="events")
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(webhooks, name="webhooks")
app.add_typer(subscriptions, name="subscriptions")
app.add_typer(keys, name="keys")
app.add_typer(audit, name="audit")
app.add_typer(service.config, name="config")

offer_servers(
    app,
    not_for=frozenset({"serve", "dev", "config show"}),
    refused_by=frozenset({"verify", "migrate", "reindex", "prune"}),
)
