"""The layering of the product, and the contract that guards it."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from tests.architecture import allow_list
from tests.architecture.source_tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACT = PROJECT["tool"]["importlinter"]["contracts"][0]
ROWS: allow_list.Table = CONTRACT["may_import"]
KEPT_TO: allow_list.Table = CONTRACT["kept_to"]

_numbers = itertools.count()


def test_every_package_imports_only_what_its_row_allows() -> None:
    linter = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linter.returncode == 0, linter.stdout + linter.stderr


def test_rows_name_only_rows() -> None:
    named = {name for names in [*ROWS.values(), *KEPT_TO.values()] for name in names}
    assert named - set(ROWS) == {allow_list.ANYTHING}


def test_the_table_has_no_circle() -> None:
    """Removing rows whose imports are all removed ends with an empty table."""
    left = {row: set(names) for row, names in ROWS.items() if allow_list.ANYTHING not in names}
    while left:
        done = {row for row, names in left.items() if not names & set(left)}
        assert done, f"these rows import each other: {sorted(left)}"
        left = {row: names for row, names in left.items() if row not in done}


def test_concrete_stores_are_seen_only_where_things_are_wired() -> None:
    seers = {
        row
        for row, names in ROWS.items()
        if {allow_list.ANYTHING, "tenuto.store.memory", "tenuto.store.sqlite"} & set(names)
    }
    # The memory store keeps its cold records in an SQLite database.
    assert seers == {"tenuto.compose", "tenuto.testing", "tenuto.store.memory"}


@pytest.mark.parametrize(
    ("module", "row"),
    [
        ("tenuto", "tenuto"),
        ("tenuto.core", "tenuto.core"),
        ("tenuto.core.fold", "tenuto.core"),
        ("tenuto.store.protocol", "tenuto.store"),
        ("tenuto.store.sqlite.writer", "tenuto.store.sqlite"),
        ("tenuto.unheard_of", None),
    ],
)
def test_the_most_specific_row_speaks_for_a_module(module: str, row: str | None) -> None:
    assert allow_list.row_of(module, ROWS) == row


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package of its own name, with one module `low` and one module `high`."""
    folder = tmp_path / f"layered_{next(_numbers)}"
    folder.mkdir()
    for name in ("__init__", "low", "high"):
        (folder / f"{name}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def faults(package: Path) -> list[str]:
    name = package.name
    rows = {name: [], f"{name}.low": [], f"{name}.high": [f"{name}.low"]}
    graph = grimp.build_graph(name, include_external_packages=True, cache_dir=None)
    found = [
        *allow_list.unlisted_modules(graph, rows),
        *allow_list.forbidden_imports(graph, rows),
        *allow_list.strayed_packages(graph, rows, {"apsw": [f"{name}.low"]}),
    ]
    return [fault.module.removeprefix(f"{name}.") for fault in found]


def test_an_allowed_import_is_kept(package: Path) -> None:
    (package / "high.py").write_text(f"import {package.name}.low\n")
    (package / "low.py").write_text("import apsw\n")
    assert faults(package) == []


def test_an_import_upwards_is_found(package: Path) -> None:
    (package / "low.py").write_text(f"from {package.name} import high\n")
    assert faults(package) == ["low"]


def test_an_import_inside_a_function_is_found(package: Path) -> None:
    (package / "low.py").write_text(f"def lazy():\n    import {package.name}.high\n")
    assert faults(package) == ["low"]


def test_a_module_without_a_row_is_found(package: Path) -> None:
    (package / "new.py").touch()
    assert faults(package) == ["new"]


def test_a_package_kept_to_one_place_is_found_elsewhere(package: Path) -> None:
    (package / "high.py").write_text("import apsw\n")
    assert faults(package) == ["high"]
