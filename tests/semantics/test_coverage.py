"""Every sentence of the contract is quoted by the test that holds it, or named as left to later."""

from __future__ import annotations

import ast

import pytest

from tests.semantics.coverage_table import TABLE, docstrings, orphans, table
from tests.semantics.sentences import sentences, split


def test_every_sentence_is_held_by_a_test_or_left_to_later() -> None:
    assert orphans() == []


def test_the_table_is_up_to_date() -> None:
    is_fresh = TABLE.read_text() == table()
    assert is_fresh, "run: python -m tests.semantics.coverage_table"


def test_the_contract_is_read_whole() -> None:
    found = sentences()
    assert len(found) > 200
    assert len({each.text for each in found}) == len(found)
    assert {each.section for each in found} >= {"The log and its ids", "Failure", "Surface"}


@pytest.mark.parametrize(
    ("paragraph", "parts"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("A `a. B` is one. `c` is two.", ["A `a. B` is one.", "`c` is two."]),
        ("It holds (see x. Y) here. So.", ["It holds (see x. Y) here.", "So."]),
        ("Over\n  two   lines. Done", ["Over two lines.", "Done"]),
        ("1.5 of e.g. this", ["1.5 of e.g. this"]),
    ],
)
def test_sentences_end_where_readers_end_them(paragraph: str, parts: list[str]) -> None:
    assert split(paragraph) == parts


def test_a_quote_is_found_however_it_is_broken_into_lines() -> None:
    code = """
def test_x():
    '''First of all:
    it   holds. And
    more.
    '''
"""
    assert list(docstrings(ast.parse(code))) == [("test_x", "First of all: it holds. And more.")]
