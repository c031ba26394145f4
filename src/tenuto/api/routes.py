"""Routes requests to operations, by an index instead of a search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from starlette.routing import compile_path

from tenuto.api.operation import Operation


class Route(NamedTuple):
    """An operation, and the paths that lead to it."""

    pattern: re.Pattern[str]
    operation: Operation


class Found(NamedTuple):
    """An operation, and the parameters that the path has for it."""

    operation: Operation
    path: dict[str, str]


_DEEP = -1
"""The length of paths whose last parameter may have slashes."""


class Routes:
    """Operations by method, length and first word of their paths, so that few are tried."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._routes: dict[tuple[str, int, str], list[Route]] = {}
        for operation in sorted(operations, key=lambda each: each.path.count("{")):
            # Fixed words go before parameters: /workflows/validate is not a workflow's id.
            pattern, _, _ = compile_path(operation.path)
            length = _DEEP if ":path}" in operation.path else operation.path.count("/")
            key = operation.method, length, _thing(operation.path)
            self._routes.setdefault(key, []).append(Route(pattern, operation))
        self._methods = sorted({method for method, _, _ in self._routes} - {"WEBSOCKET"})

    def find(self, method: str, path: str) -> Found | None:
        """The operation, if there is one."""
        thing = _thing(path)
        for length in (path.count("/"), _DEEP):
            for route in self._routes.get((method, length, thing), ()):
                match = route.pattern.match(path)
                if match is not None:
                    return Found(route.operation, match.groupdict())
        return None

    def methods_at(self, path: str) -> list[str]:
        """The methods at a path, `*` for the whole service; GET implies HEAD."""
        found = [each for each in self._methods if path == "*" or self.find(each, path) is not None]
        return [*found, *(["HEAD"] if "GET" in found else []), "OPTIONS"] if found else []


def _thing(path: str) -> str:
    """The kind of record of a path: its first word, or the third under `/api/v1`."""
    # A request target need not begin with a slash: `OPTIONS *`.
    words = f"{path}/".split("/", 4)
    return words[3] if len(words) > 3 and words[1] == "api" else words[1]
