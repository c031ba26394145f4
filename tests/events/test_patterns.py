"""Patterns: words with dots between them, `*` for one word, `**` for one or more."""

from __future__ import annotations

import itertools
import re

import pytest

from tenuto.events import fits


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("payment.received", "payment.received", True),
        ("payment.received", "payment.receive", False),
        ("payment.*", "payment.received", True),
        ("payment.*", "payment", False),
        ("payment.*", "payment.card.received", False),
        ("payment.**", "payment.card.received", True),
        ("payment.**", "payment", False),
        ("**", "anything.at.all", True),
        ("*", "two.words", False),
        ("**.received", "payment.received", True),
        ("**.received", "received", False),
        ("a.**.z", "a.z", False),
        ("a.**.z", "a.b.c.z", True),
        ("a.*.**", "a.b", False),
    ],
)
def test_a_pattern_fits_by_words(pattern: str, name: str, expected: bool) -> None:
    """`**` is one or more words."""
    assert fits(pattern, name) is expected


def test_every_short_pattern_agrees_with_a_regular_expression() -> None:
    words = ["a", "b", "*", "**"]
    patterns = [".".join(p) for n in (1, 2, 3) for p in itertools.product(words, repeat=n)]
    names = [".".join(p) for n in (1, 2, 3, 4) for p in itertools.product("ab", repeat=n)]
    for pattern in patterns:
        source = r"\.".join(
            {"*": r"\w+", "**": r"\w+(\.\w+)*"}.get(word, word) for word in pattern.split(".")
        )
        for name in names:
            assert fits(pattern, name) is bool(re.fullmatch(source, name)), (pattern, name)
