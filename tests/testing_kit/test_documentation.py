"""Every snippet of the page about testing works, and fails as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A block of code in the page."""

    language: str
    file: str
    text: str


@pytest.fixture
def page(tmp_path: Path) -> list[Snippet]:
    """The snippets of the page, those with a name written to their files."""
    found = [Snippet(*each) for each in _BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    for snippet in found:
        if snippet.file:
            (tmp_path / snippet.file).write_text(snippet.text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return found


def execute(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_every_test_on_the_page_passes(page: list[Snippet], tmp_path: Path) -> None:
    done = execute(tmp_path, "-m", "pytest", "-q", "-p", "tenuto.testing.plugin")
    tests = sum(snippet.text.count("def test_") for snippet in page if snippet.file)
    assert tests == 10
    assert f"{tests + 8} passed" in done.stdout, done.stdout


@pytest.mark.slow
def test_the_story_on_the_page_is_the_one_that_is_told(page: list[Snippet], tmp_path: Path) -> None:
    [script] = [each for each in page if each.language == "python" and not each.file]
    [story] = [each for each in page if each.language == "text"]
    (tmp_path / "story.py").write_text(script.text, encoding="utf-8")
    done = execute(tmp_path, "story.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(story.text), done.stdout
    assert "python -m tenuto.testing .tenuto/failed/crash_test-order.json" in done.stdout
