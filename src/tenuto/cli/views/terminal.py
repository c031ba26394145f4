"""Text for terminals: the two streams (data on stdout, talk on stderr), values, times.

What is written comes from data too. Nothing in it may control the terminal: the consoles and the
writer of JSON escape such characters, whatever is handed to them.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, TextIO

import msgspec

from tenuto.cli.encoding import json_for
from tenuto.cli.views.masking import masked
from tenuto.model.json import JSON
from tenuto.model.lengths import UNITS, length
from tenuto.model.unsafe_text import escaped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

PROGRAM: Final = "TENUTO_PROGRAM"
"""How the parent of this process was called, which prints commands in its name."""
SHORT_ID: Final = 13
"""Characters of an id that are shown where it is cut: the first eight are the same for a minute."""


@cache
def talk() -> Console:
    """What people read: progress, advice, errors."""
    return _console(stderr=True)


@cache
def is_redrawn() -> bool:
    """Whether progress is redrawn in place: in a terminal that can, and that is ours alone.

    A job in the background would draw over the command line; killed, it leaves no cursor.
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
    return _console(width=None if sys.stdout.isatty() else 10_000)


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console that lets no text control the terminal, and goes on when its pipe is closed.

    Colours and the cursor are not in the text of a segment, but beside it.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Stream(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            # Texts before they are wrapped, so that nothing is cut off; then everything else.
            for text, style, control in super().render(_escaped(renderable), options):
                yield Segment(text if control else escaped(text), style, control)

        def on_broken_pipe(self) -> None:
            # The command does not depend on its reader.
            _drop(sys.stderr if stderr else sys.stdout)

    return Stream(stderr=stderr, highlight=False, emoji=False, width=width)


def _escaped(what: RenderableType) -> RenderableType:
    """A text, in its styles, without characters that control a terminal; else what was given."""
    from rich.text import Text

    if isinstance(what, str):
        return escaped(what)
    if not isinstance(what, Text) or escaped(text := what.plain) == text:
        return what
    pairs = ((at, text[at - 1 : at + 1]) for at in range(1, len(text)))
    safe = what.blank_copy()
    for part in what.divide([at for at, pair in pairs if escaped(pair) != pair]):
        part.plain = escaped(part.plain)
        safe.append_text(part)
    return safe


def _drop(stream: TextIO) -> None:
    """The reader has closed this stream: the rest of the output goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(text: RenderableType = "", *, style: str | None = None) -> None:
    """A line of talk; text is shown as it is, square brackets included."""
    talk().print(text, style=style, markup=False, soft_wrap=not talk().is_terminal)


def say_command(text: str) -> None:
    """A command to copy: one line, however narrow the terminal is."""
    talk().print(f"    {as_called(text)}", markup=False, soft_wrap=True)


def as_called(command: str) -> str:
    """The command with the path of this program, where a shell would not find it by its name."""
    path = program()
    return f"{path}{command.removeprefix('tenuto')}" if command.startswith("tenuto ") else command


@cache
def program() -> str:
    """`tenuto`, or the path by which it was called from a folder that is not on PATH."""
    import shlex
    import shutil

    called = os.environ.get(PROGRAM) or sys.argv[0]
    if os.path.basename(called) != "tenuto":  # noqa: PTH119 - as it was typed
        return "tenuto"
    found = shutil.which("tenuto")
    is_found = found is not None and os.path.realpath(found) == os.path.realpath(called)
    return "tenuto" if is_found else shlex.quote(called)


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
    is_drawn = isinstance(what, str) or getattr(what, "no_wrap", None) is True
    data().print(what, markup=False, soft_wrap=is_drawn, crop=False)


def show_indented(text: str, by: int) -> None:
    """A paragraph that was asked for, which keeps its indent where it is wrapped."""
    if not data().is_terminal:
        show(" " * by + text)
        return
    from rich.padding import Padding
    from rich.text import Text

    data().print(Padding(Text(text), (0, 0, 0, by)))


def show_line(text: str) -> None:
    """A sentence that was asked for: in a terminal it is broken between words, and indented."""
    if not data().is_terminal:
        show(text)
        return
    import textwrap

    indent = " " * (len(text) - len(text.lstrip()))
    show(
        textwrap.fill(
            text.strip(),
            width=max(data().width, len(indent) + 20),
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def styled(first: str, style: str, rest: str) -> Text:
    """A text that begins in a style."""
    from rich.text import Text

    return Text.assemble((first, style), rest)


def show_json(value: object, *, lines: bool = False) -> None:
    """A value as JSON: pretty for a terminal, or one value a line."""
    text = msgspec.json.encode(value)
    if not lines:
        text = msgspec.json.format(text, indent=2)
    show_as_it_is(text.decode())


def show_as_it_is(text: str) -> None:
    """JSON for programs: nothing in it is wrapped, coloured or replaced by another value."""
    try:
        sys.stdout.write(json_for(sys.stdout, escaped(text)) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)


def one_line(value: JSON, most: int | None = 120) -> str:
    """A value on one line, cut when it is long; what is secret by its name is masked."""
    text = value if isinstance(value, str) else msgspec.json.encode(masked(value)).decode()
    text = " ".join(text.split())
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def countdown(span: timedelta) -> str:
    """`3 s`: whole seconds until something happens, rounded up; `now` when it is due."""
    seconds = span.total_seconds()
    if seconds <= 0:
        return "now"
    whole = int(seconds) + (seconds > int(seconds))
    return f"{whole} s" if whole < 60 else length(timedelta(seconds=whole))


def ago(moment: datetime, now: datetime) -> str:
    """`2 h ago`."""
    seconds = (now - moment).total_seconds()
    if seconds < 1:
        return "just now"
    unit, size = next(each for each in UNITS if seconds >= each[1])
    return f"{int(seconds // size)} {unit} ago"


class _Talk(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        style = "red" if record.levelno >= logging.ERROR else "yellow"
        say(f"{record.levelname.lower()}: {self.format(record)}", style=style)


@contextmanager
def logs_on_stderr() -> Iterator[None]:
    """Show warnings and errors while inside; records of tasks are made from INFO on, to be kept."""
    root = logging.getLogger()
    handler = _Talk(logging.WARNING)
    before = root.level
    root.addHandler(handler)
    root.setLevel(min(before, logging.INFO))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


@contextmanager
def without_log(name: str) -> Iterator[None]:
    """Leave out what one logger says while inside."""
    logger = logging.getLogger(name)
    logger.disabled, before = True, logger.disabled
    try:
        yield
    finally:
        logger.disabled = before
