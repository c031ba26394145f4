"""The commands and their options; what each does is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from tenuto import __version__
from tenuto.cli.access_commands import audit, keys
from tenuto.cli.config_commands import (
    Chosen,
    ConfigFile,
    Flags,
    Host,
    LogFormat,
    Port,
    ServedStore,
    Tasks,
    access_flags,
    config as config_commands,
)
from tenuto.cli.defaults import STORE
from tenuto.cli.letter_commands import dead_letters
from tenuto.cli.listeners import subscriptions, webhooks
from tenuto.cli.options import (
    AllowHost,
    AllowOrigin,
    Auth,
    Instance,
    ListOutput,
    OidcAudience,
    OidcIssuer,
    OidcPrivate,
    Output,
    RateLimit,
    SourceRateLimit,
    Store,
    perform,
)
from tenuto.cli.places import ServerUrl, offer_servers
from tenuto.cli.start_commands import deploy, logs, start

app = typer.Typer(
    name="tenuto",
    help="Durable workflows: what has started reaches its end.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
events = typer.Typer(
    help="Send events to waiting workflows, and look at them.", no_args_is_help=True
)
app.add_typer(events, name="events")
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(webhooks, name="webhooks")
app.add_typer(subscriptions, name="subscriptions")
app.add_typer(keys, name="keys")
app.add_typer(audit, name="audit")
app.add_typer(config_commands, name="config")

Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the log.")]


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


@app.command()
def run(  # noqa: PLR0913 - one for each option
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The definition: a .json file, or FILE.py[:NAME]."),
    ] = None,
    *,
    input: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="The workflow's input."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            metavar="MODULE|FILE",
            help="Where the tasks are; may be given several times. Default: tasks.py beside FILE.",
        ),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option("--instance", metavar="ID", help="Go on with this instance, start none."),
    ] = None,
    outstanding: Annotated[
        bool,
        typer.Option("--outstanding", help="Go on with all that has not ended, start none."),
    ] = False,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Start at most one instance under this key."),
    ] = None,
    correlation_id: Annotated[
        str | None,
        typer.Option("--correlation-id", metavar="ID", help="What else the instance belongs to."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0, help="Watch no longer than this."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Run a workflow and watch it to its end.

    Progress goes to stderr, the workflow's output as JSON to stdout (with -o json the whole
    instance). Steps whose tasks are not here are left to a process that has them.

    tenuto run order.json --input '{"orderId": 7}'

    tenuto run flows.py:order_flow --input '{"orderId": 7}'

    tenuto run order.json --instance @last
    """
    _one_of(file, instance, outstanding=outstanding, input=input)
    if outstanding:
        if isinstance(store, ServerUrl):
            raise typer.BadParameter("a server goes on with all that has not ended by itself")
        from tenuto.cli.outstanding import go_on

        perform(lambda: go_on(store, tasks or [], file, timeout), output)
    from tenuto.cli.running import Wish, run as run_it
    from tenuto.cli.sources import read_json

    async def work() -> int:
        return await run_it(
            Wish(
                store=store,
                file=file,
                input=None if input is None else read_json(input, "--input"),
                instance=instance,
                tasks=tasks or [],
                timeout=timeout,
                key=key,
                correlation_id=correlation_id,
                is_json=output == "json",
            )
        )

    perform(work, output)


app.command()(deploy)
app.command()(start)
app.command()(logs)


@app.command()
def serve(  # noqa: PLR0913 - one for each option
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
) -> None:
    """Serve the API over HTTP, and run workflows.

    Steps whose tasks are not here wait for a process that has them.

    tenuto serve --store postgresql://tenuto@db/tenuto --tasks orders.tasks
    """
    access = access_flags(
        auth=auth,
        oidc_issuer=oidc_issuer,
        oidc_audience=oidc_audience,
        oidc_private=oidc_private,
        allow_origin=allow_origin,
        allow_host=allow_host,
        rate_limit=rate_limit,
        source_rate_limit=source_rate_limit,
    )
    _serve(Flags(host, port, tasks, store, log_format, config, chosen, access), [])


