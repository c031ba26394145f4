"""What an expression refers to: every chain of names from a root, as long as it is static."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tenuto.expr.expression import Expression
from tenuto.expr.parser import parse
from tenuto.expr.syntax import ALL_ROOTS, AnyNode, Literal, Member, Path, Subscript, children

_QUOTED_KEY: Final = re.compile(r"""\[\s*['"]""")


def references(expression: Expression) -> tuple[tuple[str, ...], ...]:
    """The chains of names that it uses; `steps['a-b'].output` is one, as `steps.ab.output` is."""
    if _QUOTED_KEY.search(expression.source) is None:
        return expression.paths
    tree, _ = parse(expression.source, ALL_ROOTS)
    return tuple(dict.fromkeys(_chains(tree)))


def _chains(node: AnyNode) -> Iterator[tuple[str, ...]]:
    names: list[str] = []
    inner: AnyNode = node
    while isinstance(inner, Member | Subscript):
        if isinstance(inner, Member):
            names.append(inner.name)
        elif isinstance(inner.key, Literal) and isinstance(inner.key.value, str):
            names.append(inner.key.value)
        else:
            # What follows a computed key is not static, and the key may refer to something itself.
            names.clear()
            yield from _chains(inner.key)
        inner = inner.value
    if isinstance(inner, Path):
        yield (inner.root, *inner.names, *reversed(names))
        return
    for child in children(inner):
        yield from _chains(child)
