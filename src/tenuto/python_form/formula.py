"""Expressions while the steps they name have no ids yet.

The id of a step is known when the workflow function has returned; until then an expression is text
with steps in it, which are the steps that it depends on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from tenuto.python_form.step import Block, Step

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


class OfIteration(Struct, frozen=True, eq=False):
    """A value that an iteration brings, such as its item, and the body of its loop."""

    name: str
    body: Block


Part = str | Step | OfIteration


class Formula(Struct, frozen=True, eq=False):
    """The text of an expression, with steps where their ids will stand: after `ctx` or `steps`."""

    parts: tuple[Part, ...]
    waits_for: tuple[Step, ...] = ()
    is_atom: bool = True
    """Whether it can stand beside an operator without brackets."""

    def text(self, name: Callable[[Step], str] = lambda step: step.id) -> str:
        """The expression, once every step in it has its id, or with other names for the steps."""
        return "".join(_text(part, name) for part in self.parts)


def _text(part: Part, name: Callable[[Step], str]) -> str:
    match part:
        case str():
            return part
        case OfIteration():
            return f"ctx.{part.name}"
        case _:
            return _link(name(part))


def of_iteration(name: str, body: Block) -> Formula:
    """A value that an iteration brings."""
    return Formula((OfIteration(name, body),))


def replaced(formula: Formula, by: Callable[[OfIteration], Formula | None]) -> Formula:
    """The formula with others in place of values of iterations, where `by` gives one."""
    found = {part: by(part) for part in formula.parts if isinstance(part, OfIteration)}
    if not any(found.values()):
        return formula
    pieces = [_piece(part, found) for part in formula.parts]
    joint = joined(*pieces, is_atom=formula.is_atom)
    return Formula(joint.parts, (*formula.waits_for, *joint.waits_for), formula.is_atom)


def _piece(part: Part, found: Mapping[OfIteration, Formula | None]) -> Formula:
    other = found.get(part) if isinstance(part, OfIteration) else None
    return Formula((part,)) if other is None else other


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
    parts: list[Part] = []
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