@app.command()
def dev(  # noqa: PLR0913 - one for each option
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Definitions to deploy: .json, or FILE.py."),
    ] = None,
    *,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="WORKFLOW=JSON",
            help="Begin an instance, once; may be given several times.",
        ),
    ] = None,
    reload: Annotated[
        bool, typer.Option(help="Begin again when a file beside the definitions changes.")
    ] = True,
    listener: Annotated[int | None, typer.Option(hidden=True)] = None,
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
) -> None:
    """Serve everything from this machine, for whoever works on it.

    A change of a definition or of a task is there as soon as its file is written; what was under
    way goes on.

    tenuto dev order.json --tasks tasks.py
    """
    access = access_flags(
        auth=auth,
        oidc_issuer=oidc_issuer,
        oidc_audience=oidc_audience,
        oidc_private=oidc_private,
        allow_origin=allow_origin,
        allow_host=allow_host,
        rate_limit=rate_limit,
        source_rate_limit=source_rate_limit,
    )
    flags = Flags(host, port, tasks, store, log_format, config, chosen, access)
    if reload and listener is None:
        from tenuto.cli import guard
        from tenuto.cli.configuring import effective
        from tenuto.cli.reloading import serve_and_reload

        async def serve_again_and_again() -> int:
            settings = effective(flags).config
            return await serve_and_reload(settings.host, settings.port, files or [], settings.tasks)

        raise typer.Exit(guard.perform(serve_again_and_again, is_json=False))
    _serve(flags, files or [], listener=listener, starts=start or [])


@app.command()
def worker(
    modules: Annotated[
        list[str], typer.Argument(metavar="MODULE|FILE...", help="Where the tasks are.")
    ],
    *,
    server: Annotated[
        str, typer.Option("--server", envvar="TENUTO_SERVER", metavar="URL", help="The service.")
    ] = "http://127.0.0.1:8484",
    key: Annotated[
        str | None,
        typer.Option(
            "--key", envvar="TENUTO_KEY", show_envvar=True, help="An API key of the service."
        ),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", min=1, max=10_000, help="So many tasks run at once."),
    ] = 50,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=1_000, help="So many are claimed at once.")
    ] = 50,
    lease: Annotated[
        float,
        typer.Option(
            "--lease",
            metavar="SECONDS",
            min=1,
            max=3600,
            help="After so long without a word from this worker its tasks go to others.",
        ),
    ] = 30,
    grace: Annotated[
        float,
        typer.Option(
            "--grace", metavar="SECONDS", min=0, help="How long running tasks have when it stops."
        ),
    ] = 10,
) -> None:
    """Pull tasks from a service, and run them here.

    It needs no store. What it does not finish, because it is killed or cut off, comes back to
    others when its lease is over.

    tenuto worker orders.tasks --server https://tenuto.example.com
    """
    from tenuto.cli import guard
    from tenuto.cli.serving import fast_loop
    from tenuto.cli.working import Wish, work

    wish = Wish(
        modules=modules,
        server=server,
        key=key,
        concurrency=concurrency,
        batch=batch,
        lease=lease,
        grace=grace,
    )
    raise typer.Exit(guard.perform(lambda: work(wish), is_json=False, loop=fast_loop()))


@app.command()
def validate(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The definition: a .json file, or FILE.py[:NAME]."),
    ],
    *,
    output: Output = "table",
) -> None:
    """Find everything that is wrong with a definition.

    tenuto validate order.json

    tenuto validate flows.py
    """
    from tenuto.cli.validating import validate as validate_it

    perform(lambda: validate_it(file, is_json=output == "json"), output)


@app.command("list")
def list_(
    *,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", help="Only of this status; may be given several times."),
    ] = None,
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="Only of this definition.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 20,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List instances, newest first.

    tenuto list --status FAILED
    """
    from tenuto.cli.listing import list_instances

    perform(lambda: list_instances(store, status or [], workflow, limit, output), output)


@app.command()
def show(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE",
            help="An instance: its id or how it begins, @last or @last-failed; or a definition.",
        ),
    ],
    *,
    as_: Annotated[
        Literal["graph", "json", "mermaid"] | None,
        typer.Option("--as", help="How a definition is shown."),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show the whole log.")] = False,
    undo_plan: Annotated[
        bool, typer.Option("--undo-plan", help="Show what cancelling it would undo.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show one instance, or the definition in a file.

    Of an instance its steps, waits, last error and output; --history adds the log, --undo-plan what
    would be undone if it were cancelled now, in which order and with which input. Of a
    definition (a .json file, or FILE.py[:NAME]) its graph; --as json gives the document that
    would be deployed, --as mermaid a picture for Markdown.

    tenuto show @last --history

    tenuto show flows.py:order_flow --as mermaid
    """
    from tenuto.cli.showing import show_instance
    from tenuto.cli.showing_files import is_definition, show_definition

    if as_ is not None or is_definition(instance):
        form = as_ or ("json" if output == "json" else "graph")
        perform(lambda: show_definition(Path(instance), form), output)
    perform(
        lambda: show_instance(
            store,
            instance,
            with_history=history,
            with_undo_plan=undo_plan,
            is_json=output == "json",
        ),
        output,
    )


