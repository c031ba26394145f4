"""Inputs and payloads that take much work or memory to check, each within a megabyte or so."""

from __future__ import annotations

from tenuto.model.json import JSON
from tests.bombs.bomb import Bomb


def _nested(depth: int) -> JSON:
    value: JSON = 1
    for _ in range(depth):
        value = [value]
    return value


VALUES: tuple[Bomb[JSON], ...] = (
    Bomb("items-below-a-long-name", lambda: {"k" * 400_000: [0] * 80_000}),
    Bomb("names-below-a-long-name", lambda: {"k" * 300_000: {f"n{n}": n for n in range(50_000)}}),
    Bomb("long-names-within-each-other", lambda: {"a" * 9_000: {"b" * 9_000: [[0] * 90] * 900}}),
    Bomb("many-values", lambda: [0] * 120_000),
    Bomb("many-empty-objects", lambda: [{} for _ in range(80_000)]),
    Bomb("deep", lambda: _nested(400)),
    Bomb("long-number", lambda: int("9" * 4_000)),
    Bomb("escapes", lambda: '\x01\\"\u2028' * 100_000),
)
