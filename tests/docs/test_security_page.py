"""The table of attacks names for each class what is done, and tests that exist."""

from __future__ import annotations

import ast
import functools
import re

from msgspec.structs import asdict

from tenuto.definition.nodes import BY_NAME
from tenuto.model.quotas import DEFAULT_QUOTAS
from tests.docs.blocks import ROOT

_ROW = re.compile(
    r"^\| S(\d+) \|(?P<class>[^|]+)\|(?P<what>[^|]+)\|(?P<tests>[^|]+)\|$", re.MULTILINE
)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
_QUOTA = re.compile(r"^  \| `(\w+)` \| ([\d,]+)[^|]*\|$", re.MULTILINE)
_CODELESS = re.compile(r"\bno (code|program)\b")
_CLASSES = 24


def page() -> str:
    return (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def rows() -> list[re.Match[str]]:
    return list(_ROW.finditer(page()))


@functools.cache
def functions_of(name: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / name).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in tree.body if isinstance(each, functions))


def test_every_class_of_attack_has_a_row() -> None:
    assert [int(row[1]) for row in rows()] == list(range(1, _CLASSES + 1))


def test_every_test_that_the_page_names_exists() -> None:
    for row in rows():
        named = _TEST.findall(row["tests"])
        assert named, row[0]
        assert row["tests"].count("`") == 2 * len(named), row[0]
        for file, test in named:
            assert test in functions_of(file), f"{file}::{test}"
            # Else pytest does not run it.
            assert test.startswith("test_"), f"{file}::{test}"
            assert file.rpartition("/")[2].startswith("test_"), f"{file}::{test}"


def test_what_is_not_applicable_says_why() -> None:
    for row in rows():
        if "not applicable" in row["what"]:
            assert re.search(r"not applicable[^:]*: \w+", row["what"]), row[0]


def test_a_page_of_a_program_that_runs_code_of_tenants_says_so() -> None:
    assert "javascript" in BY_NAME, "say in S2 and S11 what a definition can run"
    said = {int(row[1]): row["what"] for row in rows()}
    for number in (2, 11):
        assert "not applicable" not in said[number]
        assert _CODELESS.search(said[number]) is None, said[number]
    assert "`javascript`" in said[2]
    folders = {file.partition("/")[0] for row in rows() for file, _ in _TEST.findall(row["tests"])}
    assert {"javascript", "built_in"} <= folders


def test_every_quota_is_listed_with_its_default() -> None:
    listed = {name: int(most.replace(",", "")) for name, most in _QUOTA.findall(page())}
    assert listed == asdict(DEFAULT_QUOTAS)