@app.command()
def cancel(
    instance: Instance,
    *,
    reason: Reason = None,
    no_compensation: Annotated[
        bool, typer.Option("--no-compensation", help="Leave what it has done as it is.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """End an instance.

    Running steps are told and have their grace period; what completed is undone by its compensation
    steps; then it is CANCELLED.
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import CancelAsked

    asked = CancelAsked(by="cli", reason=reason, should_compensate=not no_compensation)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


@app.command()
def pause(
    instance: Instance,
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Hold an instance.

    What runs goes on to its end and is recorded; nothing new begins.
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import PauseAsked

    asked = PauseAsked(by="cli", reason=reason)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


@app.command()
def resume(instance: Instance, *, store: Store = STORE, output: Output = "table") -> None:
    """Let a paused instance go on."""
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import ResumeAsked

    asked = ResumeAsked(by="cli")
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


@app.command()
def retry(
    instance: Instance,
    *,
    compensation: Annotated[
        str | None,
        typer.Option(
            "--compensation",
            metavar="STEP",
            help="Only this compensation step, which was given up; STEP[2] in an iteration.",
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Let a failed instance go on, or try again to undo one of its steps.

    Steps that failed, and those that the failure called off, run again; completed ones stay. The
    steps run in the process that has the store open, or in the next `tenuto run`.

    tenuto retry @last-failed

    tenuto retry @last-failed --compensation refund_payment
    """
    from tenuto.cli.commanding import command
    from tenuto.model.inputs import CompensationRetryAsked, Input, RetryAsked

    asked: Input = RetryAsked(by="cli")
    if compensation is not None:
        step, _, iteration = compensation.removesuffix("]").partition("[")
        asked = CompensationRetryAsked(by="cli", step_id=step, iteration=iteration)
    perform(lambda: command(store, instance, asked, is_json=output == "json"), output)


@app.command()
def decide(  # noqa: PLR0913 - one for each option
    instance: Instance,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="The approval; in a loop for example review[2].")
    ],
    decision: Annotated[
        str, typer.Argument(metavar="approved|rejected", help="What has been decided.")
    ],
    *,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who has decided.")],
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="A role of that person; may be given several times."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="JSON|@FILE|-", help="What the approval asks to fill in."),
    ] = None,
    iteration: Annotated[
        str, typer.Option("--iteration", metavar="N", help="In which iteration of a loop.")
    ] = "",
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Decide on an approval that an instance waits for.

    `tenuto show` lists what is open and who may decide. The same decision by the same person again
    changes nothing. Steps that follow run in the process that has the store open, or in the next
    `tenuto run`.

    tenuto decide @last review approved --by ann --form '{"limit": 500}'
    """
    from tenuto.cli.deciding import decide_on, place_of
    from tenuto.cli.sources import read_json
    from tenuto.engine.approving import decision_asked

    async def work() -> int:
        name, inside = place_of(step, iteration)
        asked = decision_asked(
            name,
            decision,
            by=by,
            roles=role or (),
            form=None if form is None else read_json(form, "--form"),
            iteration=inside,
        )
        return await decide_on(store, instance, asked, is_json=output == "json")

    perform(work, output)


@app.command()
def rerun(
    instance: Instance,
    *,
    from_step: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="What completed before it is taken over."),
    ] = None,
    input: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="Another input."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version of the definition."),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Make a new instance of one, from the beginning or from a step.

    With --from, what completed and is neither that step nor after it is taken over; the rest runs.
    The instance that is named does not change.

    tenuto rerun @last-failed --from ship
    """
    from msgspec import UNSET

    from tenuto.cli.rerunning import rerun as rerun_it
    from tenuto.cli.sources import read_json

    async def work() -> int:
        return await rerun_it(
            store,
            instance,
            from_step=from_step,
            input=UNSET if input is None else read_json(input, "--input"),
            version=version,
            is_json=output == "json",
        )

    perform(work, output)


@events.command("send")
def send(
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="For example payment.received.")
    ] = None,
    payload: Annotated[
        str | None, typer.Argument(metavar="JSON|@FILE|-", help="What the event carries.")
    ] = None,
    *,
    id: Annotated[
        str | None, typer.Option("--id", help="The event's id; the same id twice acts once.")
    ] = None,
    correlation_id: Annotated[
        str | None, typer.Option("--correlation-id", metavar="ID", help="What it belongs to.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE|-", help="One event, up to 1,000 in an array, or CloudEvents."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Store nothing; say what it would do, and nearly.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Publish an event to every instance that waits for it.

    tenuto events send payment.received '{"orderId": 7, "id": "p-1", "amount": 12}'

    tenuto events send --from payments.json
    """
    from tenuto.cli.sources import read_json

    _one_event_or_file(pattern, file, id or correlation_id)
    is_json = output == "json"

    async def work() -> int:
        if file is not None:
            document = read_json(file if file == "-" else f"@{file}", "--from")
            if not dry_run:
                from tenuto.cli.publishing import send_document

                return await send_document(store, document, is_json=is_json)
        else:
            value = None if payload is None else read_json(payload, "JSON")
            if not dry_run:
                from tenuto.cli.publishing import send_event

                return await send_event(
                    store, str(pattern), value, id, correlation_id, is_json=is_json
                )
            document = {"pattern": pattern, "payload": value, "id": id}
            document |= {"correlationId": correlation_id}
        from tenuto.cli.dry_running import dry_run_events

        return await dry_run_events(store, document, is_json=is_json)

    perform(work, output)


@events.command("show")
def show_event(
    id: Annotated[str, typer.Argument(metavar="ID", help="The event's id.")],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show an event, whom it resumed, cancelled and started, and whom nearly."""
    from tenuto.cli.event_showing import show_event

    perform(lambda: show_event(store, id, is_json=output == "json"), output)


@app.command()
def verify(*, store: Store = STORE, output: Output = "table") -> None:
    """Prove that what is stored follows from the logs.

    Folds every log from its beginning and compares with the stored state, waits and timers.
    """
    from tenuto.cli.verifying import verify_store

    perform(lambda: verify_store(store, is_json=output == "json"), output)


@app.command()
def migrate(*, store: Store = STORE, output: Output = "table") -> None:
    """Create the store, or bring its schema up to date."""
    from tenuto.cli.migrating import migrate_store

    perform(lambda: migrate_store(store, is_json=output == "json"), output)


@app.command()
def prune(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            help="What ended so long ago, such as P90D; else what definitions say.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be forgotten.")
    ] = False,
    with_dead_letters: Annotated[
        bool,
        typer.Option("--with-dead-letters", help="Also what left dead letters, and those."),
    ] = False,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", metavar="NAME", help="Only instances of this tenant; else all of all."
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Forget instances that ended long ago, with all that they started.

    Of every tenant; and events, listeners, bulk operations and test runs that are kept no longer.
    How much of each is gone is told.

    tenuto prune --older-than P90D --dry-run
    """
    from tenuto.cli.pruning import Wish, prune as prune_it

    wish = Wish(
        older_than=older_than,
        dry_run=dry_run,
        with_dead_letters=with_dead_letters,
        tenant=tenant,
    )
    perform(lambda: prune_it(store, wish, is_json=output == "json"), output)


@app.command()
def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CODE|ID",
            help="A code such as TEN-1042; or an instance: its id or how it begins, @last or "
            "@last-failed.",
        ),
    ],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Explain an error code, or why an instance is not moving."""
    from tenuto.cli.explaining import explain as explain_it

    perform(lambda: explain_it(store, what, is_json=output == "json"), output)


@app.command()
def doctor(*, store: Store = STORE, output: Output = "table") -> None:
    """Find what is wrong with this machine, its store or its server, and say what to do.

    tenuto doctor --server http://127.0.0.1:8484
    """
    from tenuto.cli.doctoring import doctor as look

    perform(lambda: look(store, is_json=output == "json"), output)


def _serve(
    flags: Flags,
    files: list[Path],
    *,
    listener: int | None = None,
    starts: list[str] | None = None,
) -> NoReturn:
    from tenuto.cli import guard
    from tenuto.cli.configuring import effective
    from tenuto.cli.serving import Wish, fast_loop, serve as serve_it

    async def work() -> int:
        wish = Wish(config=effective(flags).config, files=files, listener=listener, starts=starts)
        return await serve_it(wish)

    raise typer.Exit(guard.perform(work, is_json=False, loop=fast_loop()))


def _one_of(
    file: Path | None, instance: str | None, *, outstanding: bool, input: str | None
) -> None:
    """FILE says what to start; --instance and --outstanding say what to go on with."""
    if instance is not None and outstanding:
        raise typer.BadParameter("--instance and --outstanding exclude each other")
    if instance is None and not outstanding and file is None:
        raise typer.BadParameter(
            "name a FILE to start, or go on with --instance ID or --outstanding",
            param_hint="FILE",
        )
    if input is not None and (instance is not None or outstanding):
        raise typer.BadParameter("an instance that has started has its input already")


def _one_event_or_file(pattern: str | None, file: str | None, said: str | None) -> None:
    """PATTERN is one event's; a file says all of its own."""
    if pattern is None and file is None:
        raise typer.BadParameter("name a PATTERN, or a file with --from", param_hint="PATTERN")
    if file is not None and (pattern is not None or said is not None):
        raise typer.BadParameter("with --from the file says what each event is, its id included")


offer_servers(app, not_for=frozenset({"serve", "dev", "verify", "migrate"}))
