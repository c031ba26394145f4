"""How the tests themselves are run: each of their workers and processes does no work twice."""

from __future__ import annotations

import os
import subprocess
from importlib.machinery import SourceFileLoader

from tenuto.core import decide
from tests.architecture.source_tree import ROOT


def test_what_one_process_has_compiled_is_kept_for_the_next() -> None:
    said = subprocess.run(
        ["make", "--silent", "--eval", "said: ; @env", "said"],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "PATH=" in said.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in said.stdout


def test_the_whole_gate_is_one_word() -> None:
    said = subprocess.run(
        ["make", "--dry-run", "test"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    checks = ("/ruff format --check ", "/ruff check ", "/lint-imports ", "/mypy ", " -m pytest ")
    assert [each for each in checks if each not in said.stdout] == []


def test_what_is_tested_runs_as_it_was_written() -> None:
    """pytest rewrites the asserts of a whole package that has a plugin, as ours has."""
    specification = decide.__globals__["__spec__"]
    assert type(specification.loader) is SourceFileLoader
