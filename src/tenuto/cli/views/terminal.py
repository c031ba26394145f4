"""The two streams: data goes to stdout, talk goes to stderr."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, TextIO

import msgspec

from tenuto.model.json import JSON

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


@cache
def talk() -> Console:
    """What people read: progress, advice, errors."""
    return _unheard(stderr=True)


@cache
def is_redrawn() -> bool:
    """Whether progress is redrawn in place: in a terminal that can, and that is ours alone.

    A job in the background would draw over what somebody types; killed, it leaves no cursor.
    """
    return talk().is_terminal and not talk().is_dumb_terminal and not _is_in_background()


def _is_in_background() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) != os.getpgrp()
    except (OSError, ValueError):
        # Not the terminal that this process belongs to.
        return False


@cache
def data() -> Console:
    """What people asked for, as tables; without a terminal nothing is cut off."""
    return _unheard(width=None if sys.stdout.isatty() else 10_000)


def _unheard(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console that goes on when nobody reads it: work does not depend on who looks."""
    from rich.console import Console

    class Unheard(Console):
        def on_broken_pipe(self) -> None:
            _drop(sys.stderr if stderr else sys.stdout)

    return Unheard(stderr=stderr, highlight=False, width=width)


def _drop(stream: TextIO) -> None:
    """Whoever read this stream has seen enough: what is left of it goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(text: RenderableType = "", *, style: str | None = None) -> None:
    """A line of talk; text is shown as it is, square brackets included."""
    talk().print(text, style=style, markup=False, soft_wrap=not talk().is_terminal)


def say_command(text: str) -> None:
    """A command to copy: one line, however narrow the terminal is."""
    talk().print(f"    {text}", markup=False, soft_wrap=True)


def say_indented(text: str, by: int, *, style: str | None = None) -> None:
    """A paragraph of talk that keeps its indent where it is wrapped."""
    if not talk().is_terminal:
        say(" " * by + text)
        return
    from rich.padding import Padding
    from rich.text import Text

    talk().print(Padding(Text(text, style=style or ""), (0, 0, 0, by)))


def show(what: RenderableType) -> None:
    """A table or a text that was asked for."""
    data().print(what, markup=False, soft_wrap=isinstance(what, str), crop=False)


def styled(first: str, style: str, rest: str) -> Text:
    """A text that begins in a style."""
    from rich.text import Text

    text = Text(first, style=style)
    text.append(rest, style="default")
    return text


def show_json(value: object, *, lines: bool = False) -> None:
    """A value as JSON: pretty for a terminal, or one value a line."""
    text = msgspec.json.encode(value)
    if not lines:
        text = msgspec.json.format(text, indent=2)
    show_as_it_is(text.decode())


def show_as_it_is(text: str) -> None:
    """Text for programs: nothing in it is wrapped, coloured or replaced."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)


def one_line(value: JSON, most: int = 120) -> str:
    """A value on one line, cut when it is long."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
