"""What people are warned of, and the command that helps: lines on stderr, or a field of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tenuto.cli.views.terminal import as_called, say, say_command
from tenuto.model.json import JSON, Object


class Advice(NamedTuple):
    """A warning, and the command that is meant for it."""

    message: str
    command: str


def say_advice(found: Iterable[Advice]) -> None:
    """Tell people."""
    for each in found:
        say(each.message, style="yellow")
        say_command(each.command)


def with_warnings(view: Object, found: Sequence[Advice]) -> Object:
    """The view, with the same as its `warnings`, where there are any."""
    if not found:
        return view
    warnings: list[JSON] = [
        {"message": each.message, "command": as_called(each.command)} for each in found
    ]
    return {**view, "warnings": warnings}
