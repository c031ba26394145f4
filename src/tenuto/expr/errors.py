"""The two ways in which an expression can fail."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tenuto.expr.words import nearest


class Misspelled(NamedTuple):
    """A name that is not known, and those that are: which is nearest is found when it is asked.

    A document may have thousands of such names; its report compares some of them.
    """

    name: str
    known: Collection[str]
    otherwise: str = ""
    """The advice where none is near."""


class ExpressionError(Exception):
    """An expression that is well formed failed on the values it was given."""

    def __init__(
        self, message: str, *, source: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.position = position

    def at(self, position: int) -> ExpressionError:
        """The same error, told where it happened; the innermost place stays."""
        if self.position is None:
            self.position = position
        return self

    def within(self, source: str) -> ExpressionError:
        """The same error, told in which expression it happened."""
        if self.source is None:
            self.source = source
        return self

    def __str__(self) -> str:
        if self.source is None:
            return self.message
        where = "" if self.position is None else f" at {self.position + 1}"
        return f"{self.message} (in `{self.source}`{where})"


class ExpressionSyntaxError(Exception):
    """A text is not an expression; found before anything runs."""

    def __init__(
        self,
        message: str,
        *,
        source: str,
        position: int,
        advice: str = "",
        misspelled: Misspelled | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.position = position
        self.misspelled = misspelled
        self._advice = advice
        self.path: list[str | int] = []
        """Where in a templated value the text stands; empty for a plain expression."""

    @property
    def advice(self) -> str:
        """What to write instead."""
        if self.misspelled is None:
            return self._advice
        return nearest(self.misspelled.name, self.misspelled.known) or self.misspelled.otherwise

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.message} at {self.position + 1}.{advice}"
