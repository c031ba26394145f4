"""Every limit of the expression language, in one place.

There is no wall clock among them: the same expression over the same values passes or fails alike
on every machine, on every replay.
"""

from __future__ import annotations

from typing import Final

SOURCE_CHARACTERS: Final = 4096
"""Longest source of one expression."""

DEPTH: Final = 64
"""Deepest nesting of an expression: brackets, operands and links of a chain alike."""

FUEL: Final = 10_000
"""Steps one evaluation may take; the next three say what a step buys."""

NODES_PER_STEP: Final = 8
"""Nodes of the syntax tree that one step evaluates."""

CHARACTERS_PER_STEP: Final = 128
"""Characters that one step reads or builds. An array element costs one step."""

FREE_COMPARISON: Final = 1024
"""Comparing strings up to this long costs nothing beyond the node itself."""

RESULT_BYTES: Final = 1 << 20
"""Largest value that may leave an expression, and largest text a template may make."""

TEMPLATE_FUEL: Final = 2 * FUEL
"""Steps that all expressions of one template may take together."""

TEMPLATE_BYTES: Final = 4 * RESULT_BYTES
"""Largest sum of the values that the expressions of one template give."""

DATA_DEPTH: Final = 128
"""Deepest nesting of a value that is walked: on leaving, as text, when flattened."""

INTEGER_BITS: Final = 4096
"""Largest integer that is written out as digits."""
