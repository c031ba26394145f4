"""Imports from the folder of a project: its own modules first, and never in place of libraries."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tenuto.tasks.project_folders import import_from


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("a_module_beside_the_tasks", True),
        ("xdist", True),  # installed here, and nothing that Tenuto requires
        ("rich", False),
        ("yaml", False),  # of a package with another name
        ("markdown_it", False),  # required by what Tenuto requires
        ("websockets", False),  # of an extra that Tenuto requires
        ("statistics", False),
        ("_struct", False),
    ],
)
def test_a_project_has_modules_of_every_name_but_those_that_tenuto_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_own: bool
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, name, raising=False)
    file = tmp_path / f"{name}.py"
    file.write_text("")
    import_from([str(tmp_path)])
    importlib.invalidate_caches()
    found = find_spec(name)
    assert found is not None
    assert (found.origin == str(file)) == is_own


def test_a_folder_without_code_does_not_hide_parts_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "ours.py").write_text("")
    monkeypatch.delitem(sys.modules, "opentelemetry", raising=False)
    import_from([str(tmp_path)])
    importlib.invalidate_caches()
    found = find_spec("opentelemetry")
    assert found is not None
    assert len(list(found.submodule_search_locations or ())) > 1
