"""A correct run gives no violation, whatever the workflow did in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checker.history import Fields
from tests.checker.shapes import SHAPES
from tests.kit.checker import check, run_of


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_correct_run_breaks_nothing(shape: Callable[[], Fields]) -> None:
    found = check(run_of(shape()))
    assert not found, "\n".join(map(str, found))
