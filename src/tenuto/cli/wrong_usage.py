"""Wrong usage of a command: the message, its code, and the command that is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import IO, Any, Final

import typer
from typer import TyperException

CODE: Final = "TEN-2640"
_BARE: Final = "NoArgsIsHelpError"
"""What the parser raises for a group of commands without any of them."""

OTHER_WORDS: Final = {
    **dict.fromkeys(("emit", "publish", "send", "signal"), "events send"),
    **dict.fromkeys(("approve", "reject"), "decide"),
    **dict.fromkeys(("runs", "ps", "ls", "instances"), "list"),
    **dict.fromkeys(("trigger", "execute", "invoke"), "start"),
    **dict.fromkeys(("describe", "get", "inspect", "status"), "show"),
    **dict.fromkeys(("new", "create"), "init"),
    **dict.fromkeys(("terminate", "kill", "abort", "stop"), "cancel"),
    **dict.fromkeys(("check", "lint"), "validate"),
    **dict.fromkeys(("push", "apply", "register"), "deploy"),
    **dict.fromkeys(("server", "up"), "serve"),
    **dict.fromkeys(("def", "definitions"), "workflows"),
    **dict.fromkeys(("dead", "dlq"), "dead-letters"),
    **dict.fromkeys(("profile", "profiles"), "config"),
    **dict.fromkeys(("why", "diagnose"), "explain"),
    **dict.fromkeys(("watch", "tail"), "history"),
    "replay": "rerun",
    "version": "--version",
    "help": "--help",
}
"""Commands of other tools, and those that do the same here."""

_VALUES: Final = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be (?:greater|less) than or equal to ([\d.]+)$"), None),
    (re.compile(r"^Input should be a valid integer\b.*$"), "it is not a whole number"),
    (re.compile(r"^Input should be a valid number\b.*$"), "it is not a number"),
    (re.compile(r"^Input should be "), "it has to be "),
)
"""Texts of the parser about a value, and the words for them."""


def meant_instead(word: str) -> str | None:
    """The command that does here what another tool calls `word`."""
    return OTHER_WORDS.get(word)


def show_wrong_usage(error: TyperException, words: Sequence[str]) -> None:
    """Print it as JSON if that is asked for; its text is printed at the end of the program."""
    is_bare = type(error).__name__ == _BARE
    error.message = "a command is missing" if is_bare else _in_words(error.message)
    if is_json_asked(words):
        from tenuto.cli.views.terminal import show_json

        view = {"code": CODE, "message": error.format_message(), "advice": _advice(error)}
        show_json({"error": view})

    def show(file: IO[Any] | None = None) -> None:
        del file
        context = getattr(error, "ctx", None)
        if is_bare and context is not None:
            # The first thing that is typed: help, and no error.
            typer.echo(context.get_help(), err=True)
            return
        if context is not None:
            typer.echo(f"{context.get_usage()}\n", err=True)
        typer.echo(f"error {CODE}  {error.format_message()}", err=True)
        typer.echo(f"  {_advice(error)}", err=True)

    error.show = show  # type: ignore[attr-defined]


def is_json_asked(words: Sequence[str]) -> bool:
    """Whether `-o json` is among the words, in any of its forms."""
    pairs = zip_longest(words, words[1:])
    return any(
        word in ("-ojson", "-o=json", "--output=json")
        or (word in ("-o", "--output") and following == "json")
        for word, following in pairs
    )


def _advice(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    path = "tenuto" if context is None else context.command_path
    has_commands = context is not None and hasattr(context.command, "commands")
    lists = "the commands" if has_commands else "its arguments and options, with examples"
    return f"`{path} --help` lists {lists}."


def _in_words(text: str) -> str:
    for pattern, words in _VALUES:
        found = pattern.match(text)
        if found is None:
            continue
        if words is None:
            return f"it has to be at {'least' if 'greater' in text else 'most'} {found[1]}"
        return words + text[found.end() :]
    return text
