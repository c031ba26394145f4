"""The reference of the command line, from its own help: `python -m tests.cli.manual`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.testing import CliRunner

from tests.cli.whole import WHOLE, app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
MARK = "<!-- From here on generated: python -m tests.cli.manual -->\n"


def page(written: str) -> str:
    """The page: what people wrote, up to the mark, and the help of each command."""
    head, mark, _ = written.partition(MARK)
    assert mark, "docs/cli.md has lost its mark"
    sections = [
        f"## tenuto {command}\n\n```text\n{help_of(command)}```\n" for command in commands()
    ]
    return head + mark + "\n" + "\n".join(sections)


def options_of(command: str) -> dict[str, object]:
    """The options of a command by all their names, each with the annotation of its value."""
    found: object = WHOLE
    for word in command.split():
        assert isinstance(found, TyperGroup)
        found = found.commands[word]
    assert isinstance(found, TyperCommand)
    options = [each for each in found.params if isinstance(each, TyperOption)]
    return {word: each.type_descriptor.annotation for each in options for word in each.opts}


def commands() -> list[str]:
    """Every command, as it is typed; those in a group behind the others."""
    groups = {name: each for name, each in WHOLE.commands.items() if isinstance(each, TyperGroup)}
    single = [name for name in WHOLE.commands if name not in groups]
    return [
        *single,
        *(f"{name} {inner}" for name, each in groups.items() for inner in each.commands),
    ]


@cache
def help_of(command: str) -> str:
    result = CliRunner().invoke(
        app, [*command.split(), "--help"], prog_name="tenuto", env={"COLUMNS": "80"}
    )
    assert result.exit_code == 0
    return "\n".join(line.rstrip() for line in result.stdout.splitlines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
