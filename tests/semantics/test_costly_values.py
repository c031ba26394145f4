"""Tests that looking whether a value can be stored costs its size once."""

from __future__ import annotations

import tracemalloc

import pytest

from tenuto.model.json import JSON, json_problem
from tests.bombs.bomb import Bomb
from tests.bombs.values import VALUES

_MOST = 150_000_000
"""Bytes: with a path for each item the first of these takes 32 GB."""


@pytest.mark.slow
@pytest.mark.parametrize("bomb", VALUES, ids=[bomb.name for bomb in VALUES])
def test_a_value_is_checked_in_bounded_memory(bomb: Bomb[JSON]) -> None:
    value = bomb.make()
    tracemalloc.start()
    try:
        assert json_problem(value) is None
        assert tracemalloc.get_traced_memory()[1] < _MOST
    finally:
        tracemalloc.stop()


def test_the_path_of_a_bad_value_shows_long_names_in_part() -> None:
    found = json_problem({"k" * 100_000: [1, {"a": float("inf")}]})
    assert found == (f".{'k' * 200}[1].a", "inf is not a JSON number")
