"""Problems as they are found, and the places in a document where they are found."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Collection
from datetime import timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tenuto.expr import Reference
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import Problem
from tenuto.model.policy import EVENTS_KEPT

MOST_PROBLEMS = 1000
"""The most problems that are reported of a document."""

MOST_NAMES = 1000
"""Among more names than this the nearest is not searched: it would take too long."""

MOST_COMPARED = 100_000
"""The most characters of names that are compared for a document: it takes microseconds each."""

_LONGEST_NAME = 100
"""Longer names are not compared: the time grows with the square of the length."""

_LONGEST_KEY = 200
_LONGEST_PATH = 1000
"""The most characters of a key, and of a path: beyond it the place is that of the outer value."""

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


class Report:
    """The problems found so far, in order."""

    def __init__(
        self,
        events_kept: timedelta = EVENTS_KEPT,
        *,
        characters: float = math.inf,
        is_saved: bool = False,
    ) -> None:
        """`events_kept`: for how long events are kept; `characters`: the most of expressions.

        `is_saved`: the document was checked when it was saved.
        """
        self.events_kept = events_kept
        self.is_saved = is_saved
        self._characters = characters
        self._compared = 0
        self._problems: list[Problem] = []
        self.has_errors = False
        self.code: dict[str, str] = {}
        """Paths, each with the code there."""
        self.references: list[tuple[Place, Reference]] = []
        """What the expressions refer to: `("steps", "pay", "output")`, each with its place."""

    @property
    def is_full(self) -> bool:
        return len(self._problems) >= MOST_PROBLEMS

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self._problems)

    @property
    def is_spent(self) -> bool:
        """Whether expressions had more characters than may be read."""
        return self._characters < 0

    def spend(self, characters: int) -> bool:
        """Whether an expression of so many characters may still be read."""
        self._characters -= characters
        return self._characters >= 0

    def nearest(self, name: str, names: Collection[str]) -> str | None:
        """The nearest of `names`; None if none is near, or once enough names were compared."""
        if self._compared > MOST_COMPARED or self.is_full:
            return None
        if len(names) > MOST_NAMES or len(name) > _LONGEST_NAME:
            return None
        self._compared += len(name) + sum(len(each) for each in names)
        return None if self._compared > MOST_COMPARED else nearest(name, sorted(names))

    def add(self, problem: Problem) -> None:
        self.has_errors = self.has_errors or problem.severity == "error"
        if not self.is_full:
            self._problems.append(problem)


class Place(Struct, frozen=True):
    """A place in a document: its path, and which roots an expression there can name."""

    path: str
    report: Report
    roots: frozenset[str] = frozenset()
    step: str | None = None
    """The step whose values an expression there sees."""
    is_in_body: bool = False
    """Whether it sees those of an iteration of that step, which is a loop."""
    sees_later: bool = False
    """Whether steps that begin after that step may have ended."""

    def at(self, key: str | int) -> Place:
        return self.beyond(step(key))

    def beyond(self, way: str) -> Place:
        """The place that is reached from here by a part of a path."""
        path = self.path if len(self.path) > _LONGEST_PATH else self.path + way[:_LONGEST_PATH]
        return replace(self, path=path)

    def seeing(self, roots: Collection[str]) -> Place:
        return replace(self, roots=self.roots.union(roots))

    def of_step(self, step: str, *, sees_later: bool = False) -> Place:
        return replace(self, step=step, sees_later=sees_later)

    def in_body(self) -> Place:
        return replace(self, is_in_body=True, sees_later=True)

    def wrong(self, code: str, message: str, advice: str | None = None) -> None:
        self._say(code, message, advice, "error")

    def warn(self, code: str, message: str, advice: str | None = None) -> None:
        self._say(code, message, advice, "warning")

    def nearest(self, name: str, names: Collection[str]) -> str | None:
        return self.report.nearest(name, names)

    def did_you_mean(self, name: str, names: Collection[str], otherwise: str) -> str:
        """Advice that names the nearest of `names`, else `otherwise`."""
        return _meant(self.nearest(name, names), otherwise)

    def _say(
        self, code: str, message: str, advice: str | None, severity: Literal["error", "warning"]
    ) -> None:
        self.report.add(
            Problem(
                code=code,
                path=self.path,
                message=message,
                advice=CATALOGUE[code].advice if advice is None else advice,
                severity=severity,
            )
        )


def step(key: str | int) -> str:
    """One step of a JSONPath: `.name`, `['any other name']` or `[0]`."""
    if isinstance(key, int):
        return f"[{key}]"
    if len(key) > _LONGEST_KEY:
        key = key[:_LONGEST_KEY] + "..."
    if _PLAIN_KEY.match(key):
        return f".{key}"
    quoted = json.dumps(key)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"['{quoted}']"


def did_you_mean(name: str, names: Collection[str], otherwise: str) -> str:
    """Advice that names the nearest of `names`, else `otherwise`.

    For one name: those of a document are many, and are compared by `Place.did_you_mean`.
    """
    return _meant(nearest(name, names), otherwise)


def _meant(near: str | None, otherwise: str) -> str:
    return otherwise if near is None else f"Did you mean `{near}`? {otherwise}"


def nearest(name: str, names: Collection[str]) -> str | None:
    """The nearest of `names`; None if none is near."""
    if len(names) > MOST_NAMES or len(name) > _LONGEST_NAME:
        return None
    names = [each for each in names if len(each) <= _LONGEST_NAME]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return near[0]
    return {each.lower(): each for each in names}.get(name.lower())


def shown(value: object) -> str:
    """A value as a message shows it: short, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=True, default=repr)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
