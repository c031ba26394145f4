"""Where a command acts: on a store, or on a server that has one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="TENUTO_SERVER",
        metavar="URL",
        help="Ask this server instead of opening a store; several with commas between them.",
    ),
]
_KEY_HELP = "The API key to ask with; better in TENUTO_KEY, where no list of processes shows it."


class ServerUrl(str):
    """The addresses of a server in the place of a store's, and the key to ask with."""

    __slots__ = ("key",)

    key: str | None

    @classmethod
    def of(cls, addresses: str, key: str | None) -> ServerUrl:
        url = cls(addresses)
        url.key = key
        return url

    @property
    def addresses(self) -> list[str]:
        """Each of them."""
        return [each.strip() for each in self.split(",") if each.strip()]


def offer_servers(group: typer.Typer, *, not_for: frozenset[str]) -> None:
    """Let every command that takes a store take a server instead, but those that need the store."""
    for command in group.registered_commands:
        function = command.callback
        assert function is not None
        name = command.name or function.__name__
        taken = inspect.signature(function).parameters
        if "store" in taken and "server" not in taken and name not in not_for:
            command.callback = _or_on_a_server(function)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        offer_servers(inner.typer_instance, not_for=not_for)


def _or_on_a_server(command: Callable[..., Any]) -> Callable[..., Any]:
    said = inspect.signature(command, eval_str=True)
    words = ["--api-key"] if "key" in said.parameters else ["--api-key", "--key"]
    key = typer.Option(*words, envvar="TENUTO_KEY", metavar="KEY", help=_KEY_HELP, show_envvar=True)

    @wraps(command)
    def placed(*, ctx: typer.Context, server: str | None, api_key: str | None, **rest: Any) -> Any:  # noqa: ANN401
        if server is not None and _is_server_meant(ctx):
            rest["store"] = ServerUrl.of(server, api_key)
        return command(**rest)

    placed.__signature__ = said.replace(  # type: ignore[attr-defined]
        parameters=[
            *(each.replace(kind=each.KEYWORD_ONLY) for each in _context()),
            *(each.replace(kind=each.KEYWORD_ONLY) for each in _with_servers(said, key)),
        ]
    )
    return placed


def _context() -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("ctx", keyword, annotation=typer.Context)]


def _with_servers(said: inspect.Signature, key: Any) -> list[inspect.Parameter]:  # noqa: ANN401
    """The parameters, with those that name a server behind the one that names a store."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for each in said.parameters.values():
        parameters.append(each)
        if each.name == "store":
            parameters += [
                inspect.Parameter("server", keyword, default=None, annotation=Server),
                inspect.Parameter(
                    "api_key", keyword, default=None, annotation=Annotated[str | None, key]
                ),
            ]
    return parameters


def _is_server_meant(ctx: typer.Context) -> bool:
    """Whether the server is; what is typed counts before what the environment says."""
    store, server = (ctx.get_parameter_source(name) for name in ("store", "server"))
    assert store is not None
    assert server is not None
    if store is server:
        raise typer.BadParameter(
            "a command acts on a store or on a server: name one of the two",
            param_hint="--store, --server",
        )
    return store.name != "COMMANDLINE"
