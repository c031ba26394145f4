"""Values as text: instances are found by equal ones, and by no others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from tenuto.model.json import JSON, are_the_same
from tenuto.model.search_terms import LARGEST, LONGEST, MOST_DEPTH, SearchTerm, term_of

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


def test_what_is_larger_than_anybody_asks_for_has_no_text() -> None:
    room = LARGEST - len('""')
    values: list[tuple[JSON, JSON]] = [
        ("x" * room, "x" * (room + 1)),
        (["x" * (room - 2)], ["x" * (room - 1)]),
        ("é" * (room // 2), "é" * room),
        ([1] * (room // 2), [1] * (room // 2 + 2)),
        ({str(number): number for number in range(1_000)}, {"x": {"y": "x" * LARGEST}}),
    ]
    for fits, does_not in values:
        assert term_of("x", fits) is not None
        assert term_of("x", does_not) is None
    # Equal values are found alike, however long they were written.
    whole = term_of("x", [1] * 5_000)
    assert isinstance(whole, SearchTerm)
    assert term_of("x", [1.0] * 5_000) == whole


class _Endless(list[JSON]):
    """Notes how many of its items are looked at."""

    seen = 0

    def __iter__(self) -> Iterator[JSON]:
        while True:
            self.seen += 1
            yield 1


def test_of_a_large_value_only_as_much_is_looked_at_as_there_is_room_for() -> None:
    endless = _Endless([1])
    assert term_of("x", {"items": endless}) is None
    assert endless.seen <= LARGEST
    many: JSON = {str(number): 1 for number in range(LARGEST)}
    assert term_of("x", many) is None
