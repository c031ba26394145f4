"""A type checker sees a task's call as its result, and finds wrong wiring."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WIRED = Path(__file__).with_name("wired.py")
LINES = WIRED.read_text(encoding="utf-8").splitlines()
PLANTED = {number for number, line in enumerate(LINES, start=1) if "# wrong" in line}


def test_mypy_finds_exactly_the_planted_mistakes() -> None:
    """`make types` checks the file as it does all others: a mistake that it does not find is an
    ignore without use, which is an error, as is a mistake where none was planted.
    """
    ignored = {
        number
        for number, line in enumerate(LINES, start=1)
        if re.search(r"# type: ignore\[(?!empty-body)[a-z-]+(?:, [a-z-]+)*\]  # wrong$", line)
    }
    assert len(PLANTED) > 25
    assert ignored == PLANTED
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"] is True, "which warns of ignores without use"
    assert not settings.keys() & {"exclude", "warn_unused_ignores"}
    assert [each for each in settings.get("overrides", []) if "tests" in str(each)] == []


@pytest.mark.slow
def test_pyright_finds_exactly_the_planted_mistakes(tmp_path: Path) -> None:
    """As editors show it: in pyright's standard mode."""
    (tmp_path / "wired.py").write_text(WIRED.read_text(encoding="utf-8"), encoding="utf-8")
    settings = {
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "enableTypeIgnoreComments": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            *("--pythonpath", sys.executable, "--project", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    diagnostics = json.loads(checked.stdout)["generalDiagnostics"]
    errors = [each for each in diagnostics if each["severity"] == "error"]
    found = {each["range"]["start"]["line"] + 1 for each in errors}
    assert found == PLANTED, [
        (each["range"]["start"]["line"] + 1, each["message"]) for each in errors
    ]
