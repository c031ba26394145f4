"""The blocks of a page that a reader would type: programs, files, changes to files, commands.

What stands behind the language says what becomes of a block:

- `python`: a program that is run;
- `… file=NAME`: a file;
- `python into=NAME`: what takes the place of what has the same name in a file;
- `console`: commands, each with what it prints if that is shown; a service or a worker, whose line
  ends with `&`, runs until the page ends;
- `sql`: statements that an administrator of the page's database server types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(\w+)(?: (file|into)=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"exit (\d+)")


class Block(NamedTuple):
    """A block of code in a page."""

    language: str
    action: str
    """`file`, `into`, or nothing."""
    name: str
    text: str


class Command(NamedTuple):
    """A line that begins with `$`, and what the page says about it."""

    line: str
    output: str
    """What it prints, if the page shows it."""
    code: int
    """How it ends: a last line `exit N`, else 0."""


def blocks(page: str) -> Iterator[Block]:
    for each in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        yield Block(*each)


def commands(text: str) -> Iterator[Command]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            shown = list(takewhile(lambda each: not each.startswith("$ "), lines[number + 1 :]))
            ending = _EXIT.fullmatch(shown[-1]) if shown else None
            code = int(ending[1]) if ending else 0
            yield Command(line[2:], "\n".join(shown[:-1] if ending else shown), code)
