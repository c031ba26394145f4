"""Every command line in the documentation has a command and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup

from tests.cli.whole import WHOLE
from tests.docs.blocks import ROOT

PAGES = sorted(
    file.relative_to(ROOT).as_posix()
    for file in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")]
    if file.name not in {"cli.md", "semantics-coverage.md"}
)
_TYPED = re.compile(
    r"(?:^|`|&& )(?:\$ |    )?(?:[A-Z_]+=\S+ )*tenuto ([a-z-][^`\n]*)", re.MULTILINE
)
_END = frozenset({"&", "&&", "|", ";", ">", "#"})


def lines(page: str) -> Iterator[str]:
    for typed in _TYPED.findall((ROOT / page).read_text(encoding="utf-8")):
        yield typed.strip()


def problem_of(line: str) -> str | None:
    """What is wrong with a line behind `tenuto`."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    command: Any = WHOLE
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        name = words.pop(0).rstrip(".,;:")
        if name not in command.commands:
            return f"there is no command {name}"
        command = command.commands[name]
    known = {
        "--help",
        *(each for one in command.params for each in [*one.opts, *one.secondary_opts]),
    }
    for word in words:
        if word in _END:
            break
        option = word.partition("=")[0].rstrip(".,;:")
        if option.startswith("--") and option not in known:
            return f"there is no option {option}"
    return None


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_exists(page: str) -> None:
    wrong = {line: problem for line in lines(page) if (problem := problem_of(line))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("list --status FAILED", None),
        ("keys create build --role operator", None),
        ("serve --no-such-option", "there is no option --no-such-option"),
        ("lst", "there is no command lst"),
        ("keys forget", "there is no command forget"),
    ],
)
def test_a_wrong_command_is_found(line: str, problem: str | None) -> None:
    assert problem_of(line) == problem
