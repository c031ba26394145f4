"""The program with all its commands, put together once for each process of tests."""

from __future__ import annotations

from functools import cache

import typer
from typer import testing
from typer.core import TyperGroup
from typer.main import get_command

from tenuto.cli.program import program

_command = cache(get_command)
testing._get_command = _command  # type: ignore[attr-defined]

app = program()


def _all_commands() -> TyperGroup:
    found = _command(app)
    assert isinstance(found, TyperGroup)
    return found


WHOLE = _all_commands()


@cache
def program_of(first: str) -> typer.Typer:
    """The program for a command line that begins with this word."""
    return program([first])
