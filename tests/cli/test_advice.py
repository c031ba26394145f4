"""Every command that a message, an advice or a help text offers exists and takes its options."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

import tenuto
from tenuto.cli.served_address import announced
from tenuto.store.sqlite.lock import EngineLock
from tests.cli.conftest import Terminal
from tests.cli.whole import WHOLE

ROOT = Path(tenuto.__file__).parent
_OFFERED = re.compile(r"(?<![\w/.`-])(`?)tenuto ([a-z][a-z-]*(?: [^`\n;]*)?)")
_GONE = "\0"
"""Stands for what is filled in: a word, several, or options."""


def _texts(file: Path) -> Iterator[str]:
    """The texts of a module: comments and names of imports are none of them."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(each) for each in node.values}
            yield "".join(
                str(each.value) if isinstance(each, ast.Constant) else f" {_GONE} "
                for each in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in inside:
            yield node.value if isinstance(node.value, str) else ""


def _offered() -> Iterator[tuple[str, str]]:
    codes = (ROOT / "model" / "codes.toml").read_text(encoding="utf-8")
    places = [("model/codes.toml", [codes])]
    places += [(str(file.relative_to(ROOT)), [*_texts(file)]) for file in ROOT.rglob("*.py")]
    for place, texts in places:
        for text in texts:
            for found in _OFFERED.finditer(text):
                yield place, found[2]


def _found(words: list[str]) -> tuple[TyperCommand | None, list[str]]:
    """The command that the first words name, and the other words."""
    assert isinstance(WHOLE, TyperGroup)
    here = WHOLE.commands.get(words[0])
    if isinstance(here, TyperGroup):
        here = here.commands.get(words[1]) if len(words) > 1 else None
        words = words[1:]
    return (here, words[1:]) if isinstance(here, TyperCommand) else (None, words)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


PROSE = frozenset({"is", "does", "look-up", "webhook", "push"})
"""Words after the name of the product, in sentences about it and in names of threads."""


def _wrong(text: str) -> str | None:
    """What is wrong with an offered command; None where it is as it should be."""
    words = _words(text)
    if _GONE in words[0] or words[0] in PROSE:
        return None
    command, rest = _found(words)
    if command is None:
        assert isinstance(WHOLE, TyperGroup)
        is_group = isinstance(WHOLE.commands.get(words[0]), TyperGroup)
        # A group alone, or one whose command is filled in, or named before.
        is_whole = len(words) > 1 and words[1] != _GONE and text.count(" ") < 3
        return None if is_group and not is_whole else "there is no such command"
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    names = [re.split(r"[=.,:)\0]", word)[0] for word in rest]
    options = [name for name in names if re.fullmatch(r"--[a-z][a-z-]*", name)]
    unknown = [name for name in options if name not in known]
    return f"it has no {', '.join(unknown)}" if unknown else None


def test_an_offered_command_exists_and_takes_its_options() -> None:
    offered = sorted(set(_offered()))
    assert {"model/codes.toml", "cli/next_steps.py"} <= {place for place, _ in offered}
    wrong = [(*each, said) for each in offered if (said := _wrong(each[1])) is not None]
    assert not wrong


@pytest.mark.parametrize("command", ["prune", "reindex", "migrate"])
def test_what_works_on_a_store_alone_does_not_advise_to_ask_the_service(
    terminal: Terminal, command: str
) -> None:
    terminal.call("migrate")
    lock = EngineLock.take(str(terminal.folder / "store.db"), "p", shared=False)
    try:
        with announced(terminal.store, "http://127.0.0.1:1", needs_key=False):
            refused = terminal.call(command)
    finally:
        lock.release("p")
    assert (refused.code, "TEN-4002" in refused.err) == (5, True), refused.err
    assert "--server" not in refused.err
    assert "Stop that process" in refused.err
