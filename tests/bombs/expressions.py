"""Templates whose expressions take much work together, each with a scope for which they do."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenuto.model.json import JSON
from tests.bombs.bomb import Bomb


class Case(NamedTuple):
    """A template, and the values that its expressions see."""

    template: JSON
    scope: dict[str, Any]


_MANY = {"ctx": {"list": list(range(9_000))}}
DOUBLED = "ctx.list.reduce((a, b) => [a, a], [1])"
"""Each item doubles what there is: sixty steps make a value of 2^60 items."""
_LARGE = {"ctx": {"text": "x" * 900_000, "list": [0] * 200_000}}


def _doubling(times: int) -> dict[str, Any]:
    return {"ctx": {"list": list(range(times))}}


EXPRESSIONS: tuple[Bomb[Case], ...] = (
    Bomb(
        "many-costly-expressions",
        lambda: Case([f"{{{{ctx.list.map(x => x + {n}).length}}}}" for n in range(5_000)], _MANY),
    ),
    Bomb(
        "costly-expressions-in-a-text",
        lambda: Case("".join(f"{{{{ctx.list.includes(-{n})}}}}" for n in range(5_000)), _MANY),
    ),
    Bomb("copies-of-a-text", lambda: Case(["{{ctx.text}}"] * 5_000, _LARGE)),
    Bomb("doubled-lists", lambda: Case([f"{{{{{DOUBLED}}}}}"] * 60, _doubling(16))),
    Bomb("copies-of-a-list", lambda: Case({f"k{n}": "{{ctx.list}}" for n in range(5_000)}, _LARGE)),
)
