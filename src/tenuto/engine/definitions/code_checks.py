"""Parses the code of definitions in a sandbox, with a bound for all code of one document."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from tenuto.built_in.protocol import CodeChecker, NotChecked
from tenuto.definition.code_places import CodePlace, parse_problem, unchecked_code
from tenuto.definition.report import MOST_PROBLEMS
from tenuto.model.errors import Problem
from tenuto.ports import Clock

_SECONDS = 10.0
"""How long the code of one document may take to be parsed."""
_KNOWN = 2_000
"""So many texts that parse are remembered: most saves change few of them."""


class CodeChecks:
    """The code that was found to parse, and what parses other code."""

    def __init__(self, clock: Clock, checker: CodeChecker | None = None) -> None:
        """Without a `checker` no code is checked: it fails when it runs."""
        self._clock = clock
        self._checker = checker
        self._known: OrderedDict[bytes, None] = OrderedDict()

    async def problems(self, places: Sequence[CodePlace], tenant: str) -> list[Problem]:
        """Errors for code that does not parse, and a warning where it is not known."""
        checker = self._checker
        if checker is None:
            return []
        found: list[Problem] = []
        until = self._clock.ticks() + _SECONDS
        for place in places:
            digest = hashlib.sha256(place.code.encode("utf-8", "surrogatepass")).digest()
            if digest in self._known:
                self._known.move_to_end(digest)
                continue
            if len(found) >= MOST_PROBLEMS:
                break
            if self._clock.ticks() > until:
                found.append(unchecked_code(place.path, "the code before it took too long"))
                break
            try:
                faults = await checker.check(place.code, tenant=tenant)
            except NotChecked as error:
                found.append(unchecked_code(place.path, str(error)))
                break
            found += [
                parse_problem(place.path, each.message, each.line, each.column) for each in faults
            ]
            if not faults:
                self._remember(digest)
        return found

    def _remember(self, digest: bytes) -> None:
        self._known[digest] = None
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
