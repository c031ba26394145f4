"""`tenuto keys` and `tenuto audit`, and their options."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import (
    JsonOutput,
    ListOutput,
    Output,
    Reason,
    RowsOutput,
    Store,
    perform_on,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from tenuto.cli.backends.backend import Backend
    from tenuto.model.json import JSON, Object

keys = typer.Typer(
    name="keys", help="API keys: who may do what at the service.", no_args_is_help=True
)
audit = typer.Typer(
    name="audit",
    help="The audit log: what was done and refused, and by which principal.",
    no_args_is_help=True,
)


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    *,
    role: Annotated[
        Literal["viewer", "operator", "editor", "admin"],
        typer.Option("--role", help="What it may do."),
    ],
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Only this of what its role may, such as instances:read or events:*; repeatable.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="MOMENT", help="When it ends: 2030-01-31T12:00:00Z, or P90D."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Also a first key that may not make others.")
    ] = False,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Make an API key, and show it this once.

    From the first key on, every request to the service needs a credential: the first one that an
    open service is asked for has to be an admin's, else no further key could be made there.

    tenuto keys create build --role operator --scope 'instances:*' --scope workflows:read
    """

    async def work(backend: Backend) -> int:
        from tenuto.access.shown import plain
        from tenuto.cli import exits
        from tenuto.cli.views.advice import Advice, say_advice, with_warnings
        from tenuto.cli.views.terminal import say, show, show_json

        if backend.is_anonymous and not (yes or _makes_keys(role, scopes)):
            # A server that is not open refuses this question, and the key with it.
            await backend.space.keys.list()
            raise _locked_out(name)
        new = await backend.space.keys.create(
            name,
            role=role,
            scopes=scopes or None,
            expires_at=_expiry(expires, backend.clock.now()),
        )
        warnings: list[Advice] = []
        if backend.is_anonymous and not _makes_keys(role, scopes):
            # The server was open, so that it took this without a credential.
            said = (
                "from now on every request needs a key, and this one may not make others: make an "
                "admin's where the store is"
            )
            warnings = [Advice(said, "tenuto keys create NAME --role admin --store URL")]
        if output == "json":
            show_json(with_warnings(new, warnings))
            return exits.DONE
        show(f"✓ key {new['id']} ({plain(str(new['name']))})")
        show(f"  {new['key']}")
        say("  It is shown this once: keep it where secrets are kept.")
        say_advice(warnings)
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@keys.command("list")
def list_keys(*, store: Store = STORE, output: ListOutput = "table") -> None:
    """List the keys of a tenant, also expired and revoked ones."""

    async def work(backend: Backend) -> int:
        from tenuto.access.shown import plain
        from tenuto.cli import exits
        from tenuto.cli.views.access import keys_table
        from tenuto.cli.views.csv_rows import show_csv
        from tenuto.cli.views.pages import say_nothing
        from tenuto.cli.views.terminal import show, show_json

        found = await backend.space.keys.list()
        if output == "json":
            show_json({"items": found, "nextCursor": None})
        elif output == "csv":
            show_csv(found)
        elif output == "id":
            for each in found:
                show(str(each["id"]))
        elif not found:
            say_nothing(
                f"no keys of {plain(backend.tenant)} in {backend.described}",
                [f"tenuto keys create NAME --role admin{backend.flag}"],
            )
        else:
            show(keys_table(found, backend.clock.now()))
        return exits.DONE

    perform_on(store, work, output)


