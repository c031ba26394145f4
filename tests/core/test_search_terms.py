"""Values as text: instances are found by equal ones, and by no others."""

from __future__ import annotations

from itertools import product
from random import Random

from tenuto.model.json import JSON, are_the_same
from tenuto.model.search_terms import LONGEST, MOST_DEPTH, term_of

PLAIN: list[JSON] = [
    None, True, False, 0, 1, 1.0, -0.0, 0.5, 2**53, 2.0**53, 2**53 + 1, 1e300, "", "1", "true",
    "null", "a", "é", "\x00", '"', "\u2028", "x" * LONGEST, "x" * LONGEST + "y", "[1]", '{"a":1}',
]  # fmt: skip


def drawn(random: Random, depth: int) -> JSON:
    kind = random.randrange(4) if depth else 0
    if kind < 2:
        return random.choice(PLAIN)
    few = range(random.randrange(3))
    if kind == 2:
        return [drawn(random, depth - 1) for _ in few]
    return {random.choice("abc"): drawn(random, depth - 1) for _ in few}


def test_texts_are_equal_where_values_are_the_same_in_json_and_nowhere_else() -> None:
    random = Random(18)
    values = [*PLAIN, *(drawn(random, 3) for _ in range(300))]
    for one, other in product(values, values):
        assert (term_of("x", one) == term_of("x", other)) == are_the_same(one, other), (one, other)


def test_names_of_an_object_have_no_order() -> None:
    assert term_of("x", {"a": 1, "b": [2]}) == term_of("x", {"b": [2.0], "a": 1})


def test_no_text_and_no_name_is_longer_than_what_databases_index() -> None:
    values: list[JSON] = ["x" * 10_000, "é" * LONGEST, ["x"] * 900]
    for name, value in product(("x", "é" * LONGEST), values):
        term = term_of(name, value)
        assert term is not None
        assert max(len(part.encode()) for part in term) <= LONGEST


def test_no_text_and_no_name_has_a_character_that_a_database_refuses() -> None:
    term = term_of("a\0b", "a\0b")
    assert term is not None
    assert "\0" not in term.name + term.value


def test_what_is_nested_deeper_than_anybody_asks_for_has_no_text() -> None:
    value: JSON = 1
    for _ in range(MOST_DEPTH):
        value = [value]
    assert term_of("x", value) is not None
    assert term_of("x", {"a": value}) is None
