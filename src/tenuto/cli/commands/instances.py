"""`tenuto start`, `list`, `show`, `explain`, `logs` and `history`, and their options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    CorrelationId,
    Cursor,
    IdempotencyKey,
    Input,
    Instance,
    Limit,
    ListOutput,
    Output,
    Query,
    Reason,
    Reveal,
    Store,
    WatchTimeout,
    perform,
    perform_on,
)
from tenuto.cli.file_names import FILES

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.views.advice import Advice
    from tenuto.engine.turns.held import Held
    from tenuto.model.json import Object
    from tenuto.workspace.values import Summary

_CODE = re.compile(r"(?i:TEN-?.*)|\d{4}|(?=.*[^0-9A-Fa-f])\w+")
"""A prefix of an id that has four digits and no letter is taken for a code: write more of it."""


def start(  # noqa: PLR0913 - one for each option
    workflow: Annotated[
        str,
        typer.Argument(
            metavar="WORKFLOW",
            help="The id of a definition that is deployed.",
            autocompletion=completion.workflows,
        ),
    ],
    *,
    input: Input = None,
    key: IdempotencyKey = None,
    correlation_id: CorrelationId = None,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", help="Higher ones go first.")
    ] = 0,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            metavar="WHEN",
            help="It is ended then: a moment such as 2026-11-16T20:31Z, or in how long, such as "
            "2h.",
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="N", min=1, help="Another version than the newest."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Watch it to its end, like `tenuto run`.")
    ] = False,
    timeout: WatchTimeout = None,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Start an instance of a workflow that is deployed.

    Its steps run in the processes that work on the store, or at the server.

    tenuto start order --input '{"orderId": 7}' --server http://127.0.0.1:8484 --follow

    tenuto start order -i orderId=7 -i items='["ink"]'
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import moment_or_in
        from tenuto.cli.sources import read_input
        from tenuto.cli.views.advice import say_advice, with_warnings
        from tenuto.cli.views.outcome import if_not_worked_on, show_unseen, status_line
        from tenuto.cli.views.terminal import say, say_command, show, show_json
        from tenuto.model.errors import StoreUnavailable, TenutoError
        from tenuto.model.status import Status

        is_json = output == "json"
        due = (
            None if deadline is None else moment_or_in(deadline, backend.clock.now(), "--deadline")
        )
        started = await backend.space.start(
            workflow,
            read_input(input),
            key=key,
            correlation_id=correlation_id,
            priority=priority,
            deadline=due,
            version=version,
        )
        # It is durable now: its id is printed, whatever becomes of the next request.
        try:
            status = await started.status()
        except TenutoError as error:
            return show_unseen(started.id, backend.flag, error, is_json=is_json)
        if follow:
            from tenuto.cli.follower import watch

            try:
                return await watch(backend, started.id, timeout=timeout, is_json=is_json)
            except StoreUnavailable as error:
                return show_unseen(started.id, backend.flag, error, is_json=is_json)
        found = [] if status.is_final else if_not_worked_on(backend, started.id)
        if is_json:
            show_json(with_warnings({"instanceId": started.id, "status": status.value}, found))
            return exits.DONE
        show(status_line(started.id, status))
        if status is Status.FAILED:
            say("  It has failed already. Why, and what to do about it:")
            say_command(f"tenuto explain {started.id}{backend.flag}")
        elif status.is_final:
            say("  It has ended already. To look at it:")
            say_command(f"tenuto show {started.id}{backend.flag}")
        elif not found:
            say("  To watch it:")
            say_command(f"tenuto history {started.id} -f{backend.flag}")
        say_advice(found)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


def logs(
    instance: Instance,
    *,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="STEP", help="Only of this step; in a loop, STEP[ITERATION]."
        ),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--attempt", metavar="N", min=1, help="Only of these attempts.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the instance has ended.")
    ] = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Print what the tasks of an instance logged and printed.

    A line has its time, step and attempt; the level, where it was logged; then the text. Lines come
    a moment after they were printed. With -o json each line is an object. The entries of the
    instance's own log are in `tenuto history`.

    tenuto logs @last-failed --step charge

    tenuto logs @last -f
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli.lookup import step_and_iteration
        from tenuto.cli.task_lines import Wanted, show_lines

        which = Wanted(attempt=attempt)
        if step is not None:
            name, iteration = step_and_iteration(step, "")
            which = Wanted(name, iteration or None, attempt)
        is_json = output == "json"
        return await show_lines(backend, instance, which, follows=follow, is_json=is_json)

    perform_on(store, work, output)


def history(
    instance: Instance,
    *,
    tail: Annotated[
        int | None,
        typer.Option("--tail", metavar="N", min=0, help="Only the last N entries, and new ones."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the instance has ended.")
    ] = False,
    reveal: Reveal = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Print the log of an instance, an entry a line.

    With -o json each line is an object with all that the entry says. What its tasks logged and
    printed is in `tenuto logs`.

    tenuto history @last -f

    tenuto history @last --tail 20
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli.follower import show_log
        from tenuto.cli.lookup import find_instance

        is_json = output == "json"
        named = instance
        if reveal:
            named = (await find_instance(backend.space, instance)).id
            await backend.reveal("get_history", named)
        return await show_log(backend, named, follows=follow, is_json=is_json, tail=tail)

    perform_on(store, work, output, reveals=reveal)


def list_(  # noqa: PLR0913 - one for each option
    *,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only of this status; may be given several times.",
            autocompletion=completion.statuses,
        ),
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option(
            "--workflow",
            metavar="ID",
            help="Only of this definition.",
            autocompletion=completion.workflows,
        ),
    ] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(
            "--variable",
            metavar="NAME=VALUE",
            help="Only those in which a searchable variable of --workflow has this value, "
            "as JSON or text; may be given several times.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="Only the one that was started with this idempotency key."
        ),
    ] = None,
    roots: Annotated[
        bool, typer.Option("--roots", help="Only those that are no children of others.")
    ] = False,
    parent: Annotated[
        str | None,
        typer.Option(
            "--parent",
            metavar="ID",
            help="Only children of this instance.",
            autocompletion=completion.ids,
        ),
    ] = None,
    updated_since: Annotated[
        str | None,
        typer.Option(
            "--updated-since",
            metavar="TIME",
            help="Only those that changed since then, in the order of change: a moment such as "
            "2026-11-16T20:31Z, or how long ago, such as 2h.",
        ),
    ] = None,
    waiting_for: Annotated[
        str | None,
        typer.Option(
            "--waiting-for",
            metavar="PATTERN",
            help="Only those with an open wait for this event.",
            autocompletion=completion.patterns,
        ),
    ] = None,
    query: Query = None,
    view: Annotated[
        str | None,
        typer.Option(
            "--view",
            metavar="NAME",
            help="Those of a saved view: `tenuto views list`.",
            autocompletion=completion.views,
        ),
    ] = None,
    inputs: Annotated[bool, typer.Option("--inputs", help="With the input of each.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    reveal: Reveal = False,
    store: Store = STORE,
    output: ListOutput = "table",
) -> None:
    """List instances, newest first.

    A search (-q) has words such as status:failed,cancelled workflow:order step:charge
    correlation:ORD-17 key:order-17 event:order.paid parent:ID var.region=eu since:1h
    before:2026-11-01 changed-since:15m is:any text:"card declined", and instance ids. It finds
    roots only, unless is:any is among them. A text is looked for in the workflow, the correlation
    id, open steps, the error and the cancellation of the newest instances.

    tenuto list --status FAILED

    tenuto list -q 'status:failed workflow:order since:1d text:declined'

    tenuto list --workflow order --variable input.orderId=7

    tenuto list --roots --updated-since 2h --waiting-for order.paid
    """
    flags = (status, workflow, variable, key, roots, parent, updated_since, waiting_for)
    if [bool(query), bool(view), any(flags)].count(True) > 1:
        raise typer.BadParameter(
            "instances are found by options, by a search, or by a view: give one of the three",
            param_hint="--query, --view",
        )

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import (
            find_instance,
            moment_or_ago,
            refuse_unknown_workflow,
            status_filter,
            variable_filter,
        )
        from tenuto.cli.search import read_search
        from tenuto.cli.searched_list import inputs_of, searched_page, viewed
        from tenuto.cli.views.idle import if_idle
        from tenuto.cli.views.instances import instances_table, summary_json
        from tenuto.cli.views.pages import show_page
        from tenuto.workspace.values import ANY_INSTANCE, InstanceFilter

        if reveal:
            await backend.reveal("list_instances", "")
        now = backend.clock.now()
        which = InstanceFilter(
            status=status_filter(status or ()),
            workflow=workflow,
            key=key,
            updated_from=None
            if updated_since is None
            else moment_or_ago(updated_since, now, "--updated-since"),
            waiting_for=waiting_for,
            roots=roots,
            parent_id=None if parent is None else (await find_instance(backend.space, parent)).id,
        )
        wanted = variable_filter(variable or ())
        search = query or viewed(view, is_default_wanted=not any(flags) and output == "table")
        if search is not None:
            which, wanted = read_search(search, now)
        page = await searched_page(backend.space, which, wanted, limit=limit, cursor=cursor)
        if not page.items:
            await refuse_unknown_workflow(backend.space, which.workflow)
        given = await inputs_of(backend.space, page.items) if inputs else None
        like_that = "" if which == ANY_INSTANCE and not wanted else " like that"
        flag = backend.flag
        are_open = any(not each.status.is_final for each in page.items)
        show_page(
            page,
            output,
            warnings=await if_idle(backend) if are_open else (),
            table=lambda found: instances_table(found, now, given),
            item=lambda each: summary_json(each, given),
            nothing=f"no instances{like_that} in {backend.described}",
            then=[f"tenuto list{flag}"]
            if like_that
            else [f"tenuto start WORKFLOW --input JSON{flag}", f"tenuto run FILE{flag}"],
        )
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


def show(  # noqa: PLR0913 - one for each option
    instance: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE",
            help="An instance: its id or how it begins, @last or @last-failed; or a definition.",
            autocompletion=completion.ids,
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
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of its failure.")
    ] = False,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="STEP", help="Show one step; in a loop, also STEP[ITERATION]."
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="N", min=1, help="Show it as it was after entry N of its log."
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Show every step, however many there are.")
    ] = False,
    reveal: Reveal = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Show one instance, a step of it, or the definition in a file.

    Of an instance its steps, waits, last error and output; --history adds the log, --undo-plan what
    would be undone if it were cancelled now, in which order and with which input, --traceback how
    the task that failed got there. --step shows what one step was given and gave, its error, each
    attempt, and its iterations in a loop; what is long is cut, -o json shows all of it. --at shows
    the instance as it was after an entry of its log, which `tenuto history` numbers. Of more
    than 40 steps, long stretches at rest are counted on one line; --all shows each. Texts in fields
    such as password or token are masked unless --reveal is given. Of a definition (a .json or .yaml
    file, or FILE.py[:NAME]) its graph; --as json gives the document that would be deployed, --as
    mermaid a picture for Markdown.

    tenuto show @last --history

    tenuto show @last-failed --step charge

    tenuto show flows.py:order_flow --as mermaid
    """
    if as_ is not None or instance.endswith(FILES) or ".py:" in instance:
        form = as_ or ("json" if output == "json" else "graph")

        async def show_file() -> int:
            from tenuto.cli import exits
            from tenuto.cli.sources import read_source
            from tenuto.cli.views.definition import show_definition

            show_definition(read_source(Path(instance)), form)
            return exits.DONE

        perform(show_file, output)

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.explained_policies import policies_of
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.past import cut_loops, held_after, turns_of_cut_loops
        from tenuto.cli.task_lines import logs_of_failure
        from tenuto.cli.views.advice import with_warnings
        from tenuto.cli.views.instance import instance_json, show_instance
        from tenuto.cli.views.masking import masked_object
        from tenuto.cli.views.terminal import show_json

        shown = await find_instance(backend.space, instance)
        if reveal:
            await backend.reveal("get_instance", shown.id)
        found = backend.space.at(shown.id)
        log = None
        if step is not None or history or at is not None:
            held, log = await backend.held_with_log(found.id)
        else:
            held = await backend.held(found.id)
        if at is not None:
            held = held_after(held, log or [], at)
            log = (log or [])[:at]
        if step is not None:
            return _show_step(held, log or [], step, backend.flag, is_json=output == "json")
        if at is not None:
            _show_past(held, log or [], with_log=history, all_steps=all_, is_json=output == "json")
            return exits.DONE
        foreseen = await found.undo_plan() if undo_plan else None
        near = await backend.near_events(held)
        explained = await found.explain()
        if output == "json":
            warnings = await _warnings(backend, explained)
            view = instance_json(held, near, foreseen=foreseen, history=log)
            show_json(with_warnings(masked_object(view), warnings))
        else:
            now = backend.clock.now()
            entries = log
            if entries is None:
                entries = await found.history() if cut_loops(held.state) else []
            logs = await logs_of_failure(backend, held)
            show_instance(
                held,
                near,
                now,
                foreseen=foreseen,
                history=log,
                with_traceback=traceback,
                logs=logs,
                policies=policies_of(held.plan, explained),
                turns=turns_of_cut_loops(held, entries),
                all_steps=all_,
            )
            await _say_what_to_do(backend, shown, explained)
        return exits.DONE

    perform_on(store, work, output, reveals=reveal)


