"""Expressions while the steps they name have no ids yet.

The id of a step is known when the workflow function has returned; until then an expression is text
with steps in it, which are the steps that it depends on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tenuto.python_form.step import Step

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


class Formula(Struct, frozen=True, eq=False):
    """The text of an expression, with steps where their ids will stand: after `ctx` or `steps`."""

    parts: tuple[str | Step, ...]
    waits_for: tuple[Step, ...] = ()
    is_atom: bool = True
    """Whether it can stand beside an operator without brackets."""

    def text(self, name: Callable[[Step], str] = lambda step: step.id) -> str:
        """The expression, once every step in it has its id, or with other names for the steps."""
        return "".join(part if isinstance(part, str) else _link(name(part)) for part in self.parts)


def plain(text: str) -> Formula:
    return Formula((text,))


def output_of(step: Step) -> Formula:
    """The value of a step in the context."""
    return Formula(("ctx", step), (step,))


def member(owner: Formula, name: str) -> Formula:
    """`owner.name`."""
    return followed(owner, _link(name))


def followed(owner: Formula, *links: str | Formula) -> Formula:
    """`owner` with something read from it."""
    return joined(bracketed(owner), *links, is_atom=True)


def bracketed(formula: Formula) -> Formula:
    return formula if formula.is_atom else joined("(", formula, ")", is_atom=True)


def binary(left: Formula, operator: str, right: Formula) -> Formula:
    return joined(bracketed(left), f" {operator} ", bracketed(right))


def joined(*pieces: str | Formula, is_atom: bool = False) -> Formula:
    """Pieces of text and expressions, one after the other."""
    parts: list[str | Step] = []
    waits_for: dict[int, Step] = {}
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
        else:
            parts.extend(piece.parts)
            waits_for.update((id(step), step) for step in piece.waits_for)
    return Formula(tuple(parts), tuple(waits_for.values()), is_atom)


def _link(name: str) -> str:
    return f".{name}" if _NAME.match(name) else f"[{json.dumps(name)}]"