@keys.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Revoke a key and all that were made by it: within a second no process accepts them."""

    async def work(backend: Backend) -> int:
        from contextlib import suppress

        from tenuto.access.shown import plain
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show, show_json
        from tenuto.model.errors import TenutoError

        others = await backend.space.keys.revoke(id)
        revoked: Object = {"id": id, "state": "revoked"}
        # It is done: a key that may revoke itself can list nothing any more.
        with suppress(TenutoError):
            found = await backend.space.keys.list()
            revoked = next((each for each in found if each["id"] == id), revoked)
        if output == "json":
            also: list[JSON] = [*others]
            show_json({**revoked, "alsoRevoked": also})
        else:
            name = f" ({plain(str(revoked['name']))})" if "name" in revoked else ""
            made = f", with {len(others):,} made by it" if others else ""
            show(f"✓ {plain(id)}{name} is revoked{made}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)


@audit.command("list")
def list_audit(  # noqa: PLR0913 - one for each option
    *,
    actor: Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Who.")] = None,
    action: Annotated[str | None, typer.Option("--action", metavar="NAME", help="What.")] = None,
    target: Annotated[str | None, typer.Option("--target", metavar="ID", help="To what.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="MOMENT", help="2030-01-31T12:00:00Z or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="MOMENT", help="Before then.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="At most so many.")
    ] = 50,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="CURSOR", help="Go on where another list ended."),
    ] = None,
    is_all: Annotated[bool, typer.Option("--all", help="All of them, --limit at a time.")] = False,
    store: Store = STORE,
    output: RowsOutput = "table",
) -> None:
    """List what was done and refused, newest first."""

    async def work(backend: Backend) -> int:
        from tenuto.access.shown import plain
        from tenuto.cli import exits
        from tenuto.cli.views.access import audit_table
        from tenuto.cli.views.csv_rows import show_csv
        from tenuto.cli.views.pages import say_nothing
        from tenuto.cli.views.terminal import say, say_command, show, show_json

        first, last = _moment(since, "$.from"), _moment(until, "$.to")
        items: list[Object] = []
        following = cursor
        while True:
            with _cursor_named_by_option():
                page = await backend.space.audit.page(
                    actor=actor,
                    action=action,
                    target=target,
                    since=first,
                    until=last,
                    limit=limit,
                    cursor=following,
                )
            items += page.items
            following = page.next_cursor
            if following is None or not is_all:
                break
        if output == "json":
            show_json({"items": items, "nextCursor": following})
        elif not items:
            is_narrowed = any(each is not None for each in (actor, action, target, first, last))
            say_nothing(
                f"nothing{' like that' if is_narrowed else ''} in the audit log of "
                f"{plain(backend.tenant)} in {backend.described}",
                [f"tenuto audit list{backend.flag}"] if is_narrowed else [],
            )
            if not is_narrowed:
                say("  It has what commands and a service change. To change something:")
                say_command(f"tenuto start WORKFLOW --input JSON{backend.flag}")
        else:
            if output == "csv":
                show_csv(items)
            else:
                show(audit_table(items))
            if following is not None:
                say(f"  There is more: --cursor {following}, or --all")
        return exits.DONE

    perform_on(store, work, output)


@audit.command("export")
def export_audit(*, store: Store = STORE, output: JsonOutput = "json") -> None:
    """Write the whole log to stdout, oldest first: JSON, a line each, with its hash."""

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show_as_it_is

        async for line in backend.space.audit.export():
            show_as_it_is(line)
        return exits.DONE

    perform_on(store, work, output)


@audit.command("verify")
def verify_audit(
    *,
    known: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="NUMBER:HASH",
            help="A line as it was before: what `verify` or an export said then.",
        ),
    ] = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Prove that the log is as it was written.

    Each line's hash covers the one before it. Who can write to the store can write a whole new
    chain: a line that was noted elsewhere shows that too.
    """

    async def work(backend: Backend) -> int:
        from tenuto.access.shown import plain
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import say, show, show_json
        from tenuto.model.codes import CATALOGUE

        verdict = await backend.space.audit.verify(known)
        problem, lines = verdict["problem"], int(str(verdict["lines"]))
        if output == "json":
            show_json(verdict)
        elif isinstance(problem, dict):
            code = str(problem["code"])
            say(f"error {code}  {problem['message']}", style="red")
            if code in CATALOGUE:
                say(f"  {CATALOGUE[code].advice}")
        else:
            show(f"✓ {lines:,} lines of {plain(backend.tenant)} are as they were written")
            if lines:
                say(f"  To be sure of them later, note --known {lines}:{verdict['hash']}")
        return exits.DONE if problem is None else exits.FAILED

    perform_on(store, work, output)


def _locked_out(name: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"{name} would be the first key, and may not make others: from then on every request needs "
        "a key, so that you would be locked out. Make an admin's first: tenuto keys create ops "
        "--role admin. Or add --yes, where keys can be made at the store",
        param_hint="--role",
    )


def _makes_keys(role: str, scopes: Sequence[str] | None) -> bool:
    return role == "admin" and (not scopes or bool({"keys:*", "keys:manage"} & {*scopes}))


def _expiry(text: str | None, now: datetime) -> datetime | None:
    """A moment, or a duration from now."""
    from tenuto.model.durations import parse_duration, parse_moment
    from tenuto.model.errors import InvalidInput, Problem

    if text is None:
        return None
    try:
        return parse_duration(text).after(now) if text.startswith("P") else parse_moment(text)
    except ValueError as error:
        problem = Problem(
            code="TEN-2401",
            path="$.expiresAt",
            message=str(error),
            advice="Write a moment that is to come, such as 2030-01-31T12:00:00Z, or P90D.",
        )
        raise InvalidInput("the key cannot be made", [problem]) from error


@contextmanager
def _cursor_named_by_option() -> Iterator[None]:
    """Name `--cursor` in the problems of the cursor, as it was typed."""
    from msgspec.structs import replace

    from tenuto.model.errors import InvalidInput

    try:
        yield
    except InvalidInput as error:
        problems = [
            replace(each, path="--cursor") if each.path == "$.cursor" else each
            for each in error.problems
        ]
        raise InvalidInput(error.message, problems) from error


def _moment(text: str | None, path: str) -> datetime | None:
    from tenuto.model.durations import parse_moment
    from tenuto.model.errors import InvalidInput, Problem

    if text is None:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        problem = Problem(
            code="TEN-2402",
            path=path,
            message=str(error),
            advice="Write a moment such as 2030-01-31T12:00:00Z.",
        )
        raise InvalidInput("the lines cannot be listed", [problem]) from error