def _show_past(
    held: Held, log: list[Object], *, with_log: bool, all_steps: bool, is_json: bool
) -> None:
    """The instance as it was after the last of these entries; what to do now is not about that."""
    from tenuto.cli.past import turns_of_cut_loops
    from tenuto.cli.views.instance import instance_json, show_instance
    from tenuto.cli.views.masking import masked_object
    from tenuto.cli.views.terminal import say, show_json
    from tenuto.model.durations import iso

    history = log if with_log else None
    if is_json:
        show_json(masked_object(instance_json(held, {}, foreseen=None, history=history)))
        return
    then = held.state.updated_at
    say(f"as it was after entry {len(log)} of its log, {iso(then)}", style="dim")
    turns = turns_of_cut_loops(held, log)
    show_instance(held, {}, then, foreseen=None, history=history, turns=turns, all_steps=all_steps)


def _show_step(held: Held, log: list[Object], text: str, flag: str, *, is_json: bool) -> int:
    import shlex

    from tenuto.cli import exits
    from tenuto.cli.lookup import step_and_iteration
    from tenuto.cli.step_details import commands_further, refuse_unknown, step_details
    from tenuto.cli.views.masking import masked_object
    from tenuto.cli.views.step import show_step
    from tenuto.cli.views.terminal import as_called, show_json

    step, iteration = step_and_iteration(text, "")
    refuse_unknown(held.plan, step)
    id = held.state.id
    found = step_details(held, log, step, iteration)
    logs = f"tenuto logs {id} --step {shlex.quote(text)}{flag}"
    further = [f"{command}{flag}" for command in commands_further(found)]
    if is_json:
        show_json({**masked_object(found), "logs": logs, "further": [*further]})
    else:
        show_step(found, as_called(logs), [as_called(command) for command in further])
    return exits.DONE


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CODE|ID",
            help="A code such as TEN-1042 or TIMEOUT; or an instance: its id or how it begins, "
            "@last or @last-failed.",
            autocompletion=completion.ids,
        ),
    ],
    *,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Explain an error code, or why an instance is not moving."""

    async def show_explained_code(code: str) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.explanation import code_json, find_code, show_code
        from tenuto.cli.views.terminal import show_json

        number, found = find_code(code)
        if output == "json":
            show_json(code_json(number, found))
        else:
            show_code(number, found)
        return exits.DONE

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.views.advice import with_warnings
        from tenuto.cli.views.explanation import show_explanation
        from tenuto.cli.views.terminal import show_json

        shown = await find_instance(backend.space, what)
        explained = await backend.space.at(shown.id).explain()
        if output == "json":
            show_json(with_warnings(explained, await _warnings(backend, explained)))
        else:
            show_explanation(explained, backend.clock.now())
            await _say_what_to_do(backend, shown, explained)
        return exits.DONE

    if _CODE.fullmatch(what.strip()):
        perform(lambda: show_explained_code(what), output)
    perform_on(store, work, output)


async def _say_what_to_do(backend: Backend, shown: Summary, explained: Object) -> None:
    """Tell people whether anything works on an instance, and the commands that lead on."""
    from tenuto.cli.next_steps import say_next_steps
    from tenuto.cli.views.advice import say_advice

    say_advice(await _warnings(backend, explained))
    await say_next_steps(backend, shown, explained)


async def _warnings(backend: Backend, explained: Object) -> list[Advice]:
    """That nothing works on an instance, or on a task of it."""
    from tenuto.cli.views.idle import if_idle, if_not_taken
    from tenuto.model.status import read_status

    if read_status(str(explained["status"])).is_final:
        return []
    return await if_idle(backend) or if_not_taken(explained, backend.flag)
