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
_LARGE = {"ctx": {"text": "x" * 900_000, "list": [0] * 200_000}}

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
    Bomb("copies-of-a-list", lambda: Case({f"k{n}": "{{ctx.list}}" for n in range(5_000)}, _LARGE)),
)
