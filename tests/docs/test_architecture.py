"""The overview of the architecture stays one, and the pages beside the code fit the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto.model.status import TRANSITIONS
from tests.docs.blocks import ROOT

SOURCE = ROOT / "src" / "tenuto"
OVERVIEW = ROOT / "ARCHITECTURE.md"
BESIDE_CODE = sorted(
    page.relative_to(ROOT).as_posix()
    for page in SOURCE.rglob("README.md")
    if (page.parent / "__init__.py").exists()
)

_FILE = re.compile(r"`([\w/]+\.(?:py|sql|toml))`")
_PACKAGE = re.compile(r"^\| (`[^|]+`) \|", re.MULTILINE)
_NAME = re.compile(r"`(\w+)`")
_MOVE = re.compile(r"^ +([A-Z_]+) --> ([A-Z_]+)", re.MULTILINE)


def test_the_overview_is_two_screens_long() -> None:
    lines = OVERVIEW.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    assert [line for line in lines if len(line) > 140] == []


def test_the_overview_names_every_package() -> None:
    rows = _PACKAGE.findall(OVERVIEW.read_text(encoding="utf-8"))
    named = {name for row in rows for name in _NAME.findall(row)}
    there = {
        each.stem for each in SOURCE.iterdir() if each.suffix == ".py" or _is_package(each)
    } - {"__init__", "__main__"}
    assert named == there


@pytest.mark.parametrize("name", BESIDE_CODE)
def test_every_file_that_a_page_names_is_there(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    roots = (page.parent, SOURCE, ROOT)
    missing = [
        file
        for file in dict.fromkeys(_FILE.findall(text))
        if not any((root / file).exists() for root in roots)
    ]
    assert missing == []


@pytest.mark.parametrize("name", BESIDE_CODE)
def test_the_overview_leads_to_every_page(name: str) -> None:
    assert f"({name})" in OVERVIEW.read_text(encoding="utf-8")


def test_the_diagram_of_statuses_is_the_table_of_transitions() -> None:
    text = (SOURCE / "core" / "README.md").read_text(encoding="utf-8")
    drawn = set(_MOVE.findall(text))
    assert drawn == {(str(one), str(other)) for one in TRANSITIONS for other in TRANSITIONS[one]}


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()
