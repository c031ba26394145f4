"""Named parameters are found where they are, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.data.named_parameters import LONGEST, SqlFault, split
from tenuto.data.source import DatabaseKind
from tests.kit.breadth import breadth

KINDS: tuple[DatabaseKind, ...] = ("postgresql", "mysql", "sqlite")


@pytest.mark.parametrize(
    ("kind", "sql", "numbered"),
    [
        ("postgresql", "SELECT :a, :b, :a", "SELECT $1, $2, $1"),
        ("postgresql", "SELECT ':a', \":b\" -- :c\n, :d", "SELECT ':a', \":b\" -- :c\n, $1"),
        ("postgresql", "SELECT a::text, :a::int", "SELECT a::text, $1::int"),
        ("postgresql", "SELECT $$:a$$, $x$ :b $y$ $x$, :c", "SELECT $$:a$$, $x$ :b $y$ $x$, $1"),
        ("postgresql", "SELECT /* :a /* :b */ :c */ :d", "SELECT /* :a /* :b */ :c */ $1"),
        ("postgresql", "SELECT E'\\' :a', :b", "SELECT E'\\' :a', $1"),
        ("postgresql", "SELECT 'it''s :a', :b", "SELECT 'it''s :a', $1"),
        ("postgresql", "SELECT x[1:2], j ? 'k', :b", "SELECT x[1:2], j ? 'k', $1"),
        ("postgresql", "SELECT a$1b, :x", "SELECT a$1b, $1"),
        ("mysql", "SELECT 'a\\' :b', :c # :d\n-- :e\n", "SELECT 'a\\' :b', $1 # :d\n-- :e\n"),
        ("mysql", 'SELECT "a\\" :b", `:c`, @v := :d', 'SELECT "a\\" :b", `:c`, @v := $1'),
        ("mysql", "SELECT 1--:a", "SELECT 1--$1"),
        ("sqlite", "SELECT [:a], `:b`, ':c', :d", "SELECT [:a], `:b`, ':c', $1"),
    ],
)
def test_parameters_are_those_outside_of_texts_names_comments_and_casts(
    kind: DatabaseKind, sql: str, numbered: str
) -> None:
    statement = split(sql, kind)
    assert statement.numbered() == numbered
    assert statement.named() == sql, "nothing else is changed"


def test_each_place_of_a_name_has_a_mark() -> None:
    statement = split("SELECT :a, :b, :a", "mysql")
    assert (statement.marked(), statement.places) == ("SELECT ?, ?, ?", ("a", "b", "a"))
    assert statement.names == ("a", "b")


@pytest.mark.parametrize(
    ("kind", "sql", "words"),
    [
        ("postgresql", "SELECT $1", "$1 in line 1 is no named parameter"),
        ("mysql", "SELECT\n?", "? in line 2 is no named parameter"),
        ("sqlite", "SELECT ?2", "?2 in line 1"),
        ("sqlite", "SELECT @a", "@a in line 1"),
        ("sqlite", "SELECT $a", "$a in line 1"),
        ("postgresql", "SELECT 'a", "what ' begins in line 1 is open"),
        ("postgresql", "SELECT $x$ a $y$", "what $x$ begins"),
        ("postgresql", "SELECT /* /* */", "the comment that begins in line 1 is open"),
        ("sqlite", "SELECT [a", "what [ begins"),
        ("mysql", "SELECT /* a", "comment"),
        ("mysql", "x" * (LONGEST + 1), "100,001 characters"),
    ],
)
def test_what_cannot_be_split_is_refused_with_its_line(
    kind: DatabaseKind, sql: str, words: str
) -> None:
    with pytest.raises(SqlFault) as refused:
        split(sql, kind)
    assert words in str(refused.value)


@given(
    st.sampled_from(KINDS),
    st.text(alphabet=":abE$'\"`[]/*-#\n \\;?@", max_size=60),
)
@settings(max_examples=breadth(200, 20_000), deadline=None)
def test_the_parts_of_any_text_are_its_text(kind: DatabaseKind, sql: str) -> None:
    try:
        statement = split(sql, kind)
    except SqlFault:
        return
    assert statement.named() == sql
    assert len(statement.parts) == len(statement.places) + 1
