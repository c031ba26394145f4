"""Every snippet of the documentation works, in the order in which it is read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.manual import PAGE, page

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/quickstart.md", "docs/operations.md", "docs/python.md"]
LINKED = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    *(f"docs/{name}.md" for name in ("index", "quickstart", "promises", "operations", "cli")),
]

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:\s]+)\)")


class Snippet(NamedTuple):
    """A block of code in a page."""

    language: str
    file: str
    text: str


def snippets(name: str) -> Iterator[Snippet]:
    for language, file, text in _BLOCK.findall((ROOT / name).read_text(encoding="utf-8")):
        yield Snippet(language, file, text)


def commands(text: str) -> Iterator[tuple[list[str], int]]:
    """Lines that begin with `$`; a line `exit N` after one says how it ends."""
    lines = [*text.splitlines(), ""]
    for line, following in pairwise(lines):
        if line.startswith("$ "):
            code = int(following.split()[1]) if following.startswith("exit ") else 0
            yield shlex.split(line[2:]), code


def execute(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "TENUTO" not in name}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_snippet_works(name: str, tmp_path: Path) -> None:
    for number, snippet in enumerate(snippets(name)):
        if snippet.file:
            (tmp_path / snippet.file).write_text(snippet.text, encoding="utf-8")
        elif snippet.language == "python":
            script = tmp_path / f"snippet_{number}.py"
            script.write_text(snippet.text, encoding="utf-8")
            done = execute([str(script)], tmp_path)
            assert done.returncode == 0, done.stderr
        elif snippet.language == "console":
            for (program, *arguments), code in commands(snippet.text):
                assert program == "tenuto"
                done = execute(["-m", "tenuto", *arguments], tmp_path)
                assert done.returncode == code, (arguments, done.stderr)


@pytest.mark.slow
def test_the_sample_of_the_readme_prints_what_it_says_twice(tmp_path: Path) -> None:
    sample = next(each for each in snippets("README.md") if each.language == "python")
    assert len([line for line in sample.text.splitlines() if line.strip()]) <= 12
    (tmp_path / "sample.py").write_text(sample.text, encoding="utf-8")
    for _ in range(2):
        assert execute(["sample.py"], tmp_path).stdout == "Hello, world!\n"


def test_the_reference_of_the_command_line_is_its_own_help() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run: python -m tests.cli.manual"


@pytest.mark.parametrize("name", LINKED)
def test_every_link_leads_somewhere(name: str) -> None:
    page_file = ROOT / name
    targets = _LINK.findall(page_file.read_text(encoding="utf-8"))
    missing = [each for each in targets if not (page_file.parent / each).exists()]
    assert missing == []
