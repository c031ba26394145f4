"""Files of SQL are read whole or refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto import store
from tenuto.store.sql import Migration, Named, migrations_of, read_migration, read_queries


def test_a_query_has_its_name_and_its_description() -> None:
    text = "-- name: a\n-- One,\n-- and no more.\nSELECT 1;\n\n-- name: b\n-- Two.\nSELECT\n2;\n"
    assert read_queries(text) == {
        "a": Named("a", "One, and no more.", "SELECT 1;"),
        "b": Named("b", "Two.", "SELECT\n2;"),
    }


@pytest.mark.parametrize(
    "text", ["-- name: a\nSELECT 1;\n", "-- name: a\n-- One.\nSELECT 1;\n" * 2]
)
def test_a_query_without_description_or_with_a_name_taken_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="without description"):
        read_queries(text)


def test_a_fragment_stands_in_statements_and_in_later_fragments() -> None:
    text = (
        "-- fragment: keys\n-- Keys.\na, b\n\n"
        "-- fragment: columns\n-- All.\n{keys}, c\n\n"
        "-- name: q\n-- One.\nSELECT {columns} FROM t WHERE ({keys}) = (1, 2);\n"
    )
    assert read_queries(text)["q"].sql == "SELECT a, b, c FROM t WHERE (a, b) = (1, 2);"


def test_two_fragments_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two fragments of one name: a"):
        read_queries("-- fragment: a\n-- One.\nx\n\n" * 2)


def test_every_fragment_is_used_more_than_once() -> None:
    folder = Path(store.__file__).parent
    shared = (folder / "columns.sql").read_text("utf-8")
    own = [file.read_text("utf-8") for file in sorted(folder.glob("*/queries.sql"))]
    assert len(own) == 3
    for text, uses in [(shared, "".join((shared, *own))), *((each, each) for each in own)]:
        for name in re.findall(r"^-- fragment: (\w+)$", text, re.MULTILINE):
            assert uses.count(f"{{{name}}}") > 1, name


def test_a_migration_names_the_oldest_program_that_may_use_it() -> None:
    sql = "-- Oldest program: 3\n--\nSELECT 1;\n"
    assert read_migration("0007_a_thing.sql", sql) == Migration(7, "a_thing", 3, sql)
    with pytest.raises(ValueError, match=r"0007_a_thing\.sql does not name the oldest program"):
        read_migration("0007_a_thing.sql", "SELECT 1;\n")


@pytest.mark.parametrize("package", ["tenuto.store.sqlite", "tenuto.store.postgres"])
def test_each_migration_has_a_number_of_its_own(package: str) -> None:
    found = migrations_of(package)
    numbers = [each.version for each in found]
    assert numbers == sorted(set(numbers))
    assert all(each.oldest_program <= each.version for each in found)
