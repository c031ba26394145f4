"""`tenuto init`: a project that runs, and a folder with files that is left alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tenuto.cli.project import make_project, project_files, templates
from tenuto.config.sources import read_config
from tests.cli.conftest import Terminal
from tests.kit.inner_pytest import ALONE


def test_every_template_has_workflow_tasks_test_settings_readme_and_ignored_files() -> None:
    assert templates() == ["fastapi", "json", "python", "worker"]
    for template in templates():
        made = project_files(template, "shop")
        assert {".gitignore", "README.md", "tenuto.toml"} < made.keys()
        assert any(name.startswith("test_") for name in made)
        assert any(name.endswith("tasks.py") for name in made)
        assert made["README.md"].startswith("# shop\n")
        for name, text in made.items():
            if name.endswith(".py"):
                ast.parse(text)
            elif name.endswith(".json"):
                json.loads(text)
            if name != "README.md":
                assert "{name}" not in text


def test_the_settings_of_every_template_name_files_that_it_has(tmp_path: Path) -> None:
    for template in templates():
        folder = tmp_path / template
        make_project(folder, template, force=False)
        config = read_config({}, {}, folder=folder).config
        assert config.dev.files
        assert all((folder / each).is_file() for each in config.dev.files)
        assert [each.partition("=")[0] for each in config.dev.start] == ["order"]


def test_init_tells_its_files_and_the_next_command(terminal: Terminal) -> None:
    made = terminal.call("init", "shop")
    assert made.code == 0, made.err
    assert "shop/flows.py" in made.out.split()
    assert "cd shop && tenuto dev" in made.err
    # In a process of its own: another test may have registered tasks of these names in this one.
    assert terminal.run("validate", "shop/flows.py").code == 0
    as_json = terminal.call("init", "second", "--template", "json", "-o", "json").json
    assert "second/order.json" in as_json["files"]
    assert terminal.call("validate", "second/order.json").code == 0


def test_a_folder_with_files_is_refused_by_name_and_nothing_is_touched(terminal: Terminal) -> None:
    folder = terminal.folder / "shop"
    folder.mkdir()
    (folder / "tasks.py").write_text("mine")
    (folder / "notes.txt").write_text("mine too")
    refused = terminal.call("init", "shop")
    assert (refused.code, "TEN-2650" in refused.err) == (2, True)
    assert "notes.txt, tasks.py" in refused.err
    assert "--force" in refused.err
    assert sorted(each.name for each in folder.iterdir()) == ["notes.txt", "tasks.py"]
    assert (folder / "tasks.py").read_text() == "mine"
    assert terminal.call("init", "shop", "--force").code == 0
    assert (folder / "notes.txt").read_text() == "mine too"
    assert (folder / "tasks.py").read_text() != "mine"


def test_an_empty_folder_is_filled_without_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    made = make_project(folder, "json", force=False)
    assert folder / ".gitignore" in made


@pytest.mark.parametrize("name", ["taken", "taken/shop"])
def test_a_place_that_is_a_file_is_refused(terminal: Terminal, name: str) -> None:
    terminal.write("taken", "a file")
    refused = terminal.call("init", name)
    assert (refused.code, "TEN-2650" in refused.err) == (2, True)
    assert (terminal.folder / "taken").read_text() == "a file"


def test_a_folder_that_may_not_be_written_is_refused(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    refused = terminal.call("init", "shop")
    assert (refused.code, "Permission denied" in refused.err) == (2, True)
    assert list((terminal.folder / "shop").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("template", ["fastapi", "json", "python", "worker"])
def test_the_test_that_a_template_ships_passes(tmp_path: Path, template: str) -> None:
    make_project(tmp_path / "shop", template, force=False)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *ALONE],
        cwd=tmp_path / "shop",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
