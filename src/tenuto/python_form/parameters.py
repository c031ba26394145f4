"""Annotations of parameters that no JSON fits."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tenuto.tasks import hints
from tenuto.tasks.function import TaskFunction

_ABSTRACT = frozenset({"typing", "typing_extensions", "collections.abc", "abc", "builtins"})
_NOT_JSON: tuple[type, ...] = (set, frozenset, bytes, bytearray, complex, memoryview)


def unbindable(task: TaskFunction[..., Any]) -> Iterator[tuple[str, str]]:
    """Each such parameter with its type.

    Only plain classes are checked: an abstract, generic or undefined type may fit.
    """
    for parameter in task.binding.data.parameters.values():
        if parameter.kind in {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
            continue
        for leaf in hints.leaves(parameter.annotation):
            if isinstance(leaf, type) and not _may_fit(leaf):
                yield (
                    parameter.name,
                    f"`{leaf.__module__}.{leaf.__qualname__}`".replace("`builtins.", "`"),
                )


def _may_fit(leaf: type) -> bool:
    if leaf in _NOT_JSON:
        return False
    is_open = inspect.isabstract(leaf) or getattr(leaf, "_is_protocol", False)
    return hints.is_json_or_convertible(leaf) or is_open or leaf.__module__ in _ABSTRACT
