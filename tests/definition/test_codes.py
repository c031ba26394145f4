"""Every code has a meaning, and the page of codes says what the catalogue says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto.model import errors
from tenuto.model.codes import CATALOGUE
from tests.definition.errors_page import page

ROOT = Path(__file__).parents[2]


def test_the_page_of_codes_is_the_catalogue() -> None:
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == page()


def test_every_code_is_on_the_page_once() -> None:
    assert re.findall(r"^### (TEN-\d{4}) ", page(), re.MULTILINE) == list(CATALOGUE)


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_code_is_explained_in_sentences(code: str) -> None:
    row = CATALOGUE[code]
    assert re.fullmatch(r"TEN-[1-5]\d{3}", code)
    assert not row.title.endswith(".")
    assert row.explanation.endswith(".")
    assert row.advice.endswith(".")


def test_every_code_that_the_source_names_is_in_the_catalogue() -> None:
    sources = (ROOT / "src" / "tenuto").rglob("*.py")
    named = {
        code for file in sources for code in re.findall(r'"(TEN-\d{4})"', file.read_text("utf-8"))
    }
    assert named <= set(CATALOGUE)


def test_every_code_of_a_definition_is_used_in_the_source() -> None:
    sources = (ROOT / "src" / "tenuto" / "definition").rglob("*.py")
    named = {
        code for file in sources for code in re.findall(r'"(TEN-1\d{3})"', file.read_text("utf-8"))
    }
    left_to_exceptions = {"TEN-1000"}
    definitions = {code for code in CATALOGUE if re.match("TEN-1[02-79]", code)}
    assert named | left_to_exceptions == definitions


def test_the_exceptions_have_codes_of_the_catalogue() -> None:
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    codes = {each.code for each in kinds if issubclass(each, errors.TenutoError)}
    assert codes <= set(CATALOGUE)
