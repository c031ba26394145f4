"""The table of attacks names for each class what is done, and tests that exist."""

from __future__ import annotations

import ast
import functools
import re

from tests.docs.blocks import ROOT

_ROW = re.compile(
    r"^\| S(\d+) \|(?P<class>[^|]+)\|(?P<what>[^|]+)\|(?P<tests>[^|]+)\|$", re.MULTILINE
)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
_CLASSES = 24


def rows() -> list[re.Match[str]]:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    return list(_ROW.finditer(page))


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


def test_what_is_not_applicable_says_why() -> None:
    for row in rows():
        if "not applicable" in row["what"]:
            assert re.search(r"not applicable[^:]*: \w+", row["what"]), row[0]
