"""The group of all commands: wrong usage as JSON where asked, and `--server` beside `--store`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Final, TypeVar

import typer
from typer import TyperException

from tenuto.cli.plain_values import PlainCommand, PlainGroup
from tenuto.cli.wrong_usage import is_json_asked, meant_instead, show_wrong_usage
from tenuto.model.errors import TenutoError
from tenuto.model.tenants import DEFAULT_TENANT

_WORDS: Final = "tenuto.words"

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="TENUTO_SERVER",
        metavar="URL",
        help="The server, instead of a store; several addresses with commas between them.",
    ),
]
_RefusedServer = Annotated[
    str | None, typer.Option("--server", envvar="TENUTO_SERVER", metavar="URL", hidden=True)
]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant.")]
KEY_HELP = "The API key; better in TENUTO_KEY, where no list of processes shows it."
C = TypeVar("C", bound=Callable[..., Any])

# The commands that are marked below.
_WITHOUT_SERVER: Final[set[Callable[..., Any]]] = set()
_ON_STORES_ALONE: Final[dict[Callable[..., Any], str]] = {}
"""With what to do about a server instead."""
_OF_NO_TENANT: Final[set[Callable[..., Any]]] = set()


class Commands(PlainGroup):
    """All commands; wrong usage is printed on stderr, and as JSON on stdout if asked for."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep the arguments: when one is wrong, `-o json` among them may not be parsed yet."""
        ctx.meta[_WORDS] = words = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            show_wrong_usage(error, words)
            raise

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override] # noqa: ANN401
        """The command that is named; the one that is meant, where another tool calls it so."""
        try:
            return super().resolve_command(ctx, args)
        except TyperException as error:
            meant = meant_instead(args[0]) if args else None
            if meant is not None:
                error.message = f"No such command '{args[0]}'. Did you mean `tenuto {meant}`?"
            raise

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # noqa: ANN401 - whatever it gives
        """Call the command that is named."""
        try:
            return super().invoke(ctx)
        except TyperException as error:
            show_wrong_usage(error, ctx.meta[_WORDS])
            raise
        except TenutoError as error:
            # From choosing the place, before the work of the command begins.
            from tenuto.cli.exits import show_refusal

            is_json = is_json_asked(ctx.meta[_WORDS])
            raise typer.Exit(show_refusal(error, is_json=is_json)) from error


def words_of(ctx: typer.Context) -> tuple[str, ...]:
    """The arguments of the whole command line."""
    words: tuple[str, ...] = ctx.meta[_WORDS]
    return words


def without_server(command: C) -> C:
    """Mark a command that takes a store and cannot act on a server."""
    _WITHOUT_SERVER.add(command)
    return command


def on_stores_alone(
    command: C, *, instead: str = "name the store of that server with --store"
) -> C:
    """Mark a command that refuses a server which is named, or which the environment names.

    `instead`: what to do where it is about a server.
    """
    _ON_STORES_ALONE[command] = instead
    return command


def of_no_tenant(command: C) -> C:
    """Mark a command that is about a store as a whole."""
    _OF_NO_TENANT.add(command)
    return command


def offer_servers(group: typer.Typer, inside: str = "") -> None:
    """Add `--server` to every command that takes a store, except those that need the store."""
    for command in group.registered_commands:
        command.cls = PlainCommand
        function = command.callback
        assert function is not None
        taken = inspect.signature(function).parameters
        if function in _ON_STORES_ALONE:
            name = f"{inside}{command.name or function.__name__}"
            command.callback = _on_a_store_alone(function, name, _ON_STORES_ALONE[function])
        elif "store" in taken and "server" not in taken and function not in _WITHOUT_SERVER:
            of_tenants = "tenant" not in taken and function not in _OF_NO_TENANT
            command.callback = _or_on_a_server(function, of_tenants=of_tenants)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        inner.cls = PlainGroup
        offer_servers(inner.typer_instance, f"{inner.typer_instance.info.name} ")


def _or_on_a_server(command: Callable[..., Any], *, of_tenants: bool) -> Callable[..., Any]:
    said = inspect.signature(command, eval_str=True)
    key = typer.Option(
        "--api-key", envvar="TENUTO_KEY", metavar="KEY", help=KEY_HELP, show_envvar=True
    )

    @wraps(command)
    def placed(*, ctx: typer.Context, server: str | None, api_key: str | None, **rest: Any) -> Any:  # noqa: ANN401
        from tenuto.cli.backends.choice import chosen_place

        tenant = str(rest.pop("tenant")) if of_tenants else DEFAULT_TENANT
        store_source, server_source = _sources(ctx, is_server_named=server is not None)
        named = (rest["store"], store_source), (server, server_source)
        rest["store"] = place = chosen_place(*named, api_key, tenant)
        place.command = ctx.info_name or ""
        return command(**rest)

    placed.__signature__ = said.replace(  # type: ignore[attr-defined]
        parameters=[
            *(each.replace(kind=each.KEYWORD_ONLY) for each in _context()),
            *(
                each.replace(kind=each.KEYWORD_ONLY)
                for each in _with_servers(said, key, of_tenants=of_tenants)
            ),
        ]
    )
    return placed


def _on_a_store_alone(command: Callable[..., Any], name: str, instead: str) -> Callable[..., Any]:
    """The command; a server that is named is refused, since another store would be used instead."""
    said = inspect.signature(command, eval_str=True)

    @wraps(command)
    def placed(*, ctx: typer.Context, server: str | None, **rest: Any) -> Any:  # noqa: ANN401
        store = ctx.get_parameter_source("store")
        typed = ctx.get_parameter_source("server")
        assert store is not None
        assert typed is not None
        if server is not None and (typed.name == "COMMANDLINE" or store.name == "DEFAULT"):
            raise typer.BadParameter(
                f"`tenuto {name}` works on a store, which a server does not hand out: {instead}",
                param_hint="--server" if typed.name == "COMMANDLINE" else "TENUTO_SERVER",
            )
        return command(**rest)

    keyword = inspect.Parameter.KEYWORD_ONLY
    server = inspect.Parameter("server", keyword, default=None, annotation=_RefusedServer)
    placed.__signature__ = said.replace(  # type: ignore[attr-defined]
        parameters=[*_context(), *said.parameters.values(), server]
    )
    return placed


def _context() -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("ctx", keyword, annotation=typer.Context)]


def _with_servers(
    said: inspect.Signature,
    key: Any,  # noqa: ANN401
    *,
    of_tenants: bool,
) -> list[inspect.Parameter]:
    """The parameters, with those of a server and a tenant beside the one of a store."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for each in said.parameters.values():
        if each.name == "store" and of_tenants:
            parameters.append(
                inspect.Parameter("tenant", keyword, default=DEFAULT_TENANT, annotation=Tenant)
            )
        parameters.append(each)
        if each.name == "store":
            parameters += [
                inspect.Parameter("server", keyword, default=None, annotation=Server),
                inspect.Parameter(
                    "api_key", keyword, default=None, annotation=Annotated[str | None, key]
                ),
            ]
    return parameters


def _sources(ctx: typer.Context, *, is_server_named: bool) -> tuple[str, str]:
    """Where the store and the server were named; refused where both were, in the same place."""
    store, server = (ctx.get_parameter_source(name) for name in ("store", "server"))
    assert store is not None
    assert server is not None
    if is_server_named and store is server:
        raise typer.BadParameter(
            "a command acts on a store or on a server: name one of the two",
            param_hint="--store, --server",
        )
    return store.name, server.name
