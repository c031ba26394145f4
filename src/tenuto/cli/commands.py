"""The commands, as they are listed; each has its options in a file, and what it does in another."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto import __version__
from tenuto.cli import (
    instance_commands,
    looking_commands,
    serve_commands,
    start_commands,
    upkeep_commands,
)
from tenuto.cli.access_commands import audit, keys
from tenuto.cli.config_commands import config
from tenuto.cli.event_commands import events
from tenuto.cli.letter_commands import dead_letters
from tenuto.cli.listeners import subscriptions, webhooks
from tenuto.cli.places import offer_servers
from tenuto.cli.run_command import run
from tenuto.cli.usage import Commands
from tenuto.cli.worker_command import worker

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
app.command()(start_commands.deploy)
app.command()(start_commands.start)
app.command()(start_commands.logs)
app.command()(serve_commands.serve)
app.command()(serve_commands.dev)
app.command()(worker)
app.command()(looking_commands.validate)
app.command("list")(looking_commands.list_)
app.command()(looking_commands.show)
app.command()(instance_commands.cancel)
app.command()(instance_commands.pause)
app.command()(instance_commands.resume)
app.command()(instance_commands.retry)
app.command()(instance_commands.decide)
app.command()(instance_commands.rerun)
app.command()(upkeep_commands.verify)
app.command()(upkeep_commands.migrate)
app.command()(upkeep_commands.reindex)
app.command()(upkeep_commands.prune)
app.command()(looking_commands.explain)
app.command()(looking_commands.doctor)

app.add_typer(events, name="events")
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(webhooks, name="webhooks")
app.add_typer(subscriptions, name="subscriptions")
app.add_typer(keys, name="keys")
app.add_typer(audit, name="audit")
app.add_typer(config, name="config")

offer_servers(
    app,
    not_for=frozenset({"serve", "dev", "config show"}),
    refused_by=frozenset({"verify", "migrate", "reindex", "prune"}),
)
